package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadParam(t *testing.T) {
	p := readParam(json.RawMessage(`{"type":"object","$defs":{"Zone":{"type":"string","description":"a zone (e.g., 'Asia/Tokyo', 'Europe/Paris')"}},
		"properties":{"zone":{"$ref":"#/$defs/Zone"},"n":{"anyOf":[{"type":"null"},{"type":"integer","exclusiveMinimum":0,"maximum":5}],"description":"how many"},
		"mode":{"enum":["a","b"]},"list":{"type":["array","null"],"items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}},"required":["zone","list"]}`))
	var names []string
	for _, f := range p.fields {
		names = append(names, fmt.Sprint(f.name, " ", f.kind, " ", f.required))
	}
	if want := []string{"zone string true", "n integer false", "mode  false",
		"list array true"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if e := p.fields[0].examples; len(e) != 2 || textOf(e[1]) != "Europe/Paris" {
		t.Errorf("examples %s", e)
	}
	if n := p.fields[1]; *n.min != 1 || *n.max != 5 || n.description != "how many" {
		t.Errorf("%+v", n)
	}
	if len(p.fields[2].choices) != 2 || len(p.fields[3].items.fields) != 1 || !p.fields[3].items.fields[0].required {
		t.Errorf("%+v", p.fields)
	}
	loop := readParam(json.RawMessage(`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}},"properties":{"next":{"$ref":"#/$defs/n"}}}`))
	if len(loop.fields) != 1 {
		t.Errorf("%+v", loop)
	}
}

func TestRequests(t *testing.T) {
	for _, tc := range []struct{ name, description, seen, held string }{
		{"get_current_time", "Get current time in a specific timezones", "get current time in a specific timezones", "fetch the current time"},
		{"list_items", "Lists all items of the shop (with prices). Use it first.", "list all items of the shop", "show me the items"},
		{"queryTable", "This tool allows you to query a table - fast", "query a table", "query the table"},
		{"echo", "The echo of a text", "use echo", "make use of echo"},
		{"read", "", "use read", "make use of read"},
		{"shop_search_all", "Searches everything;\nquickly", "search everything", "go through the all"},
	} {
		s := &subject{Tool: tool(tc.name, tc.description, none)}
		if got := byDescription(s); got != tc.seen {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.seen)
		}
		if got := otherwise(byName(s)); got != tc.held {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.held)
		}
	}
}

func TestSaid(t *testing.T) {
	for raw, want := range map[string]string{
		`"Paris"`: "Paris", `"two words"`: `"two words"`, `""`: `""`, `12.5`: "12.5", `true`: "true",
		`["a1","b1","c1"]`: "a1, b1 and c1",
		`[{"name":"Ada L","entityType":"person"},{"name":"Bo"}]`: `name "Ada L" and entity type person; and name Bo`,
	} {
		if got := valueInWords(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// What differs, or says the time, is left out of what a check holds to.
func TestStable(t *testing.T) {
	at := time.Date(2026, 11, 22, 21, 40, 7, 0, time.UTC)
	same := `{"id": 7, "name": "lamp"}`
	for _, tc := range []struct {
		name, a, b string
		equal      bool
		leaves     string
	}{
		{"the same", same, same, true, "id=7 name=lamp"},
		{"a random id", `{"id": 7, "name": "lamp"}`, `{"id": 9, "name": "lamp"}`, false, "name=lamp"},
		{"another number of entries", `[1, 2]`, `[1]`, false, ""},
		{
			"today", `{"day": "2026-11-22", "weekday": "Sunday", "title": "the meeting of all gardeners"}`,
			`{"day": "2026-11-22", "weekday": "Sunday", "title": "the meeting of all gardeners"}`, false,
			"title=the meeting of all gardeners",
		},
		{"tomorrow's zone", `{"at": "2026-11-23T06:40:07+09:00"}`, `{"at": "2026-11-23T06:40:07+09:00"}`, false, ""},
		{"seconds since 1970", fmt.Sprintf(`{"at": %d}`, at.Unix()+3), fmt.Sprintf(`{"at": %d}`, at.Unix()+3), false, ""},
		{"its own folder", `{"path": "` + dirMark + `/a.txt", "size": 12}`, `{"path": "` + dirMark + `/a.txt", "size": 12}`, false, "size=12"},
		{"lines", "Sum: 12\nMean of all: 4.5", "Sum: 12\nMean of all: 4.5", true, "Sum=12 Mean of all=4.5"},
		{"a time of day alone", "It is 21:40 in London", "It is 21:40 in London", false, ""},
		{"a time of day of twelve hours", `{"now": "4:40 PM", "zone": "America/New_York"}`,
			`{"now": "4:40 PM", "zone": "America/New_York"}`, false, "zone=America/New_York"},
		{"a time of a zone of half an hour", "03:10:07 in Kolkata", "03:10:07 in Kolkata", false, ""},
		{"the time of the second play", "It is 21:44", "It is 21:44", false, ""},
		{"behind other times", "1:01 2:02 3:03 4:04 5:05 6:06 and 21:40", "1:01 2:02 3:03 4:04 5:05 6:06 and 21:40", false, ""},
		{"another time of day", "It opens at 08:15", "It opens at 08:15", true, ""},
		{"a date of mail", "Sun, 22 Nov 2026", "Sun, 22 Nov 2026", false, ""},
		{"how long ago", "changed 3 minutes ago", "changed 3 minutes ago", false, ""},
		{"how long until", `{"due": "in 2 days", "name": "lamp of the garden shed"}`,
			`{"due": "in 2 days", "name": "lamp of the garden shed"}`, false, "name=lamp of the garden shed"},
		{"what is left", "2 hours left", "2 hours left", false, ""},
		{"an age", `{"age_seconds": 12, "name": "lamp"}`, `{"age_seconds": 12, "name": "lamp"}`, false, "name=lamp"},
		{"an age in a line", "Uptime: 3 d\nName: lamp", "Uptime: 3 d\nName: lamp", false, "Name=lamp"},
		{"a page is none", `{"page": 12, "left": 3, "in": "cm"}`, `{"page": 12, "left": 3, "in": "cm"}`, true, "page=12 left=3 in=cm"},
		{"an old date", `{"day": "1999-04-01"}`, `{"day": "1999-04-01"}`, true, "day=1999-04-01"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := stableOf(tc.a, tc.b, at.Unix(), at.Unix()+230)
			var leaves []string
			for _, l := range s.leaves {
				leaves = append(leaves, l.pointer()+"="+l.text())
			}
			if s.equal != tc.equal || strings.Join(leaves, " ") != tc.leaves {
				t.Errorf("equal %v, leaves %q", s.equal, leaves)
			}
			if !s.same(tc.b) {
				t.Error("the second answer does not have what stays")
			}
		})
	}
	if stableOf(same, strings.Replace(same, "7", "9", 1), at.Unix()).same(`{"id": 1, "name": "chair"}`) {
		t.Error("an answer with another name is taken for the same")
	}
}

// What a look shows anew is held to by a line, but by none that says the time: it would be another tomorrow.
func TestAddedLine(t *testing.T) {
	at := time.Date(2026, 11, 22, 21, 40, 7, 0, time.UTC).Unix()
	for _, tc := range []struct{ before, a, b, want string }{
		{"# Tasks", "# Tasks\nbuy milk", "# Tasks\nbuy milk", "buy milk"},
		{"# Tasks", "# Tasks\nbuy milk (2026-11-22)", "# Tasks\nbuy milk (2026-11-22)", ""},
		{"# Tasks", "# Tasks\n2026-11-22:\nbuy milk", "# Tasks\n2026-11-22:\nbuy milk", "buy milk"},
		{"# Tasks", "# Tasks\nbuy milk (21:40)", "# Tasks\nbuy milk (21:40)", ""},
		{"# Tasks", "# Tasks\nbuy milk (21:43)", "# Tasks\nbuy milk (21:43)", ""},
		{"# Tasks", "# Tasks\nbuy milk (21:57)", "# Tasks\nbuy milk (21:57)", "buy milk (21:57)"},
		{"# Tasks", "# Tasks\nid 1a2b", "# Tasks\nid 9f8e", ""},
	} {
		if got, _ := addedLine(tc.before, tc.a, tc.b, at, at+200); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.a, got, tc.want)
		}
	}
}

// Values are told apart by what they are of.
func TestValuesByLabel(t *testing.T) {
	var v values
	v.gave(Call{Tool: "list_tables"}, `[{"name": "planets", "rows": 8}]`, 0)
	v.gave(Call{Tool: "list_users"}, `[{"name": "ada", "id": 12}]`, 0)
	v.took("create_entities", json.RawMessage(`{"entities": [{"name": "Red Lamp", "entityType": "tool"}]}`))
	v.gave(Call{Tool: "list_directory"}, "[FILE] a/notes.txt\n[DIR] archive", 0)
	any := func(json.RawMessage) bool { return true }
	for param, tc := range map[string]struct{ tool, want string }{
		"table_name": {"describe_table", `"planets"`}, "userId": {"get_user", "12"}, "entityName": {"add_observations",
			`"Red Lamp"`},
		"path": {"read_file", `"a/notes.txt"`}, "directory": {"search_files", `"archive"`}, "flavour": {"taste", ""},
	} {
		found, _ := v.best(label{words(param), nouns(tc.tool)}, any)
		var texts []string
		for _, raw := range found {
			texts = append(texts, string(raw))
		}
		if got := strings.Join(texts, " "); got != tc.want {
			t.Errorf("%s of %s: %s, want %s", param, tc.tool, got, tc.want)
		}
	}
	difference := label{[]string{"time", "difference"}, []string{"time"}}
	if of := difference.about(label{[]string{"time"}, nouns("convert_time")}); of >= surely {
		t.Errorf("the difference of times is a time: %d", of)
	}
}

// What a refusal offers is drawn for the parameter whose value it refuses.
func TestHints(t *testing.T) {
	s := &subject{Tool: tool("convert", "Convert a length.", `{"type":"object","properties":{"value":{"type":"number"},"from":{"type":"string"},"to":{"type":"string"}},"required":["value","from","to"]}`)}
	s.schema = readParam(s.InputSchema)
	s.hint(Call{Tool: "convert", Arguments: json.RawMessage(`{"value":2,"from":"office lemon","to":"cm"}`)},
		"Unknown unit: office lemon. Supported units: m, km, cm or mm.")
	if got := fmt.Sprintf("%s", s.hints); got != `map[from:["m" "km" "cm" "mm"]]` {
		t.Errorf("%s", got)
	}
	for refusal, want := range map[string]string{
		"Unknown vault: office lemon. Available vaults: work":  `map[vault:["work"]]`,
		"office lemon is no date. Expected format: YYYY-MM-DD": `map[]`,
		"office lemon is wrong. Valid type: string":            `map[]`,
	} {
		one := &subject{Tool: tool("read", "Read a note.",
			`{"type":"object","properties":{"vault":{"type":"string"}}}`)}
		one.schema = readParam(one.InputSchema)
		one.hint(Call{Tool: "read", Arguments: json.RawMessage(`{"vault":"office lemon"}`)}, refusal)
		if got := fmt.Sprintf("%s", one.hints); got != want {
			t.Errorf("%s: %s, want %s", refusal, got, want)
		}
	}
	f := filler{Options{Seed: 1}.random("hints"), s, &values{}}
	for range 20 {
		arguments, ok := f.arguments(false)
		if from := textOf(find(arguments, "from")); !ok || !slices.Contains([]string{"m", "km", "cm", "mm"}, from) {
			t.Fatalf("%s", arguments)
		}
	}
}
