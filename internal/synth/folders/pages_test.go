package folders

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// way is how a structure is drawn.
type way = func(*drawer) *programs.Program

// end is a program over some files: what they hold then, and what they must not hold.
type end struct {
	files   map[string]string
	way     way
	pattern string
	fits    func(*Plan) bool
	want    map[string]string   // "" is gone
	also    map[string][]string // other ways to write a file
	wrong   map[string][]string
	answer  string // of which it is a part
	why     string // a part of what is thought
}

func drawnBy(t *testing.T, e end) (*Folder, *Plan) {
	t.Helper()
	f := Of(e.files, nil)
	for seed := range uint64(2000) {
		p := draw(newRand(seed), f, everything(), programs.Set, e.way)
		if p != nil && p.Pattern() == e.pattern && (e.fits == nil || e.fits(p)) {
			return f, p
		}
	}
	t.Fatalf("no %s is drawn over these files", e.pattern)
	return nil, nil
}

// meets reports whether a text meets the expressions for a file in the end.
func meets(f *Folder, p *Plan, file, after, text string) bool {
	return !slices.ContainsFunc(p.Texts(f, file, after), func(is string) bool {
		return !regexp.MustCompile(is).MatchString(text)
	})
}

func checkEnd(t *testing.T, e end) {
	t.Helper()
	f, p := drawnBy(t, e)
	before := f.State()
	after, ok := before.Apply(p.Ops)
	if !ok {
		t.Fatalf("%s: %+v cannot be made", e.pattern, p.Ops)
	}
	for file, text := range after {
		want, given := e.want[file]
		if was, there := before[file]; !given && (!there || was != text) || given && want != text {
			t.Errorf("%s leaves %s as\n%s", e.pattern, file, text)
		}
		if !meets(f, p, file, text, text) {
			t.Errorf("%s: %s does not meet %q", e.pattern, file, p.Texts(f, file, text))
		}
		for _, also := range e.also[file] {
			if !meets(f, p, file, text, also) {
				t.Errorf("%s: %s may not be\n%s\nby %q", e.pattern, file, also, p.Texts(f, file, text))
			}
		}
		for _, wrong := range append(slices.Clone(e.wrong[file]), before[file]) {
			if given && meets(f, p, file, text, wrong) {
				t.Errorf("%s: %s may be\n%s\nby %q", e.pattern, file, wrong, p.Texts(f, file, text))
			}
		}
	}
	for file, want := range e.want {
		if _, there := after[file]; there != (want != "") {
			t.Errorf("%s: %s is there: %v", e.pattern, file, there)
		}
	}
	thought := p.Working()
	for _, o := range p.Ops {
		thought += "\n" + o.Why
	}
	if answer := strings.Join(p.Answer.Values, "\n"); !strings.Contains(answer, e.answer) ||
		!strings.Contains(thought, e.why) {
		t.Errorf("%s is answered %q by\n%s", e.pattern, answer, thought)
	}
	for _, split := range []string{"train", "validation", "test"} {
		w := p.Word(newRand(1), split)
		if strings.ContainsAny(w.Task, "{}") {
			t.Errorf("%s is worded %q", e.pattern, w.Task)
		}
		for _, c := range w.Checks {
			if why := c.AnswerUnmet(w.Answer); why != "" {
				t.Errorf("%s: %q fails: %s", e.pattern, w.Answer, why)
			}
		}
	}
}
