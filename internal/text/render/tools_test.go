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
		{"Order\nis kept!\n\nArgs:\n  z", `{"properties": {"z": {"type": "integer", "default": 1.50}, "a": {"type": ["number", "null"]}}}`,
			`f(z?: integer = 1.50, a?: number|null) - Order is kept!`},
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

func TestCompactTool(t *testing.T) {
	for _, c := range compactCases() {
		got, err := compactTool(chat.Tool{Name: "f", Description: c.description, InputSchema: []byte(c.schema)})
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
	got, err := compactTool(chat.Tool{Name: "f", InputSchema: []byte(b.String())})
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
	got, err = compactTool(chat.Tool{Name: "f", InputSchema: []byte(b.String())})
	if err != nil || len(got) > 1<<20 || !strings.Contains(got, "any") {
		t.Errorf("%d bytes of a schema of %d, %v", len(got), b.Len(), err)
	}
}

func TestDeepSchemas(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(strings.Repeat(`{"items": `, n) + "{}" + strings.Repeat("}", n))
	}
	if _, err := compactTool(chat.Tool{Name: "f", InputSchema: deep(maxDepth - 1)}); err != nil {
		t.Error(err)
	}
	if _, err := compactTool(chat.Tool{Name: "f", InputSchema: deep(maxDepth)}); err == nil {
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

// The exported template lists tools as the renderer does, but for numbers, which Python writes its way.
func TestTemplateListsToolsAsTheRenderer(t *testing.T) {
	var wide, deep strings.Builder
	wide.WriteString(`{"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {`)
	deep.WriteString(wide.String())
	for c := 'a'; c < 'e'; c++ {
		fmt.Fprintf(&deep, `"%c": {"properties": {"l": {"$ref": "#/$defs/%c"}, "r": {"$ref": "#/$defs/%c"}}}, `, c, c+1, c+1)
		fmt.Fprintf(&wide, `"%c": {"properties": {`, c)
		for i := range 12 {
			fmt.Fprintf(&wide, `"p%d": {"$ref": "#/$defs/%c"}, `, i, c+1)
		}
		wide.WriteString(`"last": {"type": "string"}}}, `)
	}
	wide.WriteString(`"e": {"type": "string"}}}`)
	deep.WriteString(`"e": {"type": "string"}}}`)
	cases := append(compactCases(), compactCase{schema: wide.String()}, compactCase{schema: deep.String()},
		compactCase{description: " One?Two. three! Four\r\n\r\nFive. ", schema: `{"properties": {"_": {"oneOf": [{"type": "null"}, {"type": "null"}, {"enum": ["a", {"b": [1, 2]}]}]}, "ü-1.$": {"allOf": [{"type": "object"}, {"const": null}]}}}`},
		compactCase{description: "é. Ünder 。 x", schema: `{"properties": {"a": {"type": ["array", "object"], "items": {"anyOf": [{}, {"type": "string"}]}, "additionalProperties": {}}, "b": {"items": {"properties": {"c": {"enum": []}}}}, "d": {"$ref": "#/properties/x~1y"}, "x/y": {"type": 3}}, "required": ["x/y"]}`},
		compactCase{description: "", schema: `{"properties": {"items": {"type": "integer"}, "get": {"type": "array", "items": {"$ref": "#/properties/items"}}}}`})
	c := newChatML(t, Options{})
	v, err := NewVendor(c.tok, VendorOptions{Template: c.Template()})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range cases {
		tools := []chat.Tool{{Name: "f", Description: x.description, InputSchema: []byte(x.schema)}}
		want, err := c.Prompt(nil, tools)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Prompt(nil, tools)
		if text := strings.Replace(c.tok.Decode(want), "1.50", "1.5", 1); err != nil || v.tok.Decode(got) != text {
			t.Errorf("%.300s\n got  %.600s (%v)\n want %.600s", x.schema, v.tok.Decode(got), err, text)
		}
	}
}
