package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/llm"
)

// teacher is an endpoint with scripted answers, over HTTP.
type teacher struct {
	url     string
	babbles bool // answers nothing of use
	stop    func()
	after   int // requests until stop

	mu     sync.Mutex
	bodies map[string]int
	total  int
	silly  int // answers of no use, where an answer has a form
}

func newTeacher(t *testing.T) *teacher {
	e := &teacher{bodies: map[string]int{}}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	e.url = s.URL + "/v1"
	return e
}

func (e *teacher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q llm.Request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	body, _ := json.Marshal(q)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bodies[string(body)]++
	e.total++
	if e.total == e.after {
		e.stop()
	}
	text := "As a language model I like poetry."
	h := fnv.New32a()
	_, _ = h.Write(body)
	if !e.babbles && (h.Sum32()%9 > 0 || strings.HasPrefix(q.Messages[0].Content, "You write requests")) {
		text = answerTo(q.Messages[0].Content, q.Messages[1].Content)
	} else if rule := q.Messages[0].Content; !strings.HasPrefix(rule, "You re") &&
		!strings.HasPrefix(rule, "You complete") && !strings.HasPrefix(rule, "Imagine a colleague") {
		e.silly++
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": text}, "finish_reason": "stop"}},
		"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 20},
	})
}

func lastOf(text, label string) string {
	_, after, _ := strings.Cut(text[max(0, strings.LastIndex(text, label)):], label)
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

// answerTo is what a good teacher answers about the shop.
func answerTo(rule, said string) string {
	task := lastOf(said, "Request:")
	switch {
	case strings.HasPrefix(rule, "You write requests"):
		return strings.Join(wished(lastOf(said, "Tool:")), "\n")
	case strings.HasPrefix(rule, "You complete requests"):
		return "Completed request: " + task
	case strings.HasPrefix(rule, "You rewrite requests"):
		return task + " My boss is waiting for it."
	case strings.HasPrefix(rule, "You reword"):
		return "Hi there! " + task
	case strings.HasPrefix(rule, "Imagine a colleague"):
		return "Somebody over at the desk downstairs keeps asking about the following, have a look when you can: " +
			lastOf(said, "The job:")
	case strings.HasPrefix(rule, "You write the arguments"):
		return "Sure:\n```json\n" + argumentsFor(lastOf(said, "Tool:"), task) + "\n```"
	case strings.HasPrefix(rule, "You choose the tool"):
		for tool, mark := range marks() {
			if strings.Contains(strings.ToLower(task), mark) {
				return "`" + tool + "`"
			}
		}
		return "get_weather_maybe"
	}
	score := 8
	if strings.Contains(task, "copper") { // poor ones
		score = 2
	}
	return fmt.Sprintf("clarity: %d\nspecificity: %d\nrelevance: %d\n- Completeness: %d/10\ncorrectness: 9",
		score, score, score, score)
}

func marks() map[string]string {
	return map[string]string{
		"get_item": "article", "list_items": "everything on sale", "count_words": "long is the phrase",
		"add_item": "put up for sale", "delete_item": "throw out", "retire_item": "withdraw", "write_note": "jot down",
	}
}

func wished(tool string) (lines []string) {
	for i, w := range []string{"apple", "copper", "river", "music", "bread"} {
		switch n := i%3 + 1; tool {
		case "get_item":
			lines = append(lines, fmt.Sprintf("%d. What does article %d cost, %s wants to know?", i+1, n, w))
		case "list_items":
			lines = append(lines, fmt.Sprintf("- Show me everything on sale, said %s.", w))
		case "count_words":
			lines = append(lines, fmt.Sprintf(`How long is the phrase "%s in the morning %d"?`, w, i))
		case "add_item":
			lines = append(lines, fmt.Sprintf(`A new thing called "%s lamp" is to be put up for sale at %d.`, w, 20+i))
		case "delete_item":
			lines = append(lines, fmt.Sprintf("Throw out thing %d, nobody likes the %s colour.", n, w))
		case "retire_item":
			lines = append(lines, fmt.Sprintf("Withdraw number %d from the shop window, says %s.", n, w))
		case "write_note":
			lines = append(lines, fmt.Sprintf(`Jot down "buy %s" under "%s.txt".`, w, w))
		}
	}
	return lines
}

func argumentsFor(tool, task string) string {
	var quoted []string
	for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(task, -1) {
		quoted = append(quoted, m[1])
	}
	number := regexp.MustCompile(`\d+`).FindString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(task, ""))
	quoted = append(quoted, "", "")
	if number == "" {
		number = "0"
	}
	var args map[string]any
	switch tool {
	case "get_item", "delete_item", "retire_item":
		args = map[string]any{"item_id": json.Number(number)}
	case "count_words":
		args = map[string]any{"text": quoted[0]}
	case "add_item":
		args = map[string]any{"name": quoted[0], "price": json.Number(number)}
	case "write_note":
		args = map[string]any{"content": quoted[0], "path": quoted[1]}
	default:
		args = map[string]any{}
	}
	text, _ := json.Marshal(map[string]any{"name": tool, "arguments": args})
	return string(text)
}

func (e *teacher) model(t *testing.T, cache string, change func(*llm.Options)) *Model {
	t.Helper()
	o := llm.Options{BaseURL: e.url, CacheDir: cache, MaxRetries: -1}
	if change != nil {
		change(&o)
	}
	c, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &Model{Chatter: c, Name: "wise"}
}

func taughtOptions(s *shop, m *Model) Options {
	o := optionsOf(s)
	o.N, o.Models = 40, Models{Teacher: m}
	return o
}

func stageOf(t *testing.T, r Report, name string) Stage {
	t.Helper()
	i := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no stage %s: %+v", name, r.Stages)
	}
	return r.Stages[i]
}

// A teacher's tasks go through all stages, each with its yield, and what comes out is as good as what templates make:
// executed, with the values of its calls in its text, and held-out tasks from another prompt.
func TestTeacher(t *testing.T) {
	s, e := newShop(t), newTeacher(t)
	made := run(t, s, steadyTools(), taughtOptions(s, e.model(t, t.TempDir(), nil)))
	r := made.Report
	for _, name := range []string{
		"instruct", "fill", "evolve 1", "evolve 2", "call", "distinct", "execute", "reword", "alike", "pick",
		"quality", "validate",
	} {
		if stage := stageOf(t, r, name); stage.Out == 0 || stage.Out > stage.In ||
			stage.In-stage.Out != sum(stage.Reasons) {
			t.Errorf("%+v", stage)
		}
	}
	if stageOf(t, r, "quality").Reasons["its quality is below 6 of 10"] == 0 ||
		stageOf(t, r, "distinct").Reasons["another task makes the same call"] == 0 ||
		stageOf(t, r, "pick").Reasons["another tool is picked"]+stageOf(t, r, "pick").Reasons[nonsense] == 0 {
		t.Errorf("no task fell at a gate: %v", r.Rows())
	}
	asked, useless := 0, 0
	for _, a := range r.Asked {
		paid := a.Asked - a.Kept // equal ones are asked once
		asked, useless = asked+paid, useless+a.Nonsense
		if a.Prompted != 100*paid || a.Completion != 20*paid || a.Model != "wise" {
			t.Errorf("%+v", a)
		}
	}
	if asked != e.total || useless < e.silly || e.silly == 0 {
		t.Errorf("%d counted of %d requests, %d of no use, of %d", asked, e.total, useless, e.silly)
	}
	fell := map[string]int{}
	for _, x := range made.Rejected {
		fell[strings.Join(x.Tags[len(x.Tags)-1:], "")]++
		if x.Split != scenario.Train || len(x.Gold) == 0 && x.Provenance.Kind == single || x.Validate() != nil {
			t.Errorf("%+v", x)
		}
	}
	if fell["fell:quality"] == 0 || fell["fell:execute"] < 5 {
		t.Errorf("%v", fell)
	}
	taught := 0
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		p := x.Provenance
		if p.Teacher != "wise" || len(p.Prompts) == 0 || p.Quality < leastQuality || x.Difficulty == "" ||
			p.Prompts["reword_held"] != "" == (x.Split == scenario.Train) {
			t.Errorf("%s: %s, %s %+v", x.Task, x.Split, x.Difficulty, p)
		}
		if p.Kind != chain { // which takes a value of a result
			var leaves []leaf
			for _, g := range x.Gold {
				walk(nil, g.Arguments, &leaves)
			}
			for _, l := range leaves {
				if !strings.Contains(x.Task, l.text()) {
					t.Errorf("%s: it does not say %s", x.Task, l.text())
				}
			}
		}
		if p.Prompts["instruct"] != "" {
			taught++
			if p.Prompts["call"] == "" || len(p.Prompts["instruct"]) != 64 || !strings.Contains(x.Task, "boss") ||
				len(p.Proof) != attempts {
				t.Errorf("%s: %+v", x.Task, p)
			}
		}
	}
	if taught < 8 || len(made.Scenarios) < 25 {
		t.Errorf("%d scenarios, %d of them thought of by the teacher\n%v", len(made.Scenarios), taught, r.Rows())
	}
	if math.Abs(r.Quality-8.2) > 0.01 {
		t.Errorf("quality %v", r.Quality)
	}
}

// A stopped synthesis goes on, and pays for no answer twice; what comes out is what would have come.
func TestTeacherStopped(t *testing.T) {
	s := newShop(t)
	whole := newTeacher(t)
	o := taughtOptions(s, whole.model(t, t.TempDir(), nil))
	o.N = 16
	want := text(t, run(t, s, steadyTools(), o).Scenarios)
	for _, after := range []int{3, whole.total * 2 / 3} {
		e, cache, path := newTeacher(t), t.TempDir(), filepath.Join(t.TempDir(), "work.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		e.after, e.stop = after, cancel
		o.Teacher = e.model(t, cache, nil)
		l := ledgerIn(t, path)
		if _, err := Run(ctx, s, steadyTools(), l, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d requests: %v", after, err)
		}
		_ = l.Close()
		o.Teacher = e.model(t, cache, nil)
		made, err := Run(t.Context(), s, steadyTools(), ledgerIn(t, path), o)
		if err != nil {
			t.Fatal(err)
		}
		again := 0
		for _, n := range e.bodies {
			again += n - 1
		}
		if again > o.withDefaults().Workers { // those that were under way
			t.Errorf("after %d requests: %d were sent twice", after, again)
		}
		kept := 0
		for _, a := range made.Report.Asked {
			kept += a.Kept
		}
		if kept < after-2*o.withDefaults().Workers {
			t.Errorf("after %d requests: %d answers were kept", after, kept)
		}
		if got := text(t, made.Scenarios); got != want {
			t.Errorf("after %d requests: other scenarios", after)
		}
	}
}

// Of a teacher that babbles nothing comes, in a bounded number of requests, and the report says so. What templates make
// is not handed out as a teacher's.
func TestTeacherBabbles(t *testing.T) {
	s, e := newShop(t), newTeacher(t)
	e.babbles = true
	made := run(t, s, steadyTools(), taughtOptions(s, e.model(t, t.TempDir(), nil)))
	useless := 0
	for _, a := range made.Report.Asked {
		useless += a.Nonsense
	}
	if len(made.Scenarios) != 0 || e.total > 600 || useless < 10 {
		t.Errorf("%d scenarios of %d requests, %d of no use\n%v",
			len(made.Scenarios), e.total, useless, made.Report.Rows())
	}
}

// A budget is never overspent, in tokens or in dollars; what was not asked is told.
func TestTeacherBudget(t *testing.T) {
	for name, change := range map[string]func(*llm.Options){
		"tokens": func(o *llm.Options) { o.TokenBudget = 9000 },
		"dollars": func(o *llm.Options) {
			o.Budget, o.Cost = llm.NewBudget(0, 9), func(p, c int) float64 { return float64(p+c) / 1000 }
		},
	} {
		s, e := newShop(t), newTeacher(t)
		m := e.model(t, t.TempDir(), change)
		made := run(t, s, steadyTools(), taughtOptions(s, m))
		spent, unasked := m.Chatter.(*llm.Client).Usage().Total(), 0
		for _, a := range made.Report.Asked {
			unasked += a.Unasked
		}
		if spent > 9000 || spent < 5000 || spent != 120*e.total || unasked == 0 || !made.Report.BudgetSpent() {
			t.Errorf("%s: %d tokens in %d requests; %d not asked", name, spent, e.total, unasked)
		}
	}
}

// An endpoint that is gone ends the synthesis with its error.
func TestTeacherGone(t *testing.T) {
	s, e := newShop(t), newTeacher(t)
	e.url = "http://127.0.0.1:1/v1"
	_, err := Run(t.Context(), s, steadyTools(), ledgerIn(t, filepath.Join(t.TempDir(), "w")),
		taughtOptions(s, e.model(t, "", nil)))
	if fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("%v", err)
	}
}

func TestPromptsRead(t *testing.T) {
	names, err := promptFiles.ReadDir("prompts")
	if err != nil || len(names) != 13 {
		t.Fatalf("%d prompts, %v", len(names), err)
	}
	all := append(evolutions(), instructPrompt, fillPrompt, callPrompt, pickPrompt, qualityPrompt, rewordPrompt,
		rewordHeldPrompt, askPrompt, askHeldPrompt)
	hashes := map[string]bool{}
	for _, name := range all {
		p, err := readPrompt(name)
		if err != nil {
			t.Fatal(err)
		}
		hashes[p.hash] = true
		messages, err := p.messages(asked{Task: "TASK", Tool: "TOOL", Description: "DESCRIPTION", Wants: "the TASK"})
		if err != nil || len(messages) != 2 || !strings.Contains(messages[1].Content+messages[0].Content, "T") {
			t.Errorf("%s: %v %v", name, messages, err)
		}
		if name != instructPrompt && !strings.Contains(messages[1].Content, "TASK") {
			t.Errorf("%s does not say the task", name)
		}
	}
	if len(hashes) != len(names) {
		t.Error("two prompts are one")
	}
}

func TestAnswersRead(t *testing.T) {
	s := &subject{Tool: tool("get_item", "Get one item.", none)}
	if got := requests("Here you go:\n1. What is item 3?\n2) \"Tell me about the lamp\"\n- call get_item with 3\nno\n"+
		"* What is item 3?\n", s); !slices.Equal(got, []string{"What is item 3?", "Tell me about the lamp"}) {
		t.Errorf("%q", got)
	}
	for answer, want := range map[string]string{
		"```json\n{\"a\": 1}\n```": `{"a":1}`, `{"name": "x", "arguments": {"b": [1, 2]}} and so on`: `{"b":[1,2]}`,
		"{not json} {\"c\":null}": `{"c":null}`, "none": "", "{": "",
	} {
		if got, ok := objectIn(answer); string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s", answer, got)
		}
	}
	for answer, want := range map[string]float64{
		"clarity: 6\nspecificity: 7\nrelevance: 8\ncompleteness: 9\ncorrectness: 10": 8,
		"clarity: 6\nspecificity: 7": -1,
		"clarity: 11\nspecificity: 1\nrelevance: 1\ncompleteness: 1\ncorrectness: 1": -1,
	} {
		if got, ok := qualityIn(answer); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v %v", answer, got, ok)
		}
	}
	tools := distractors()
	for answer, want := range map[string]string{
		"get_weather":              "get_weather",
		"I take `get_weather`.":    "get_weather",
		"get_weather or play_song": "",
		"the weather one":          "",
	} {
		if got := toolInText(answer, tools); got != want {
			t.Errorf("%s: %q", answer, got)
		}
	}
	if len(tools) < numDistractors {
		t.Errorf("%d distractors", len(tools))
	}
}
