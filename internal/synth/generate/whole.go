package generate

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// heldBack are words of switches without which a list holds something back, as include_completed.
const heldBack = "include show with all everything completed done finished closed archived deleted inactive hidden"

// aPage is how many things a list is asked for that shows a part of them unless it is told otherwise.
const aPage = 500

// wholes finds the arguments without which lists hold something back. A call that lists all has them: else a thing that
// is done could not be told from one that is deleted, and nobody would count it.
func (m *maker) wholes(ctx context.Context) error {
	for _, server := range m.player.servers() {
		lists := slices.DeleteFunc(m.lists(server), func(s *subject) bool { return len(s.widenings()) == 0 })
		if len(lists) == 0 {
			continue
		}
		session, err := m.player.open(ctx, m.player.from, nil)
		if err != nil { // who explores the server says why
			return ctx.Err()
		}
		for _, s := range lists {
			before, ok := m.tryOn(ctx, session, s.bare())
			for _, w := range s.widenings() {
				call := s.bare().with(w.name, string(w.raw))
				if !s.takes(string(call.Arguments)) {
					continue
				}
				after, too := m.tryOn(ctx, session, call)
				if ok && too && listsMore(before, after) {
					s.whole, before = append(s.whole, w), after
				}
			}
		}
		_ = session.Close() // nothing was changed
	}
	return ctx.Err()
}

// widenings are arguments that may have a list show more: switches, "all" for what it shows by default, as the status
// "open", and more things than a page has.
func (s *subject) widenings() (list []member) {
	for _, p := range s.schema.fields {
		said := words(p.name)
		has := func(of string) bool { return share(said, strings.Fields(of)) }
		switch {
		case p.required:
		case p.kind == "boolean" && has(heldBack):
			list = append(list, member{p.name, json.RawMessage("true")})
		case p.kind == "string" && has("status state filter show include completed done"):
			list = append(list, member{p.name, json.RawMessage(`"all"`)})
		case p.isNumbers() && p.kind != "array" && has("limit size max count"):
			most := aPage
			if p.max != nil {
				most = int(*p.max)
			}
			list = append(list, member{p.name, json.RawMessage(strconv.Itoa(most))})
		}
	}
	return list
}

// with is a call with one more argument, or another value of one.
func (x Call) with(name, value string) Call {
	arguments, found := withMember(x.Arguments, name, json.RawMessage(value))
	if x.Arguments = arguments; !found {
		x.Arguments = appendMember(x.Arguments, name, json.RawMessage(value))
	}
	return x
}

// filtered is a call that lists of all those that its arguments ask for.
func (s *subject) filtered(arguments ...member) Call {
	call := s.bare()
	for _, a := range arguments {
		call = call.with(a.name, string(a.raw))
	}
	return call
}

// listsMore reports whether the longest list of one result has more records in another.
func listsMore(before, after string) bool {
	var longest programs.Listing
	for _, l := range programs.Listings(before) {
		if len(l.Records) > len(longest.Records) {
			longest = l
		}
	}
	return slices.ContainsFunc(programs.Listings(after), func(l programs.Listing) bool {
		return l.Name == longest.Name && len(l.Records) > len(longest.Records) && len(longest.Records) > 0
	})
}
