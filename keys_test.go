package hone_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hone/internal/config"
)

// Each key of hone.yaml is followed to where it acts by a row of cmd/hone/wiring_keys_test.go. TestEveryKeyActs there
// runs the rows; that there is one is looked at here too, where it takes no time.
func TestEveryKeyHasARow(t *testing.T) {
	rows, err := os.ReadFile("cmd/hone/wiring_keys_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	type section struct{ Properties map[string]json.RawMessage }
	n := 0
	var walk func(path string, text json.RawMessage)
	walk = func(path string, text json.RawMessage) {
		var s section
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		for key, below := range s.Properties {
			walk(strings.TrimPrefix(path+"."+key, "."), below)
		}
		if s.Properties != nil {
			return
		}
		if n++; !regexp.MustCompile(`\{\s*` + regexp.QuoteMeta(strconv.Quote(path)+",")).Match(rows) {
			t.Errorf("the key %s has no row in cmd/hone/wiring_keys_test.go: set it to an unusual value in "+
				"wiring_test.go, and add {%q, what a room was handed, that value}", path, path)
		}
	}
	walk("", text)
	if n < 80 {
		t.Errorf("%d keys were found", n)
	}
}
