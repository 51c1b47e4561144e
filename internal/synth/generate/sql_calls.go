package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// hole stands in a text for the value that a result gives.
const hole = "{}"

// mark is what stands in a task for the hole of a call: "[total]".
func (c Call) mark() string {
	if c.Field == "" {
		return "[result]"
	}
	return "[" + wordsOfName(c.Field) + "]"
}

// oneTuple is a list of one row with one value as Python prints it: [('apple_list',)].
var oneTuple = regexp.MustCompile(`^\[\((?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+(?:\.\d+)?)),\)\]$`)

// soleOf is the one value that the result of a call consists of, with its name where it has one: of [{"total": 3}], of
// Python's [('apple_list',)], of "The sum of 2 and 3 is 5.".
func soleOf(text string, arguments json.RawMessage) (leaf, bool) {
	text = strings.TrimSpace(text)
	if m := oneTuple.FindStringSubmatch(text); m != nil {
		if m[3] != "" {
			return leaf{raw: json.RawMessage(m[3])}, true
		}
		return leaf{raw: quote(m[1] + m[2])}, true
	}
	switch leaves := leavesOf(text); {
	case len(leaves) == 1 && (isJSON(text) || !strings.Contains(text, "\n")):
		return leaves[0], true
	case len(leaves) > 0 || !short(text) || strings.ContainsAny(text[:1], "[({"):
		return leaf{}, false
	}
	if n, ok := numberOfProse(text, arguments); ok {
		return leaf{raw: n}, true
	}
	return leaf{raw: whole(text)}, true
}

// within drafts chains in which the value of a result stands inside a text of the next call, of the same tool too: an
// expression with the number that another one came to. There are n chains in all then.
func (d *drafts) within(n int) {
	begun := map[string]int{}
	for _, most := range []int{mostOfFirst, n} {
		for _, r := range d.worlds {
			random := d.random("within", r.index, most)
			for _, a := range r.goodOf(random, func(t trial) bool { return !t.effects }) {
				got, ok := soleOf(a.got.Results[0].Text, a.call.Arguments)
				if !ok {
					continue
				}
				if text := got.text(); text == "" || len(text) > mostAnswer ||
					got.raw[0] != '"' && len(text) > mostDigits || strings.Contains(string(a.call.Arguments), text) ||
					saysNow(text, []int64{a.got.At}) || strings.Contains(text, dirMark) {
					continue
				}
				for _, b := range d.usable() {
					if begun[a.call.key()] < most && d.count[chain] < n && d.wrap(r, random, a.call, got, b) {
						begun[a.call.key()]++
					}
				}
			}
		}
	}
}

// wrap drafts the chain of one call and of one of a tool that has its value inside a required text.
func (d *drafts) wrap(r *realm, random *rand.Rand, first Call, got leaf, b *subject) bool {
	f := filler{random, b, &r.known}
	for _, p := range b.schema.fields {
		text := ""
		if p.required && len(p.choices) == 0 && (p.kind == "string" || p.kind == "") {
			text = f.around(p, got)
		}
		arguments, ok := f.arguments(false)
		if text == "" || !ok {
			continue
		}
		fed, ok := withMember(arguments, p.name, quote(strings.Replace(text, hole, got.text(), 1)))
		if ok && b.takes(string(fed)) && d.add(chain, r.index, first,
			Call{Tool: b.Name, Arguments: fed, Fed: p.name, Field: got.name(), Within: text}) {
			return true
		}
	}
	return false
}

// around is a text for a parameter with a hole for what a call answered, "" where none is known.
func (f filler) around(p param, got leaf) string {
	switch {
	case !f.sql(p) && got.raw[0] != '"' &&
		slices.ContainsFunc([]string{"expression", "formula", "equation"}, func(w string) bool { return f.of(p, w) }):
		return fmt.Sprintf("%s %s %d", hole, pick(f.r, []string{"+", "-", "*"}), 2+f.r.IntN(97))
	}
	return ""
}
