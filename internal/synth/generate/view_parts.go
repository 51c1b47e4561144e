package generate

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// viewPart is what a view says under one heading, or behind one name.
type viewPart struct {
	title string
	lines []string
}

// point is an entry of a part that can be ticked.
type point struct {
	text string
	done bool
}

var (
	partRule  = regexp.MustCompile(`^[-=_]{3,}$`)
	partHead  = regexp.MustCompile(`^(?:#{1,6} +)?([A-Z][A-Za-z ]{2,30}?)(?: \([^)]*\))?:?$`)
	partPair  = regexp.MustCompile(`^([A-Z][A-Za-z ]{1,20}): +(\S.*)$`)
	pointLine = regexp.MustCompile(`^\s*(?:[-*•] +)?\[([ xX✓])\] +(?:#?\d+[.:)]? +)?(\S.*)$`)
	nothing   = regexp.MustCompile(`(?i)^\W*(?:none|no [\w ]+ (?:provided|defined|set|yet|found|given|added))\W*$`)
)

// viewParts reads a view: its headings, which end with a colon behind a gap, above a rule or with a count, or stand
// behind "#", with the lines below them, and the names before values that stand above all headings. Of an object of
// JSON each value is a part.
func viewParts(text string) (parts []viewPart) {
	if object := viewObject(text); object != nil {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			said, _ := scalars(object[name])
			lines := strings.Split(strings.Join(said, "\n"), "\n")
			lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
			parts = append(parts, viewPart{programs.Words(name), lines})
		}
		return parts
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	within, behind := false, ""
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		head := partHead.FindStringSubmatch(line)
		isHead := head != nil && i+1 < len(lines) && (strings.HasPrefix(line, "#") || strings.HasSuffix(line, ":") &&
			(behind == "" || head[0] != head[1]+":" || partRule.MatchString(lines[i+1]))) // else it is text
		pair := partPair.FindStringSubmatch(line)
		switch {
		case isHead:
			parts, within = append(parts, viewPart{title: head[1]}), true
		case pair != nil && (!within || behind == ""): // behind a gap the text of a heading is over
			parts = append(parts, viewPart{pair[1], strings.Split(pair[2], ", ")})
		case within && line != "" && !partRule.MatchString(line) && !nothing.MatchString(line):
			last := &parts[len(parts)-1]
			last.lines = append(last.lines, line)
		}
		behind = line
	}
	return parts
}

// partOf is the part of a view with a title; without lines where there is none.
func partOf(text, title string) viewPart {
	parts := viewParts(text)
	if i := slices.IndexFunc(parts, func(p viewPart) bool { return p.title == title }); i >= 0 {
		return parts[i]
	}
	return viewPart{title: title}
}

// saying is the title of the part that says a text; "" where none does.
func saying(text, said string) string {
	for _, p := range viewParts(text) {
		if slices.ContainsFunc(p.lines, func(line string) bool { return strings.Contains(line, said) }) {
			return p.title
		}
	}
	return ""
}

// points are the entries of a part that can be ticked, in their order.
func (p viewPart) points() (list []point) {
	for _, line := range p.lines {
		if m := pointLine.FindStringSubmatch(line); m != nil {
			list = append(list, point{strings.TrimSpace(m[2]), m[1] != " "})
		}
	}
	return list
}

// says is the text of a part.
func (p viewPart) says() string { return strings.Join(p.lines, "\n") }
