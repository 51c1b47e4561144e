package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

func text(t *testing.T, list []scenario.Scenario) string {
	t.Helper()
	data, err := scenario.Encode(list, true)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What comes out can be run: each scenario passes what hone scenarios validate asks, every tool that answers is in two
// at least, three in ten take several calls, one to three in ten none.
func TestScenariosOfAShop(t *testing.T) {
	s := newShop(t)
	made := run(t, s, shopTools(), optionsOf(s))
	if n := len(made.Scenarios); n < 50 || n > 60 {
		t.Fatalf("%d scenarios, of 60 wanted\n%v", n, made.Report.Rows())
	}
	trial := checktest.Trial{Tools: newShop(t)}
	tasks, ids := map[string]bool{}, map[string]bool{}
	families := map[string]string{}
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if err := x.Validate(); err != nil {
			t.Errorf("%s: %v", x.ID, err)
		}
		found, err := trial.Row(t.Context(), x)
		if found = append(found, checktest.Alone(x)...); err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.ID, x.Task, found, err)
		}
		if tasks[normal(x.Task)] || ids[x.ID] {
			t.Errorf("%s stands twice: %s", x.ID, x.Task)
		}
		tasks[normal(x.Task)], ids[x.ID] = true, true
		p := x.Provenance
		if p == nil || p.By != "hone synth" || p.Version != "test" ||
			len(x.Gold) > 0 && (p.Tools[x.Gold[0].Name] != "hash of "+x.Gold[0].Name || len(p.Proof) != attempts) {
			t.Errorf("%s: provenance %+v", x.ID, p)
		}
		for _, g := range x.Gold { // what is to change something is seen in what it leaves
			if changes := slices.Contains([]string{"add_item", "delete_item", "retire_item", "write_note"},
				g.Name); changes && p.Kind != recovery &&
				!slices.ContainsFunc(x.Checks, func(c scenario.Check) bool {
					return c.Type == scenario.StateCheck || c.Type == scenario.FileCheck
				}) {
				t.Errorf("%s: no check of what %s leaves", x.Task, g.Name)
			}
		}
		if p.Wording != "" {
			if was, ok := families[p.Wording]; ok && was != splitKind(x) {
				t.Errorf("the wordings %s are of training and held-out tasks", p.Wording)
			}
			families[p.Wording] = splitKind(x)
		}
	}
	r := made.Report
	if r.Several < 0.3 || r.Abstain < 0.1 || r.Abstain > 0.3 {
		t.Errorf("%.2f of several calls, %.2f without one", r.Several, r.Abstain)
	}
	for _, row := range r.Tools {
		if row.Answered > row.Tried {
			t.Errorf("%s answered %d of %d calls", row.Tool, row.Answered, row.Tried)
		}
		if row.Scenarios < 2 {
			t.Errorf("%s is in %d scenarios: %+v", row.Tool, row.Scenarios, row)
		}
	}
	if sizes, torn := scenario.SplitSizes(made.Scenarios); torn > 0 || sizes[scenario.Test] < 5 ||
		sizes[scenario.Validation] < 2 || sizes[scenario.Train] < 30 {
		t.Errorf("splits %v, torn %d", sizes, torn)
	}
	for _, kind := range []string{single, chain, readBack, pair, recovery, noTool, missingTool, askBack} {
		if r.Kinds[kind] == 0 {
			t.Errorf("no scenario of the kind %s: %v", kind, r.Kinds)
		}
	}
	var stages []string
	for _, stage := range r.Stages {
		stages = append(stages, stage.Name)
	}
	if shared := r.Gap.Overlaps[0].Grams[2]; shared > 0.5 ||
		!slices.Equal(stages, []string{"execute", "choose", "word", "alike", "validate", "trim"}) {
		t.Errorf("shared %.2f, stages %v", shared, r.Stages)
	}
}

// Made whole, at several numbers and seeds, no split has the tasks without calls for itself, and progress counts as the
// report.
func TestSharesOfTheSplits(t *testing.T) { sharesOfTheSplits(t, sized{12, 1}, sized{30, 5}) }

// sized is a synthesis of n scenarios.
type sized struct {
	n    int
	seed uint64
}

func sharesOfTheSplits(t *testing.T, all ...sized) {
	for _, tc := range all {
		s := newShop(t)
		o := optionsOf(s)
		o.N, o.Seed, o.Workers = tc.n, tc.seed, 1
		last := map[string]int{}
		o.Progress = func(stage string, done, total int, _ string) {
			if done <= last[stage] {
				t.Errorf("%d of seed %d: %s counts %d after %d of %d", tc.n, tc.seed, stage, done, last[stage], total)
			}
			last[stage] = done
		}
		made := run(t, s, shopTools(), o)
		without, calling := map[string]int{}, made.Report.Calling
		for _, x := range made.Scenarios {
			if len(x.Gold) == 0 {
				without[x.Split]++
			}
		}
		for _, split := range splits() {
			if off := math.Abs(float64(without[split]) - part(calling, split, sum(without))); off > 2 {
				t.Errorf("%d of %d: %s has %d without calls, of %v; with calls %v",
					tc.n, tc.seed, split, without[split], without, calling)
			}
		}
		if in := made.Report.Stages[0]; in.Name != "execute" || last["execute"] != in.In ||
			last["execute again"] > in.In || last["execute again"] < in.Out {
			t.Errorf("progress says %v, the report %+v", last, in)
		}
	}
}

func splitKind(x *scenario.Scenario) string {
	if x.Split == scenario.Train {
		return "train"
	}
	return "held out"
}

// The same seed gives the same file, another seed another one.
func TestSeed(t *testing.T) {
	s := newShop(t)
	o := optionsOf(s)
	first := text(t, run(t, s, steadyTools(), o).Scenarios)
	if again := text(t, run(t, s, steadyTools(), o).Scenarios); again != first {
		t.Error("the same seed gives other scenarios")
	}
	o.Seed++
	if text(t, run(t, s, steadyTools(), o).Scenarios) == first {
		t.Error("another seed gives the same scenarios")
	}
}

// A synthesis that is stopped anywhere goes on, plays nothing twice that was played, and gives what it would have
// given.
func TestStoppedGoesOn(t *testing.T) {
	o := optionsOf(nil)
	o.N, o.Workers = 12, 1
	whole := newShop(t)
	o.Trial.Tools = whole
	want := text(t, run(t, whole, steadyTools(), o).Scenarios)
	for _, after := range []int{1, 150, whole.total / 2} {
		path := filepath.Join(t.TempDir(), "work.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		s := newShop(t)
		s.after, s.stop = after, cancel
		o.Trial.Tools = s
		l := ledgerIn(t, path)
		if _, err := Run(ctx, s, steadyTools(), l, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d calls: %v", after, err)
		}
		_ = l.Close()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString(`{"play": "cut o`) // as a kill may leave it
		_ = f.Close()
		rest := newShop(t)
		o.Trial.Tools = rest
		made, err := Run(t.Context(), rest, steadyTools(), ledgerIn(t, path), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, made.Scenarios); got != want {
			t.Errorf("after %d calls: the scenarios are others", after)
		}
		if rest.total > whole.total-after+60 {
			t.Errorf("after %d calls of %d, %d more were made", after, whole.total, rest.total)
		}
	}
}

// Scenarios of tools that change nothing take no session each: of many no more are opened than of few.
func TestQuietScenariosShare(t *testing.T) {
	opens := func(n int) int {
		s := newShop(t)
		o := optionsOf(s)
		o.N = n
		made := run(t, s, slices.DeleteFunc(steadyTools(),
			func(t Tool) bool { return t.Name != "list_items" && t.Name != "get_item" && t.Name != "count_words" }), o)
		if len(made.Scenarios) < n/2 {
			t.Fatalf("%d scenarios", len(made.Scenarios))
		}
		return s.opens
	}
	if few, many := opens(12), opens(60); many > few {
		t.Errorf("%d sessions for 12 scenarios, %d for 60", few, many)
	}
}

// A ledger of other tools is begun anew.
func TestLedgerOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.jsonl")
	l := ledgerIn(t, path)
	if err := l.put("a", &Played{Changed: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	again := ledgerIn(t, path)
	if again.get("a") == nil || again.NumEarlier() != 1 {
		t.Error("what was kept is gone")
	}
	if _, err := OpenLedger(path, "of the shop"); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("two write one ledger: %v", err)
	}
	_ = again.Close()
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := OpenLedger(path, "of another shop")
	if err != nil || other.get("a") != nil || other.NumEarlier() != 0 {
		t.Fatalf("plays of other tools are taken for these: %v", err)
	}
	_ = other.Close()
	if old, err := os.ReadFile(path + ".old"); err != nil || !bytes.Equal(old, kept) || other.Aside() != path+".old" {
		t.Errorf("the plays of other tools are lost: %v", err)
	}
	third := ledgerIn(t, path)
	_ = third.Close()
	if old, err := os.ReadFile(path + ".old"); err != nil || !bytes.Equal(old, kept) || third.Aside() != path+".old2" {
		t.Errorf("moved onto another: %v, %q", err, third.Aside())
	}
	for _, text := range []string{
		`{"id": "a", "task": "Look."}` + "\n", "notes\n", "notes", `{"of":"x","task":"y"}` + "\n", "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenLedger(path, "of the shop")
		if left, _ := os.ReadFile(path); fault.CodeOf(err) != fault.CodeUsage || string(left) != text {
			t.Errorf("%q: %v, left %q", text, err, left)
		}
	}
	if err := os.WriteFile(path, []byte(`{"of":"of th`), 0o600); err != nil { // broken off in its first line
		t.Fatal(err)
	}
	_ = ledgerIn(t, path).Close()
}

// A tool that says it changes nothing and does is named, and its calls do not share a session.
func TestLyingTool(t *testing.T) {
	s := newShop(t)
	s.tools["peek"] = func(s *stock, args map[string]any) (string, error) {
		return "seen", os.WriteFile(filepath.Join(s.dir, "peeked.txt"), []byte("x"), 0o600)
	}
	lying := tool("peek", "Look at a shelf.",
		`{"type":"object","properties":{"shelf":{"type":"string"}},"required":["shelf"]}`)
	lying.ReadOnly = true
	made := run(t, s, append(shopTools(), lying), optionsOf(s))
	if len(made.Report.Lies) != 1 || !strings.Contains(made.Report.Lies[0], "shop/peek") ||
		!strings.Contains(made.Report.Lies[0], "peeked.txt") {
		t.Errorf("lies %q", made.Report.Lies)
	}
}

// What is never the same twice, or says the time, is no answer to ask for; the calls are.
func TestNeverTheSame(t *testing.T) {
	s := newShop(t)
	made := run(t, s, shopTools(), optionsOf(s))
	seen := 0
	for _, x := range made.Scenarios {
		if x.Provenance.Kind == chain && (x.Gold[0].Name == "roll" || x.Gold[0].Name == "get_time") {
			t.Errorf("%s: wants %s, which only one play was told", x.Task, x.Gold[1].Arguments)
		}
		if len(x.Gold) != 1 || x.Gold[0].Name != "roll" && x.Gold[0].Name != "get_time" {
			continue
		}
		seen++
		for _, c := range x.Checks {
			if c.Type != scenario.CallCheck {
				t.Errorf("%s: a check of %s", x.Task, c.Type)
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d scenarios of one such call", seen)
	}
}

// A server that no session can be opened on ends the synthesis with its error, and so does one that dies of each call.
func TestGone(t *testing.T) {
	s := newShop(t)
	s.gone = true
	_, err := Run(t.Context(), s, shopTools(), ledgerIn(t, filepath.Join(t.TempDir(), "w")), optionsOf(s))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.CodeUnavailable ||
		!strings.Contains(f.Why, "refused") {
		t.Errorf("%v", err)
	}
	// One tool that kills its server costs that tool alone.
	s = newShop(t)
	s.tools["roll"] = func(*stock, map[string]any) (string, error) { return "", errDied }
	made := run(t, s, shopTools(), optionsOf(s))
	for _, row := range made.Report.Tools {
		if (row.Tool == "roll") != (row.Scenarios == 0) || row.Tool == "roll" && !strings.Contains(row.Why, "died") {
			t.Errorf("%+v", row)
		}
	}
}

// A server that wants a key answers nothing: there is no scenario, and the report says what it answers.
func TestNeedsAKey(t *testing.T) {
	s := newShop(t)
	for name := range s.tools {
		s.tools[name] = func(*stock, map[string]any) (string, error) { return "", errors.New("API key missing") }
	}
	made := run(t, s, shopTools(), optionsOf(s))
	if len(made.Scenarios) != 0 {
		t.Errorf("%d scenarios", len(made.Scenarios))
	}
	for _, row := range made.Report.Tools {
		if row.Why != "API key missing" {
			t.Errorf("%+v", row)
		}
	}
}

// Where nothing bounds what a call changes, only tools that say they change nothing are called.
func TestUnboundTools(t *testing.T) {
	s := newShop(t)
	tools := shopTools()
	for i := range tools {
		tools[i].Safe, tools[i].ReadOnly =
			false, slices.Contains([]string{"list_items", "get_item", "count_words"}, tools[i].Name)
	}
	made := run(t, s, tools, optionsOf(s))
	for name := range s.calls {
		if !slices.Contains([]string{"list_items", "get_item", "count_words"}, name) {
			t.Errorf("%s was called", name)
		}
	}
	if len(made.Report.Untouched) != 6 || len(made.Scenarios) < 10 {
		t.Errorf("%d scenarios; not called: %v", len(made.Scenarios), made.Report.Untouched)
	}
}

// By tool, no tool of a held-out scenario is in a training scenario.
func TestSplitByTool(t *testing.T) {
	s := newShop(t)
	o := optionsOf(s)
	o.SplitBy = ByTool
	split := map[string]string{}
	made := run(t, s, shopTools(), o)
	for _, x := range made.Scenarios {
		for _, g := range x.Gold {
			where := splitKind(&x)
			if x.Split == scenario.Validation {
				where = "train" // what is chosen by may have seen tools
			}
			if was, ok := split[g.Name]; ok && was != where {
				t.Errorf("%s is in %s and %s", g.Name, was, where)
			}
			split[g.Name] = where
		}
	}
	held := 0
	for _, where := range split {
		if where != "train" {
			held++
		}
	}
	if held == 0 {
		t.Errorf("no tool is tested alone: %v", split)
	}
}

// By tool, training is not told of a held-out tool either where nothing is to be called.
func TestHeldToolsAreNotNamed(t *testing.T) {
	m := &maker{Options: Options{SplitBy: ByTool}.withDefaults(), byName: map[string]*subject{},
		held: map[string]bool{"get_item": true}}
	for _, x := range shopTools() {
		s := &subject{Tool: x, schema: readParam(x.InputSchema), answered: 1}
		m.tools, m.byName[x.Name] = append(m.tools, s), s
	}
	named := map[string]bool{}
	for _, c := range m.needless(100) {
		for _, s := range m.tools {
			named[s.Name] = named[s.Name] || strings.Contains(c.Subject, s.Name+" can")
		}
	}
	if named["get_item"] || !named["list_items"] {
		t.Errorf("named are %v", named)
	}
}

// The answers are those of the calls: another answer does not pass.
func TestAnswersAreResults(t *testing.T) {
	s := newShop(t)
	answers := 0
	for _, x := range run(t, s, shopTools(), optionsOf(s)).Scenarios {
		for _, c := range x.Checks {
			if c.Type != scenario.AnswerCheck || c.Equals == nil {
				continue
			}
			answers++
			if x.GoldAnswer != *c.Equals || strings.Contains(x.Task, *c.Equals) && len(*c.Equals) > 1 ||
				c.Answer("no idea") {
				t.Errorf("%s: answer %q", x.Task, *c.Equals)
			}
			var args map[string]any
			if err := json.Unmarshal(x.Gold[len(x.Gold)-1].Arguments, &args); err != nil {
				t.Error(err)
			}
		}
	}
	if answers < 5 {
		t.Errorf("%d answers are asked for", answers)
	}
}

// Of a server that lists things, most tasks are programs over what it lists: questions of which the answer is computed,
// and changes that the list shows. Each holds when it is tried, and none wants a certain call.
func TestProgramsOverLists(t *testing.T) {
	shop := newShop(t)
	o := optionsOf(shop)
	o.Asked = 0
	made := run(t, shop, shopTools(), o)
	asked, kinds, splits := 0, map[string]bool{}, map[string]string{} // splits by the setup
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if !strings.HasPrefix(x.Provenance.Wording, "asked ") {
			continue
		}
		asked++
		kinds[x.Provenance.Kind] = true
		if setup, _ := json.Marshal(x.Setup); len(x.Setup) > 0 {
			if was := splits[string(setup)]; was != "" && was != x.Split {
				t.Errorf("tasks of one state are for %s and %s", was, x.Split)
			}
			splits[string(setup)] = x.Split
		}
		if slices.ContainsFunc(x.Checks, func(c scenario.Check) bool { return c.Type == scenario.CallCheck }) {
			t.Errorf("%s wants a call, where any way will do", x.Task)
		}
		if found, err := (checktest.Trial{Tools: shop}).Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.Task, x.Provenance.Kind, found, err)
		}
	}
	if held := slices.Collect(maps.Values(splits)); !slices.Contains(held, scenario.Test) ||
		!slices.Contains(held, scenario.Train) {
		t.Errorf("the states are for %v", held)
	}
	if asked < 30 || len(kinds) < 6 {
		t.Errorf("%d of %d are programs, of %v\n%v", asked, len(made.Scenarios), kinds, made.Report.Rows())
	}
}
