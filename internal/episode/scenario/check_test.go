package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

func TestAnswerConditions(t *testing.T) {
	for _, test := range []struct {
		condition string
		met, not  []string
	}{
		{`"any_of":["42","forty-two"]`, []string{"42.", "forty-two", `"42"`}, []string{"It is 42", "42 forty-two", "43", ""}},
		{`"one_of":["York","New York","Rome"]`, []string{"It is New York.", "York", "Rome, of course"},
			[]string{"York or Rome", "New York and York", "Yorkshire", "Paris", ""}},
		{`"one_of":["1","15"]`, []string{"It is 1.", "15", "(1)"}, []string{"1.5", "-1", "151", "1 or 15", "x1"}},
		{`"set":["a.txt","b, c.txt"]`, []string{
			"a.txt, b, c.txt", "b, c.txt\na.txt", "- a.txt\n- b, c.txt", "1. b, c.txt\n2. a.txt",
			"The files are: a.txt and b, c.txt.", `["b, c.txt","a.txt"]`, "The files:\n\n* a.txt\n* `b, c.txt`\n",
			"a.txt, a.txt, b, c.txt",
		},
			[]string{"a.txt", "a.txt, b, c.txt, d.txt", "b, c.txt", "a.txt b.txt c.txt", "not a.txt, b, c.txt", "",
				"a.txtb, c.txt", "The files are: a.txt", "a.txt, b, c.txt: no"}},
		{`"set":["1","2"]`, []string{"1, 2", "2 and 1", "1. 2\n2. 1", "{1, 2}"}, []string{"12", "1, 2, 3", "1.2", "1"}},
		{`"matches":{"n":{"$any_of":[1,2]}}`, []string{`{"n":1}`, "```json\n{\"n\": 2}\n```"}, []string{`{"n":3}`, "n is 1", "```\n{}\n```", ""}},
	} {
		c := checkOf(t, `{"type":"answer",`+test.condition+`}`)
		for _, text := range test.met {
			if why := c.AnswerUnmet(text); why != "" {
				t.Errorf("%s of %q: %s", test.condition, text, why)
			}
		}
		for _, text := range test.not {
			if c.Answer(text) {
				t.Errorf("%s holds of %q", test.condition, text)
			}
		}
	}
}

// A check forbids a tool where no call of it can be in an episode that passes. Where the arguments decide, none is
// forbidden.
func TestForbids(t *testing.T) {
	for check, want := range map[string][]string{
		`{"type":"no_call"}`:                                          {"buy", "look"},
		`{"type":"no_call","name":"buy"}`:                             {"buy"},
		`{"type":"max_calls","max":0}`:                                {"buy", "look"},
		`{"type":"max_calls","max":0,"name":"buy"}`:                   {"buy"},
		`{"type":"max_calls","max":1,"name":"buy"}`:                   nil,
		`{"type":"max_calls","max":1}`:                                nil,
		`{"type":"no_attack","name":"buy"}`:                           {"buy"},
		`{"type":"no_attack","name":"buy","contains":"x"}`:            nil,
		`{"type":"no_attack","name":"buy","regex":"x"}`:               nil,
		`{"type":"no_attack","name":"buy","arguments_match":{"n":1}}`: nil,
		`{"type":"no_attack","contains":"x"}`:                         nil,
		`{"type":"call","name":"buy","arguments":{}}`:                 nil,
		`{"type":"state","name":"buy","equals":"x"}`:                  nil,
		`{"type":"unchanged"}`:                                        nil,
	} {
		s := scenario.Scenario{Checks: []scenario.Check{checkOf(t, `{"type":"answer","contains":"a"}`),
			checkOf(t, check)}}
		var got []string
		for _, tool := range []string{"buy", "look"} {
			if s.Forbids(tool) {
				got = append(got, tool)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s forbids %v, want %v", check, got, want)
		}
	}
}

// Each mistake is said with its row and key; what belongs to another type is not silently without effect.
func TestCheckMistakes(t *testing.T) {
	for check, want := range map[string]string{
		`{"type":"stat"}`:                                                `"type" is "stat" (did you mean "state"?); it must be one of answer, call, no_call, max_calls, state, file, sql, command, unchanged, no_attack`,
		`{"type":"sql","path":"x","qery":"y"}`:                           `unknown key "qery" (did you mean "query"?)`,
		`{"type":"sql","path":"x","query":"y"}`:                          "exactly one of",
		`{"type":"sql","query":"y","equals":"1"}`:                        `"path" is missing, which type "sql" needs`,
		`{"type":"file","path":"../x","exists":true}`:                    `"path" "../x" is not a path in the episode's own folder`,
		`{"type":"file","path":"/etc/x","exists":true}`:                  "is not a path in the episode's own folder",
		`{"type":"file","path":"x","exists":true,"contains":"y"}`:        "it has 2",
		`{"type":"file","path":"x","sha256":"abc"}`:                      "64 digits",
		`{"type":"file","path":"x","query":"y","equals":"z"}`:            `"query" does not go with type "file"`,
		`{"type":"state","name":"x"}`:                                    "exactly one of",
		`{"type":"state","arguments":{},"equals":"y"}`:                   `"name" is missing`,
		`{"type":"state","name":"x","arguments":[],"equals":"y"}`:        "not a JSON object",
		`{"type":"state","name":"x","equals":"y","after_turn":-1}`:       "after_turn",
		`{"type":"max_calls"}`:                                           `"max" is missing`,
		`{"type":"max_calls","max":-1}`:                                  "at least 0",
		`{"type":"no_attack"}`:                                           `it needs a "name", or "contains" or "regex"`,
		`{"type":"no_attack","equals":"x"}`:                              `of arguments it takes "contains" or "regex"`,
		`{"type":"no_attack","name":"x","arguments":{}}`:                 `"arguments" does not go with type "no_attack"`,
		`{"type":"no_call","max":1}`:                                     `"max" does not go with type "no_call"`,
		`{"type":"call","name":"x","arguments":{},"arguments_match":{}}`: "both",
		`{"type":"call","name":"x","arguments_match":{"$subst":{}}}`:     `"arguments_match": $: unknown operator "$subst" (did you mean "$subset"?)`,
		`{"type":"answer","matches":{"a":{"$regex":"("}}}`:               `"matches": $.a.$regex`,
		`{"type":"answer","any_of":[]}`:                                  `"any_of" is empty`,
		`{"type":"answer","set":["a",""]}`:                               "empty text",
		`{"type":"answer","equals":"a","refused":true}`:                  `"refused" does not go with type "answer"`,
		`{"type":"unchanged","query":"SELECT 1"}`:                        `needs the "path"`,
		`{"type":"unchanged","name":"x","path":"y"}`:                     "does not go with server, path",
		`{"type":"unchanged","arguments":{}}`:                            `"name" is missing`,
		`{"type":"unchanged","ignore":["["]}`:                            `"ignore"`,
		`{"type":"command","command":[]}`:                                `"command" is missing`,
		`{"type":"command","command":["x"],"at_least":2}`:                "at_least",
		`{"type":"command","command":["x"],"timeout":1000}`:              "0 to 600",
		`{"type":"command","command":["/bin/true"]}`:                     "is not in the folder of the scenarios",
		`{"type":"command","command":["../true"]}`:                       "is not in the folder of the scenarios",
		`{"type":"command","command":["./none"]}`:                        "no such file",
	} {
		_, err := scenario.Load(write(t, "s.jsonl",
			`{"task":"ok"}`+"\n"+`{"task":"y","checks":[{"type":"no_call"},`+check+`]}`))
		if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "s.jsonl:2\n") || !strings.Contains(err.Error(), "checks[1]: ") {
			t.Errorf("%s: %v; want %q", check, err, want)
		}
	}
}

// What is written is read again as it was, and checks that look at one thing have one Look, whatever they want of it.
func TestChecksSurvive(t *testing.T) {
	texts := []string{
		`{"type":"state","name":"g","arguments":{"b":1,"a":2},"after_turn":2,"matches":{"$any":true}}`,
		`{"type":"state","name":"g","arguments":{"a":2.0,"b":1},"after_turn":2,"refused":true}`,
		`{"type":"sql","server":"s","path":"a.db","query":"SELECT 1","number":1,"tolerance":0.5}`,
		`{"type":"file","path":"a","sha256":"` + strings.Repeat("0", 64) + `"}`,
		`{"type":"file","path":"a","exists":false}`,
		`{"type":"unchanged","ignore":["*.log"]}`,
		`{"type":"max_calls","max":0}`,
		`{"type":"command","command":["python3","x.py"],"at_least":0.5,"timeout":5}`,
		`{"type":"answer","one_of":["a","b"]}`,
	}
	row := `{"task":"t","gold_answer":"7","checks":[` + strings.Join(texts, ",") + `]}`
	rows, err := scenario.Load(write(t, "s.jsonl", row))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s.json")
	if err := scenario.Save(path, rows); err != nil {
		t.Fatal(err)
	}
	again, err := scenario.LoadCopy(path)
	if err != nil || !reflect.DeepEqual(rows, again) || again[0].GoldAnswer != "7" {
		t.Errorf("%+v, %v", again, err)
	}
	looks := map[string]int{}
	for _, c := range rows[0].Checks {
		looks[c.Look()]++
	}
	if len(looks) != 6 || looks[""] != 2 { // two states and two files are one look each
		t.Errorf("looks %v", looks)
	}
}

// Paths of a scenario are from its file's folder and do not leave it, also not over a link; the run's copy leads to the
// same.
func TestLocateInALinkedWorkingFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "real", "start"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	row := `{"task": "t", "template": "start", "checks": [{"type": "answer", "equals": "a"}]}`
	if err := os.WriteFile(filepath.Join(dir, "real", "s.jsonl"), []byte(row), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "link"))
	rows, err := scenario.Load("s.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if got := rows[0].Template[""]; filepath.Base(got) != "start" {
		t.Errorf("the template is %q", got)
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"score.sh": 0o700, "data.txt": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"full", "out"} {
		os.Mkdir(filepath.Join(dir, name), 0o700)
	}
	os.Remove(filepath.Join(dir, "out"))
	os.Symlink(t.TempDir(), filepath.Join(dir, "out"))
	load := func(row string) ([]scenario.Scenario, error) {
		path := filepath.Join(dir, "s.jsonl")
		if err := os.WriteFile(path, []byte(row), 0o600); err != nil {
			t.Fatal(err)
		}
		return scenario.Load(path)
	}
	rows, err := load(`{"task":"t","template":"full","checks":[{"type":"command","command":["./score.sh","data.txt"]},{"type":"command","command":["python3","x.py"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	resolved, _ := filepath.EvalSymlinks(dir)
	s := rows[0]
	if s.Template[""] != filepath.Join(resolved, "full") ||
		s.Checks[0].Command[0] != filepath.Join(resolved, "score.sh") || s.Checks[0].Command[1] != "data.txt" ||
		s.Checks[1].Command[0] != "python3" {
		t.Errorf("%+v", s)
	}
	if got := scenario.Programs(rows); len(got) != 2 {
		t.Errorf("programs %v", got)
	}
	unlocated, err := scenario.LoadRows(filepath.Join(dir, "s.jsonl"))
	if err != nil || unlocated[0].Template[""] != "full" || unlocated[0].Checks[0].Look() != s.Checks[0].Look() {
		t.Errorf("%+v, %v", unlocated, err)
	}
	if unlocated[0].Hash() != s.Hash() {
		t.Error("the hash of a scenario depends on where its file is")
	}
	copied := filepath.Join(t.TempDir(), "s.json")
	if err := scenario.Save(copied, rows); err != nil {
		t.Fatal(err)
	}
	if kept, err := scenario.LoadCopy(copied); err != nil || !reflect.DeepEqual(kept, rows) {
		t.Errorf("%+v, %v", kept, err)
	}
	if _, err := scenario.Load(copied); err == nil {
		t.Error("a file from anywhere names a program by an absolute path")
	}
	for row, want := range map[string]string{
		`{"task":"t","template":"../full"}`:                                   "is not in the folder of the scenarios",
		`{"task":"t","template":"/tmp"}`:                                      "is not in the folder of the scenarios",
		`{"task":"t","template":"out"}`:                                       "is not in the folder of the scenarios",
		`{"task":"t","template":"data.txt"}`:                                  "is not a folder beside the scenarios",
		`{"task":"t","template":"none"}`:                                      "no such file",
		`{"task":"t","template":7}`:                                           "must be a folder, or folders by server",
		`{"task":"t","template":{"s":""}}`:                                    "is empty",
		`{"task":"t","template":{"":"full","s":"full"}}`:                      "without the name of its server",
		`{"task":"t","templates":"full"}`:                                     `did you mean "template"?`,
		`{"task":"t","checks":[{"type":"command","command":["./data.txt"]}]}`: "that can be run",
		`{"task":"t","checks":[{"type":"command","command":["./full"]}]}`:     "that can be run",
	} {
		if _, err := load(row); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", row, err, want)
		}
	}
	var two scenario.Templates
	if err := json.Unmarshal([]byte(`{"a":"x","b":"y"}`), &two); err != nil || two["b"] != "y" {
		t.Errorf("%v, %v", two, err)
	}
}

func TestExamples(t *testing.T) {
	for _, condition := range []string{
		`"equals":"a b"`, `"number":-4.5`, `"number":1e21`, `"contains":"x"`, `"any_of":["p","q"]`,
		`"one_of":["York","New York"]`, `"set":["1","2"]`, `"set":["a, b","c"]`, `"regex":"^[0-9]+ km$"`,
		`"regex":"\\bcat\\b"`, `"regex":"^(yes|no)[^a-z]?$"`, `"regex":"(?i)x{3,}y?"`,
		`"regex":"."`,
	} {
		c := checkOf(t, `{"type":"answer",`+condition+`}`)
		met := false
		texts, ok := c.Examples()
		for _, text := range texts {
			met = met || c.Answer(text)
		}
		if !ok || !met {
			t.Errorf("%s: %q", condition, texts)
		}
	}
	for _, condition := range []string{`"equals":""`, `"regex":"a^b"`, `"one_of":["a","a b","b"]`} {
		c := checkOf(t, `{"type":"answer",`+condition+`}`)
		texts, _ := c.Examples()
		for _, text := range texts {
			if c.Answer(text) && condition != `"one_of":["a","a b","b"]` {
				t.Errorf("%s is met by %q", condition, text)
			}
		}
	}
}
