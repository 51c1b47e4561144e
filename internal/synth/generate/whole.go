package generate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// heldBack are words of switches without which a list holds something back, as include_completed.
const heldBack = "include show with all everything completed done finished closed archived deleted inactive hidden"

// wholes finds the switches of lists that hold something back unless they are on. A call that lists all turns them on:
// else a thing that is done could not be told from one that is deleted, and nobody would count it.
func (m *maker) wholes(ctx context.Context) error {
	for _, server := range m.player.servers() {
		lists := slices.DeleteFunc(m.lists(server), func(s *subject) bool { return len(s.switches()) == 0 })
		if len(lists) == 0 {
			continue
		}
		session, err := m.player.open(ctx, m.player.from, nil)
		if err != nil { // who explores the server says why
			return ctx.Err()
		}
		for _, s := range lists {
			before, ok := m.tryOn(ctx, session, s.bare())
			for _, name := range s.switches() {
				after, too := m.tryOn(ctx, session, s.bare().with(name, "true"))
				if ok && too && listsMore(before, after) {
					s.whole, before = append(s.whole, name), after
				}
			}
		}
		_ = session.Close() // nothing was changed
	}
	return ctx.Err()
}

// switches are parameters that may be off, and then hold something back.
func (s *subject) switches() (names []string) {
	for _, p := range s.schema.fields {
		if p.kind == "boolean" && !p.required && slices.ContainsFunc(words(p.name), func(w string) bool {
			return slices.Contains(strings.Fields(heldBack), w)
		}) {
			names = append(names, p.name)
		}
	}
	return names
}

// with is a call with one more argument.
func (x Call) with(name, value string) Call {
	x.Arguments = appendMember(x.Arguments, name, json.RawMessage(value))
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
