package bfcl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
)

// maxGold bounds the gold calls of a line, for calls in any order are compared with each.
const maxGold = 1000

// row is one line of input.
type row struct {
	id       string // "" where it has none
	question Question
	output   any
	label    string   // of the category, as it is told
	names    []string // of the gold calls
	server   string   // of the tools that gold calls, "" where the line does not say
	unknown  []string // keys that nothing reads
}

// keys are those of a line that mean something.
func keys() []string {
	return []string{"tools", "gold", "output", "id", "category", "test_category", "language", "server",
		"underscore_to_dot"}
}

// readRow reads a line as BFCL's own reader would.
func readRow(text []byte, underscores bool) (row, error) {
	var r row
	if !utf8.Valid(text) {
		return r, errors.New("it is not UTF-8")
	}
	v, err := Loads(string(text))
	if err != nil {
		return r, err
	}
	o, ok := v.(*chat.Object)
	if !ok {
		return r, errors.New("it is not a JSON object")
	}
	for _, key := range o.Keys() {
		if !slices.Contains(keys(), key) {
			r.unknown = append(r.unknown, key)
		}
	}
	if r.output, ok = o.Get("output"); !ok {
		return r, errors.New(`"output" is missing: the list of calls, [] for none`)
	}
	id, _ := o.Get("id")
	r.id, _ = id.(string)
	r.question.Underscores = underscores
	if v, ok := o.Get("underscore_to_dot"); ok {
		if r.question.Underscores, ok = v.(bool); !ok {
			return r, errors.New(`"underscore_to_dot" is neither true nor false`)
		}
	}
	if err := r.readTools(o); err != nil {
		return r, err
	}
	if err := r.readGold(o); err != nil {
		return r, err
	}
	return r, r.readCategory(o)
}

func (r *row) readTools(o *chat.Object) error {
	v, _ := o.Get("tools")
	list, ok := v.([]any)
	if !ok {
		return errors.New(`"tools" is not there, or is no list`)
	}
	servers := map[string]string{}
	for i, item := range list {
		t, err := NewTool(item)
		if err != nil {
			return fmt.Errorf("tools[%d]: %w", i, err)
		}
		r.question.Tools = append(r.question.Tools, t)
		if server, ok := item.(*chat.Object).Get("server"); ok {
			servers[t.Name], _ = server.(string)
		}
	}
	if server, ok := o.Get("server"); ok {
		r.server, ok = server.(string)
		if !ok {
			return errors.New(`"server" is no text`)
		}
	} else if len(servers) > 0 {
		r.server = serverOf(o, servers)
	}
	return nil
}

// serverOf is the server of the first tool that gold calls.
func serverOf(o *chat.Object, servers map[string]string) string {
	v, _ := o.Get("gold")
	list, _ := v.([]any)
	for _, call := range list {
		if c, ok := call.(*chat.Object); ok && c.Len() > 0 && servers[c.Keys()[0]] != "" {
			return servers[c.Keys()[0]]
		}
	}
	return ""
}

func (r *row) readGold(o *chat.Object) error {
	v, ok := o.Get("gold")
	if !ok || v == nil {
		return nil // readCategory says whether it may be
	}
	list, ok := v.([]any)
	if !ok {
		return errors.New(`"gold" is no list`)
	}
	if len(list) > maxGold {
		return fmt.Errorf("gold has %d calls, more than %d", len(list), maxGold)
	}
	r.question.Gold = list
	for i, call := range list {
		c, ok := call.(*chat.Object)
		if !ok || c.Len() != 1 {
			return fmt.Errorf("gold[%d] is not {name: {parameter: [accepted values]}}", i)
		}
		name, accepted := c.At(0)
		parameters, ok := accepted.(*chat.Object)
		if !ok {
			return fmt.Errorf("gold[%d]: what %s takes is not {parameter: [accepted values]}", i, name)
		}
		for k := range parameters.Len() {
			if parameter, values := parameters.At(k); !isList(values) {
				return fmt.Errorf("gold[%d]: accepted values must be a list, and those of %s of %s are none",
					i, parameter, name)
			}
		}
		r.names = append(r.names, name)
	}
	return nil
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// category is one of BFCL's names of categories.
type category struct {
	category Category
	language Language // "" where the name does not say
}

// categories are BFCL's, by their names without "live_", older ones too.
func categories() map[string]category {
	return map[string]category{
		"simple": {Simple, ""}, "simple_python": {Simple, Python},
		"simple_java": {Simple, Java}, "simple_javascript": {Simple, JavaScript},
		"java": {Simple, Java}, "javascript": {Simple, JavaScript}, "multiple": {Multiple, ""},
		"parallel": {Parallel, ""}, "parallel_multiple": {Parallel, ""},
		"irrelevance": {Irrelevance, ""},
		"relevance":   {Relevance, ""},
	}
}

// prefix of BFCL's file names, and the numbers at the end of its ids.
var (
	prefix  = regexp.MustCompile(`^BFCL_v\d+_`)
	numbers = regexp.MustCompile(`_\d+(?:-\d+-\d+)?$`)
)

func categoryByName(text string) (category, bool) {
	c, ok := categories()[strings.TrimPrefix(prefix.ReplaceAllString(text, ""), "live_")]
	return c, ok
}

// readCategory takes the category that a line names, or the one that its id has in BFCL's form; else it follows from
// the number of gold calls and of tools. The language likewise; else it follows from the types of the tools.
func (r *row) readCategory(o *chat.Object) error {
	q := &r.question
	text, given := o.Get("category")
	if !given {
		text, given = o.Get("test_category")
	}
	var c category
	if given {
		name, _ := text.(string)
		var ok bool
		if c, ok = categoryByName(name); !ok {
			return fmt.Errorf("%q is no category that calls are graded by; there are irrelevance, multiple, "+
				"parallel, parallel_multiple, relevance, simple, simple_java, simple_javascript, simple_python, "+
				"and live_ before these", name)
		}
		r.label = name
	} else if name := numbers.ReplaceAllString(r.id, ""); name != r.id {
		of, ok := categoryByName(name)
		if wantsNone := of.category == Irrelevance || of.category == Relevance; ok &&
			wantsNone == (len(q.Gold) == 0) {
			c, r.label = of, name
		}
	}
	switch _, hasGold := o.Get("gold"); {
	case c.category == "" && !hasGold:
		return errors.New(`"gold" is missing: the calls that are accepted, [] where none is`)
	case (c.category == Irrelevance || c.category == Relevance) && len(q.Gold) > 0:
		return fmt.Errorf("category %s has no gold calls, and here are %d", r.label, len(q.Gold))
	case c.category != Irrelevance && c.category != Relevance && c.category != "" && len(q.Gold) == 0:
		return fmt.Errorf("category %s has gold calls, and here are none", r.label)
	case c.category == "":
		c.category = inferCategory(len(q.Gold), len(q.Tools))
		r.label = string(c.category)
	}
	q.Category, q.Language = c.category, c.language
	return r.readLanguage(o)
}

func inferCategory(numGold, numTools int) Category {
	switch {
	case numGold == 0:
		return Irrelevance
	case numGold > 1:
		return Parallel
	case numTools > 1:
		return Multiple
	}
	return Simple
}

func (r *row) readLanguage(o *chat.Object) error {
	q := &r.question
	if v, ok := o.Get("language"); ok {
		text, _ := v.(string)
		l := Language(strings.ToLower(text))
		if l != Python && l != Java && l != JavaScript {
			return fmt.Errorf("there is no language %q; there are python, java and javascript", text)
		}
		q.Language = l
	}
	if q.Language == "" {
		q.Language = LanguageOf(q.Tools)
	}
	return nil
}
