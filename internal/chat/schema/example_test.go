package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
)

// Arguments are found for every schema that takes some.
func TestExamples(t *testing.T) {
	const text, number = `{"type":"string"}`, `{"type":"integer"}`
	object := func(properties, required string) string {
		return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, properties, required)
	}
	one := func(schema string) string { return object(`"n":`+schema, `"n"`) }
	for name, schema := range map[string]string{
		"anyOf of typed objects": `{"type":"object","anyOf":[` + object(`"a":`+text, `"a"`) + `,` + object(`"b":`+text, `"b"`) + `]}`,
		"oneOf of typed objects": `{"type":"object","oneOf":[` + object(`"a":`+text, `"a"`) + `,` + object(`"b":`+text, `"b"`) + `]}`,
		"oneOf beside properties": `{"type":"object","properties":{"id":` + number +
			`},"required":["id"],"oneOf":[{"required":["mail"]},{"required":["tel"]}]}`,
		"oneOf of constants": `{"oneOf":[` + object(`"kind":{"const":"a"},"x":`+number, `"kind","x"`) + `,` +
			object(`"kind":{"const":"b"},"y":`+text, `"kind","y"`) + `]}`,
		"allOf":                       `{"allOf":[` + object(`"a":`+text, `"a"`) + `,` + object(`"b":`+number, `"b"`) + `]}`,
		"required, not described":     object(`"a":`+text, `"b"`),
		"required, nothing else":      `{"type":"object","required":["b"]}`,
		"multipleOf in open bounds":   one(`{"type":"number","multipleOf":0.25,"exclusiveMinimum":0,"exclusiveMaximum":1}`),
		"open bounds":                 one(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`),
		"open bounds of draft 4":      `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":1,"exclusiveMaximum":true}},"required":["n"]}`,
		"multiples of 7 above 100":    one(`{"type":"integer","multipleOf":7,"minimum":100}`),
		"below zero":                  one(`{"type":"integer","minimum":-20,"maximum":-18}`),
		"one number":                  one(`{"type":"number","minimum":2.5,"maximum":2.5}`),
		"a great number":              one(`{"type":"integer","minimum":9007199254740993,"maximum":9007199254740995}`),
		"reference to an alternative": object(`"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"$ref":"#/properties/a/anyOf/0"}`, `"b"`),
		"reference with ~1":           `{"type":"object","$defs":{"a/b":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/a~1b"}},"required":["n"]}`,
		"reference with ~0 and %":     `{"type":"object","$defs":{"a~ b":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/a~0%20b"}},"required":["n"]}`,
		"reference by $id":            `{"$id":"https://example.com/s.json","type":"object","$defs":{"A":{"type":"integer"}},"properties":{"n":{"$ref":"https://example.com/s.json#/$defs/A"}},"required":["n"]}`,
		"reference by $anchor":        `{"type":"object","$defs":{"A":{"$anchor":"here","type":"integer"}},"properties":{"n":{"$ref":"#here"}},"required":["n"]}`,
		"reference to itself":         `{"type":"object","properties":{"v":` + number + `,"next":{"$ref":"#"}},"required":["v"]}`,
		"a whole schema by reference": `{"$ref":"#/$defs/A","$defs":{"A":` + object(`"a":`+text, `"a"`) + `}}`,
		"dynamic reference": `{"$dynamicAnchor":"node","type":"object","properties":{"v":` + number +
			`,"kids":{"type":"array","items":{"$dynamicRef":"#node"}}},"required":["v"]}`,
		"pattern":                 one(`{"type":"string","pattern":"^[A-Z]{3}-\\d{4}(/[a-f]+)?$"}`),
		"pattern and length":      one(`{"type":"string","pattern":"^[a-z]+$","minLength":4,"maxLength":5}`),
		"pattern without ends":    one(`{"type":"string","pattern":"foo|bar"}`),
		"least length":            one(`{"type":"string","minLength":300}`),
		"most length":             one(`{"type":"string","maxLength":2}`),
		"one letter":              one(`{"type":"string","minLength":1,"maxLength":1}`),
		"formats":                 object(`"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"uuid"},"c":{"type":"string","format":"ipv6"},"d":{"type":"string","format":"email"}`, `"a","b","c","d"`),
		"enum of several types":   one(`{"enum":[null,1,"a",{"b":2}]}`),
		"enum under a type":       one(`{"type":"integer","enum":["a",5]}`),
		"const":                   one(`{"const":{"a":[1]}}`),
		"null":                    one(`{"type":"null"}`),
		"several types":           one(`{"type":["integer","null"]}`),
		"no type":                 one(`{}`),
		"true":                    one(`true`),
		"an object of anything":   one(`{"type":"object"}`),
		"an object with a member": one(`{"type":"object","minProperties":2}`),
		"members by pattern":      one(`{"type":"object","patternProperties":{"^x-[a-z]{2}$":{"type":"integer"}},"additionalProperties":false,"minProperties":1}`),
		"names by pattern":        one(`{"type":"object","propertyNames":{"pattern":"^[a-z]{3}$"},"additionalProperties":{"type":"integer"},"minProperties":2}`),
		"no others":               `{"type":"object","properties":{"n":` + number + `},"required":["n"],"additionalProperties":false}`,
		"no others, unevaluated": `{"type":"object","allOf":[` + object(`"a":`+text, `"a"`) +
			`],"properties":{"n":` + number + `},"required":["n"],"unevaluatedProperties":false}`,
		"array of objects":  one(`{"type":"array","items":` + object(`"a":`+text, `"a"`) + `,"minItems":3}`),
		"tuple":             one(`{"type":"array","prefixItems":[` + text + `,` + number + `],"items":false,"minItems":2}`),
		"tuple of draft 7":  `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"array","items":[` + text + `,` + number + `],"additionalItems":false,"minItems":2}},"required":["n"]}`,
		"unique":            one(`{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}`),
		"contains":          one(`{"type":"array","items":` + number + `,"contains":{"const":7}}`),
		"no items":          one(`{"type":"array","maxItems":0}`),
		"not":               one(`{"type":"integer","minimum":1,"maximum":3,"not":{"const":2}}`),
		"if":                `{"type":"object","properties":{"k":{"enum":["a","b"]}},"required":["k"],"if":{"properties":{"k":{"const":"a"}}},"then":{"required":["x"]},"else":{"required":["y"]}}`,
		"dependentRequired": `{"type":"object","properties":{"a":` + text + `,"b":` + text + `},"required":["a"],"dependentRequired":{"a":["b"]}}`,
		"dependencies": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":` +
			text + `},"required":["a"],"dependencies":{"a":["b"]}}`,
		"dependentSchemas": `{"type":"object","properties":{"a":` + text + `},"required":["a"],"dependentSchemas":{"a":{"required":["b"]}}}`,
		"nested alternatives": one(`{"anyOf":[{"type":"array","items":{"oneOf":[` + text + `,` + number +
			`]}},` + object(`"x":{"$ref":"#/properties/n/anyOf/0"}`, `"x"`) + `]}`),
		"deep": one(object(`"a":`+object(`"b":`+object(`"c":{"type":"boolean"}`, `"c"`), `"b"`), `"a"`)),
	} {
		s := Compile(json.RawMessage(schema))
		if s.Err() != nil {
			t.Errorf("%s: %v", name, s.Err())
			continue
		}
		r := rand.New(rand.NewPCG(1, 2))
		for _, like := range []Like{
			func(string, string) (json.RawMessage, bool) { return json.RawMessage(`"unfit, and long"`), true },
			func(_, kind string) (json.RawMessage, bool) { return nil, false },
		} {
			for range 10 {
				arguments, ok := s.Example(r, r.IntN(2) == 0, like)
				if verdict, why := s.Validate(string(arguments)); !ok || verdict != Valid {
					t.Errorf("%s: %s %v %v", name, arguments, ok, why)
					break
				}
			}
		}
	}
	if _, ok := Compile(json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":false}}`)).
		Example(rand.New(rand.NewPCG(1, 2)), true,
			func(string, string) (json.RawMessage, bool) { return nil, false }); ok {
		t.Error("arguments for a schema that takes none")
	}
}
