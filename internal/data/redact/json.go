package redact

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hone/internal/chat"
)

// asJSON is the object or list that a text is, if it is one.
func asJSON(text string) (chat.Value, bool) {
	if text = strings.TrimSpace(text); text == "" || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	v, err := chat.Decode([]byte(text), chat.DecodeOptions{LastWins: true})
	return v, err == nil
}

// Texts are what Find is to look at of a text: itself or, of JSON, each text and number with its key, since escapes hide what they say. A key
// of anything else is a text of its own.
func Texts(text string) []string {
	v, is := asJSON(text)
	if !is {
		return []string{text}
	}
	var out []string
	leaves(v, "", func(key, leaf string, _ bool) { out = append(out, key+`: "`+leaf+`"`) })
	return out
}

// Numbers are the numbers of a text that is JSON, as it spells them.
func Numbers(text string) (out []string) {
	if v, is := asJSON(text); is {
		leaves(v, "", func(_ string, leaf string, number bool) {
			if number {
				out = append(out, leaf)
			}
		})
	}
	return out
}

func leaves(v chat.Value, key string, yield func(key, leaf string, number bool)) {
	switch v := v.(type) {
	case []chat.Value:
		for _, x := range v {
			leaves(x, key, yield)
		}
	case *chat.Object:
		for i := range v.Len() {
			key, x := v.At(i)
			switch x.(type) {
			case string, chat.Number:
			default:
				yield("", key, false)
			}
			leaves(x, key, yield)
		}
	case string:
		yield(key, v, false)
	case chat.Number:
		yield(key, string(v), true)
	}
}

// Apply puts the placeholders of values into a text, and JSON stays JSON: a number is a number there still. What can stay of its white space
// and its escapes stays.
func Apply(text string, values []Value) string {
	v, is := asJSON(text)
	if !is {
		return Replace(text, values)
	}
	changed, touched := applied(v, values, slices.ContainsFunc(values, func(v Value) bool { return v.Deep }))
	if !touched {
		return text
	}
	raw := Replace(text, values)
	if again, is := asJSON(raw); is && reflect.DeepEqual(again, changed) {
		return raw
	}
	out, err := chat.AppendJSON(nil, changed, chat.Format{KeepNumbers: true})
	if err != nil {
		return raw
	}
	return string(out)
}

func applied(v chat.Value, values []Value, deep bool) (out chat.Value, touched bool) {
	switch v := v.(type) {
	case []chat.Value:
		list := make([]chat.Value, len(v))
		for i, x := range v {
			var one bool
			list[i], one = applied(x, values, deep)
			touched = touched || one
		}
		return list, touched
	case *chat.Object:
		o := &chat.Object{}
		for i := range v.Len() {
			key, x := v.At(i)
			x, one := applied(x, values, deep)
			said := key
			if deep {
				said = renamed(key, values, func(s string) bool {
					_, old := v.Get(s)
					_, is := o.Get(s)
					return old || is
				})
			}
			o.Set(said, x)
			touched = touched || one || said != key
		}
		return o, touched
	case string:
		s := Replace(v, values)
		return s, s != v
	case chat.Number:
		if s := Replace(string(v), values); s != string(v) {
			return anonymous(string(v), s), true
		}
	}
	return v, false
}

// renamed is a key with placeholders, which is none that is taken: two spellings of one value may be keys of one object. A key of words
// stays, though a password may be the same: it is the name of a parameter.
func renamed(key string, values []Value, taken func(string) bool) string {
	if !strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("_- ", r) }) {
		return key
	}
	said := Replace(key, values)
	out := said
	for n := 2; out != key && taken(out); n++ {
		out = said + " " + strconv.Itoa(n)
	}
	return out
}

// anonymous is a number in the place of one that was redacted, so that a schema which wants a number has one. In ledgers of before 2026-11-23
// its placeholder is a text: then it is a number of as many digits, with the placeholder's own at its end. Where more than the number is
// left, that is a text.
func anonymous(number, said string) chat.Value {
	if !strings.ContainsFunc(said, func(r rune) bool { return r < '0' || r > '9' }) {
		return chat.Number(said)
	}
	at := placeholder.FindStringSubmatch(said)
	if at == nil || len(number) <= len(at[1]) || strings.ContainsAny(number, ".eE-") {
		return said
	}
	return chat.Number("1" + strings.Repeat("0", len(number)-1-len(at[1])) + at[1])
}

var placeholder = regexp.MustCompile(`^\[[A-Z]+_(\d+)\]$`)
