package grade_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/grade"
)

// A number keeps its digits through a file, and one that a float holds is written as it was before.
func TestDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3", "3.0": "3", "-4.5": "-4.5", "1e21": "1e+21", "0.1": "0.1",
		"2047948614742839297": "2047948614742839297", "2047948614742839296": "2047948614742839296",
		"-9007199254740993":      "-9007199254740993",
		"0.10000000000000000001": "0.10000000000000000001",
	} {
		var d grade.Decimal
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(d)
		var again grade.Decimal
		if err != nil || string(data) != want && !grade.Decimal(want).Near(d, 0) ||
			json.Unmarshal(data, &again) != nil || again != d {
			t.Errorf("%s is written %s (%v), want %s, and read as %s", text, data, err, want, again)
		}
		for _, spelling := range d.Spellings() {
			if !grade.Decimal(spelling).Near(d, 0) {
				t.Errorf("%s is not %s", spelling, text)
			}
		}
	}
	for _, text := range []string{`"3"`, `{}`, `[3]`, `true`, `1e999`} {
		var c struct{ Number *grade.Decimal }
		err := json.Unmarshal([]byte(`{"number":`+text+`}`), &c)
		if err == nil || strings.Contains(err.Error(), "Decimal") {
			t.Errorf("%s: %v, %v", text, c.Number, err)
		}
	}
}
