package folders

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// A draw that fails ends a synthesis, so none may: over folders that are made up, and those whose files have lost
// lines, or have odd ones. What is drawn can be done, and what it comes to meets its own expressions.
func FuzzDraw(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(drawAll)
}

func drawAll(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 8))
	f := Invent(r, r.IntN(programs.NumDomains()))
	few := Can{List: true, Show: true, Write: true, Delete: true}
	for _, f := range []*Folder{f, damaged(r, f)} {
		for _, can := range []Can{everything(), few} {
			for _, kind := range slices.Sorted(maps.Keys(Shares())) {
				if p := Draw(r, f, can, kind); p != nil {
					use(t, r, f, p)
				}
			}
		}
	}
}

// use does with a plan what a synthesis does.
func use(t *testing.T, r *rand.Rand, f *Folder, p *Plan) {
	_, _, _ = p.Key(), p.Changes(), p.LeavesAll()
	if r.IntN(2) == 0 {
		p.Straight()
	} else {
		p.Guess()
		p.Misedit(r)
	}
	for _, split := range []string{"train", "validation", "test"} {
		x := p.Word(r, split)
		for _, c := range x.Checks {
			_ = c.AnswerUnmet(x.Answer)
		}
	}
	after, ok := f.State().Apply(p.Ops)
	if !ok {
		return
	}
	for file, text := range after {
		if was, there := f.State()[file]; after.IsDir(file) || there && was == text {
			continue
		}
		for _, want := range f.Texts(file, text) {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%s: %q does not meet %q", file, text, want)
			}
		}
	}
}

// damaged is a folder as people leave it: lines are gone, stand twice or are odd, and files are empty.
func damaged(r *rand.Rand, f *Folder) *Folder {
	share := r.Float64() * r.Float64()
	odd := []string{"", " ", "#", "- ", "- [ ]", "a,b", ",,,", "|||", "| --- |", "x: y", "x:", "{", "日本", "1. ", "\t",
		"A.\r",
		"- 2 x tent", "price per hour: 7", "a, b, \"c, d\"", "- - -", "====", "id,name", "Total: 0"}
	files := map[string]string{"odd.csv": "", "odd.md": pick(r, odd), "odd.json": pick(r, []string{"{}", "[", "[1]",
		""})}
	for _, d := range f.Docs {
		var lines []string
		for _, line := range d.lines() {
			switch {
			case r.Float64() >= share:
				lines = append(lines, line)
			case r.IntN(3) == 0:
				lines = append(lines, line, line)
			case r.IntN(2) == 0:
				lines = append(lines, pick(r, odd))
			case r.IntN(2) == 0 && line != "":
				lines = append(lines, strings.ToValidUTF8(line[:r.IntN(len(line))], ""))
			}
		}
		files[d.Path] = strings.Join(lines, "\n")
	}
	return Of(files, f.Dirs)
}
