// Package schema judges the arguments of a tool call against the tool's inputSchema.
//
// There are three answers, because servers publish schemas that no validator accepts: a call to such a tool is
// neither right nor wrong, and must not be rewarded or punished as either.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Verdict is the answer to "do these arguments fit the schema?".
type Verdict string

const (
	Valid       Verdict = "valid"
	Invalid     Verdict = "invalid"
	Uncheckable Verdict = "uncheckable" // the schema itself does not compile
)

// Reason is one violation: where, as a JSON pointer into the arguments ("" is the whole value), and what.
type Reason struct {
	Pointer string `json:"pointer"`
	Text    string `json:"text"`
}

func (r Reason) String() string {
	if r.Pointer == "" {
		return r.Text
	}
	return r.Pointer + ": " + r.Text
}

// Schema is a compiled inputSchema. It may be used from many goroutines.
type Schema struct {
	compiled *jsonschema.Schema
	err      error
}

// schemaURL is the base of relative references; nothing can be loaded from it.
const schemaURL = "tool:///inputSchema.json"

// Compile reads a tool's inputSchema: drafts 4 to 2020-12, the last where $schema is absent. An absent or null schema
// accepts any object. It never fails: a schema that does not compile, or refers to another document, makes every
// otherwise well-formed argument text Uncheckable, and Err says why.
func Compile(inputSchema json.RawMessage) *Schema {
	text := strings.TrimSpace(string(inputSchema))
	if text == "" || text == "null" {
		text = `{"type":"object"}`
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return &Schema{err: fmt.Errorf("the schema is not JSON: %w", err)}
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compileRegexp)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return &Schema{err: err}
	}
	compiled, err := c.Compile(schemaURL)
	return &Schema{compiled: compiled, err: err}
}

// Err is why the schema cannot be checked, nil where it can.
func (s *Schema) Err() error { return s.err }

// Validate judges argument JSON text. Text that is not one JSON object (duplicate names, invalid UTF-8 and numbers
// beyond float64 included) is Invalid whatever the schema; reasons are sorted by pointer, and empty unless Invalid.
func (s *Schema) Validate(args string) (Verdict, []Reason) {
	value, err := decodeObject(args)
	if err != nil {
		return Invalid, []Reason{{Text: err.Error()}}
	}
	if s.err != nil {
		return Uncheckable, nil
	}
	err = s.compiled.Validate(value)
	if err == nil {
		return Valid, nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return Uncheckable, nil // the validator gave up (an endless reference): that is not the model's fault
	}
	return Invalid, reasons(failed)
}

// reasons flattens the tree of violations to its leaves, which are the ones a model can act on.
func reasons(failed *jsonschema.ValidationError) []Reason {
	printer := message.NewPrinter(language.English)
	seen := map[Reason]bool{}
	var out []Reason
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			r := Reason{Pointer: pointer(e.InstanceLocation), Text: e.ErrorKind.LocalizedString(printer)}
			if !seen[r] {
				seen[r] = true
				out = append(out, r)
			}
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(failed)
	sort.Slice(out, func(i, j int) bool {
		if out[i].Pointer != out[j].Pointer {
			return out[i].Pointer < out[j].Pointer
		}
		return out[i].Text < out[j].Text
	})
	return out
}

func pointer(path []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + escape.Replace(p))
	}
	return b.String()
}

// noLoader refuses every other document: a schema from a server must not make us open files or URLs.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", url)
}

// ecmaPattern is a pattern in JavaScript's dialect, which JSON Schema prescribes: Go's regexp has no look-ahead.
type ecmaPattern struct{ *regexp2.Regexp }

// MatchString counts a match that runs out of time as a match: what was not disproved is not the model's fault.
func (p ecmaPattern) MatchString(s string) bool {
	matched, err := p.Regexp.MatchString(s)
	return matched || err != nil
}

func compileRegexp(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp2.Compile(pattern, regexp2.ECMAScript)
	if err != nil {
		// ECMAScript mode knows no \p{...}, which many schemas use.
		if re, err = regexp2.Compile(pattern, regexp2.None); err != nil {
			return nil, err
		}
	}
	re.MatchTimeout = time.Second
	return ecmaPattern{re}, nil
}
