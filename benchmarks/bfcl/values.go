package bfcl

import (
	"fmt"
	"strings"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// unmarked drops the marks that do not count in a text.
var unmarked = strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "")

// standard is a text as it is compared: without spaces and , . / - _ * ^, in small letters, all quotes double.
func standard(s string) string {
	return strings.ReplaceAll(pyvalue.ChangeCase(unmarked.Replace(s), "lower"), "'", `"`)
}

// standardItem is an item of a list as it is compared.
func standardItem(v any) any {
	if s, ok := v.(string); ok {
		return standard(s)
	}
	return v
}

func standardItems(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = standardItem(v)
	}
	return out
}

// The checks of values return what is wrong, or "".

func checkString(name, value string, accepted any) string {
	want := standard(value)
	for _, answer := range toList(accepted) {
		if s, ok := answer.(string); ok && standard(s) == want {
			return ""
		}
	}
	return rejection("string", name, value)
}

func checkList(name string, value []any, accepted any) string {
	var answers []any
	for _, answer := range toList(accepted) {
		answers = append(answers, standardItems(toList(answer)))
	}
	if contains(answers, standardItems(value)) {
		return ""
	}
	return rejection("list/tuple", name, value)
}

func checkDict(name string, value, accepted any) string {
	why := "dict_checker:unclear: " + name + " has no accepted values"
	for _, answer := range toList(accepted) {
		if equal(answer, "") {
			continue
		}
		if why = unlikeDict(name, value, answer); why == "" {
			return ""
		}
	}
	return why
}

// unlikeDict says where an object is not what an answer, {key: [accepted values]}, accepts.
func unlikeDict(name string, value, answer any) string {
	why := ""
	given := dict(value)
	for i := range given.Len() {
		key, v := given.At(i)
		if !contains(answer, key) {
			why = fmt.Sprintf("value_error:dict_key: %s has the unexpected key %q", name, key)
			break
		}
		if !contains(standardItems(toList(member(answer, key))), standardItem(v)) {
			why = rejection("dict_value", name+"."+key, v)
			break
		}
	}
	want := dict(answer)
	for i := range want.Len() {
		key, accepted := want.At(i)
		if _, ok := given.Get(key); !ok && !contains(accepted, "") {
			return fmt.Sprintf("value_error:dict_key: %s has no key %q", name, key)
		}
	}
	return why
}

func checkDicts(name string, value []any, accepted any) string {
	why := "list_dict_checker:unclear: " + name + " has no accepted values"
	for _, answer := range toList(accepted) {
		if length(answer) != len(value) {
			why = fmt.Sprintf("value_error:list_dict_count: %s has %d objects, not %d",
				name, len(value), length(answer))
			continue
		}
		if why = unlikeDicts(name, value, answer); why == "" {
			return ""
		}
	}
	return why
}

func unlikeDicts(name string, value []any, answer any) string {
	if len(value) == 0 {
		return ""
	}
	answers := toList(answer)
	for i, item := range value {
		if why := checkDict(fmt.Sprintf("%s[%d]", name, i), item, []any{answers[i]}); why != "" {
			return why
		}
	}
	return ""
}

func rejection(what, name string, value any) string {
	return fmt.Sprintf("value_error:%s: %s is %s, which is none of the accepted values", what, name, brief(value))
}

// brief is a value as JSON, cut to a length that a person reads.
func brief(v any) string {
	const most = 80
	b, err := chat.AppendJSON(nil, v,
		chat.Format{Kind: func(v any) (any, bool) { return chat.Number(fmt.Sprint(v)), true }})
	if err != nil {
		return "a " + pyvalue.TypeName(v)
	}
	text := string(b)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
