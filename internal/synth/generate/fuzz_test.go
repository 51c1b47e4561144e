package generate

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// One bad draw must not end a synthesis: over servers of each kind, which may lack a tool, or whose results may have
// lost lines.
func FuzzRun(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed * 17) // each server, and another tool gone
	}
	f.Fuzz(runAny)
}

func runAny(t *testing.T, seed uint64) {
	of := func(tools func(*shop) []Tool) func(*testing.T) (*shop, []Tool) {
		return func(t *testing.T) (*shop, []Tool) { s := newShop(t); return s, tools(s) }
	}
	servers := []func(*testing.T) (*shop, []Tool){of(noteTools), of(boardTools), of(viewTools), of(reckonTools),
		of(func(*shop) []Tool { return steadyTools() }), database, cabinet, tracker}
	s, tools := servers[seed%uint64(len(servers))](t)
	if seed/uint64(len(servers))%2 == 1 {
		s.lose(seed)
	}
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) }) // some come from a map
	if gone := int(seed/16) % (len(tools) + 1); gone < len(tools) {
		tools = slices.Delete(tools, gone, gone+1)
	}
	o := optionsOf(s)
	o.N, o.Asked, o.Seed, o.Workers = 20, 0.8, seed, 1
	_, err := Run(t.Context(), s, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), o)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
}

// lose has results without some of their lines, or of their objects, which are always the same.
func (s *shop) lose(seed uint64) {
	share := 2 + seed%29
	for name, do := range s.tools {
		s.tools[name] = func(of *stock, args map[string]any) (string, error) {
			text, err := do(of, args)
			part := "\n"
			if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
				part = "},"
			}
			left := ""
			for line := range strings.SplitAfterSeq(text, part) {
				h := fnv.New64a()
				fmt.Fprint(h, seed, line)
				if h.Sum64()%share > 0 {
					left += line
				}
			}
			return left, err
		}
	}
}
