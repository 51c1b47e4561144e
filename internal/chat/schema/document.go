package schema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hone/internal/chat"
)

// Document is a schema as a tool gives it, for those who read single keywords of it: where its references lead to, and
// which schema a member of an object has. What it does not hold is nothing, never an error.
type Document struct {
	Root chat.Value // nil where it cannot be read
	// what references name, beside pointers: parts by their $id, and those by "#" and their anchor
	named map[string]chat.Value
	base  *url.URL
	once  sync.Once // a name is looked for
}

// ReadDocument reads a tool's inputSchema.
func ReadDocument(raw json.RawMessage) *Document {
	root, err := chat.Decode(raw, chat.DecodeOptions{LastWins: true})
	if err != nil {
		root = nil
	}
	return &Document{Root: root}
}

// Object is the whole schema, nil where it is none.
func (d *Document) Object() *chat.Object {
	o, _ := d.Root.(*chat.Object)
	return o
}

// At is what a reference names: by a JSON pointer (RFC 6901), by an anchor, dynamic or not, or by the $id of a part.
func (d *Document) At(ref string) (chat.Value, bool) {
	base, fragment, _ := strings.Cut(ref, "#")
	at := d.Root
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if base != "" {
		names := d.names()
		part, ok := names[absolute(d.base, base)]
		if !ok {
			return nil, false
		}
		at = part
	}
	if fragment != "" && fragment[0] != '/' {
		part, ok := d.names()["#"+fragment]
		return part, ok
	}
	return stepsTo(at, fragment)
}

// stepsTo follows a JSON pointer.
func stepsTo(at chat.Value, pointer string) (chat.Value, bool) {
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		found := false
		switch in := at.(type) {
		case *chat.Object:
			at, found = in.Get(step)
		case []chat.Value:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(in) {
				at, found = in[i], true
			}
		}
		if !found {
			return nil, false
		}
	}
	return at, true
}

// names are what references name beside pointers.
func (d *Document) names() map[string]chat.Value {
	d.once.Do(func() {
		d.named, d.base = map[string]chat.Value{}, &url.URL{}
		if o := d.Object(); o != nil {
			d.base = baseOf(o, d.base)
		}
		d.addNames(d.Root, &url.URL{}, 0)
	})
	return d.named
}

// deepestPart bounds how far into a schema names are looked for.
const deepestPart = 128

func (d *Document) addNames(v chat.Value, base *url.URL, depth int) {
	if depth > deepestPart {
		return
	}
	switch v := v.(type) {
	case []chat.Value:
		for _, item := range v {
			d.addNames(item, base, depth+1)
		}
	case *chat.Object:
		base = baseOf(v, base)
		for _, key := range []string{"$id", "id"} {
			if id := textAt(v, key); strings.HasPrefix(id, "#") {
				d.addName(id, v) // as drafts 4 to 7 write an anchor
			} else if id != "" {
				d.addName(strings.TrimSuffix(base.String(), "#"), v)
			}
		}
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if anchor := textAt(v, key); anchor != "" {
				d.addName("#"+anchor, v)
			}
		}
		for i := range v.Len() {
			if key, member := v.At(i); !slices.Contains([]string{"const", "enum", "default", "examples"}, key) {
				d.addNames(member, base, depth+1)
			}
		}
	}
}

// addName takes the first thing of a name: the outermost one is what a dynamic anchor means.
func (d *Document) addName(name string, v *chat.Object) {
	if _, there := d.named[name]; !there {
		d.named[name] = v
	}
}

// baseOf is the address that references in a part are relative to.
func baseOf(o *chat.Object, base *url.URL) *url.URL {
	id, err := url.Parse(textAt(o, "$id"))
	if err != nil || id.String() == "" || strings.HasPrefix(id.String(), "#") {
		return base
	}
	return base.ResolveReference(id)
}

func absolute(base *url.URL, reference string) string {
	to, err := url.Parse(reference)
	if err != nil {
		return reference
	}
	return base.ResolveReference(to).String()
}

func textAt(o *chat.Object, key string) string {
	v, _ := o.Get(key)
	text, _ := v.(string)
	return text
}

// References are the keywords that put another part of a schema in the place of one.
func References() []string { return []string{"$ref", "$dynamicRef", "$recursiveRef"} }

// Reference is what a schema refers to, "" where it refers to nothing.
func Reference(o *chat.Object) string {
	for _, key := range References() {
		if ref := textAt(o, key); ref != "" {
			return ref
		}
	}
	return ""
}

// longestChain bounds references that lead to references.
const longestChain = 16

// Follow is a schema, or where its references lead to; nil where that is nothing.
func (d *Document) Follow(o *chat.Object) *chat.Object {
	for range longestChain {
		if o == nil {
			return nil
		}
		ref := Reference(o)
		if ref == "" {
			return o
		}
		v, _ := d.At(ref)
		o, _ = v.(*chat.Object)
	}
	return nil
}

// Member is the schema of an object's member: of properties, of the patterns that its name matches, or else of those
// that are not named; nil where it may be anything. known is whether the schema speaks of it.
func Member(o *chat.Object, name string) (member *chat.Object, known bool) {
	if o == nil {
		return nil, false
	}
	all, known := Members(o, name)
	if len(all) == 0 {
		return nil, known
	}
	return all[0], known
}

// mostPatterns bounds the patterns that a name is tried against.
const mostPatterns = 64

// Members are all the schemas of an object's member, as Member has it.
func Members(o *chat.Object, name string) (all []*chat.Object, known bool) {
	take := func(v chat.Value) {
		known = known || v != false
		if member, ok := v.(*chat.Object); ok {
			all = append(all, member)
		}
	}
	properties, _ := o.Get("properties")
	if named, ok := properties.(*chat.Object); ok {
		if v, there := named.Get(name); there {
			take(v)
		}
	}
	patterns, _ := o.Get("patternProperties")
	if named, ok := patterns.(*chat.Object); ok {
		for i := range min(named.Len(), mostPatterns) {
			pattern, v := named.At(i)
			if matcher, err := compileRegexp(pattern); err == nil && matcher.MatchString(name) {
				take(v)
			}
		}
	}
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if v, _ := o.Get(key); !known {
			if _, is := v.(*chat.Object); is {
				take(v)
			}
		}
	}
	return all, known
}
