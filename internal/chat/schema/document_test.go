package schema

import (
	"fmt"
	"testing"

	"hone/internal/chat"
)

func TestReferences(t *testing.T) {
	d := ReadDocument([]byte(`{"$id": "https://example.com/a/s.json", "title": "whole",
		"$defs": {
			"a/b": {"title": "pointer", "list": [{"title": "item"}]},
			"n": {"$anchor": "name", "$dynamicAnchor": "moving", "title": "anchor"},
			"second": {"$anchor": "name", "title": "another of the name"},
			"old": {"$id": "#old", "title": "old anchor"},
			"part": {"$id": "part.json", "title": "part", "$defs": {"deep": {"title": "deep"}, "more": {"$id": "b/more.json", "title": "more"}}}
		},
		"properties": {"id": {"title": "a member called id"}, "$anchor": {"title": "a member"}},
		"examples": [{"$anchor": "example", "title": "no schema"}]}`))
	for ref, want := range map[string]string{
		"#": "whole", "#/$defs/a~1b": "pointer", "#/$defs/a%2Fb": "", "#/%24defs/a~1b": "pointer",
		"#/$defs/a~1b/list/0": "item", "#/$defs/a~1b/list/1": "", "#/nowhere": "", "#name": "anchor",
		"#moving": "anchor", "#old": "old anchor", "#nowhere": "", "#example": "", "part.json": "part",
		"part.json#": "part", "https://example.com/a/part.json": "part", "part.json#/$defs/deep": "deep",
		"b/more.json": "more", "https://example.com/a/s.json": "whole", "https://example.com/a/s.json#name": "anchor",
		"https://example.org/part.json": "", "%zz": "", "other.json": "",
	} {
		v, ok := d.At(ref)
		o, _ := v.(*chat.Object)
		if got := fmt.Sprint(titleOf(o)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", ref, got, ok, want)
		}
	}
}

func titleOf(o *chat.Object) string {
	if o == nil {
		return ""
	}
	return textAt(o, "title")
}

func TestFollow(t *testing.T) {
	for text, want := range map[string]string{
		`{"title": "x"}`: "x",
		`{"$ref": "#/a", "a": {"$dynamicRef": "#b"}, "c": {"$dynamicAnchor": "b", "title": "x"}}`: "x",
		`{"$ref": "#"}`: "", `{"$ref": "#/a"}`: "", `{"$ref": "#/a", "a": true}`: "",
		`{"$ref": 7, "title": "x"}`: "x", `[]`: "",
	} {
		d := ReadDocument([]byte(text))
		if got := titleOf(d.Follow(d.Object())); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	const named = `"properties": {"x": {"title": "named"}, "y": true}`
	const pattern = `"patternProperties": {"^x": {"title": "pattern"}, "^n": false}`
	for _, c := range []struct {
		schema, name, want string
		known              bool
	}{
		{"{" + named + "}", "x", "named", true}, {"{" + named + "}", "y", "", true},
		{"{" + named + "}", "z", "", false}, {"{" + named + "," + pattern + "}", "x", "named pattern", true},
		{"{" + pattern + "}", "xx", "pattern", true}, {"{" + pattern + "}", "n", "", false},
		{"{" + pattern + "}", "ax", "", false},
		{`{"additionalProperties": {"title": "more"}}`, "q", "more", true},
		{`{"additionalProperties": true}`, "q", "", false},
		{`{"additionalProperties": false}`, "q", "", false},
		{"{" + named + `, "additionalProperties": {"title": "more"}}`, "x", "named", true},
		{"{" + pattern + `, "additionalProperties": {"title": "more"}}`, "xx", "pattern", true},
		{`{"unevaluatedProperties": {"title": "more"}}`, "q", "more", true},
		{`{"patternProperties": {"(": {"title": "broken"}, "(?!a)": {"title": "ahead"}}}`, "q", "ahead", true},
		{`{"properties": [], "patternProperties": 7}`, "q", "", false},
	} {
		all, known := Members(ReadDocument([]byte(c.schema)).Object(), c.name)
		titles := ""
		for i, o := range all {
			titles += map[bool]string{true: " "}[i > 0] + titleOf(o)
		}
		if titles != c.want || known != c.known {
			t.Errorf("%s of %s: %q, %v, want %q, %v", c.name, c.schema, titles, known, c.want, c.known)
		}
	}
}
