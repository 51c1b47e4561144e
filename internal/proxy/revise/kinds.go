package revise

import (
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/grade"
)

// Kinds of errors of a draft, held against the gold calls.
const (
	NoCall           = "no_call"
	Format           = "format"    // JSON or a form that cannot be read as it stands
	Truncated        = "truncated" // it ends within a call
	Prose            = "prose"     // a call that stands in the text
	HallucinatedTool = "hallucinated_tool"
	WrongTool        = "wrong_tool"
	MissingCall      = "missing_call"
	ExtraCall        = "extra_call"
	Order            = "order" // the calls in another order, or one of a later turn
	MissingArgument  = "missing_argument"
	ExtraArgument    = "extra_argument"
	IllTyped         = "ill_typed"
	WrongValue       = "wrong_value"
)

// AllKinds are all of them, in the order of tables.
func AllKinds() []string {
	return []string{NoCall, Format, Truncated, Prose, HallucinatedTool, WrongTool, MissingCall, ExtraCall, Order,
		MissingArgument, ExtraArgument, IllTyped, WrongValue}
}

// Kinds are what is wrong with a draft, each once, in the order of AllKinds; none where its calls are the gold calls as
// they stand.
func Kinds(draft chat.Message, p *Point, fixer *Fixer, defaults grade.Defaults) []string {
	fixed := fixer.Fix(draft)
	if p.IsGold(draft.ToolCalls, defaults) && !(p.IsEnd() && (!fixed.Valid() || !fixed.IsPlain())) {
		return nil
	}
	found := map[string]bool{}
	calls := draft.ToolCalls
	if len(calls) == 0 {
		calls = fixed.Message.ToolCalls
		switch text := strings.TrimSpace(draft.Content); {
		case len(calls) > 0:
			found[Prose] = true
		case !looksLikeCall(draft.Content, fixer.names):
			found[NoCall] = true
		case strings.Count(text, "{") > strings.Count(text, "}"):
			found[Truncated] = true
		default:
			found[Format] = true
		}
	}
	for _, later := range p.Later {
		if equal, err := grade.EqualCalls(first(calls), later.Call(), defaults); err == nil && equal {
			found[Order], calls = true, nil
		}
	}
	if len(calls) > 0 {
		compareCalls(calls, p.GoldCalls(), fixer, defaults, found)
	}
	return slices.DeleteFunc(AllKinds(), func(k string) bool { return !found[k] })
}

func first(calls []chat.ToolCall) (c chat.ToolCall) {
	if len(calls) > 0 {
		c = calls[0]
	}
	return c
}

func compareCalls(calls, gold []chat.ToolCall, fixer *Fixer, defaults grade.Defaults, found map[string]bool) {
	found[ExtraCall] = len(calls) > len(gold)
	found[MissingCall] = len(calls) < len(gold)
	if len(calls) == len(gold) && len(gold) > 1 && !slices.Contains(grade.Match(calls, gold, defaults), -1) {
		found[Order] = true
		return
	}
	for i, c := range calls {
		if i >= len(gold) {
			break
		}
		if c.Name != gold[i].Name {
			if _, known := fixer.tools[c.Name]; known {
				found[WrongTool] = true
			} else {
				found[HallucinatedTool] = true
			}
			continue
		}
		got, ok := objectOf(c.Arguments)
		want, _ := objectOf(gold[i].Arguments)
		if !ok {
			found[Format] = true
			continue
		}
		compareArguments(got, want, found)
	}
}

func objectOf(text string) (*chat.Object, bool) {
	v, err := chat.Decode([]byte(text), chat.DecodeOptions{})
	o, ok := v.(*chat.Object)
	return o, err == nil && ok
}

func compareArguments(got, want *chat.Object, found map[string]bool) {
	for _, key := range want.Keys() {
		w, _ := want.Get(key)
		g, there := got.Get(key)
		switch {
		case !there:
			found[MissingArgument] = true
		case typeName(g) != typeName(w):
			found[IllTyped] = true
		case valueText(g) != valueText(w):
			found[WrongValue] = true
		}
	}
	for _, key := range got.Keys() {
		if _, there := want.Get(key); !there {
			found[ExtraArgument] = true
		}
	}
}

func typeName(v chat.Value) string {
	for _, t := range []string{"null", "boolean", "string", "number", "array", "object"} {
		if fitsType([]string{t}, v) {
			return t
		}
	}
	return ""
}

// valueText is a value in one spelling.
func valueText(v chat.Value) string {
	text, err := chat.AppendJSON(nil, v, chat.Format{SortKeys: true})
	if err != nil {
		return ""
	}
	return string(text)
}
