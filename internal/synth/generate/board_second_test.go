package generate

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

var readsOnly = regexp.MustCompile(`_(list|view|search|find|get)|^(list|view|search|find|get)`)

// leans are what a conversation over a list is: what its first message is answered by, what its second leads to, and
// whether that is of several things.
func leans(x *scenario.Scenario) (list []string) {
	at := slices.IndexFunc(x.Gold, func(g scenario.Gold) bool { return g.Asks != "" })
	changes := func(calls []scenario.Gold) (n int) {
		for _, g := range calls {
			if !readsOnly.MatchString(g.Name) {
				n++
			}
		}
		return n
	}
	first, then := changes(x.Gold[:at]), changes(x.Gold[at:])
	kind := "a change, "
	if first == 0 {
		kind = "a question, "
	}
	switch {
	case then == 0:
		return []string{kind + "a question"}
	case then > 1:
		return []string{kind + "several changes"}
	}
	return []string{kind + "a change"}
}

// People go on about what they were just told: the second message says no name, and its calls make no look again that
// the first has made. Each conversation passes its checks, and half of it does not.
func TestSecondMessagesOverLists(t *testing.T) {
	s := newShop(t)
	tools := viewTools(s)
	o := optionsOf(s)
	o.N, o.Asked = 640, 0.8
	made := run(t, s, tools, o)
	seen, n, thought := map[string]int{}, 0, 0
	trial := checktest.Trial{Tools: s}
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if x.Provenance.Kind != programs.Second {
			continue
		}
		n++
		for _, sort := range leans(x) {
			seen[sort]++
		}
		if found, err := trial.Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.ID, x.User.Says, found, err)
		}
		at := slices.IndexFunc(x.Gold, func(g scenario.Gold) bool { return g.Asks != "" })
		if x.Gold[at].AsksReasoning != "" {
			thought++
		}
		for k, g := range x.Gold[at:] {
			if slices.ContainsFunc(x.Gold[:at+k], func(o scenario.Gold) bool {
				return o.Name == g.Name && string(o.Arguments) == string(g.Arguments)
			}) {
				t.Errorf("%s: %s %s is called twice", x.User.Says, g.Name, g.Arguments)
			}
		}
		named := regexp.MustCompile(`(?i)fence|hinges|yard|lamp|gravel|ladders|shelves|skip|alarm|hedge`)
		if asked := x.Gold[at].Asks; !strings.HasPrefix(asked, "Done") && named.MatchString(x.User.Says[1]) {
			t.Errorf("%q says again what %q is about", x.User.Says[1], x.User.Says[0])
		}
		half := *x
		half.Gold, half.GoldAnswer = x.Gold[:at], x.Gold[at].Asks
		found, err := trial.Row(t.Context(), &half)
		if found = append(found, checktest.Alone(&half)...); at > 0 && (err != nil || len(found) == 0) {
			t.Errorf("%s passes without the second message: %v", x.User.Says, err)
		}
		for k := len(x.Gold) - 1; k > at && leans(x)[0] == "a question, several changes"; k-- { // none is there already
			if readsOnly.MatchString(x.Gold[k].Name) {
				continue
			}
			less := *x
			less.Gold = slices.Delete(slices.Clone(x.Gold), k, k+1)
			if found, err := trial.Row(t.Context(), &less); err != nil || len(found) == 0 {
				t.Errorf("%s passes without %s: %v", x.User.Says, x.Gold[k].Arguments, err)
			}
		}
	}
	for _, sort := range []string{"a question, several changes", "a question, a change", "a question, a question",
		"a change, a change"} {
		if seen[sort] == 0 {
			t.Errorf("no conversation is %s: %v", sort, seen)
		}
	}
	if n < len(made.Scenarios)/32 || n > len(made.Scenarios)/8 || thought == 0 {
		t.Errorf("%d conversations of %d tasks, %d with a working", n, len(made.Scenarios), thought)
	}
}

// What is looked at for the second message alone comes behind the changes of the first; what both need is looked at
// once. Nothing is a second message that leads to no call, or to too many.
func TestBefore(t *testing.T) {
	call := func(name string) Call { return Call{Tool: name, Arguments: []byte(`{}`)} }
	calls := func(names string) (list []Call) {
		for name := range strings.FieldsSeq(names) {
			list = append(list, call(name))
		}
		return list
	}
	names := func(list []Call) string {
		var all []string
		for _, c := range list {
			all = append(all, c.Tool)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		reads, changes, more, then string
		wantReads, wantChanges     string
		later                      int
	}{
		{"list", "", "list view", "edit", "list view", "edit", 2},
		{"list", "set", "list view", "edit", "list", "set view edit", 2},
		{"list view", "", "view", "edit edit", "list view", "edit edit", 2},
		{"list", "", "view", "", "list view", "", 1},
		{"list view", "", "list", "", "", "", 0},
		{"list", "", "", strings.Repeat("edit ", mostCalls), "", "", 0},
	} {
		oil := map[string]string{"x": "Oil", "v": "High"}
		first := &boardTask{Program: programs.NewAct(programs.Set, "of_rank", oil),
			reads: calls(c.reads), changes: calls(c.changes), free: []string{"a"}}
		second := &boardTask{Program: programs.NewAct(programs.Set, "that_same", map[string]string{"x": "Hedge"}),
			reads: calls(c.more), changes: calls(c.then), free: []string{"b"}}
		got := first.before(second)
		if c.later == 0 {
			if got != nil {
				t.Errorf("%+v: %+v", c, got)
			}
			continue
		}
		if got == nil || names(got.reads) != c.wantReads || names(got.changes) != c.wantChanges ||
			got.Later() != c.later || got.Kind != programs.Second || len(got.free) != 2 || !got.Mentions("Hedge") {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	if (&boardTask{}).before(nil) != nil {
		t.Error("a task goes on without a second message")
	}
}

// Two things are "both", and more are not.
func TestThose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		two, more := those(r, 2), those(r, 3)
		if strings.Contains(two, "all") || strings.Contains(more, "both") || strings.Contains(more, "two") {
			t.Errorf("%q are two, %q three", two, more)
		}
	}
}
