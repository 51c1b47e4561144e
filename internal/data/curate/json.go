package curate

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

// part is a stretch of a text that is an object or a list of JSON, or none.
type part struct {
	text  string
	value chat.Value // nil: it is no JSON
}

// parts cuts a text into what is JSON and what is not, wherever the JSON stands: between words, in lines as in a log,
// or over several lines. It is nil where nothing is JSON.
func parts(text string) (out []part) { return partsOf(text, func(int) {}) }

// partsOf tells how many bytes each reading in vain took.
func partsOf(text string, read func(int)) (out []part) {
	if v, is := asJSON(text); is {
		return []part{{text, v}}
	}
	raw, left := []byte(text), mostRead*len(text)
	plain, at := 0, 0 // plain is where what is no JSON begins
	for left > 0 {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		v, length, err := chat.DecodeFirst(raw[at:], chat.DecodeOptions{LastWins: true})
		if err != nil {
			read(length + 1)
			left -= length + 1
			at++
			continue
		}
		if end := at + length; isList(v, text, at, end) {
			if plain < at {
				out = append(out, part{text: text[plain:at]})
			}
			out, plain = append(out, part{text[at:end], v}), end
		}
		at += length
	}
	if len(out) > 0 && plain < len(text) {
		out = append(out, part{text: text[plain:]})
	}
	return out
}

// mostRead bounds how much is read in vain, in lengths of the text: behind each brace of broken JSON the rest may be
// read again.
const mostRead = 8

// isList reports whether what could be JSON between words is: a list of numbers may be none ("see [1]"), and so may
// braces with nothing in them ("- [ ] to do"). A list that has lines for itself is one.
func isList(v chat.Value, text string, from, to int) bool {
	switch v := v.(type) {
	case *chat.Object:
		return v.Len() > 0
	case []chat.Value:
		before, behind := strings.TrimRight(text[:from], " \t"), strings.TrimLeft(text[to:], " \t\r")
		alone := (before == "" || strings.HasSuffix(before, "\n")) && (behind == "" || behind[0] == '\n')
		return len(v) > 0 && (alone || strings.ContainsAny(text[from:to], `"{`))
	}
	return false
}

// Texts are what Find is to look at of a text: itself or, of JSON, each text and number with its key, since escapes
// hide what they say. A key of anything else is a text of its own. A text that is JSON itself is looked at as such.
func Texts(text string) (out []string) {
	words := func(text string) { out = append(out, text) }
	if !leavesOf(text, "", words, func(key, leaf string, _ bool) { out = append(out, key+`: "`+leaf+`"`) }) {
		return []string{text}
	}
	return out
}

// Numbers are the numbers of a text that is JSON, as it spells them.
func Numbers(text string) (out []string) {
	leavesOf(text, "", func(string) {}, func(_ string, leaf string, number bool) {
		if number {
			out = append(out, leaf)
		}
	})
	return out
}

// leavesOf reports whether there is JSON in a text, and yields what is in it then, and the words around it.
func leavesOf(text, key string, words func(string), yield func(key, leaf string, number bool)) bool {
	list := parts(text)
	for _, p := range list {
		if p.value == nil {
			words(p.text)
		} else {
			leaves(p.value, key, words, yield)
		}
	}
	return len(list) > 0
}

func leaves(v chat.Value, key string, words func(string), yield func(key, leaf string, number bool)) {
	switch v := v.(type) {
	case []chat.Value:
		for _, x := range v {
			leaves(x, key, words, yield)
		}
	case *chat.Object:
		for i := range v.Len() {
			key, x := v.At(i)
			if text, is := x.(string); is && len(parts(text)) == 0 {
				yield(key, text, false)
				continue
			}
			if _, is := x.(chat.Number); !is {
				yield("", key, false)
			}
			leaves(x, key, words, yield)
		}
	case string:
		if !leavesOf(v, key, words, yield) {
			yield(key, v, false)
		}
	case chat.Number:
		yield(key, string(v), true)
	}
}

// Apply puts the placeholders of values into a text, and JSON stays JSON: a number is a number there still. What can
// stay of its white space and its escapes stays.
func Apply(text string, values []Value) string {
	deep := slices.ContainsFunc(values, func(v Value) bool { return v.Deep })
	v, is := asJSON(text)
	if list := parts(text); !is && deep && len(list) > 0 {
		var b strings.Builder
		for _, p := range list {
			if p.value == nil {
				b.WriteString(Replace(p.text, values))
			} else {
				b.WriteString(Apply(p.text, values))
			}
		}
		return b.String()
	}
	if !is {
		return Replace(text, values)
	}
	changed, touched := applyToKey(v, "", values, deep)
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

func applyToKey(v chat.Value, key string, values []Value, deep bool) (out chat.Value, touched bool) {
	switch v := v.(type) {
	case []chat.Value:
		list := make([]chat.Value, len(v))
		for i, x := range v {
			var one bool
			list[i], one = applyToKey(x, key, values, deep)
			touched = touched || one
		}
		return list, touched
	case *chat.Object:
		o := &chat.Object{}
		for i := range v.Len() {
			key, x := v.At(i)
			x, one := applyToKey(x, key, values, deep)
			said := key
			if deep {
				said = renameKey(key, sure(values), func(s string) bool {
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
		s := v
		if deep {
			s = Apply(v, of(values, key, v)) // it may be JSON itself
		} else {
			s = Replace(v, values)
		}
		return s, s != v
	case chat.Number:
		if s := Replace(string(v), of(values, key, string(v))); s != string(v) {
			return anonymous(string(v), s), true
		}
	}
	return v, false
}

// small reports whether a value is a number of few digits, such as a PIN, with a number in its place: elsewhere it may
// be a year, and nobody would see that it is none any more.
func (v Value) small() bool {
	return v.Deep && len(v.Text) < 6 && !strings.HasPrefix(v.Placeholder, "[")
}

// sure are the values that are replaced wherever they stand.
func sure(values []Value) []Value {
	if !slices.ContainsFunc(values, Value.small) {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), Value.small)
}

// of are the values that are replaced in what an object has under a key: all in a text of words, and of a number the
// small ones only where it is found by itself.
func of(values []Value, key, leaf string) []Value {
	if !slices.ContainsFunc(values, Value.small) || !plainNumber.MatchString(leaf) {
		return values
	}
	text := key + `: "` + leaf + `"`
	if slices.ContainsFunc(Find(text), func(f Found) bool { return text[f.Start:f.End] == leaf }) {
		return values
	}
	return sure(values)
}

// renameKey is a key with placeholders, which is none that is taken: two spellings of one value may be keys of one
// object. A key of words stays, though a password may be the same: it is the name of a parameter.
func renameKey(key string, values []Value, taken func(string) bool) string {
	if !strings.ContainsFunc(key,
		func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("_- ", r) }) {
		return key
	}
	said := Replace(key, values)
	out := said
	for n := 2; out != key && taken(out); n++ {
		out = said + " " + strconv.Itoa(n)
	}
	return out
}

// anonymous is a number in the place of one that was redacted, so that a schema which wants a number has one: its sign
// and fraction stay. In ledgers of before 2026-11-23 its placeholder is a text: then it is a number of as many digits,
// with the placeholder's own at its end. Where more than the number is left, that is a text.
func anonymous(number, said string) chat.Value {
	if plainNumber.MatchString(said) {
		return chat.Number(said)
	}
	at := placeholder.FindStringSubmatch(said)
	if at == nil || len(number) <= len(at[1]) || strings.ContainsAny(number, ".eE-") {
		return said
	}
	return chat.Number("1" + strings.Repeat("0", len(number)-1-len(at[1])) + at[1])
}

var (
	placeholder = regexp.MustCompile(`^\[[A-Z]+_(\d+)\]$`)
	plainNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(?:\.\d+)?$`)
)
