package access

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

// Whatever the rules are, following the advice of Unanswered leaves nothing to be asked, allows what would have been
// asked about, and changes no other answer.
func TestUnansweredIsAllThatIsMissing(t *testing.T) {
	pattern := rapid.SampledFrom([]string{"*", "calc", "calc/*", "files*", "files/read", "*/add", "io*", "nothing"})
	rapid.Check(t, func(r *rapid.T) {
		o := GateOptions{Tools: catalog, Mode: rapid.SampledFrom([]Mode{Ask, Auto, ReadOnly}).Draw(r, "mode"),
			Deny: rapid.SliceOfN(pattern, 0, 2).Draw(r, "deny"), Ask: rapid.SliceOfN(pattern, 0, 2).Draw(r, "ask"),
			Allow: rapid.SliceOfN(pattern, 0, 2).Draw(r, "allow")}
		before, err := NewGate(o)
		if err != nil {
			r.Fatal(err)
		}
		ask, allow := before.RulesToChange()
		o.Ask = slices.DeleteFunc(slices.Clone(o.Ask), func(rule string) bool { return slices.Contains(ask, rule) })
		o.Allow = append(o.Allow, allow...)
		after, err := NewGate(o)
		if err != nil {
			r.Fatal(err)
		}
		for name := range catalog {
			was := before.Decide(t.Context(), chat.ToolCall{Name: name}, Place{})
			is := after.Decide(t.Context(), chat.ToolCall{Name: name}, Place{})
			if asked := was.By == ByNobody; is.By == ByNobody || is.Allowed != (was.Allowed || asked) {
				r.Fatalf("%s: %+v, then %+v, after %q and %q", name, was, is, ask, allow)
			}
			if denied := !was.Allowed && was.By != ByNobody; denied != (before.Refusal(name) != "") {
				r.Fatalf("%s: %+v, refusal %q", name, was, before.Refusal(name))
			}
		}
		o.Prompter = YesToAll{}
		if g, err := NewGate(o); err != nil {
			r.Fatal(err)
		} else if ask, allow := g.RulesToChange(); ask != nil || allow != nil {
			r.Fatalf("with somebody to ask: %q, %q", ask, allow)
		}
	})
}
