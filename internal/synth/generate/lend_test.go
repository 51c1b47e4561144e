package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const batchSaid = "List of requests. Each request should contain: value (float), from_unit (str), to_unit (str), " +
	"conversion_type (str), and optionally request_id (str)"

func batch(name, said string) Tool {
	return tool(name, "Perform several conversions at once.", fmt.Sprintf(`{"type":"object","properties":{"requests":{"type":"array","description":%q,"items":{"type":"object","additionalProperties":true}}},"required":["requests"]}`, said))
}

// Fields that stand in words are read, from a line and from a list.
func TestSpokenFields(t *testing.T) {
	for text, want := range map[string]string{
		batchSaid: "value:number from_unit:string to_unit:string conversion_type:string request_id?:string",
		"Each has:\n- value: The numeric value\n- count (integer): how many\n- request_id: Optional identifier": "value:number " +
			"count:integer request_id?:string",
		"Objects with the keys: name, and age (integer, years)": "name:string age:integer",
		"What to send.": "",
		"With care: this deletes all of it, and nothing comes back": "",
		"A filter. Contains: one word":                              "",
	} {
		var got []string
		for _, p := range fieldsInText(text) {
			mark := "?"
			if p.required {
				mark = ""
			}
			got = append(got, p.name+mark+":"+p.kind)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The objects of a batch are made as the arguments of the tools are that do one of it, and no task has an object with
// nothing in it.
func TestObjectsInWords(t *testing.T) {
	shop := newShop(t)
	units := map[string][]string{"length": {"metre", "mile"}, "mass": {"gram", "pound"}}
	var tools []Tool
	for kind, names := range units {
		enum, _ := asJSON(names)
		tools = append(tools, tool("convert_"+kind, "Convert "+kind+" between units.", fmt.Sprintf(`{"type":"object","properties":{"value":{"type":"number"},"from_unit":{"type":"string","enum":%[1]s},"to_unit":{"type":"string","enum":%[1]s}},"required":["value","from_unit","to_unit"]}`, enum)))
		shop.tools["convert_"+kind] = func(_ *stock, args map[string]any) (string, error) {
			return asJSON(map[string]any{
				"converted": args["value"].(float64) * float64(len(fmt.Sprint(args["from_unit"], args["to_unit"]))),
			})
		}
	}
	if tools[0].Name > tools[1].Name { // a map has no order
		tools[0], tools[1] = tools[1], tools[0]
	}
	shop.tools["convert_batch"] = func(_ *stock, args map[string]any) (string, error) {
		results := []map[string]any{}
		for _, one := range args["requests"].([]any) {
			r := one.(map[string]any)
			names := units[fmt.Sprint(r["conversion_type"])]
			if v, ok := r["value"].(float64); ok && len(names) > 0 &&
				strings.Contains(strings.Join(names, " "), fmt.Sprint(r["from_unit"])) {
				results = append(results, map[string]any{"success": true, "converted": v * 3})
			} else {
				results = append(results, map[string]any{"success": false, "error": "missing field"})
			}
		}
		return asJSON(map[string]any{"results": results})
	}
	shop.tools["send_batch"] = func(*stock, map[string]any) (string, error) { return "sent", nil }
	shop.tools["convert_all"] = func(*stock, map[string]any) (string, error) { return "", errors.New("never") }
	tools = append(tools, batch("convert_batch", batchSaid), batch("send_batch", "What to send."))
	made := run(t, shop, tools, optionsOf(shop))
	seen := map[string]bool{}
	for _, s := range made.Scenarios {
		if strings.Contains(s.Task, "like this: )") || strings.Contains(s.Task, "requests ,") {
			t.Errorf("words for nothing: %s", s.Task)
		}
		for _, g := range s.Gold {
			if g.Name == "send_batch" || strings.Contains(string(g.Arguments), "{}") {
				t.Errorf("%s: %s %s", s.Task, g.Name, g.Arguments)
			}
			if g.Name == "convert_batch" {
				seen[string(g.Arguments)] = true
			}
		}
	}
	if len(seen) < 5 {
		t.Errorf("%d different batches: %v", len(seen), seen)
	}
	for _, row := range made.Report.Tools {
		if row.Tool == "send_batch" &&
			!strings.Contains(row.Why, "requests takes objects, and nothing says what is in one") {
			t.Errorf("%+v", row)
		}
	}
}

// No value is worded by nothing.
func TestSaidOfNothing(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: "an empty object", `[]`: "an empty list", `""`: `""`, `[{}]`: "an empty object",
		`{"a":[]}`: "a an empty list", `{"a":{"b":2}}`: "a b 2",
	} {
		if got := valueInWords(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
}
