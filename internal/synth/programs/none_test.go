package programs

import (
	"regexp"
	"strings"
	"testing"
)

// What is asked for is not there, what is looked at is, and the reason says so.
func TestNoneOf(t *testing.T) {
	seen := map[string]int{}
	drawnBy(t, 60, (*drawer).noneOf, func(p *Program, _ *World, o opened) {
		seen[p.pattern]++
		asked, look := p.Steps[len(p.Steps)-1], p.Steps[0]
		if look.Why == "" && strings.HasPrefix(p.Steps[0].SQL, "SELECT DISTINCT") {
			look = p.Steps[1]
		}
		if asked.Why != "" {
			asked, look = p.Steps[len(p.Steps)-2], asked
			if !strings.Contains(p.Working(), " - no") || strings.Contains(p.Working(), " - yes") {
				t.Errorf("%s: %q", look.SQL, p.Working())
			}
		}
		if got := strings.Join(o.ask(asked.SQL), " "); got != "" && got != "0" {
			t.Errorf("%s: %s", asked.SQL, got)
		}
		believed := p.working == foundNone // at once
		if believed {
			seen["at once"]++
		}
		if !believed && len(o.ask(look.SQL)) == 0 {
			t.Errorf("%s: nothing", look.SQL)
		}
	})
	if seen["list"] == 0 || seen["count"] == 0 || seen["yes_no"] == 0 || seen["at once"] < 10 {
		t.Errorf("drawn are %v", seen)
	}
}

// An answer that there are none is taken in other words, and one that names some is not.
func TestNoneIsSaid(t *testing.T) {
	none := regexp.MustCompile(sayNone())
	for text, want := range map[string]bool{"None: there are no shifts of Ana.": true, "Ana has no shifts.": true,
		"There aren't any.": true, "No shifts.": true, "11, 12": false, "Shift 11": false} {
		if none.MatchString(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// Who is to change things of which there are none changes nothing and says so. What is asked for is not there.
func TestNoneToChange(t *testing.T) {
	seen := map[string]int{}
	drawnBy(t, 50, (*drawer).noneToChange, func(p *Program, _ *World, o opened) {
		seen[p.pattern]++
		if len(p.Steps) > 1 && strings.Contains(p.Steps[0].SQL, " LIKE '%") && p.slots["many"] != p.Tables[0].Many {
			t.Errorf("what is of %s is called %s", p.Steps[0].SQL, p.slots["many"])
		}
		if got := o.ask(p.Steps[len(p.Steps)-1].SQL); len(got) > 0 || p.Changes() {
			t.Errorf("%s: %q", p.Steps[len(p.Steps)-1].SQL, got)
		}
		if !strings.HasPrefix(p.Answer.Values[0], "Nothing was changed: there are no ") {
			t.Errorf("%q", p.Answer.Values)
		}
	})
	if seen["set_all"] == 0 || seen["remove_all"] == 0 {
		t.Errorf("drawn are %v", seen)
	}
}
