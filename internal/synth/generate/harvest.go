package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/synth/programs"
)

// value is one that a server has shown or taken.
type value struct {
	label label
	raw   json.RawMessage // a text or a number
}

// values are what is known of a realm, in the order in which it was found.
type values struct{ list []value }

// mostValues bounds what is remembered, and mostOfOne what one result may add to it.
const (
	mostValues = 400
	mostOfOne  = 60
)

func (v *values) add(l label, raw json.RawMessage) {
	text := strings.TrimSpace(textOf(raw))
	if raw[0] == '"' &&
		(text == "" || text == "true" || text == "false" || len(text) > 80 || strings.ContainsAny(text, "\n\r\x00")) ||
		len(v.list) >= mostValues {
		return
	}
	if raw[0] == '"' && strings.Contains(text, dirMark) { // a path of this session: what another takes is relative
		text = strings.TrimPrefix(strings.TrimPrefix(text, dirMark), "/")
		if text == "" || strings.Contains(text, dirMark) {
			return
		}
		raw = quote(text)
	}
	if !slices.ContainsFunc(v.list, func(o value) bool {
		return bytes.Equal(o.raw, raw) && slices.Equal(o.label.own, l.own) && slices.Equal(o.label.around, l.around)
	}) {
		v.list = append(v.list, value{l, raw})
	}
}

// best are the values that fit a label best, none where none does.
func (v *values) best(want label, fits func(json.RawMessage) bool) (found []json.RawMessage, score int) {
	for _, one := range v.list {
		switch s := one.label.about(want); {
		case s == 0 || s < score || !fits(one.raw):
		case s > score:
			found, score = []json.RawMessage{one.raw}, s
		case !slices.ContainsFunc(found, func(r json.RawMessage) bool { return bytes.Equal(r, one.raw) }):
			found = append(found, one.raw)
		}
	}
	return found, score
}

// likeFiles gives a file's name the ending of one that is known.
func (v *values) likeFiles(r *rand.Rand, name string) string {
	var ends []string
	for _, one := range v.list {
		if end := path.Ext(textOf(one.raw)); end != "" && slices.ContainsFunc(one.label.own, saysPath) {
			ends = append(ends, end)
		}
	}
	if len(ends) == 0 || path.Ext(name) == "" {
		return name
	}
	return strings.TrimSuffix(name, path.Ext(name)) + pick(r, ends)
}

// names are values that name things.
func (v *values) names() (found []json.RawMessage) {
	for _, one := range v.list {
		if one.raw[0] == '"' && slices.Contains(one.label.own, "name") &&
			!slices.ContainsFunc(found, func(r json.RawMessage) bool { return bytes.Equal(r, one.raw) }) {
			found = append(found, one.raw)
		}
	}
	return found
}

var (
	pathLike   = regexp.MustCompile(`(?:[\w-]+/)*[\w-]+\.[A-Za-z]\w{0,4}\b`)
	folderLine = regexp.MustCompile(`(?m)^\[DIR\]\s+(\S+)`)
)

// took remembers the arguments of a call that was answered.
func (v *values) took(tool string, arguments json.RawMessage) {
	for _, l := range leavesOf(string(arguments)) {
		v.add(label{l.own(), append(l.above(), nouns(tool)...)}, l.raw)
	}
}

// gave remembers what is in the result of a call made at a time in Unix seconds, but for what the call itself said, and
// for the time.
func (v *values) gave(c Call, text string, at int64) {
	about := nouns(c.Tool)
	echoed := func(found string) bool { return bytes.Contains(c.Arguments, quote(found)[1:len(quote(found))-1]) }
	for i, l := range leavesOf(text) {
		if i == mostOfOne {
			break
		}
		if len(l.text()) > 0 && (echoed(l.text()) || saysNow(l.text(), []int64{at}) || saysHowItWent(l.text())) {
			continue
		}
		own := l.own()
		if len(own) == 0 { // an entry of a list of texts
			own = slices.Clone(about)
		}
		v.add(label{own, append(l.above(), about...)}, l.raw)
	}
	if !isJSON(text) {
		for _, l := range programs.Listings(text) {
			v.listed(l, about, echoed)
		}
	}
	for i, m := range pathLike.FindAllString(strings.ReplaceAll(text, dirMark+"/", ""), mostOfOne) {
		if i < mostOfOne && !strings.HasPrefix(m, "www.") && !echoed(m) {
			v.add(label{[]string{"path", "file"}, about}, quote(m))
		}
	}
	for _, m := range folderLine.FindAllStringSubmatch(text, mostOfOne) {
		v.add(label{[]string{"directory", "folder"}, about}, quote(m[1]))
	}
}

// saysHowItWent reports whether a text says of a call that it went well, or did not: no value of anything.
func saysHowItWent(text string) bool {
	return looksLikeFailure(text) ||
		slices.Contains([]string{"success", "successful", "ok", "failure"}, strings.ToLower(text))
}

// listed remembers the keys and the names of things that lines list, each behind its key.
func (v *values) listed(l programs.Listing, about []string, echoed func(string) bool) {
	for _, r := range l.Records[:min(mostOfOne, len(l.Records))] {
		for i, name := range r.Names {
			if text, is := r.Values[i].(string); is && (name == "id" || name == "title") && !echoed(text) {
				v.add(label{[]string{name}, about}, quote(text))
			}
		}
	}
}

// leaf is a text or number somewhere in a result, and the way to it.
type leaf struct {
	path []string // keys; list entries are numbers
	raw  json.RawMessage
}

func (l leaf) text() string {
	if l.raw[0] == '"' {
		return textOf(l.raw)
	}
	return string(l.raw)
}

func (l leaf) pointer() string { return strings.Join(l.path, "/") }

// name is the last key that is no number.
func (l leaf) name() string {
	for _, key := range slices.Backward(l.path) {
		if !isIndex(key) {
			return key
		}
	}
	return ""
}

func (l leaf) own() []string { return words(l.name()) }

func (l leaf) above() (out []string) {
	for i, key := range l.path {
		if !isIndex(key) && i < len(l.path)-1 {
			out = append(out, words(key)...)
		}
	}
	return out
}

func isIndex(key string) bool { return key != "" && strings.Trim(key, "0123456789") == "" }

// line is "Label: value", as servers write that have no JSON.
var line = regexp.MustCompile(`^[\s*•-]*([A-Za-z][A-Za-z _-]{1,30})\s*[:=]\s+(\S.*)$`)

// leavesOf are the leaves of a JSON text, or of the lines of another that name a value.
func leavesOf(text string) (leaves []leaf) {
	text = strings.TrimSpace(text)
	if joined, ok := programs.Joined(text); ok {
		text = string(joined)
	}
	if v := jsontext.Value(text); v.IsValid() && (v.Kind() == '{' || v.Kind() == '[') {
		walk(nil, json.RawMessage(v), &leaves)
		return leaves
	}
	for _, row := range strings.Split(text, "\n") {
		if m := line.FindStringSubmatch(row); m != nil {
			raw := quote(strings.TrimSpace(m[2]))
			if jsontext.Value(m[2]).IsValid() && jsontext.Value(m[2]).Kind() == '0' {
				raw = json.RawMessage(m[2])
			}
			leaves = append(leaves, leaf{[]string{strings.TrimSpace(m[1])}, raw})
		}
	}
	return leaves
}

func walk(path []string, raw json.RawMessage, into *[]leaf) {
	switch jsontext.Value(raw).Kind() {
	case '{':
		for _, m := range members(raw) {
			walk(append(slices.Clone(path), m.name), m.raw, into)
		}
	case '[':
		for i, one := range listOf(raw) {
			walk(append(slices.Clone(path), fmt.Sprint(i)), bytes.TrimSpace(one), into)
		}
	case '"', '0':
		*into = append(*into, leaf{path, bytes.TrimSpace(raw)})
	}
}
