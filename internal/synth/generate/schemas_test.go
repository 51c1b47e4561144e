package generate

import "testing"

// Arguments are found for every schema that takes some, whatever its members ask of one another.
func TestArgumentsOfAnySchema(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","anyOf":[{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]},{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}]}`,
		`{"type":"object","oneOf":[{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]},{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}]}`,
		`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"oneOf":[{"type":"object","properties":{"mail":{"type":"string"}},"required":["mail"]},{"type":"object","properties":{"tel":{"type":"string"}},"required":["tel"]}]}`,
		`{"type":"object","properties":{"id":{"type":"integer"},"mail":{"type":"string"},"tel":{"type":"string"}},"required":["id"],"oneOf":[{"required":["mail"]},{"required":["tel"]}]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`,
		`{"type":"object","properties":{"n":{"type":"number","multipleOf":0.25,"exclusiveMinimum":0,"exclusiveMaximum":1}},"required":["n"]}`,
		`{"type":"object","properties":{"n":{"type":"integer","multipleOf":7}},"required":["n"]}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"$ref":"#/properties/a/anyOf/0"}},"required":["b"]}`,
		`{"type":"object","$defs":{"a/b":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/a~1b"}},"required":["n"]}`,
		`{"$id":"https://example.com/s.json","type":"object","$defs":{"A":{"type":"integer"}},"properties":{"n":{"$ref":"https://example.com/s.json#/$defs/A"}},"required":["n"]}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}`,
		`{"type":"object","properties":{"code":{"type":"string","pattern":"^[A-Z]{3}-\\d{4}$"}},"required":["code"]}`,
		`{"type":"object","properties":{"name":{"type":"string","maxLength":3}},"required":["name"]}`,
		`{"type":"object","properties":{"name":{"type":"string","minLength":60}},"required":["name"]}`,
		`{"type":"object","properties":{"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"minItems":2}},"required":["pair"]}`,
		`{"type":"object","properties":{"n":{"type":"null"}},"required":["n"]}`,
		`{"type":"object","properties":{"filter":{"type":"object","minProperties":1}},"required":["filter"]}`,
		`{"type":"object","properties":{"kind":{"enum":["a","b"]}},"required":["kind"],"if":{"properties":{"kind":{"const":"a"}}},"then":{"required":["x"]},"else":{"required":["y"]}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"dependentRequired":{"a":["b"]}}`,
		`{"type":"object","properties":{"tags":{"type":"object","additionalProperties":{"type":"integer"}}},"required":["tags"]}`,
		`{"type":"object","properties":{"tags":{"patternProperties":{"^x-[a-z]+$":{"type":"string"}},"additionalProperties":false,"type":"object"}},"required":["tags"]}`,
		`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","additionalProperties":{"type":["number","null"]}}}},"required":["rows"]}`,
		`{"type":"object","$defs":{"n":{"$anchor":"count","type":"integer"}},"properties":{"n":{"$ref":"#count"}},"required":["n"]}`,
		`{"$dynamicAnchor":"node","type":"object","properties":{"value":{"type":"integer"},"next":{"$dynamicRef":"#node"}},"required":["value"]}`,
		`{"type":"object","$defs":{"n":{"$id":"count.json","type":"integer"}},"properties":{"n":{"$ref":"count.json"}},"required":["n"]}`,
	} {
		s := &subject{Tool: toolOf("ask", "Ask.", schema)}
		s.schema = readParam(s.InputSchema)
		f := filler{Options{Seed: 4}.random("schemas"), s, &values{}}
		for i := range 10 {
			if arguments, ok := f.arguments(i > 0); !ok || !s.takes(string(arguments)) {
				t.Errorf("%s: %s, %v", schema, arguments, ok)
				break
			}
		}
	}
}

// A parameter behind an anchor, a dynamic reference or the $id of a part is read as behind a pointer.
func TestParametersBehindReferences(t *testing.T) {
	for _, ref := range []string{`"$ref":"#/$defs/a"`, `"$ref":"#here"`, `"$dynamicRef":"#there"`,
		`"$ref":"part.json"`} {
		p := readParam([]byte(`{"type":"object","properties":{"day":{` + ref + `}},"$defs":{"a":{"$id":"part.json",
			"$anchor":"here","$dynamicAnchor":"there","type":"integer","minimum":3,"description":"a day"}}}`))
		if day := p.fields[0]; day.kind != "integer" || day.min == nil || *day.min != 3 || day.description != "a day" {
			t.Errorf("%s: %+v", ref, day)
		}
	}
}
