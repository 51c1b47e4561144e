package fault

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	type row struct {
		Name  *string         `json:"name"`
		IDs   []int32         `json:"ids"`
		On    bool            `json:"on"`
		Share float64         `json:"share"`
		Of    map[string]bool `json:"of"`
		Rows  []row           `json:"rows"`
	}
	for text, want := range map[string]string{
		`{"name": 7}`:              `"name" must be a string, not a number`,
		`{"ids": "7"}`:             `"ids" must be an array, not a string`,
		`{"ids": [1, 1.5]}`:        `must be a whole number, not 1.5`,
		`{"ids": [99999999999]}`:   `must be a whole number, not 99999999999`,
		`{"on": {}}`:               `"on" must be true or false, not an object`,
		`{"share": true}`:          `"share" must be a number, not true or false`,
		`{"of": []}`:               `"of" must be an object, not an array`,
		`{"rows": [{"name": []}]}`: `"rows.name" must be a string, not an array`,
		`[]`:                       `it must be an object, not an array`,
		`{"name": nul}`:            `it is not JSON: invalid character`,
		`{"name":`:                 `it is not JSON: unexpected end`,
	} {
		err := JSON(json.Unmarshal([]byte(text), &row{}))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := JSON(json.NewDecoder(strings.NewReader(`{"name":`)).Decode(&row{})); err == nil ||
		err.Error() != "it is not JSON: it ends early" {
		t.Error(err)
	}
	if own := errors.New("own"); JSON(own) != own || JSON(nil) != nil {
		t.Error("another error is changed")
	}
}
