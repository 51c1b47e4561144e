// Package scan looks for texts in tools that could steer a model by the back door: tool poisoning (instructions in a
// description), shadowing (a tool that speaks about another server's), and text that a person does not see. A model
// trained on such a tool would learn to obey it.
//
// It reads what a model reads: names, descriptions, titles, and every key and text of the schemas, and what encoded or
// disguised parts of them say. Orders are found by a linear classifier (classifier.go) over words, letters, and
// concepts of a lexicon of fifty languages; it learnt from testdata/labelled/development.jsonl (go test -run TestFit
// -args -fit), and TestLabelledSet says how well.
package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Code says what kind of finding it is.
type Code string

const (
	HiddenCharacter Code = "hidden-character" // a character that is not drawn, or turns text around
	HiddenText      Code = "hidden-text"      // text pushed or commented out of a reader's sight
	Instruction     Code = "instruction"      // text addressed to the model, about more than how to use the tool
	OtherTool       Code = "other-tool"       // the name of another server's tool
	SecretPath      Code = "secret-path"      // where keys and passwords are kept
	EncodedBlob     Code = "encoded-blob"     // a long run of base64, hexadecimal or escapes
	LongText        Code = "long-text"        // more than a person will read
)

// Severity says what to do about a finding.
type Severity string

const (
	High   Severity = "high"   // no honest tool has it
	Medium Severity = "medium" // an honest tool may have it, a person should look
	Low    Severity = "low"    // worth knowing; blocks nothing
)

// Finding is one suspicious place.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Server   string   `json:"server"`
	Tool     string   `json:"tool"` // the server's own name of it
	// JSON pointer (RFC 6901) in the tool, to the text, or to the value whose key it is
	Pointer string `json:"pointer"`
	Excerpt string `json:"excerpt"` // quoted as in Go: what is not drawn is escaped
	Message string `json:"message"`
	// of the tool's text, by which an Allowed names it; "" of what is found on no one text
	Digest string `json:"digest,omitempty"`
}

// Blocks reports whether training should wait until a person has looked.
func (f Finding) Blocks() bool { return f.Severity != Low }

// String is the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s/%s%s: %s (%s, %s): %s",
		f.Server, f.Tool, f.Pointer, f.Message, f.Code, f.Severity, f.Excerpt)
}

// Tool is what is looked at. Texts and schemas are the server's own.
type Tool struct {
	Server, Name, Title, Description       string
	InputSchema, OutputSchema, Annotations json.RawMessage // empty where there is none
}

// Check returns the findings on all tools of a catalog, in the order of the tools, then of their texts; orders to the
// model come last.
func Check(tools []Tool) []Finding {
	byServer, others := namesOf(tools), map[string]*mentions{}
	for server := range byServer {
		others[server] = byServer.others(server)
	}
	var out []Finding
	for _, t := range tools {
		c := checker{tool: t, others: others[t.Server], own: byServer[t.Server]}
		c.text("/name", t.Name)
		c.text("/title", t.Title)
		c.text("/description", t.Description)
		c.json("/inputSchema", t.InputSchema)
		c.json("/outputSchema", t.OutputSchema)
		c.json("/annotations", t.Annotations)
		c.orders()
		if len(c.findings) > 0 {
			text := t.Digest()
			for i := range c.findings {
				c.findings[i].Digest = text
			}
		}
		out = append(out, c.findings...)
	}
	return out
}

// Blocking returns those findings that should keep a run from training.
func Blocking(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return !f.Blocks() })
}

type checker struct {
	tool     Tool
	others   *mentions
	own      []string // names of the tools of its server
	findings []Finding
}

// json looks at every text and every key, in the document's order. What is no JSON is looked at as text.
func (c *checker) json(at string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			if d.StackDepth() > 0 || d.InputOffset() == 0 {
				c.text(at, string(raw))
			}
			return
		}
		if token.Kind() == '"' {
			c.text(at+string(d.StackPointer()), token.String())
		}
	}
}

// longText is how many characters of one text a person can be asked to read.
const longText = 8000

// text runs all checks; of each code, the first place in a text is enough.
func (c *checker) text(at, text string) {
	if text == "" {
		return
	}
	text = strings.ToValidUTF8(text, "\ufffd") // so that places in bytes and in characters agree
	c.checkInvisible(at, text)
	c.checkMargin(at, text)
	c.checkDisguise(at, text)
	plain := fold(text).String()
	c.secretPaths(at, plain)
	c.blobs(at, text)
	if m := c.others.find(plain); m != nil {
		c.add(OtherTool, Medium, at, plain, m.start, m.end, "names the tool "+m.what)
	}
	if n := utf8.RuneCountInString(text); n > longText {
		c.add(LongText, Low, at, text, 0, 0, fmt.Sprintf("%d characters in one text", n))
	}
}

// add keeps one finding of a code, severity and message in each text. start and end bound the place in text, in bytes.
func (c *checker) add(code Code, s Severity, at, text string, start, end int, message string) {
	f := Finding{Code: code, Severity: s, Server: c.tool.Server, Tool: c.tool.Name, Pointer: at,
		Excerpt: excerpt(text, start, end), Message: message}
	same := func(g Finding) bool { return g.Code == f.Code && g.Pointer == f.Pointer && g.Message == f.Message }
	if !slices.ContainsFunc(c.findings, same) {
		c.findings = append(c.findings, f)
	}
}

const (
	aroundExcerpt = 24  // bytes shown on each side of the place
	longExcerpt   = 160 // bytes of the place itself
)

// excerpt cuts the place out of its text, on whole characters, and escapes it.
func excerpt(text string, start, end int) string {
	start, end = max(0, start-aroundExcerpt), min(len(text), min(end, start+longExcerpt)+aroundExcerpt)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	quoted := quote(text[start:end])
	if start > 0 {
		quoted = "..." + quoted
	}
	if end < len(text) {
		quoted += "..."
	}
	return quoted
}

// quote is strconv.Quote, which escapes what is not printable, and escapes blank letters and marks of direction too.
func quote(text string) string {
	var b strings.Builder
	for _, r := range strconv.Quote(text) {
		if r > 0x7f && invisibleKind(0, r, 0) != "" || unicode.IsMark(r) && b.Len() == 1 {
			escaped := strconv.QuoteRuneToASCII(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Sort orders findings by severity, highest first, and otherwise keeps their order.
func Sort(findings []Finding) {
	rank := map[Severity]int{High: 0, Medium: 1, Low: 2}
	sort.SliceStable(findings, func(i, j int) bool {
		return rank[findings[i].Severity] < rank[findings[j].Severity]
	})
}

// Summary counts findings by code, as "2 instruction, 1 secret-path".
func Summary(findings []Finding) string {
	counts := map[Code]int{}
	var order []Code
	for _, f := range findings {
		if counts[f.Code]++; counts[f.Code] == 1 {
			order = append(order, f.Code)
		}
	}
	var parts []string
	for _, code := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[code], code))
	}
	return strings.Join(parts, ", ")
}
