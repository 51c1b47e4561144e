package generate

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Answers without sense are told from honest ones that speak of the same words.
func TestSenseless(t *testing.T) {
	long := strings.Repeat("It goes on like this. ", 12)
	for _, tc := range []struct{ answer, arguments, want string }{
		{"Invalid Date", `{"date":"x"}`, "Invalid Date"},
		{"NaN", `{"a":"x"}`, "NaN"},
		{"undefined", `{}`, "undefined"},
		{`"Invalid date"`, `{}`, "Invalid date"},
		{"[object Object]", `{}`, "[object Object]"},
		{"a month ago", `{}`, ""},
		{"The number of days in month is NaN.", `{}`, "NaN"},
		{"The timestamp of 12:30 (parsed as UTC) is NaN ms.", `{"time":"12:30"}`, "NaN"},
		{"Current time in Asia/Tokyo is Invalid Date, and the time in Europe/Paris is Invalid Date. The time difference is NaN hours.", `{}`, "Invalid Date"},
		{"Total: undefined", `{}`, "undefined"},
		{`{"timestamp": NaN}`, `{}`, "NaN"},
		{`{"from":"Invalid Date","zone":"UTC"}`, `{}`, "Invalid Date"},
		{`{"result":"NaN"}`, `{}`, "NaN"},
		{`{"batch_results":[{"request_id":"error_0","success":false,"error":"Missing required field: value"}],"summary":{"total":1}}`, `{}`, "failures alone"},
		{`[{"error":"no such unit"},{"error":"no such unit"}]`, `{}`, "failures alone"},
		{`{"created":"Invalid Date","id":7}`, `{}`, "Invalid Date"},
		{`{"id":7,"created":"Invalid Date"}`, `{}`, "Invalid Date"},
		{`{"a":NaN,"b":"undefined"}`, `{}`, "undefined"},
		{`{"errors":[{"error":"bad row 3"}],"results":[]}`, `{}`, "failures alone"},
		{`{"out":{"results":[{"input":"12 qx","value":null,"error":"no such unit"}]}}`, `{"values":["12 qx"]}`, "failures alone"},
		{`[{"success":false,"message":"no such unit"}]`, `{}`, "failures alone"},
		{`{"first":[{"error":"no"}],"second":[{"id":4,"error":"no"}]}`, `{}`, "failures alone"},
		{`{"error":"Limit 50/day"}`, `{}`, "failures alone"},
		{"Limit 50/day", `{}`, "a limit of calls"},
		{"Rate limit exceeded, try again in 5 s.", `{}`, "a limit of calls"},
		// honest
		{"Limit 50 rows", `{}`, ""},
		{"The rate limit is 50/day.", `{}`, ""},
		{`{"error":null,"id":4}`, `{}`, ""},
		{`{"error":"not found","value":4}`, `{}`, ""},
		{`{"errors":[{"error":"bad row 3"}],"results":[{"value":3},{"value":4}]}`, `{}`, ""},
		{`{"failed":[{"name":"a","error":"timeout"}],"passed":[{"name":"b"}]}`, `{}`, ""},
		{`{"failed":[{"name":"a","error":"timeout"}],"passed":["b"]}`, `{}`, ""},
		{`{"failed":[{"name":"a","error":"timeout"}]}`, `{"status":"failed"}`, ""},
		{`[{"name":"build","success":false}]`, `{}`, ""},
		{`{"checks":[{"name":"x","ok":false}]}`, `{}`, ""},
		{`[{"time":"12:04:11","error":"disk full"},{"time":"12:04:19","error":"disk full"}]`, `{}`, ""},
		{`[{"name":"disk","error":"full"}]`, "list_errors", ""},
		{`[{"input":"12 qx","value":12,"error":"rounded"}]`, `{"values":["12 qx"]}`, ""},
		{`{"value":3.5,"notes":[{"error":"one row was left out"}]}`, `{}`, ""},
		{`[{"success":true,"error":"retried once"}]`, `{}`, ""},
		{"NaN is the only value that is not equal to itself.", `{}`, ""},
		{"typeof x returns 'undefined' where x was never declared, and Number('a') gives NaN.", `{}`, ""},
		{long + "The result is NaN.", `{}`, ""},
		{"# Numbers\n\nThe value is NaN.\n", `{}`, ""},
		{`{"NaN":3,"undefined":0}`, `{}`, ""},
		{`{"isNaN":true,"text":"NaN"}`, `{"text":"NaN"}`, ""},
		{`{"mean":3.5,"gap":NaN}`, `{}`, ""},
		{`[{"a":1,"b":NaN},{"a":2,"b":3}]`, `{}`, ""},
		{`{"results":[{"success":true,"value":3},{"success":false,"error":"no"}]}`, `{}`, ""},
		{`{"runs":[{"error":""},{"error":null}]}`, `{}`, ""},
		{`{"runs":[]}`, `{}`, ""},
		{`[]`, `{}`, ""},
		{"Nanjing", `{}`, ""},
		{"The word is NaN", `{"word":"NaN"}`, ""},
	} {
		call := Call{Tool: "do", Arguments: []byte(tc.arguments)}
		if !strings.HasPrefix(tc.arguments, "{") {
			call = Call{Tool: tc.arguments, Arguments: []byte(`{}`)}
		}
		if got := senseless(tc.answer, call); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.answer, got, tc.want)
		}
	}
}

// A call that is answered without sense is in no task, and the report says why; of a text that is about the word all
// calls are.
func TestSenselessAnswers(t *testing.T) {
	for _, tc := range []struct{ answer, found, letters string }{
		{"The week is NaN.", "NaN", "~"}, // whatever it is asked
		{"The time there is Invalid Date. The difference is NaN hours.", "Invalid Date", "a"},
		{"The banana is in Nanjing, and NaN is a word.", "", "a"},
	} {
		shop := newShop(t)
		understood := func(text string) bool { return strings.Contains(text, tc.letters) }
		shop.tools["send"] = func(_ *stock, args map[string]any) (string, error) {
			if text := fmt.Sprint(args["title"]); understood(text) {
				return "taken: " + fmt.Sprint(len(text)), nil
			}
			return tc.answer, nil
		}
		send := tool("send", "Send it off.",
			`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)
		tools := append(slices.DeleteFunc(shopTools(),
			func(x Tool) bool { return x.Name != "list_items" && x.Name != "get_item" }), send)
		made := run(t, shop, tools, optionsOf(shop))
		good, bad := 0, 0
		for _, s := range made.Scenarios {
			for _, g := range s.Gold {
				if g.Name == "send" && understood(string(find([]byte(g.Arguments), "title"))) {
					good++
				} else if g.Name == "send" {
					bad++
				}
			}
		}
		if (good == 0) != (tc.letters == "~") || (bad > 0) != (tc.found == "") {
			t.Errorf("%s: %d calls that are understood, %d that are not", tc.answer, good, bad)
		}
		for _, row := range made.Report.Tools {
			if row.Tool == "send" && (row.Answered == 0) != (tc.letters == "~") {
				t.Errorf("%s: %d of %d calls count as answered", tc.answer, row.Answered, row.Tried)
			}
			if row.Tool == "send" && (!strings.Contains(row.Why, tc.found) || (row.Why == "") != (tc.found == "")) {
				t.Errorf("%s: %+v", tc.answer, row)
			}
		}
		if fell := fmt.Sprint(made.Report.Rows()); strings.Contains(fell,
			"no sense: Invalid Date") != (tc.found == "Invalid Date") {
			t.Errorf("%s: %s", tc.answer, fell)
		}
	}
}

// A chain takes a result only where it fits: of what a sentence says a number is carried on, and a text of one's own
// may quote it.
func TestChainsTakeWhatFits(t *testing.T) {
	shop := newShop(t)
	days := func(_ *stock, args map[string]any) (string, error) {
		return fmt.Sprintf("The month of it has %d days.", 28+len(fmt.Sprint(args["date"]))%3+
			vowels(fmt.Sprint(args["date"]))+int(fmt.Sprint(args["date"])[9]-'0')), nil
	}
	echo := func(name string) func(*stock, map[string]any) (string, error) {
		return func(_ *stock, args map[string]any) (string, error) {
			return asJSON(map[string]int{
				"characters": 1000 + len(fmt.Sprint(args[name])) + 7*vowels(fmt.Sprint(args[name])),
			})
		}
	}
	shop.tools = map[string]func(*stock, map[string]any) (string, error){
		"days_in_month": days, "convert": echo("target_timezone"), "move_all": echo("new_path"), "say": echo("message"),
		"call_it": echo("target_name"),
		"weekday": func(s *stock, args map[string]any) (string, error) {
			text, err := days(s, args)
			return "weekday" + strings.Join(wholeNumbers(text), ""), err
		},
	}
	one := func(name, param string) Tool {
		return tool(name, "Do "+name+" for you.",
			fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, param, param))
	}
	o := optionsOf(shop)
	o.Several = 0.6
	made := run(t, shop, []Tool{one("days_in_month", "date"), one("convert", "target_timezone"),
		one("move_all", "new_path"), one("say", "message"), one("call_it", "target_name"), one("weekday", "date")}, o)
	said := 0
	for _, s := range made.Scenarios {
		for _, g := range s.Gold {
			if g.Name == "convert" && strings.Contains(string(g.Arguments), "weekday") {
				t.Errorf("%s: a time zone %s", s.Task, g.Arguments)
			}
			if strings.Contains(string(g.Arguments), "The month of it") {
				said++
				if g.Name != "say" {
					t.Errorf("%s: %s %s", s.Task, g.Name, g.Arguments)
				}
			}
		}
	}
	if said == 0 {
		t.Error("no message has the sentence")
	}
	for _, tc := range []struct {
		name, text string
		want       bool
	}{
		{"timezone", "a month ago", false}, {"timezone", "Asia/Tokyo", true}, {"item_id", "red lamp", false},
		{"number", "12", true}, {"path", "notes of May.txt", true}, {"path", "There are 3 files", false},
		{"name", "Garden Lamp", true}, {"name", "The lamp is red", false},
		{"content", "The lamp is red.", true},
	} {
		if got := (param{name: tc.name, kind: "string"}).carries(tc.text); got != tc.want {
			t.Errorf("%s takes %q: %v", tc.name, tc.text, got)
		}
	}
	if p := askingFor("date", `"description":"YYYY-MM-DD"`).schema.fields[0]; p.carries("12:30") ||
		!p.carries("2024-03-04") {
		t.Error("a stated form does not decide what a chain hands on")
	}
}

// A tool that says its number again, with a point or an exponent, has not come to it: neither a chain nor an answer is
// of it.
func TestANumberSaidAgainIsNoResult(t *testing.T) {
	shop := newShop(t)
	shop.tools = map[string]func(*stock, map[string]any) (string, error){}
	var tools []Tool
	for i, of := range []string{"length", "mass", "area"} {
		shop.tools["convert_"+of] = func(_ *stock, args map[string]any) (string, error) {
			value := args["value"].(float64)
			return fmt.Sprintf(`{"original_value": %.4f, "same_value": %.12e, "converted_value": %.2f}`,
				value, value, 7.5*value+float64(i)+1), nil
		}
		tools = append(tools, tool("convert_"+of, "Convert "+of+" between units.",
			`{"type":"object","properties":{"value":{"type":"number"}},"required":["value"]}`))
	}
	o := optionsOf(shop)
	o.Several = 0.6
	chains := 0
	for _, s := range run(t, shop, tools, o).Scenarios {
		if strings.Contains(s.Task, "original") || strings.Contains(s.Task, "same value") {
			t.Errorf("%s: %+v", s.Task, s.Gold)
		}
		if s.Provenance.Kind == chain {
			chains++
		}
	}
	if chains == 0 {
		t.Error("no chain")
	}
}

// A tool that answers while it is explored and refuses later has no scenario, and the report says what it answers.
func TestWhyNotOfALimit(t *testing.T) {
	shop, calls := newShop(t), atomic.Int32{}
	shop.tools["send"] = func(_ *stock, args map[string]any) (string, error) {
		if calls.Add(1) > 5 {
			return "", fmt.Errorf("Limit 5/day")
		}
		return "taken: " + fmt.Sprint(len(fmt.Sprint(args["title"]))), nil
	}
	send := tool("send", "Send it off.",
		`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)
	made := run(t, shop, append(slices.DeleteFunc(shopTools(), func(x Tool) bool {
		return x.Name != "list_items" && x.Name != "get_item"
	}), send), optionsOf(shop))
	for _, row := range made.Report.Tools {
		if row.Tool == "send" &&
			(row.Answered == 0 || row.Scenarios > 0 || row.Why != "refused when it was called again: Limit 5/day") {
			t.Errorf("%+v", row)
		}
	}
}
