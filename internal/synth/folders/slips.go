package folders

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// Straight leaves out what goes wrong: held-out solutions have none of it.
func (p *Plan) Straight() {
	p.Ops = slices.DeleteFunc(p.Ops, func(o Op) bool { return o.Slip != "" })
	for i := range p.Ops {
		if !p.Ops[i].Changes() {
			p.Ops[i].Why = ""
		}
	}
}

// Guess has a file read at first where it would be if there were no folders, as people and models try; the server says
// that it is not there. It does nothing where that cannot be.
func (p *Plan) Guess() {
	at := slices.IndexFunc(p.Ops, func(o Op) bool { return o.Do == Show })
	if at < 1 || path.Dir(p.Ops[at].Path) == "." || p.Ops[0].Changes() {
		return
	}
	p.Ops = slices.Insert(p.Ops, 0, Op{Do: Show, Path: path.Base(p.Ops[at].Path), Slip: Refused})
}

// Misedit has an edit of a part of a line go wrong at first. It is made before the file was read, from memory, and the
// way out is to read it; or it changes nothing, or its spaces are others than those of the file, and what comes next
// says what must become what. It does nothing where no such edit is made.
func (p *Plan) Misedit(r *rand.Rand) {
	var able []int
	for i, o := range p.Ops {
		if o.Do == Edit && o.Slip == "" && o.New != "" && !strings.Contains(o.Old+o.New, "\n") {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return
	}
	at := pick(r, able)
	o := p.Ops[at]
	if old := recalled(o.Old); old != "" && at > 0 && p.Ops[at-1].Do == Show && p.Ops[at-1].Path == o.Path &&
		r.IntN(2) == 0 {
		p.Ops[at-1].Why = "That edit changed nothing: no line of " + path.Base(o.Path) + " is so. I read what it says."
		p.Ops = slices.Insert(p.Ops, at-1, Op{Do: Edit, Path: o.Path, Old: old, New: o.New, Slip: Idle})
		return
	}
	slip, why := Op{Do: Edit, Path: o.Path, Old: o.Old, New: o.Old, Slip: Idle}, "its new text was the old one"
	if old, now := misspaced(o.Old), misspaced(o.New); old != o.Old && r.IntN(2) == 0 {
		slip.Old, slip.New, why = old, now, "the spaces of its old text are not those of the file"
	}
	p.Ops[at].Why = strings.TrimSpace("That edit changed nothing: " + why + ". " + o.Old + " must become " + o.New +
		".\n" + o.Why)
	p.Ops = slices.Insert(p.Ops, at, slip)
}

// recalled is what somebody may take for a line who has not read it: with another mark; "" where it has none.
func recalled(text string) string {
	for _, way := range [][2]string{
		{"- [ ] ", "* "}, {"- [x] ", "* "}, {"- ", "* "}, {"* ", "- "}, {" | ", ": "}, {": ", " = "}, {",", ": "},
	} {
		if strings.Contains(text, way[0]) {
			return strings.Replace(text, way[0], way[1], 1)
		}
	}
	return ""
}

// misspaced is a text with other spaces between its cells or words; the same where it has none.
func misspaced(text string) string {
	for _, way := range [][2]string{{" | ", "|"}, {", ", ","}, {",", ", "}, {" ", "  "}} {
		if wide := gap.ReplaceAllString(text, " "); wide != text {
			return wide
		}
		if strings.Contains(text, way[0]) {
			return strings.ReplaceAll(text, way[0], way[1])
		}
	}
	return text
}

// Organize is the kind of programs that move, rename and copy files. The other kinds are those of package programs.
const Organize = "organize"
