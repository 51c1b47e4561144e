// Package selection decides which tools of a large catalog an episode is shown: a few chosen for its task (Select), or
// a tool to search for the others with (Search). Models choose badly among more than a few dozen tools.
package selection

import (
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
	Max         int    // tools shown [DefaultMax]
	Distractors int    // of them, those drawn at random from what does not fit the task [a quarter of Max]; negative for none
	Seed        uint64 // of the draw
}

// Selector chooses tools of one catalog. It may be used from many goroutines.
type Selector struct {
	tools []chat.Tool
	index *Index
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
	return &Selector{tools: tools, index: NewIndex(tools), o: o}
}

// Select returns the tools for one scenario, in the catalog's order so that their place tells nothing: all of them where
// they are no more than Max; else those named in gold, distractors, and the best matches of the task for the rest.
// Distractors depend on the seed and the scenario's id alone, so all rollouts of a group, and a resumed run, see the
// same. gold are names that must be there, also where they are more than Max; an unknown one is a *fault.Error.
func (s *Selector) Select(scenarioID, task string, gold []string) ([]chat.Tool, error) {
	chosen := make([]bool, len(s.tools))
	left := s.o.Max
	take := func(i int) {
		if !chosen[i] {
			chosen[i] = true
			left--
		}
	}
	for _, name := range gold {
		i := slices.IndexFunc(s.tools, func(t chat.Tool) bool { return t.Name == name })
		if i < 0 {
			return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("the tool %q of a scenario is not in the catalog", name),
				Where: "scenario " + scenarioID, Next: "hone discover lists the tools"}
		}
		take(i)
	}
	if len(s.tools) <= s.o.Max {
		return s.tools, nil
	}
	ranked := s.index.Rank(task)
	for _, i := range ranked {
		if left <= s.o.Distractors {
			break
		}
		take(i)
	}
	for _, i := range s.shuffled(scenarioID) { // also where fewer match than there is room
		if left <= 0 {
			break
		}
		take(i)
	}
	var out []chat.Tool
	for i, t := range s.tools {
		if chosen[i] {
			out = append(out, t)
		}
	}
	return out, nil
}

// shuffled orders the tools by a hash of seed, scenario and name, so that a tool added to the catalog displaces at most
// one other.
func (s *Selector) shuffled(scenarioID string) []int {
	keys := make([][sha256.Size]byte, len(s.tools))
	order := make([]int, len(s.tools))
	for i, t := range s.tools {
		b := binary.LittleEndian.AppendUint64(nil, s.o.Seed)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(scenarioID)))
		keys[i], order[i] = sha256.Sum256(append(append(b, scenarioID...), t.Name...)), i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(slices.Compare(keys[a][:], keys[b][:]), strings.Compare(s.tools[a].Name, s.tools[b].Name))
	})
	return order
}
