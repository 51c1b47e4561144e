package generate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// tracker is a shop whose tools keep tickets, and show them as text: a list behind keys, and one with all that is
// noted.
func tracker(t *testing.T) (*shop, []Tool) {
	s := newShop(t)
	type ticket struct{ id, title, status, priority, note, owner string }
	all := map[*stock][]ticket{}
	of := func(s *stock) []ticket {
		s.shop.mu.Lock()
		defer s.shop.mu.Unlock()
		if all[s] == nil {
			all[s] = []ticket{
				{"T-1", "Fix the lift", "Open", "High", "", "Ana"}, {"T-2", "Order paint", "Open", "Low", "", ""},
				{"T-3", "Clean the gutter", "Done", "High", "", "Bo"},
				{"T-4", "Call the electrician", "Open", "Low", "", "Cy"},
			}
		}
		return all[s]
	}
	find := func(s *stock, id any) (*ticket, error) {
		list := of(s)
		i := slices.IndexFunc(list, func(x ticket) bool { return x.id == id })
		if i < 0 {
			return nil, errors.New("there is no such ticket")
		}
		return &list[i], nil
	}
	s.tools = map[string]func(*stock, map[string]any) (string, error){
		"list_tickets": func(s *stock, _ map[string]any) (text string, _ error) {
			for _, status := range []string{"Open", "Done"} {
				text += status + ":\n"
				for _, x := range of(s) {
					if x.status == status {
						text += fmt.Sprintf("  [%s] %s - %s\n", strings.ToUpper(x.priority), x.id, x.title)
					}
				}
				text += "\n"
			}
			return text, nil
		},
		"show_ticket": func(s *stock, args map[string]any) (string, error) {
			x, err := find(s, args["id"])
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Ticket %s - %s\n\nOwner: %s\nNote: %s\n", x.id, x.title, x.owner, x.note), nil
		},
		"edit_ticket": func(s *stock, args map[string]any) (string, error) {
			x, err := find(s, args["id"])
			if err != nil {
				return "", err
			}
			for name, into := range map[string]*string{"status": &x.status, "priority": &x.priority, "note": &x.note} {
				if v, given := args[name].(string); given {
					*into = v
				}
			}
			return "saved", nil
		},
	}
	return s, []Tool{tool("list_tickets", "Lists all tickets.", none),
		tool("show_ticket", "Shows one ticket.",
			`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`),
		tool("edit_ticket", "Changes a ticket.", `{"type":"object","properties":{"id":{"type":"string"},
			"status":{"type":"string","enum":["Open","Done"]},"priority":{"type":"string","enum":["Low","High"]},
			"note":{"type":"string"}},"required":["id"]}`)}
}

// Of a server that shows text, lists behind keys are tables, and what only the view of a thing shows is asked for and
// changed, too.
func TestProgramsOverViews(t *testing.T) {
	s, tools := tracker(t)
	found := map[string]int{}
	var all []scenario.Scenario
	for seed := range 3 {
		o := optionsOf(s)
		o.Asked, o.Seed = 0.8, uint64(seed)
		all = append(all, run(t, s, tools, o).Scenarios...)
	}
	for _, sc := range all {
		if sc.Provenance == nil || !strings.HasPrefix(sc.Provenance.Wording, "asked") {
			continue
		}
		found["programs"]++
		last := sc.Gold[len(sc.Gold)-1]
		arguments := string(last.Arguments)
		switch {
		case last.Name == "show_ticket" && len(sc.Gold) == 2 && sc.Gold[0].Name == "list_tickets":
			found["asked of a view"]++
		case last.Name == "edit_ticket" && strings.Contains(arguments, `"note"`):
			found["notes"]++
			if !slices.ContainsFunc(sc.Checks, func(c scenario.Check) bool {
				return c.Type == scenario.StateCheck && c.Name == "show_ticket" && c.Contains != nil
			}) {
				t.Errorf("%q is not checked by the view: %v", sc.Task, sc.Checks)
			}
		case last.Name == "edit_ticket" && strings.Contains(arguments, `"status"`),
			last.Name == "edit_ticket" && strings.Contains(arguments, `"priority"`):
			found["properties"]++
		}
	}
	for what, least := range map[string]int{"programs": 60, "asked of a view": 6, "notes": 6, "properties": 9} {
		if found[what] < least {
			t.Errorf("%s: %d, at least %d wanted; %v", what, found[what], least, found)
		}
	}
}
