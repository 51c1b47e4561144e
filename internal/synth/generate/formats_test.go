package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// askingFor is a tool with one required text.
func askingFor(name, said string) *subject {
	s := &subject{Tool: toolOf("ask", "Ask.",
		fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string",%s}},"required":[%q]}`, name, said, name))}
	s.schema = readParam(s.InputSchema)
	return s
}

// textsFor are n texts for the one parameter of a tool.
func textsFor(t *testing.T, s *subject, known *values, n int) (texts []string) {
	t.Helper()
	f := filler{Options{Seed: 4}.random("stated"), s, known}
	for range n {
		arguments, ok := f.arguments(false)
		if !ok {
			t.Fatalf("%s: no arguments", s.InputSchema)
		}
		texts = append(texts, textOf(find(arguments, s.schema.fields[0].name)))
	}
	return texts
}

func distinct(texts []string) int { return len(slices.Compact(slices.Sorted(slices.Values(texts)))) }

// What a description states of dates and times comes before the guess by name, in texts that are made up and in those
// that were seen.
func TestStatedTimes(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"time", `"description":"The time to get the relative time from now. Format: YYYY-MM-DD HH:mm:ss"`, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`},
		{"time", `"description":"Format: YYYY-MM-DD HH:mm:ss.SSS"`, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$`},
		{"time", `"description":"Date and time in 24-hour format. e.g. 2025-03-23 12:30:00"`, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`},
		{"time", `"description":"Time to convert in 24-hour format (HH:MM)"`, `^\d\d:\d\d$`},
		{"time", `"description":"in hh:mm a"`, `^\d\d:\d\d [AP]M$`},
		{"time", `"description":"Time of the day"`, `^\d\d:\d\d$|^yesterday at five$|^31$|^4:25$`},
		{"date", `"description":"the day, in the format DD.MM.YYYY"`, `^\d\d\.\d\d\.\d{4}$`},
		{"date", `"description":"the day (yyyy-mm-dd) a thing was made"`, `^\d{4}-\d\d-\d\d$`},
		{"when", `"description":"as %d/%m/%Y %H:%M"`, `^\d\d/\d\d/\d{4} \d\d:\d\d$`},
		{"month", `"description":"The month, YYYY-MM"`, `^\d{4}-\d\d$`},
		{"start", `"description":"Begin of the range, ISO 8601"`, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`},
		{"date", `"description":"ISO 8601 date"`, `^\d{4}-\d\d-\d\d$`},
		{"moment", `"description":"ISO 8601 date-time"`, `T\d\d:\d\d:\d\dZ$`},
		{"since", `"description":"Like 2025-03-23T12:30:00+08:00."`, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$`},
		{"day", `"description":"a day","examples":["March 3, 2024"]`, `^[A-Z][a-z]+ \d\d?, \d{4}$`},
		{"format", `"description":"Form of the date, e.g. 'YYYY-MM-DD'"`, `^YYYY-MM-DD$|^[a-z]|^[0-9]`},
	} {
		s, known := askingFor(tc.name, tc.schema), &values{}
		for _, seen := range []string{"4:25", "yesterday at five", "31"} { // under the same name
			known.add(label{words(tc.name), nil}, quote(seen))
		}
		texts := textsFor(t, s, known, 40)
		for _, text := range texts {
			if !regexp.MustCompile(tc.want).MatchString(text) {
				t.Errorf("%s, %s: %s", tc.name, tc.schema, text)
				break
			}
		}
		if p := s.schema.fields[0]; p.stated != nil && distinct(texts) < 30 {
			t.Errorf("%s: %d different texts of 40", tc.schema, distinct(texts))
		}
	}
	list := readParam([]byte(`{"type":"object","properties":{"days":{"type":"array","description":"Days as YYYY/MM/DD","items":{"type":"string"}}}}`))
	if p := list.fields[0].items; p.stated == nil || !p.stated.fits("2024/02/03") || p.stated.fits("2024-02-03") {
		t.Errorf("a list does not hand its form on: %+v", p.stated)
	}
	form := stated{layout: "2006-01-02 15:04:05", zone: time.UTC}
	for text, want := range map[string]bool{
		"2024-02-29 10:00:00":   true,
		"2023-02-29 10:00:00":   false,
		"2024-02-29 10:00:00.5": false,
		"10:00":                 false,
	} {
		if form.fits(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// An example gives its shape, and many texts of it; a name or a list of paths gives none.
func TestShapes(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"cidr", `"description":"CIDR notation (e.g. 192.168.1.0/24)"`, `^(?:\d+\.){3}0/(?:16|24)$`},
		{"ip", `"description":"IP address. For info, IPv4 CIDR notation is also accepted"`, `^(?:\d+\.){3}\d+$`},
		{"version", `"description":"Semver version string"`, `^\d+\.\d+\.\d+$`},
		{"range", `"description":"Version range for satisfies (e.g. ^1.0.0)"`, `^\^\d+\.\d+\.\d+$`},
		{"expression", `"description":"Cron expression (5 fields: min hour dom mon dow)"`, `^\S+ \S+ \S+ \S+ \S+$`},
		{"schedule", `"description":"e.g. '0 9 * * 1-5'"`, `^\S+ \S+ \S+ \S+ \S+$`},
		{"order", `"description":"Number of the order, e.g. ORD-4711"`, `^ORD-\d{4}$`},
		{"ticket_id", `"description":"e.g. 'T-100'"`, `^T-100$`},
		{"notation", `"description":"Dice notation (e.g., '2d6+3', '1d20-2')"`, `^\dd\d\d?[+-]\d$`},
		{"to", `"description":"whom, e.g. 'ada@site.org'"`, `^[a-z]+@example\.com$`},
		{"accent", `"description":"the hue, e.g. #ff8800"`, `^#[0-9a-f]{6}$`},
		{"session", `"description":"e.g. 'b4a9c1d2-0000-4000-8000-0123456789ab'"`, `^[0-9a-f-]{36}$`},
	} {
		s := askingFor(tc.name, tc.schema)
		if p := s.schema.fields[0]; p.stated == nil {
			t.Errorf("%s: no shape", tc.schema)
			continue
		}
		fitting := slices.DeleteFunc(textsFor(t, s, &values{}, 60), func(text string) bool {
			return !regexp.MustCompile(tc.want).MatchString(text)
		})
		few := 15
		if tc.name == "ticket_id" { // no number is above the example's
			few = 1
		}
		if len(fitting) < 40 || distinct(fitting) < few {
			t.Errorf("%s: %d of 60 texts fit, %d different ones: %v",
				tc.schema, len(fitting), distinct(fitting), fitting)
		}
		if p := s.schema.fields[0].stated; !slices.ContainsFunc(fitting, p.fits) {
			t.Errorf("%s: what is made does not fit", tc.schema)
		}
	}
	for _, tc := range []struct{ name, schema string }{
		{"city", `"description":"a city, for example in the year 2020"`},
		{"path", `"description":"e.g. '2024-01-02/report-7.txt'"`},
		{"note", `"description":"Put dates as YYYY-MM-DD"`},
		{"text", `"description":"e.g. 'At 10:30 the train leaves'"`},
		{"unit", `"description":"e.g. 'km', 'miles'"`},
		{"url", `"description":"e.g. 'https://site.org/item/12'"`},
	} {
		if p := askingFor(tc.name, tc.schema).schema.fields[0]; p.stated != nil {
			t.Errorf("%s: a form is stated: %+v", tc.schema, p.stated)
		}
	}
	if s := askingFor("date", `"description":"YYYY-MM-DD"`); s != nil {
		s.schema.fields = append(s.schema.fields, param{name: "date2", kind: "string"})
		if s.alike(); s.schema.fields[1].stated == nil {
			t.Error("date2 does not have the form of date")
		}
	}
}

// What the server answers decides: a form that it refuses is doubted, and others are tried; where it takes the form
// alone, no others are.
func TestServerDecidesForm(t *testing.T) {
	s := askingFor("version", `"description":"Semver version string"`)
	call := func(text string) Call {
		return Call{Tool: "ask", Arguments: []byte(`{"version":` + string(quote(text)) + `}`)}
	}
	fits := func() (n int) {
		for _, text := range textsFor(t, s, &values{}, 100) {
			if s.schema.fields[0].stated.fits(text) {
				n++
			}
		}
		return n
	}
	if n := fits(); n < 65 || n > 95 {
		t.Errorf("before any answer %d of 100 have the form", n)
	}
	for i := range formTries {
		s.note(call(fmt.Sprintf("1.0.%d", i)), false)
	}
	if n := fits(); n > 45 || n == 0 {
		t.Errorf("of a form that is refused there are %d of 100", n)
	}
	s.note(call("2.0.1"), true)
	s.note(call("river"), false)
	s.note(call("apple"), false)
	if n := fits(); n != 100 {
		t.Errorf("of the only form that is answered there are %d of 100", n)
	}
	strict := askingFor("date", `"description":"YYYY-MM-DD"`)
	for i := range formTries {
		strict.note(Call{Tool: "ask", Arguments: fmt.Appendf(nil, `{"date":"2020-01-0%d"}`, i+1)}, false)
	}
	known := &values{}
	known.add(label{[]string{"date"}, nil}, quote("last spring"))
	if texts := textsFor(t, strict, known, 60); !slices.Contains(texts, "last spring") {
		t.Error("a form of dates that is refused is still the only one")
	}
}

// Values that a description lists are candidates.
func TestListedValues(t *testing.T) {
	for _, tc := range []struct{ description, want string }{
		{"one of: date, datetime, iso", "date datetime iso"},
		{"One of date, datetime or iso", "date datetime iso"},
		{"Supported: a, b, c", "a b c"},
		{"The unit. Supported units: m, km, nautical_mile. Default: m", "m km nautical_mile"},
		{"\nAvailable formats:\n- date: 2024-12-10\n- date_slash: 2024/12/10\n- compact: 20241210\n", "date date_slash compact"},
		{"How fast:\n* `slow` - takes its time\n* `fast` (the default)", "slow fast"},
		{"Output format: iso, date, time, full, short, or date-fns pattern (e.g. yyyy/MM/dd HH:mm)", "iso date time full short"},
		{"Type of conversion (temperature, length, mass, etc.)", "temperature length mass"},
		{"Mode (fast|slow|exact)", "fast slow exact"},
		{"Must be: 'asc' or 'desc'", "asc desc"},
		{"Allowed values are: \"x\", \"y\"", "x y"},
		{"one of the following modes: quick (default), full", "quick full"},
		{"Color value: #hex (3/4/6/8 digits), rgb(r,g,b), rgba(r,g,b,a), hsl(h,s%,l%), or named color", ""},
		{"Path of the file; can be relative or absolute", ""},
		{"Name of one of the tables, as list_tables gives them", ""},
		{"The title (required, unique)", ""},
		{"- Use lower case\n- Avoid spaces", ""},
		{"IANA timezone (e.g. Asia/Tokyo, America/New_York)", ""},
		{"The number of rows", ""},
	} {
		var got []string
		for _, raw := range listedValues(tc.description) {
			got = append(got, textOf(raw))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q: %v", tc.description, got)
		}
	}
	for name, want := range map[string]int{"query": 0, "field": 3} {
		if p := askingFor(name,
			`"description":"What is looked at (title, author, tags)"`).schema.fields[0]; len(p.listed) != want {
			t.Errorf("%s: %s", name, p.listed)
		}
	}
	s := askingFor("format", `"description":"one of: date, datetime, iso"`)
	texts := textsFor(t, s, &values{}, 60)
	for _, want := range []string{"date", "datetime", "iso"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %s in %v", want, texts)
		}
	}
}

// A refusal that asks for an optional parameter is heard: the next calls have it, where they make the same choice.
func TestWantedParameters(t *testing.T) {
	s := &subject{Tool: toolOf("ip", "Look.", `{"type":"object","properties":{"action":{"type":"string","enum":["info","contains"]},"cidr":{"type":"string","description":"CIDR notation"},"target":{"type":"string","description":"IP address"}},"required":["action"]}`)}
	s.schema = readParam(s.InputSchema)
	s.ask(Call{Tool: "ip", Arguments: []byte(`{"action":"contains"}`)}, "Error: cidr is required for contains")
	s.ask(Call{Tool: "ip", Arguments: []byte(`{"action":"contains"}`)}, "the network is down")
	f := filler{Options{Seed: 4}.random("wanted"), s, &values{}}
	for range 40 {
		arguments, ok := f.arguments(false)
		contains := textOf(find(arguments, "action")) == "contains"
		if !ok || (find(arguments, "cidr") != nil) != contains || find(arguments, "target") != nil {
			t.Errorf("%s", arguments)
		}
	}
}

// Of parameters of which a usage text wants one, each call has one, and a switch is set.
func TestOneOfWantedParameters(t *testing.T) {
	s := &subject{Tool: toolOf("promote", "Promote.", `{"type":"object","properties":{"name":{"type":"string"},"lead":{"type":"boolean"},"prospect":{"type":"boolean"},"dry_run":{"type":"boolean"}},"required":["name"]}`)}
	s.schema = readParam(s.InputSchema)
	s.ask(Call{Tool: "promote", Arguments: []byte(`{"name":"Ana"}`)}, "usage: promote [-h] (--lead | --prospect) "+
		strings.Repeat(" ", mostRefusal)+"[--dry_run] name\n"+
		"promote: error: one of the arguments --lead --prospect is required\n")
	f := filler{Options{Seed: 4}.random("one of"), s, &values{}}
	seen := map[string]int{}
	for range 40 {
		arguments, ok := f.arguments(false)
		lead, prospect := string(find(arguments, "lead")), string(find(arguments, "prospect"))
		if !ok || lead+prospect != "true" || find(arguments, "dry_run") != nil {
			t.Errorf("%s", arguments)
		}
		seen[lead]++
	}
	if len(seen) != 2 {
		t.Error(seen)
	}
}

// Each tool is in two tasks where it has so many, though others had the places.
func TestLevel(t *testing.T) {
	var all []*Candidate
	for i := range 12 {
		name := "often"
		if i > 8 {
			name = fmt.Sprint("rare", i%2)
		}
		all = append(all,
			&Candidate{Kind: single, Calls: []Call{{Tool: name, Arguments: fmt.Appendf(nil, `{"a":%d}`, i)}}})
	}
	taken := &taking{count: map[string]int{}, kinds: map[string]int{}}
	taken.take(all[:9], 6)
	taken.level(all)
	often := 0
	for _, c := range taken.list {
		if c.Calls[0].Tool == "often" {
			often++
		}
	}
	if len(taken.list) != 6 || often != 3 || taken.count["often"] != 3 || taken.count["rare0"] != 1 ||
		taken.count["rare1"] != 2 || taken.kinds[all[0].tag()] != 6 {
		t.Errorf("%v of %d", taken.count, len(taken.list))
	}
}

// Two parameters with examples have those of one place, though crossed pairs of them were refused.
func TestExamplesInPairs(t *testing.T) {
	s := &subject{Tool: toolOf("convert", "Convert.", `{"type":"object","properties":{"from_unit":{"type":"string","description":"e.g. \"km\", \"lb\", \"celsius\"."},
		"to_unit":{"type":"string","description":"e.g. \"mi\", \"kg\", \"fahrenheit\"."}},"required":["from_unit","to_unit"]}`)}
	s.schema = readParam(s.InputSchema)
	for _, crossed := range []string{
		`{"from_unit":"km","to_unit":"kg"}`, `{"from_unit":"lb","to_unit":"fahrenheit"}`,
		`{"from_unit":"celsius","to_unit":"mi"}`,
	} {
		s.note(Call{Tool: "convert", Arguments: []byte(crossed)}, false)
	}
	pairs, f := 0, filler{Options{Seed: 4}.random("pairs"), s, &values{}}
	for range 200 {
		arguments, _ := f.arguments(false)
		if slices.Contains([]string{"km mi", "lb kg", "celsius fahrenheit"},
			textOf(find(arguments, "from_unit"))+" "+textOf(find(arguments, "to_unit"))) {
			pairs++
		}
	}
	if pairs < 30 {
		t.Errorf("%d of 200 calls have a pair", pairs)
	}
}

// A list in a description that the server refuses is no list of values: most tries are other texts.
func TestDoubtedLists(t *testing.T) {
	s := askingFor("mode", `"description":"How.\n- note: it matters\n- hint: look"`)
	of := func() (n int) {
		for _, text := range textsFor(t, s, &values{}, 100) {
			if text == "note" || text == "hint" {
				n++
			}
		}
		return n
	}
	if before := of(); before < 70 {
		t.Errorf("%d of 100 are of the list", before)
	}
	s.formed = map[string]formCount{"mode": {refused: formTries}}
	if after := of(); after > 40 {
		t.Errorf("%d of 100 are of a list that was refused", after)
	}
}

// Colours are tried where a name of a tool for colours, or a description, says that there is one.
func TestColours(t *testing.T) {
	form := regexp.MustCompile(`^#[0-9a-f]{6}$`)
	for _, tc := range []struct {
		name, about, said string
		want              bool
	}{
		{"base_hex", "Make a color palette.", "", true},
		{"foreground", "Contrast of two colors.", "", true},
		{"tint", "Mix.", "as #RRGGBB", true},
		{"background", "Tell a story.", "", false},
	} {
		s := askingFor(tc.name, fmt.Sprintf(`"description":%q`, tc.said))
		s.Description = tc.about
		n := 0
		for _, text := range textsFor(t, s, &values{}, 20) {
			if form.MatchString(text) {
				n++
			}
		}
		if (n > 10) != tc.want || !tc.want && n > 0 {
			t.Errorf("%s: %d of 20 are colours", tc.name, n)
		}
	}
}

// A memo beside a database gets no tasks: its text would have nothing to do with the data.
func TestMemoBesideDatabase(t *testing.T) {
	memo := askingFor("insight", `"description":"what is found"`)
	other := askingFor("place", `"description":"where"`)
	memo.Name, other.Name, memo.Server, other.Server = "append_insight", "visit", "data", "data"
	used := map[string]bool{}
	(&sqlServer{server: "data"}).uses([]*subject{memo, other}, used)
	if !used["append_insight"] || used["visit"] {
		t.Errorf("%v", used)
	}
}
