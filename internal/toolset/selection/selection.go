// Package selection decides which tools of a large catalog an episode is shown: a few chosen for its task (Select), or
// a tool to search for the others with (Search). Models choose badly among more than a few dozen tools.
package selection

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
)

// DefaultMax is how many tools an episode is shown where nothing else is said.
const DefaultMax = 40

// Options of a Selector. 0 takes the default in brackets.
type Options struct {
	Max int // tools shown [DefaultMax]
	// of them, those drawn at random from what does not fit the task [a quarter of Max]; negative for none
	Distractors int
	Seed        uint64 // of the draw
	// Twins are tools that do the same as another, by name, and that one's name: they are shown only where a scenario
	// needs them, and the other one then is not.
	Twins map[string]string
}

// Selector chooses tools of one catalog. It may be used from many goroutines.
type Selector struct {
	tools []chat.Tool
	index *Index
	place map[string]int // by name
	o     Options
}

// New returns a selector for a catalog's tools.
func New(tools []chat.Tool, o Options) *Selector {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	if o.Distractors == 0 {
		o.Distractors = o.Max / 4
	}
	o.Distractors = min(max(o.Distractors, 0), o.Max)
	s := &Selector{tools: tools, index: NewIndex(tools), place: map[string]int{}, o: o}
	for i, t := range tools {
		s.place[t.Name] = i
	}
	return s
}

// Select returns the tools for one scenario, in the catalog's order so that their place tells nothing: all of them
// where they are no more than Max; else those named in gold, distractors, and the best matches of the task for the
// rest. Distractors depend on the seed and the scenario's id alone, so all rollouts of a group, and a resumed run, see
// the same. gold are names that must be there, also where they are more than Max; an unknown one is a *fault.Error.
func (s *Selector) Select(scenarioID, task string, gold []string) ([]chat.Tool, error) {
	chosen := make([]bool, len(s.tools))
	left := s.o.Max
	take := func(i int) {
		if !chosen[i] {
			chosen[i] = true
			left--
		}
	}
	hidden := make([]bool, len(s.tools))
	for name := range s.o.Twins {
		if i, known := s.place[name]; known {
			hidden[i] = true
		}
	}
	for _, name := range gold {
		i, known := s.place[name]
		if !known {
			return nil, &fault.Error{Code: fault.CodeUsage,
				What: fmt.Sprintf("the tool %q of a scenario is not in the catalog",
					name), Where: "scenario " + scenarioID, Next: "hone discover lists the tools"}
		}
		take(i)
		if other, twin := s.o.Twins[name]; twin && !slices.Contains(gold, other) {
			if j, known := s.place[other]; known {
				hidden[j] = true
			}
		}
	}
	if len(s.tools) <= s.o.Max {
		return s.pick(func(i int) bool { return chosen[i] || !hidden[i] }), nil
	}
	ranked := s.index.Rank(task)
	for _, i := range ranked {
		if left <= s.o.Distractors {
			break
		}
		if !hidden[i] {
			take(i)
		}
	}
	// also where fewer match than there is room
	for _, i := range s.draw(scenarioID, left, func(i int) bool { return !chosen[i] && !hidden[i] }) {
		take(i)
	}
	return s.pick(func(i int) bool { return chosen[i] }), nil
}

// pick are the tools that keep says, in the catalog's order.
func (s *Selector) pick(keep func(i int) bool) []chat.Tool {
	var out []chat.Tool
	for i, t := range s.tools {
		if keep(i) {
			out = append(out, t)
		}
	}
	return out
}

// draw are n tools of those that may be: the first ones by a hash of seed, scenario and name, so that a tool added to
// the catalog displaces at most one other.
func (s *Selector) draw(scenarioID string, n int, may func(i int) bool) []int {
	if n <= 0 {
		return nil
	}
	type one struct {
		key  [sha256.Size]byte
		tool int
	}
	order := func(a, b one) int {
		return cmp.Or(bytes.Compare(a.key[:], b.key[:]), strings.Compare(s.tools[a.tool].Name, s.tools[b.tool].Name))
	}
	prefix := binary.LittleEndian.AppendUint64(nil, s.o.Seed)
	prefix = binary.LittleEndian.AppendUint64(prefix, uint64(len(scenarioID)))
	prefix = append(prefix, scenarioID...)
	text := make([]byte, 0, 256)
	first := make([]one, 0, n+1) // sorted
	for i, t := range s.tools {
		if !may(i) {
			continue
		}
		text = append(append(text[:0], prefix...), t.Name...)
		x := one{sha256.Sum256(text), i}
		if len(first) == n && order(x, first[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, x, order)
		if first = slices.Insert(first, at, x); len(first) > n {
			first = first[:n]
		}
	}
	out := make([]int, len(first))
	for k, x := range first {
		out[k] = x.tool
	}
	return out
}
