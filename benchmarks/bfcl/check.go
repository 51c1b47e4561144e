package bfcl

import (
	"fmt"
	"slices"

	"hone/internal/chat"
)

// check says what is wrong with the calls, or "". stopped: BFCL's checker raises what is returned.
func (q Question) check(calls []call) (why string, stopped bool) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(raised)
			if !ok {
				panic(r)
			}
			why, stopped = "checker_error: BFCL's checker ends with "+string(e), true
		}
	}()
	wrongCount := fmt.Sprintf("wrong_count: %d calls, not ", len(calls))
	switch {
	case q.Category == Parallel:
		return q.parallel(calls), false
	case q.Category == Simple && len(calls) != 1:
		return "simple_function_checker:" + wrongCount + "1", false
	case q.Category == Multiple && len(calls) != len(q.Gold):
		return fmt.Sprintf("multiple_function_checker:%s%d", wrongCount, len(q.Gold)), false
	case len(q.Gold) == 0 || len(calls) == 0 || len(q.Tools) == 0:
		raise("IndexError", "list index out of range")
	}
	t := &q.Tools[0]
	if q.Category == Multiple {
		t = q.toolOf(q.Gold[0])
	}
	return q.one(t, calls[0], q.Gold[0]), false
}

// parallel gives each gold call the first of the calls that is left and fits.
func (q Question) parallel(calls []call) string {
	if len(calls) != len(q.Gold) {
		return fmt.Sprintf("parallel_function_checker_no_order:wrong_count: %d calls, not %d", len(calls), len(q.Gold))
	}
	used := make([]bool, len(calls))
	for i, gold := range q.Gold {
		t, found, why := q.toolOf(gold), false, ""
		for j := range calls {
			if used[j] {
				continue
			}
			if why = q.one(t, calls[j], gold); why == "" {
				used[j], found = true, true
				break
			}
		}
		if !found {
			return fmt.Sprintf("parallel_function_checker_no_order:cannot_find_match: gold call %d, %s: "+
				"the last call that is left does not fit: %s", i, t.Name, why)
		}
	}
	return ""
}

// toolOf is the tool that a gold call names. Where there is none BFCL reads on in None.
func (q Question) toolOf(gold any) *Tool {
	name, _ := goldCall(gold)
	t := q.tool(name)
	if t == nil {
		raise("TypeError", "'NoneType' object is not subscriptable: no tool is named %q", name)
	}
	return t
}

// goldCall is the first member of a gold call: its name, and its accepted values by parameter.
func goldCall(gold any) (name string, accepted any) {
	o := dict(gold)
	if o.Len() == 0 {
		raise("IndexError", "list index out of range")
	}
	return o.At(0)
}

// one checks one call: simple_function_checker.
func (q Question) one(t *Tool, c call, gold any) string {
	wanted, accepted := goldCall(gold)
	if name := q.modelName(t.Name); c.name != name && !(c.name == wanted && t.isRenamed(wanted)) {
		return fmt.Sprintf("simple_function_checker:wrong_func_name: %q is called, not %q", c.name, name)
	}
	for name := range items(t.required) {
		if !contains(c.arguments, name) {
			return fmt.Sprintf("simple_function_checker:missing_required: %s", brief(name))
		}
	}
	for i := range c.arguments.Len() {
		name, value := c.arguments.At(i)
		if !contains(t.properties, name) || !contains(accepted, name) {
			return fmt.Sprintf("simple_function_checker:unexpected_param: %s", name)
		}
		if why := q.argument(name, value, member(t.properties, name), member(accepted, name)); why != "" {
			return why
		}
	}
	for name := range items(accepted) {
		if !contains(c.arguments, name) && !contains(member(accepted, name.(string)), "") {
			return fmt.Sprintf("simple_function_checker:missing_optional: %s is not marked as optional", brief(name))
		}
	}
	return ""
}

// argument checks one value by its parameter's schema and accepted values.
func (q Question) argument(name string, value, schema, accepted any) string {
	want := q.Language.readSchema(schema)
	if q.Language != Python {
		text, ok := value.(string)
		if !ok {
			return fmt.Sprintf("type_error:%s: %s is %s (%s), not the text of a literal",
				q.Language, name, brief(value), kindOf(value))
		}
		value = q.Language.literal(text, want)
	} else if want.kind == floatKind && kindOf(value) == intKind {
		value = toFloat(value)
	}
	if want.name == "" {
		if want.kind = acceptedKind(accepted); want.kind == noKind {
			want.kind = kindOf(value)
		}
	}
	ok, variable := ofType(value, accepted, want)
	switch {
	case !ok:
		return fmt.Sprintf("type_error:simple: %s is %s (%s), and %s is expected",
			name, brief(value), kindOf(value), want)
	case variable: // compared as it is
	case want.kind == dictKind:
		return checkDict(name, value, accepted)
	case want.kind == listKind && want.nested == dictKind:
		return checkDicts(name, value.([]any), accepted)
	case want.kind == strKind:
		return checkString(name, value.(string), accepted)
	case want.kind == listKind:
		return checkList(name, value.([]any), accepted)
	}
	if !contains(accepted, value) {
		return rejection("others", name, value)
	}
	return ""
}

func (e expected) String() string {
	name := e.name
	if name == "" {
		name = e.kind.String()
	}
	if e.nested != noKind {
		name += " of " + e.items
	}
	return name
}

// literal is the value of a text of Java or JavaScript.
func (l Language) literal(text string, want expected) any {
	if l == Java {
		return fromJava(text, want.name, want.items)
	}
	return fromJavaScript(text, want.name, want.items)
}

// sameNames reports whether the output calls what gold calls, each tool as often.
func (q Question) sameNames(output any) bool {
	list, _ := output.([]any)
	if len(list) != len(q.Gold) {
		return false
	}
	var called, wanted []string
	for i, item := range list {
		o, _ := item.(*chat.Object)
		gold, _ := q.Gold[i].(*chat.Object)
		if o == nil || gold == nil || gold.Len() == 0 {
			return false
		}
		v, _ := o.Get("name")
		name, ok := v.(string)
		if !ok {
			return false
		}
		called, wanted = append(called, name), append(wanted, gold.Keys()[0])
	}
	for i, name := range called {
		if t := q.tool(name); t != nil && t.isRenamed(name) && slices.Contains(wanted, name) {
			called[i] = q.modelName(t.Name)
		}
	}
	for i, name := range wanted {
		wanted[i] = q.modelNameOfGold(name)
	}
	slices.Sort(called)
	slices.Sort(wanted)
	return slices.Equal(called, wanted)
}

// modelNameOfGold is the name under which the model was told of the tool that gold names.
func (q Question) modelNameOfGold(gold string) string {
	if t := q.tool(gold); t != nil {
		return q.modelName(t.Name)
	}
	return q.modelName(gold)
}

// calls reports whether a call of a name is one of the tool that gold names.
func (q Question) calls(name, gold string) bool {
	t := q.tool(gold)
	return name == q.modelNameOfGold(gold) || name == gold && t != nil && t.isRenamed(gold)
}

// sameArguments reports whether calls and gold calls pair up by name and arguments: all that gold has but for what may
// be left out, and none beside them.
func (q Question) sameArguments(calls []call) bool {
	owner := make([]int, len(calls)) // the gold call that has a call, -1 where none
	for i := range owner {
		owner[i] = -1
	}
	for i := range q.Gold {
		if !q.pair(i, calls, owner, make([]bool, len(calls))) {
			return false
		}
	}
	return true
}

// pair finds a call for a gold call, moving others to other calls where they must (Kuhn's matching).
func (q Question) pair(i int, calls []call, owner []int, tried []bool) bool {
	name, accepted := q.Gold[i].(*chat.Object).At(0)
	for j, c := range calls {
		if tried[j] || !q.calls(c.name, name) || !argumentsFit(c.arguments, accepted) {
			continue
		}
		tried[j] = true
		if owner[j] < 0 || q.pair(owner[j], calls, owner, tried) {
			owner[j] = i
			return true
		}
	}
	return false
}

func argumentsFit(given *chat.Object, accepted any) bool {
	want, ok := accepted.(*chat.Object)
	if !ok {
		return false
	}
	for _, name := range given.Keys() {
		if _, ok := want.Get(name); !ok {
			return false
		}
	}
	for i := range want.Len() {
		name, values := want.At(i)
		list, ok := values.([]any)
		_, isText := values.(string) // in which Python finds ""
		if _, there := given.Get(name); !there && !isText && !(ok && contains(list, "")) {
			return false
		}
	}
	return true
}
