package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// family is a way to word tasks. Test and validation tasks are worded by families that no training task is.
type family struct {
	name    string
	request func(s *subject) string
	// one words a request with its slots; without slots the pattern for none is taken.
	one, bare []string
	slot      string // of a name and a value
	nested    string // the same where the value has parts
	between   string // slots
	// then joins two requests; {a} and {b} are requests, {field} what the first gives and {param} what the second takes.
	// In fedWithin {hole} stands in the text of {b}.
	fed, fedWhole, fedWithin, both, recover []string
	field, whole                            []string // what is to be said at the end
}

// seen are the families of training tasks, held those of the others.
func seen() []family {
	request := byDescription
	return []family{
		{name: "plain", request: request, one: []string{"{Do}, with {slots}.", "Please {do}. Use {slots}."}, bare: []string{"{Do}.", "Please {do}."},
			slot: "{name} {value}", nested: "these {name}: {value}", between: " and ",
			fed:       []string{"First {a}. Then take the {field} of the result and {b}, with it as the {param}."},
			fedWhole:  []string{"First {a}. Then {b}, with the result as the {param}."},
			fedWithin: []string{"First {a}. Then {b}, with what came out in the place of {hole}."},
			both:      []string{"First {a}. Then {b}.", "Do two things: {a}; then {b}."},
			recover:   []string{"Try to {a}. If that fails, {b}."},
			field:     []string{"Reply with the {field} only.", "Answer with just the {field}."}, whole: []string{"Reply with the result only.", "Answer with just the result."}},
		{name: "polite", request: request, one: []string{"Could you {do}? {Slots}.", "Can you {do}, given that {slots}?"}, bare: []string{"Could you {do}?", "Can you {do}?"},
			slot: "the {name} is {value}", nested: "the {name} are as follows: {value}", between: " and ",
			fed:       []string{"Could you {a}, and with the {field} that comes out as the {param} {b}?"},
			fedWhole:  []string{"Could you {a}, and with what comes out as the {param} {b}?"},
			fedWithin: []string{"Could you {a}, and with what comes out in the place of {hole} {b}?"},
			both:      []string{"Could you {a}, and after that {b}?"},
			recover:   []string{"Could you {a}? If it does not work, please {b}."},
			field:     []string{"Give me only the {field}."}, whole: []string{"Give me only the result."}},
		{name: "wish", request: request, one: []string{"I want to {do} for {slots}.", "I would like you to {do} given {slots}."}, bare: []string{"I want to {do}.", "I would like you to {do}."},
			slot: "{name} {value}", nested: "{name} like this: {value}", between: ", ",
			fed:       []string{"I want to {a}, then to {b}, using the {field} from before as the {param}."},
			fedWhole:  []string{"I want to {a}, then to {b}, using what was returned as the {param}."},
			fedWithin: []string{"I want to {a}, then to {b}, where {hole} stands for what was returned."},
			both:      []string{"I want to {a}. I also want to {b}."},
			recover:   []string{"I want to {a}; when this is refused, {b} instead."},
			field:     []string{"The answer is to be the {field} alone."}, whole: []string{"The answer is to be the result alone."}},
	}
}

func held() []family {
	request := func(s *subject) string { return otherwise(byName(s)) }
	return []family{
		{name: "notes", request: request, one: []string{"{slots} -- {do}, will you?", "Here is what I have: {slots}. Now {do}."}, bare: []string{"Next job: {do}.", "Now {do}, will you?"},
			slot: "{name}: {value}", nested: "{name}: {value}", between: "; ",
			fed:       []string{"Begin with this: {a}. Its {field} then goes in as {param} when you {b}."},
			fedWhole:  []string{"Begin with this: {a}. What you see then goes in as {param} when you {b}."},
			fedWithin: []string{"Begin with this: {a}. What you see then replaces {hole} when you {b}."},
			both:      []string{"Two jobs for you. One: {a}. Two: {b}."},
			recover:   []string{"See whether you can {a}. Should it go wrong, fall back and {b}."},
			field:     []string{"All I need back: {field}."}, whole: []string{"All I need back: the outcome."}},
		{name: "errand", request: request, one: []string{"A colleague needs somebody to {do} ({slots}).", "My notes say: {do}. Details: {slots}."}, bare: []string{"A colleague needs somebody to {do}.", "My notes say: {do}."},
			slot: "{value} as the {name}", nested: "{name} with {value}", between: ", ",
			fed:       []string{"A colleague asks to {a}; whatever {field} turns up serves as {param} so that you {b}."},
			fedWhole:  []string{"A colleague asks to {a}; whatever turns up serves as {param} so that you {b}."},
			fedWithin: []string{"A colleague asks to {a}; whatever turns up is written for {hole} so that you {b}."},
			both:      []string{"My list for today: {a}, next {b}."},
			recover:   []string{"Somebody hopes to {a}. It may be impossible; in that event {b}."},
			field:     []string{"Tell them nothing but the {field}."}, whole: []string{"Tell them nothing but what came out."}},
	}
}

// text words a candidate by a family.
func (m *maker) text(c *Candidate, f family, r *rand.Rand) string {
	var text string
	switch {
	case c.own != nil:
		return c.own.values.Fill(pick(r, c.own.wordings(c.Split)))
	case c.Kind == single:
		text = m.alone(c.Calls[0], f, r)
	case c.Kind == chain && c.Calls[1].Within != "":
		text = m.joined(c, pick(r, f.fedWithin), f)
	case c.Kind == chain && c.Calls[1].Field == "":
		text = m.joined(c, pick(r, f.fedWhole), f)
	case c.Kind == chain:
		text = m.joined(c, pick(r, f.fed), f)
	case c.Kind == recovery:
		text = m.joined(c, pick(r, f.recover), f)
	default:
		text = m.joined(c, pick(r, f.both), f)
	}
	return text + f.reply(c.Answer, r)
}

// reply says what the answer is to be, after a space; "" where nothing is asked.
func (f family) reply(a answer, r *rand.Rand) string {
	switch {
	case a.text == "":
		return ""
	case a.field == "":
		return " " + pick(r, f.whole)
	}
	return " " + strings.ReplaceAll(pick(r, f.field), "{field}", spoken(a.field))
}

// alone words one call as a sentence.
func (m *maker) alone(c Call, f family, r *rand.Rand, without ...string) string {
	do, slots := f.request(m.byName[c.Tool]), f.slots(slotsOf(c, without...))
	pattern := pick(r, f.one)
	if slots == "" {
		pattern = pick(r, f.bare)
	}
	text := strings.NewReplacer("{Do}", title(do), "{do}", do, "{slots}", slots, "{Slots}", title(slots)).Replace(pattern)
	return title(text)
}

func (f family) slots(slots []slot) string {
	var parts []string
	for _, s := range slots {
		pattern := f.slot
		if s.nested {
			pattern = f.nested
		}
		parts = append(parts, strings.NewReplacer("{name}", s.name, "{value}", s.value).Replace(pattern))
	}
	return strings.Join(parts, f.between)
}

// joined words two calls by a pattern.
func (m *maker) joined(c *Candidate, pattern string, f family) string {
	part := func(x Call) string {
		do, slots := f.request(m.byName[x.Tool]), f.slots(slotsOf(x))
		if slots == "" {
			return do
		}
		return fmt.Sprintf("%s (%s)", do, slots)
	}
	last := c.Calls[len(c.Calls)-1]
	return strings.NewReplacer("{a}", part(c.Calls[0]), "{b}", part(last), "{field}", spoken(last.Field), "{param}", spoken(last.Fed), "{hole}", last.mark()).Replace(pattern)
}
