package access

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

// SelectorOptions of a Selector. 0 takes the default in brackets.
type SelectorOptions struct {
	Max int // tools shown [DefaultMax]
	// of them, those drawn at random from what does not fit the task [a quarter of Max]; negative for none
	Distractors int
	Seed        uint64 // of the draw
	// Twins are tools that do the same as another, by name, and that one's name: they are shown only where a scenario
	// needs them, and the other one then is not.
	Twins map[string]string
}

// Selector chooses the tools of one catalog that an episode is shown: a few for its task (Select). Search is the other
// way. Models choose badly among more than a few dozen tools. It may be used from many goroutines.
type Selector struct {
	tools []chat.Tool
	index *Index
	place map[string]int // by name
	o     SelectorOptions
}

// NewSelector returns a selector for a catalog's tools.
func NewSelector(tools []chat.Tool, o SelectorOptions) *Selector {
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

// Asked is what a scenario wants of the tools that it is shown.
type Asked struct {
	ID, Task string
	Gold     []string // names that must be there
}

// Most is how many tools a list has, unless more are needed.
func (s *Selector) Most() int { return s.o.Max }

// Select returns the tools for one scenario, in the catalog's order so that their place tells nothing: all of them
// where they are no more than Max; else those named in gold, distractors, and the best matches of the task for the
// rest. Distractors depend on the seed and the scenario's id alone, so all rollouts of a group, and a resumed run, see
// the same. gold are names that must be there, also where they are more than Max; an unknown one is a *fault.Error.
func (s *Selector) Select(scenarioID, task string, gold []string) ([]chat.Tool, error) {
	return s.choose([]Asked{{scenarioID, task, gold}})
}

// Together returns the tools for each of several scenarios, such that as few lists differ as their gold tools need:
// prompts that begin alike are computed once. A scenario joins the first list that has room for its gold tools beside
// the distractors. A list has the gold tools of its scenarios, the best matches of each task in turn, and distractors
// that depend on the seed and on who shares it.
func (s *Selector) Together(list []Asked) ([][]chat.Tool, error) {
	type shelf struct {
		of   []int // scenarios, by their places in list
		gold map[string]bool
	}
	var shelves []shelf
	for i, a := range list {
		fits := func(x shelf) bool {
			n := len(x.gold)
			for _, name := range a.Gold {
				if !x.gold[name] {
					n++
				}
			}
			return n <= s.o.Max-s.o.Distractors
		}
		at := slices.IndexFunc(shelves, fits)
		if at < 0 {
			at, shelves = len(shelves), append(shelves, shelf{gold: map[string]bool{}})
		}
		shelves[at].of = append(shelves[at].of, i)
		for _, name := range a.Gold {
			shelves[at].gold[name] = true
		}
	}
	out := make([][]chat.Tool, len(list))
	for _, x := range shelves {
		var own []Asked
		for _, i := range x.of {
			own = append(own, list[i])
		}
		tools, err := s.choose(own)
		if err != nil {
			return nil, err
		}
		for _, i := range x.of {
			out[i] = tools
		}
	}
	return out, nil
}

// choose returns one list for some scenarios.
func (s *Selector) choose(list []Asked) ([]chat.Tool, error) {
	chosen := make([]bool, len(s.tools))
	left := s.o.Max
	take := func(i int) {
		if !chosen[i] {
			chosen[i] = true
			left--
		}
	}
	hidden, err := s.need(list, take)
	if err != nil {
		return nil, err
	}
	if len(s.tools) <= s.o.Max {
		return s.pick(func(i int) bool { return chosen[i] || !hidden[i] }), nil
	}
	var key strings.Builder
	ranked, longest := make([][]int, len(list)), 0
	for k, a := range list {
		key.WriteString(a.ID)
		ranked[k] = s.index.Rank(a.Task)
		longest = max(longest, len(ranked[k]))
	}
	for at := range longest {
		for _, own := range ranked {
			if at < len(own) && left > s.o.Distractors && !hidden[own[at]] {
				take(own[at])
			}
		}
	}
	// also where fewer match than there is room
	for _, i := range s.draw(key.String(), left, func(i int) bool { return !chosen[i] && !hidden[i] }) {
		take(i)
	}
	return s.pick(func(i int) bool { return chosen[i] }), nil
}

// need takes the gold tools of scenarios, and says which tools are hidden: twins that none of them needs, and those
// whose twin is needed in their place.
func (s *Selector) need(list []Asked, take func(i int)) (hidden []bool, err error) {
	hidden = make([]bool, len(s.tools))
	for name := range s.o.Twins {
		if i, known := s.place[name]; known {
			hidden[i] = true
		}
	}
	needed := map[string]bool{}
	for _, a := range list {
		for _, name := range a.Gold {
			needed[name] = true
		}
	}
	for _, a := range list {
		for _, name := range a.Gold {
			i, known := s.place[name]
			if !known {
				return nil, &fault.Error{Code: fault.CodeUsage,
					What: fmt.Sprintf("the tool %q of a scenario is not in the catalog",
						name), Where: "scenario " + a.ID, Next: "hone discover lists the tools"}
			}
			take(i)
			if other, twin := s.o.Twins[name]; twin && !needed[other] {
				if j, known := s.place[other]; known {
					hidden[j] = true
				}
			}
		}
	}
	return hidden, nil
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
