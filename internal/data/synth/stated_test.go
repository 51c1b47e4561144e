package synth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a description states of a form comes before the guess by name, in texts that are made up and in those that were seen.
func TestStatedForm(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"time", `"description":"The time to get the relative time from now. Format: YYYY-MM-DD HH:mm:ss"`, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`},
		{"time", `"description":"Format: YYYY-MM-DD HH:mm:ss.SSS"`, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$`},
		{"time", `"description":"Date and time in 24-hour format. e.g. 2025-03-23 12:30:00"`, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`},
		{"time", `"description":"Time to convert in 24-hour format (HH:MM)"`, `^\d\d:\d\d$`},
		{"time", `"description":"in hh:mm a"`, `^\d\d:\d\d [AP]M$`},
		{"time", `"description":"Time of the day"`, `^\d\d:\d\d$`},
		{"date", `"description":"the day, in the format DD.MM.YYYY"`, `^\d\d\.\d\d\.\d{4}$`},
		{"date", `"description":"the day (yyyy-mm-dd) a thing was made"`, `^\d{4}-\d\d-\d\d$`},
		{"when", `"description":"as %d/%m/%Y %H:%M"`, `^\d\d/\d\d/\d{4} \d\d:\d\d$`},
		{"month", `"description":"The month, YYYY-MM"`, `^\d{4}-\d\d$`},
		{"start", `"description":"Begin of the range, ISO 8601"`, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`},
		{"date", `"description":"ISO 8601 date"`, `^\d{4}-\d\d-\d\d$`},
		{"moment", `"description":"ISO 8601 date-time"`, `T\d\d:\d\d:\d\dZ$`},
		{"since", `"description":"Like 2025-03-23T12:30:00+08:00."`, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$`},
		{"day", `"description":"a day","examples":["March 3, 2024"]`, `^[A-Z][a-z]+ \d\d?, \d{4}$`},
		{"order", `"description":"Number of the order, e.g. ORD-4711"`, `^ORD-\d{4}$`},
		{"notation", `"description":"Dice notation (e.g., '2d6+3', '1d20-2')"`, `^\dd\d\d?[+-]\d$`},
		{"format", `"description":"Form of the date, e.g. 'YYYY-MM-DD'"`, `^YYYY-MM-DD$|^[a-z]`},
		{"note", `"description":"Put dates as YYYY-MM-DD"`, `^The `},
		{"city", `"description":"a city, for example in the year 2020"`, `^[A-Z][a-z]+$`},
		{"path", `"description":"e.g. '2024-01-02/report-7.txt'"`, `^[a-z]+-[a-z]+\.txt$|^\.$|^2024-01-02/report-7.txt$`},
	} {
		s := &subject{Tool: toolOf("ask", "Ask.", fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string",%s}},"required":[%q]}`, tc.name, tc.schema, tc.name))}
		s.schema = readParam(s.InputSchema)
		known := &values{}
		for _, seen := range []string{"4:25", "yesterday at five", "31"} { // under the same name
			known.add(label{words(tc.name), nil}, quote(seen))
		}
		if p := s.schema.fields[0]; p.stated == nil || p.stated.layout == "" {
			known = &values{}
		}
		f, got := filler{Options{Seed: 4}.random("stated"), s, known}, map[string]bool{}
		for range 40 {
			arguments, ok := f.arguments(false)
			text := textOf(find(arguments, tc.name))
			if got[text] = true; !ok || !regexp.MustCompile(tc.want).MatchString(text) {
				t.Errorf("%s, %s: %s", tc.name, tc.schema, arguments)
				break
			}
		}
		if p := s.schema.fields[0]; p.stated != nil && p.stated.layout != "" && len(got) < 10 {
			t.Errorf("%s: %d different texts of 40", tc.schema, len(got))
		}
	}
	list := readParam([]byte(`{"type":"object","properties":{"days":{"type":"array","description":"Days as YYYY/MM/DD","items":{"type":"string"}}}}`))
	if p := list.fields[0].items; p.stated == nil || !p.stated.fits("2024/02/03") || p.stated.fits("2024-02-03") {
		t.Errorf("a list does not hand its form on: %+v", p.stated)
	}
}

// A call is in no task where its answer says that nothing could be made of what it was given, and the report says so.
func TestSenselessAnswers(t *testing.T) {
	for _, tc := range []struct{ answer, found string }{
		{"The time there is Invalid Date. The difference is NaN hours.", "Invalid Date"},
		{`{"timestamp": NaN}`, "NaN"},
		{"Hello undefined!", "undefined"},
		{"The banana is in Nanjing, and NaNo is no word. " + strings.Repeat("It goes on. ", 40) + " NaN", ""},
	} {
		shop := newShop(t)
		understood := func(text string) bool { return strings.Contains(text, "a") }
		shop.tools["send"] = func(_ *stock, args map[string]any) (string, error) {
			if text := fmt.Sprint(args["title"]); understood(text) {
				return "taken: " + fmt.Sprint(len(text)), nil
			}
			return tc.answer, nil
		}
		send := tool("send", "Send it off.", `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)
		tools := append(slices.DeleteFunc(shopTools(), func(x Tool) bool { return x.Name != "list_items" && x.Name != "get_item" }), send)
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
		if good == 0 || (bad > 0) != (tc.found == "") {
			t.Errorf("%s: %d calls that are understood, %d that are not", tc.answer, good, bad)
		}
		for _, row := range made.Report.Tools {
			if row.Tool == "send" && !strings.Contains(row.Why, tc.found) || row.Tool == "send" && (row.Why == "") != (tc.found == "") {
				t.Errorf("%s: %+v", tc.answer, row)
			}
		}
		if warned := strings.Join(made.Report.Unmarked, "\n"); !strings.Contains(warned, tc.found) || (warned == "") != (tc.found == "") {
			t.Errorf("%s: %s", tc.answer, warned)
		}
	}
	if senseless("NaN is not a number", Call{Arguments: []byte(`{"of":"NaN"}`)}) != "" {
		t.Error("what the call said itself is taken for a sign")
	}
}

// A form fits what is of it alone, though the parser of times takes more.
func TestStatedFits(t *testing.T) {
	form := stated{layout: "2006-01-02 15:04:05", zone: time.UTC}
	for text, want := range map[string]bool{"2024-02-29 10:00:00": true, "2023-02-29 10:00:00": false, "2024-02-29 10:00:00.5": false, "10:00": false} {
		if form.fits(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// A chain takes a result only where it fits: of what a sentence says a number is carried on, and a text of one's own may quote it.
func TestChainsTakeWhatFits(t *testing.T) {
	shop := newShop(t)
	days := func(_ *stock, args map[string]any) (string, error) {
		return fmt.Sprintf("The month of it has %d days.", 28+len(fmt.Sprint(args["date"]))%3+vowels(fmt.Sprint(args["date"]))+int(fmt.Sprint(args["date"])[9]-'0')), nil
	}
	echo := func(name string) func(*stock, map[string]any) (string, error) {
		return func(_ *stock, args map[string]any) (string, error) {
			return asJSON(map[string]int{"characters": 1000 + len(fmt.Sprint(args[name])) + 7*vowels(fmt.Sprint(args[name]))})
		}
	}
	shop.tools = map[string]func(*stock, map[string]any) (string, error){"days_in_month": days, "convert": echo("target_timezone"), "move_all": echo("new_path"), "say": echo("message"), "call_it": echo("target_name"),
		"weekday": func(s *stock, args map[string]any) (string, error) {
			text, err := days(s, args)
			return "weekday" + strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return r
				}
				return -1
			}, text), err
		}}
	one := func(name, param string) Tool {
		return tool(name, "Do "+name+" for you.", fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, param, param))
	}
	o := optionsOf(shop)
	o.Several = 0.6
	made := run(t, shop, []Tool{one("days_in_month", "date"), one("convert", "target_timezone"), one("move_all", "new_path"), one("say", "message"), one("call_it", "target_name"), one("weekday", "date")}, o)
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
}
