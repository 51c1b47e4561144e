package scan

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestLabelledServers measures what is found beyond one tool: orders about another server's tools (shadowing), chains
// of a reading and a sending server, and names of packages near those that many use. Each line of the set says where
// the case was described; the texts are this project's own. One person wrote set and rules, so the numbers say that the
// rules do what is meant, not how they do on others' cases.
func TestLabelledServers(t *testing.T) {
	type count struct{ found, of int }
	attacks, harmless := map[string]count{}, map[string]count{}
	f, err := os.Open("testdata/labelled/servers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var l struct {
			Label, Kind, Source, Package string
			Tools                        []struct {
				Server, Name, Description string
				InputSchema               json.RawMessage
			}
		}
		if err := json.Unmarshal(s.Bytes(), &l); err != nil || l.Source == "" {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		var tools []Tool
		for _, x := range l.Tools {
			tools = append(tools,
				Tool{Server: x.Server, Name: x.Name, Description: x.Description, InputSchema: x.InputSchema})
		}
		found := false
		switch l.Kind {
		case "typosquat":
			found = len(Package("s", l.Package)) > 0
		case "shadowing":
			found = slices.ContainsFunc(Check(tools), func(f Finding) bool {
				return f.Blocks() || f.Code == Instruction
			})
		case "chain":
			found = len(Chains(tools)) > 0
		}
		counts := harmless
		if l.Label == "attack" {
			counts = attacks
		}
		c := counts[l.Kind]
		if c.of++; found {
			c.found++
		}
		counts[l.Kind] = c
		if found != (l.Label == "attack") {
			t.Logf("wrong: %s", s.Text())
		}
	}
	for kind, least := range map[string]int{"typosquat": 25, "shadowing": 15, "chain": 20} {
		a, h := attacks[kind], harmless[kind]
		recall, precision := float64(a.found)/float64(a.of), float64(a.found)/float64(max(1, a.found+h.found))
		t.Logf("%s: recall %.0f%% of %d, precision %.0f%% beside %d harmless",
			kind, 100*recall, a.of, 100*precision, h.of)
		if a.of < least || h.of < least || recall < 0.9 || precision < 0.9 {
			t.Errorf("%s: %d of %d attacks and %d of %d harmless found", kind, a.found, a.of, h.found, h.of)
		}
	}
}
