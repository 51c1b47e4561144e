package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/data/kinds"
)

// explored are the tools of a shop after the exploration.
func explored(t *testing.T, shop *shop, tools ...Tool) *maker {
	t.Helper()
	m := newMaker(shop, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(shop))
	defer m.player.close()
	if err := m.explore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// What a server says is heard while it is explored: a form that is stated for a sibling, and refusals that ask for more
// and more.
func TestExplorationHears(t *testing.T) {
	shop := newShop(t)
	shop.tools["compare"] = func(_ *stock, args map[string]any) (string, error) {
		for _, name := range []string{"version", "version2"} {
			if text := fmt.Sprint(args[name]); !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(text) {
				return "", errors.New("not valid: " + text)
			}
		}
		return fmt.Sprint(args["version"], " and ", args["version2"]), nil
	}
	shop.tools["look_up"] = func(_ *stock, args map[string]any) (string, error) {
		switch {
		case args["alpha"] == nil:
			return "", errors.New("alpha is required")
		case args["beta"] == nil || args["gamma"] == nil || args["delta"] == nil: // more than a call has by chance
			return "", errors.New("beta, gamma and delta are required")
		}
		return "found: " + fmt.Sprint(args["alpha"]), nil
	}
	var optional []string
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"} {
		optional = append(optional, fmt.Sprintf(`"%s":{"type":"string"}`, name))
	}
	m := explored(t, shop,
		tool("compare", "Compare two of them.", `{"type":"object","properties":{"version":{"type":"string","description":"Semver version string"},"version2":{"type":"string"}},"required":["version","version2"]}`),
		tool("look_up", "Look it up.", `{"type":"object","properties":{`+strings.Join(optional, ",")+`}}`))
	for _, s := range m.tools {
		if !s.usable() {
			t.Errorf("%s answered none of %d calls: %s", s.Name, s.tried, s.why)
		}
	}
}

// To an answer without sense nothing is held, and no session begins with a call that has one, whatever it changes.
func TestRealmsHaveSense(t *testing.T) {
	shop := newShop(t)
	shop.tools["get_balance"] = func(*stock, map[string]any) (string, error) { return "The balance is NaN.", nil }
	shop.tools["add_page"] = func(s *stock, args map[string]any) (string, error) {
		return "Invalid Date", os.WriteFile(filepath.Join(s.dir, fmt.Sprint(args["name"], ".txt")), nil, 0o600)
	}
	m := explored(t, shop, append(slices.DeleteFunc(shopTools(), func(x Tool) bool {
		return x.Name != "list_items" && x.Name != "add_item"
	}),
		tool("get_balance", "Get the balance.", none), tool("add_page", "Add a page.",
			`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`))...)
	if len(m.worlds) < 2 {
		t.Error("no session begins with something")
	}
	for _, r := range m.worlds {
		if len(r.looks) == 0 || slices.ContainsFunc(r.looks, func(c Call) bool { return c.Tool == "get_balance" }) {
			t.Errorf("realm %d is looked at by %v", r.index, r.looks)
		}
		if slices.ContainsFunc(r.setup, func(c Call) bool { return c.Tool == "add_page" }) ||
			r.index > 0 && len(r.setup) == 0 {
			t.Errorf("realm %d begins with %v", r.index, r.setup)
		}
	}
}

// Tasks of the user's kinds, which are taken last, make tools frequent that others had their places for: those places
// go to tools that are in one task alone.
func TestChoiceIsLevel(t *testing.T) {
	several := func(tool string, n int) (list []*Candidate) {
		for i := range n {
			arguments := json.RawMessage(fmt.Sprintf(`{"a":%d}`, i))
			list = append(list, &Candidate{Kind: pair, Calls: []Call{
				{Tool: tool, Arguments: arguments},
				{Tool: tool, Arguments: arguments},
			}})
		}
		return list
	}
	mine := &own{kind: &kinds.Kind{Name: "k"}}
	list := slices.Concat(several("often", 2), several("seldom", 2))
	for range 4 {
		list = append(list, &Candidate{Kind: single, own: mine, Calls: []Call{{Tool: "often"}}})
	}
	count := func(list []*Candidate) map[string]int {
		n := map[string]int{}
		for _, c := range list {
			n[c.tools()[0]]++
		}
		return n
	}
	m := &maker{Options: Options{N: 6, Several: 2. / 6}.withDefaults(), byName: map[string]*subject{}}
	m.Abstain = 0
	if n := count(m.choose(slices.Clone(list), 6)); n["often"] != 4 || n["seldom"] != 2 {
		t.Errorf("chosen are %v", n)
	}
	var drafts []draftOf
	for _, c := range list {
		drafts = append(drafts, draftOf{of: c})
	}
	var kept []*Candidate
	for _, d := range m.trim(drafts) {
		kept = append(kept, d.of)
	}
	if n := count(kept); n["often"] != 4 || n["seldom"] != 2 {
		t.Errorf("kept are %v", n)
	}
}
