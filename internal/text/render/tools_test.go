package render

import (
	"fmt"
	"strings"
	"testing"

	"hone/internal/chat"
)

type compactCase struct{ description, schema, want string }

func compactCases() []compactCase {
	return []compactCase{
		{"", ``, `f()`},
		{"", `{"type": "object"}`, `f()`},
		{"Hashes text, e.g. a file. Slow.", `{"properties": {"text": {"type": "string"}, "algorithm": {"enum": ["sha256", "md5"], "default": "sha256"}}, "required": ["text"]}`,
			`f(text: string, algorithm?: "sha256"|"md5" = "sha256") - Hashes text, e.g. a file`},
		{
			"Order\nis kept!\n\nArgs:\n  z",
			`{"properties": {"z": {"type": "integer", "default": 1.50}, "a": {"type": ["number", "null"]}}}`,
			`f(z?: integer = 1.5, a?: number|null) - Order is kept!`,
		},
		{"", `{"properties": {"l": {"type": "array", "items": {"enum": [1, 2]}}, "m": {"type": "array", "items": {"type": "string"}}, "n": {"type": "array"}}}`,
			`f(l?: (1|2)[], m?: string[], n?: array)`},
		{"", `{"properties": {"o": {"type": "object", "properties": {"x": {"const": "k"}}, "required": ["x"]}, "p": {"type": "object", "additionalProperties": {"type": "number"}}, "q": {}, "r": true}}`,
			`f(o?: {x: "k"}, p?: {[key]: number}, q?: any, r?: any)`},
		{"", `{"properties": {"a": {"$ref": "#/$defs/A"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}, "$defs": {"A": {"properties": {"next": {"$ref": "#/$defs/A"}, "v": {"$ref": "other.json"}}}}}`,
			`f(a?: {next?: any, v?: any}, b?: string|null = null)`},
		{"", `{"properties": {"a b": {"type": "string"}, "default": {"type": "string", "default": "x\ny"}}}`,
			`f("a b"?: string, default?: string = "x\ny")`},
	}
}

// compactTool is the line of a tool in a system message.
func compactTool(t *testing.T, tool chat.Tool) (string, error) {
	t.Helper()
	messages, _, err := newChatML(t, Options{}).withSystem(nil, []chat.Tool{tool})
	if err != nil {
		return "", err
	}
	line, _ := strings.CutPrefix(messages[0].Content, strings.TrimLeft(beforeCompact, "\n")+"\n")
	return strings.TrimSuffix(line, afterCompact), nil
}

func TestCompactTool(t *testing.T) {
	for _, c := range compactCases() {
		got, err := compactTool(t, chat.Tool{Name: "f", Description: c.description, InputSchema: []byte(c.schema)})
		if err != nil || got != c.want {
			t.Errorf("%s\n got  %s (%v)\n want %s", c.schema, got, err, c.want)
		}
	}
}

func TestReferencesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {`)
	for c := 'a'; c < 'z'; c++ {
		next := `{"$ref": "#/$defs/` + string(c+1) + `"}`
		b.WriteString(`"` + string(c) + `": {"properties": {"l": ` + next + `, "r": ` + next + `}}, `)
	}
	b.WriteString(`"z": {"type": "string"}}}`)
	got, err := compactTool(t, chat.Tool{Name: "f", InputSchema: []byte(b.String())})
	if err != nil || len(got) > 1000 || !strings.Contains(got, "any") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	b.Reset() // not deep, but each level a hundred times as wide
	b.WriteString(`{"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {`)
	for c := 'a'; c < 'e'; c++ {
		b.WriteString(`"` + string(c) + `": {"properties": {`)
		for i := range 100 {
			fmt.Fprintf(&b, `"p%d": {"$ref": "#/$defs/%c"}, `, i, c+1)
		}
		b.WriteString(`"last": {"type": "string"}}}, `)
	}
	b.WriteString(`"e": {"type": "string"}}}`)
	got, err = compactTool(t, chat.Tool{Name: "f", InputSchema: []byte(b.String())})
	if err != nil || len(got) > 1<<20 || !strings.Contains(got, "any") {
		t.Errorf("%d bytes of a schema of %d, %v", len(got), b.Len(), err)
	}
}

func TestDeepSchemas(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(`{"properties": {"x": ` + strings.Repeat(`{"type": "array", "items": `, n) + "{}" +
			strings.Repeat("}", n) + "}}")
	}
	got, err := compactTool(t, chat.Tool{Name: "f", InputSchema: deep(maxNested - 10)})
	if err != nil || got != "f(x?: any"+strings.Repeat("[]", maxNested-10)+")" {
		t.Errorf("%.100s, %v", got, err)
	}
	if _, err := compactTool(t, chat.Tool{Name: "f", InputSchema: deep(maxNested)}); err == nil {
		t.Error("a level too many is taken")
	}
}

func TestToolsThatCannotBeDescribed(t *testing.T) {
	for _, format := range []ToolFormat{ToolsCompact, ToolsJSON} {
		c := newChatML(t, Options{ToolFormat: format})
		for _, schema := range []string{`{"a": 1, "a": 2}`, `{"a"`} {
			if _, err := c.Prompt(nil, []chat.Tool{{Name: "f", InputSchema: []byte(schema)}}); err == nil {
				t.Errorf("%s: %s was accepted", format, schema)
			}
		}
	}
}
