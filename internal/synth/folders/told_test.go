package folders

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// event is what is told over some files, what then stands in those that change, and ends that are wrong.
type event struct {
	files map[string]string
	way   func(*drawer) *programs.Program
	fits  func(*Plan) bool
	want  func(*Plan) map[string]string
	wrong func(*Plan) map[string]string
	why   string // stands in the reasons
}

// check draws an event, plays it, and compares.
func (e event) check(t *testing.T, name string) {
	t.Helper()
	f := Of(e.files, nil)
	var p *Plan
	for seed := uint64(0); seed < 9000 && p == nil; seed++ {
		p = draw(rand.New(rand.NewPCG(seed, 1)), f, everything(), programs.Several, e.way)
		if p != nil && e.fits != nil && !e.fits(p) {
			p = nil
		}
	}
	if p == nil {
		t.Errorf("%s is not drawn", name)
		return
	}
	for _, split := range []string{"train", "validation", "test"} {
		if task := p.Word(newRand(1), split).Task; strings.ContainsAny(task, "{}") {
			t.Errorf("%s is worded %q", name, task)
		}
	}
	want, why := f.State(), ""
	after, ok := want.Apply(p.Ops)
	for file, text := range e.want(p) {
		want[file] = text
	}
	for file := range want {
		if after[file] != want[file] {
			t.Errorf("%s: %s has %q, not %q", name, file, after[file], want[file])
		}
	}
	for _, o := range p.Ops {
		why += o.Why + "\n"
	}
	if !ok || len(after) != len(want) || !strings.Contains(why+p.Working(), e.why) {
		t.Errorf("%s is done by %+v", name, p.Ops)
	}
	meets := func(file, text string) bool {
		return !slices.ContainsFunc(p.Texts(f, file, after[file]), func(want string) bool {
			return !regexp.MustCompile(want).MatchString(text)
		})
	}
	for file, text := range e.wrong(p) {
		if meets(file, text) || !meets(file, after[file]) {
			t.Errorf("%s: %s may be %q", name, file, text)
		}
	}
}

// changed are files with other texts for some of theirs, in pairs.
func changed(files map[string]string, file string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(files[file])
}
