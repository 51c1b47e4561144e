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
		if strings.HasPrefix(asked.Why, "Nothing ") {
			asked, look = p.Steps[len(p.Steps)-2], asked
			parent := strings.HasPrefix(look.Why, "Nothing is found. I look ")
			if parent {
				seen["parent"]++
			}
			if parent != strings.Contains(p.Working(), " is there and has no ") ||
				parent == strings.Contains(p.Working(), " - no") || strings.Contains(p.Working(), " - yes") {
				t.Errorf("%s: %q", look.SQL, p.Working())
			}
		}
		for _, s := range p.Steps[:max(len(p.Steps)-2, 0)] { // nothing tells it before
			if !strings.HasPrefix(s.SQL, "SELECT DISTINCT") {
				t.Errorf("%s stands before %s", s.SQL, asked.SQL)
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
	if seen["list"] == 0 || seen["count"] == 0 || seen["yes_no"] == 0 || seen["at once"] < 10 || seen["parent"] < 3 {
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
		last := p.Steps[len(p.Steps)-1]
		if look := last; look.Why != "" && len(p.Steps) > 1 {
			seen["parent"]++
			if last = p.Steps[len(p.Steps)-2]; len(o.ask(look.SQL)) == 0 || p.slots["many"] != p.Tables[0].Many {
				t.Errorf("what is of %s is called %s", look.SQL, p.slots["many"])
			}
		}
		if got := o.ask(last.SQL); len(got) > 0 || p.Changes() {
			t.Errorf("%s: %q", last.SQL, got)
		}
		if !strings.HasPrefix(p.Answer.Values[0], "Nothing was changed: there are no ") {
			t.Errorf("%q", p.Answer.Values)
		}
	})
	if seen["set_all"] == 0 || seen["remove_all"] == 0 || seen["parent"] == 0 {
		t.Errorf("drawn are %v", seen)
	}
}
