package generate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/llm"
	"hone/internal/synth/programs"
)

// scribe is an endpoint that words what persons want: it says what it is told, but for some things that it spoils.
type scribe struct {
	mu      sync.Mutex
	prompts []string
	spoils  func(wants string) string // the message in its place; "": it is good
}

func (e *scribe) model(t *testing.T) *Model {
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	client, err := llm.New(llm.Options{BaseURL: s.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	return &Model{Chatter: client, Name: "scribe"}
}

func (e *scribe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct{ Messages []chat.Message }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	said := q.Messages[len(q.Messages)-1].Content
	e.mu.Lock()
	e.prompts = append(e.prompts, q.Messages[0].Content+"\n"+said)
	e.mu.Unlock()
	_, wants, _ := strings.Cut(said, `: "I would like `)
	wants = strings.TrimSuffix(strings.TrimSuffix(wants, `"`), ".")
	text := e.spoils(wants)
	if text == "" {
		text = "My colleague over there would like " + wants
		if strings.HasPrefix(wants, "to know") && len(wants)%2 == 0 {
			text = "Somebody wants " + wants
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{
			map[string]any{
				"message":       map[string]any{"role": "assistant", "content": "Message: " + text + "\nThat is all."},
				"finish_reason": "stop",
			},
		},
		"usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 20},
	})
}

// A teacher words programs over a database from their meanings: it sees no statement, no answer and no key. Where it
// spoils one, the words of the template stand, and the reason is counted. Checks and answers are what they were.
func TestTeacherWordsPrograms(t *testing.T) {
	s, tools := database(t)
	e := &scribe{spoils: func(wants string) string {
		switch len(wants) % 5 {
		case 0:
			return "SELECT * FROM books WHERE x = 1"
		case 1:
			return "我想知道这件事 please"
		case 2:
			return "Sure, I have done that: " + wants
		}
		return ""
	}}
	o := optionsOf(s)
	o.N, o.drawnAlone = 80, true
	plain := run(t, s, tools, o)
	o.Teacher = e.model(t)
	o.Workers = 8
	s, tools = database(t)
	made := run(t, s, tools, o)
	stage := stageOf(t, made.Report, "teacher's words")
	if stage.Out < 8 || stage.In < 24 {
		t.Errorf("%+v", stage)
	}
	for _, why := range []string{technical, wrongLanguage, answering} {
		if stage.Reasons["the template's words stand: "+why] == 0 {
			t.Errorf("nothing fell for %q: %v", why, stage.Reasons)
		}
	}
	ofTemplates := map[string]scenario.Scenario{}
	for _, x := range plain.Scenarios {
		ofTemplates[x.Provenance.Proof[0]+x.Provenance.Kind] = x
	}
	worded, same := 0, 0
	for _, x := range made.Scenarios {
		p := x.Provenance
		if p.Teacher == "" {
			if strings.Contains(x.Task, "would like to know") {
				t.Errorf("nobody worded %s", x.Task)
			}
			continue
		}
		worded++
		name := askPrompt
		if x.Split != scenario.Train {
			name = askHeldPrompt
		}
		prompt, err := readPrompt(name)
		if err != nil || p.Teacher != "scribe" || p.Prompts[string(name)] != prompt.hash {
			t.Errorf("%v %+v", err, p)
		}
		if of, there := ofTemplates[p.Proof[0]+p.Kind]; there && len(x.Gold) > 0 && x.Task != "" {
			// without calls all have one proof, and a second message has its words elsewhere
			same++
			if of.GoldAnswer != x.GoldAnswer || of.Task == x.Task || len(of.Checks) != len(x.Checks) {
				t.Errorf("%s\n%s\n%s, %s", of.Task, x.Task, of.GoldAnswer, x.GoldAnswer)
			}
		}
	}
	if worded < 5 || same < 5 || made.Report.Demands[scenario.Train].Model == 0 {
		t.Errorf("%d are worded by the teacher, %d of them are there in the template's words", worded, same)
	}
	for _, prompt := range e.prompts {
		if strings.Contains(prompt, "SELECT ") || strings.Contains(prompt, "INSERT ") ||
			strings.Contains(prompt, "_id") {
			t.Errorf("the teacher sees %s", prompt)
		}
	}
}

// What no run of the reference solves in the teacher's words, it solves in those of the template, or the task falls.
func TestWordsAreProvenBySolving(t *testing.T) {
	s, tools := database(t)
	o := optionsOf(s)
	o.N, o.drawnAlone = 40, true
	o.Teacher = (&scribe{spoils: func(string) string { return "" }}).model(t)
	p := &pupil{solves: func(s scenario.Scenario, run int) bool {
		if strings.Contains(s.Task, "My colleague") {
			return false
		}
		return s.Provenance.Kind != programs.Count && run == 1
	}}
	o.Reference, o.ReferenceRuns = p, 2
	o.Seed = 3
	made := run(t, s, tools, o)
	words, stage := stageOf(t, made.Report, "words solved"), stageOf(t, made.Report, "reference")
	if words.In == 0 || words.Out == words.In || words.Out == 0 || stage.Out == 0 ||
		stage.Reasons["the reference never solves it"] == 0 {
		t.Errorf("%+v %+v", words, stage)
	}
	for _, x := range made.Scenarios {
		if strings.Contains(x.Task, "My colleague") || x.Provenance.Kind == programs.Count ||
			x.Provenance.Reference.Passed != 1 || x.Provenance.Reference.Runs != 2 {
			t.Errorf("%s: %+v", x.Task, x.Provenance.Reference)
		}
		said := x.Task
		if x.Provenance.Kind == programs.Second { // the second message is bound to its words
			continue
		}
		if x.User != nil { // asked behind another one, whose words are its own
			said = x.User.Says[len(x.User.Says)-1]
		}
		if strings.Contains(said, "Somebody wants") != (x.Provenance.Teacher != "") {
			t.Errorf("%s: %q", said, x.Provenance.Teacher)
		}
	}
}

func TestFaultsOfRequests(t *testing.T) {
	m := newMaker(nil, []Tool{tool("list_tables", "", none), tool("query", "", none)}, nil, Options{})
	meaning := programs.Meaning{Wants: "to know the age of the dog Émile", Values: []string{"Émile"},
		Things: []string{"age"}}
	for text, want := range map[string]string{
		"How old is Émile?":              "",
		"Please query the age of Émile.": "",
		"Émile":                          wrongLength,
		"Émile's age? " + strings.Repeat("so ", 40):    wrongLength,
		"What is Émile 的 age?":                         wrongLanguage,
		"SELECT age of Émile":                          technical,
		"What does list_tables say of the age, Émile?": technical,
		"What is the dog_age of Émile?":                technical,
		"What is the age of {Émile}?":                  technical,
		"What is the age of <name>, Émile?":            technical,
		"Émile -> age":                                 "",
		"Sure, the age of Émile is what you want?":     answering,
		"Here is the age of Émile.":                    answering,
		"How old is the dog?":                          programs.LacksValue,
		"OK, let me check the age of Émile.":           answering,
		"Okay, whose age do you need, that of Émile?":  answering,
		"Would you like the age of Émile?":             answering,
		"My boss Karen asks for the age of Émile.":     programs.SaysOther,
		"On Monday I need the age of Émile.":           "",
	} {
		if got := m.wordingFault(meaning, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Words that two programs of one state have, which come to different ends, are nobody's; a model's give way first. In
// two states, or with one end, they may stand.
func TestOneMeaning(t *testing.T) {
	m := newMaker(nil, nil, nil, Options{})
	world := programs.Invent(m.random("world"), 0)
	of := func(world int, answer, task string) draftOf {
		p := programs.NewQuestion(programs.Lookup, "lookup", map[string]string{"x": answer, "attr": "age",
			"one": "dog"}, programs.Answer{Form: "text", Values: []string{answer}})
		return draftOf{of: &Candidate{World: world, told: &told{Program: p}},
			Scenario: scenario.Scenario{Task: task, Split: scenario.Train, Provenance: &scenario.Provenance{}}}
	}
	list := []draftOf{
		of(0, "4", "How old is the dog?"), of(0, "5", "Please, how old is the dog"), // torn
		of(1, "4", "How old is the dog?"),                                  // of another state
		of(0, "6", "How old is Rex?"), of(0, "6", "how old is rex please"), // one end
		of(0, "7", "How old is Bello?"),
		of(0, "8", "Whose dog is it?"), of(0, "9", "Whose dog is it?"), // a model's words
	}
	for i := range list[6:] {
		list[6+i].of.told.requests, list[6+i].of.told.world = []string{"Whose dog is it?"}, world
	}
	kept := m.oneMeaning(list)
	var tasks []string
	for _, d := range kept {
		tasks = append(tasks, d.Task)
	}
	if len(kept) != 6 || kept[0].of.World != 1 || slices.Contains(tasks, "Whose dog is it?") {
		t.Errorf("%q", tasks)
	}
	stage := stageOf(t, m.report, "one meaning")
	if stage.In != 8 || stage.Out != 6 {
		t.Errorf("%+v", stage)
	}
}

// Of the wordings of a split few begin with the same words.
func TestSpreadOfOpenings(t *testing.T) {
	m := newMaker(nil, nil, nil, Options{})
	var of []*draftOf
	for i := range 12 {
		text := "I was wondering about the dog " + string(rune('A'+i))
		if i%2 == 0 {
			text = string(rune('A'+i)) + " is the dog whose age I need"
		}
		of = append(of, &draftOf{of: &Candidate{told: &told{requests: []string{text}}},
			Scenario: scenario.Scenario{Split: scenario.Train}})
	}
	why := make([]string, len(of))
	m.spread(of, why)
	fell := 0
	for i := range why {
		if why[i] != "" {
			if fell++; i%2 == 0 || why[i] != alikeOpening {
				t.Errorf("%d: %q", i, why[i])
			}
		}
	}
	if fell != 6-fewOpenings {
		t.Errorf("%d fell", fell)
	}
}
