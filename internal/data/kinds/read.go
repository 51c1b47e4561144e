package kinds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"hone/internal/blob"
	"hone/internal/fault"
)

// maxFile is the size above which a file is taken for something else.
const maxFile = 1 << 20

// file is a set as it is written.
type file struct {
	Rules map[string]any `yaml:"rules"`
	Kinds []struct {
		Name     string        `yaml:"name"`
		Values   yaml.MapSlice `yaml:"values"`
		Calls    []fileCall    `yaml:"calls"`
		Wordings []string      `yaml:"wordings"`
		HeldOut  []string      `yaml:"held_out"`
		Checks   []any         `yaml:"checks"`
	} `yaml:"kinds"`
}

type fileCall struct {
	Tool      string        `yaml:"tool"`
	Arguments yaml.MapSlice `yaml:"arguments"`
	Field     string        `yaml:"field"`
	Pattern   string        `yaml:"pattern"`
}

// Load reads a file of kinds of tasks.
func Load(path string) (*Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the kinds of tasks", Where: path, Err: err,
			Next: "check the path and its permissions"}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the kinds of tasks", Where: path, Err: err,
			Next: "name a file that can be read"}
	}
	return Parse(path, text)
}

// Parse is Load on text; name is used in errors, and as the set's name. The error names the file, the kind and what is
// wrong in it.
func Parse(name string, text []byte) (*Set, error) {
	s := &Set{Name: name, Sum: blob.Of(text).String()}
	if err := s.read(text); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the kinds of tasks cannot be used", Where: name,
			Err: err, Next: `docs/guide.md, "Kinds of tasks of your own", has an example and describes the keys`}
	}
	return s, nil
}

func (s *Set) read(text []byte) error {
	f, err := decode(text)
	if err != nil {
		return err
	}
	rules := map[string]rule{}
	for name, value := range f.Rules {
		if rules[name], err = readRule(value); err != nil {
			return fmt.Errorf("rules.%s: %w", name, err)
		}
	}
	for name := range rules {
		if err := checkRule(name, rules); err != nil {
			return err
		}
	}
	if len(f.Kinds) == 0 {
		return errors.New("it has no kinds")
	}
	for i, one := range f.Kinds {
		k := Kind{Name: one.Name, Wordings: one.Wordings, HeldOut: one.HeldOut, rules: rules, checks: one.Checks}
		if k.Name == "" || slices.ContainsFunc(s.Kinds, func(o Kind) bool { return o.Name == k.Name }) {
			return fmt.Errorf("kind %d: each has a name of its own, and %q is none", i+1, k.Name)
		}
		err := k.readValues(one.Values)
		if err == nil {
			err = k.readCalls(one.Calls)
		}
		if err == nil {
			err = k.check()
		}
		if err != nil {
			return fmt.Errorf("kind %q: %w", k.Name, err)
		}
		s.Kinds = append(s.Kinds, k)
	}
	return nil
}

func decode(text []byte) (f file, err error) {
	if len(text) > maxFile {
		return f, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return f, errors.New(yaml.FormatError(err, false, false))
	}
	for _, doc := range parsed.Docs {
		aliases := &aliasFinder{}
		if doc.Body != nil {
			ast.Walk(aliases, doc.Body)
		}
		if aliases.found { // a small file must not stand for millions of nodes
			return f, errors.New("anchors, aliases and merge keys are not supported: make it a rule")
		}
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict(), yaml.UseOrderedMap()).Decode(&f); err != nil &&
		!errors.Is(err, io.EOF) {
		return f, errors.New(yaml.FormatError(err, false, false))
	}
	return f, nil
}

type aliasFinder struct{ found bool }

// Visit implements ast.Visitor.
func (v *aliasFinder) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		v.found = true
	}
	return v
}

func readRule(value any) (r rule, err error) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	if r.chosen = isList; len(list) == 0 {
		return r, errors.New("it has no alternatives")
	}
	for _, one := range list {
		switch one.(type) {
		case yaml.MapSlice, []any, nil:
			return r, errors.New("a rule is a text or a list of texts")
		}
		r.alternatives = append(r.alternatives, readTemplate(fmt.Sprint(one)))
	}
	return r, nil
}

// checkRule is an error where a rule refers to what is not there, or to itself.
func checkRule(name string, rules map[string]rule, above ...string) error {
	if slices.Contains(above, name) {
		return fmt.Errorf("rules.%s: it stands in itself: %s", name, strings.Join(append(above, name), ", "))
	}
	for _, t := range rules[name].alternatives {
		for _, ref := range t.references {
			if why := ref.mistake(rules, nil); why != "" {
				return fmt.Errorf("rules.%s: %s", name, why)
			}
			if _, ok := rules[ref.name]; ok {
				if err := checkRule(ref.name, rules, append(above, name)...); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (k *Kind) readValues(values yaml.MapSlice) error {
	known := map[string]bool{}
	for _, item := range values {
		name := fmt.Sprint(item.Key)
		r, err := readRule(item.Value)
		switch {
		case err != nil:
			return fmt.Errorf("values.%s: %w", name, err)
		case name == result || !slotIn.MatchString("{"+name+"}"):
			return fmt.Errorf("values.%s: a value is called by letters and digits, and not result", name)
		}
		for _, t := range r.alternatives {
			for _, ref := range t.references {
				if why := ref.mistake(k.rules, known); why != "" {
					return fmt.Errorf("values.%s: %s", name, why)
				}
			}
		}
		k.values = append(k.values, drawn{name, r})
		known[name] = r.isDate(k.rules, known)
	}
	return nil
}

func (k *Kind) readCalls(calls []fileCall) error {
	if len(calls) == 0 {
		return errors.New("it has no calls")
	}
	for i, c := range calls {
		out := call{tool: c.Tool, arguments: c.Arguments}
		if c.Tool == "" {
			return fmt.Errorf("calls[%d] names no tool", i)
		}
		if c.Field != "" {
			out.field = strings.Split(c.Field, "/")
		}
		if c.Pattern != "" {
			var err error
			if out.pattern, err = regexp.Compile(c.Pattern); err != nil {
				return fmt.Errorf("calls[%d].pattern: %w", i, err)
			}
			if out.pattern.NumSubexp() != 1 || c.Field != "" {
				return fmt.Errorf("calls[%d].pattern: it has one group, which is what is taken, and no field beside it",
					i)
			}
		}
		if err := k.slots(fmt.Sprintf("calls[%d].arguments", i), c.Arguments, i > 0); err != nil {
			return err
		}
		k.calls = append(k.calls, out)
	}
	return nil
}

// slots is an error where a text of a value has a slot that nothing fills, or the value no form in JSON.
func (k *Kind) slots(where string, value any, withResult bool) error {
	switch value := value.(type) {
	case yaml.MapSlice:
		for _, item := range value {
			if err := k.slots(fmt.Sprintf("%s.%v", where, item.Key), item.Value, withResult); err != nil {
				return err
			}
		}
	case []any:
		for _, one := range value {
			if err := k.slots(where, one, withResult); err != nil {
				return err
			}
		}
	case string:
		for _, slot := range braces.FindAllString(asNumber.ReplaceAllString(value, "{$1}"), -1) {
			name, filters, _ := strings.Cut(strings.Trim(slot, "{}"), "|")
			switch first := append(strings.Fields(name), "")[0]; {
			case !isName.MatchString(name) && !isName.MatchString(strings.TrimRight(name, " ")) && !k.has(first):
				// braces of a program, of JSON
			case filters != "" || k.has(first) && first != name:
				return fmt.Errorf("%s: %s is no slot: there are {%s} and, as the whole argument, {%s | number}; "+
					"filters stand in values", where, slot, first, first)
			case !k.has(name) && !(name == result && withResult):
				return fmt.Errorf("%s: nothing fills %s; its values are %s", where, slot, strings.Join(k.names(), ", "))
			}
		}
	default:
		if _, err := json.Marshal(value); err != nil {
			return fmt.Errorf("%s: %v has no form in JSON", where, value)
		}
	}
	return nil
}

func (k *Kind) names() (names []string) {
	for _, d := range k.values {
		names = append(names, d.name)
	}
	return names
}

func (k *Kind) has(name string) bool { return slices.Contains(k.names(), name) }

// check is an error where wordings or checks are not what they must be.
func (k *Kind) check() error {
	if len(k.Wordings) == 0 {
		return errors.New("it has no wordings")
	}
	for i, wording := range slices.Concat(k.Wordings, k.HeldOut) {
		if slices.Contains(slices.Concat(k.Wordings, k.HeldOut)[:i], wording) {
			return fmt.Errorf("the wording %q stands twice", wording)
		}
		if err := k.slots("the wording "+wording, wording, false); err != nil {
			return err
		}
	}
	for i, one := range k.checks {
		where := fmt.Sprintf("checks[%d]", i)
		if err := k.slots(where, one, true); err != nil {
			return err
		}
		ones := Values{}
		for _, name := range k.names() {
			ones[name] = "1"
		}
		if _, err := checkOf(one, ones, "1"); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}
