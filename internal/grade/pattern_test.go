package grade_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/grade"
)

func TestPattern(t *testing.T) {
	tests := []struct {
		pattern  string
		met, not []string
	}{
		{`{"a":1}`, []string{`{"a":1.0}`}, []string{`{"a":2}`, `{}`, `{"a":1,"b":2}`, `[1]`, `null`, `{"a":"1"}`}},
		{`{"$any_of":["x",7]}`, []string{`"x"`, `7.0`}, []string{`"y"`, `"7"`, `["x"]`}},
		{`{"$one_of":[{"$regex":"a"},{"$regex":"b"}]}`, []string{`"xa"`, `"b"`}, []string{`"ab"`, `"c"`}},
		{`{"$set":["a","b"]}`, []string{`["b","a"]`, `["a","b","a"]`}, []string{`["a"]`, `["a","b","c"]`, `{}`}},
		{`{"$unordered":[{"n":1},{"n":2},{"n":1}]}`, []string{`[{"n":1},{"n":1},{"n":2}]`}, []string{`[{"n":1},{"n":2},{"n":2}]`, `[{"n":1},{"n":2}]`}},
		// The first element meets both patterns, and must be left to the second.
		{`{"$unordered":[{"$any":true},"a"]}`, []string{`["a","b"]`, `["b","a"]`, `["a","a"]`}, []string{`["b","c"]`}},
		{`{"$includes":["a","b"]}`, []string{`["c","b","a"]`}, []string{`["a","a"]`, `["a"]`, `"ab"`}},
		{`{"$subset":{"a":{"b":1}}}`, []string{`{"a":{"b":1},"c":0}`}, []string{`{"a":{"b":1,"c":0}}`, `{"c":0}`, `[]`}},
		{`{"p":"x","all":{"$optional":false}}`, []string{`{"p":"x"}`, `{"p":"x","all":false}`},
			[]string{`{"p":"x","all":true}`, `{"p":"x","all":null}`, `{"all":false}`}},
		{`{"$number":4.5,"$tolerance":0.1}`, []string{`4.5`, `4.59`, `44e-1`}, []string{`4.7`, `"4.5"`, `null`}},
		{`{"$number":4.5}`, []string{`4.50`}, []string{`4.51`}},
		{`{"$number":2047948614742839296}`, []string{`2047948614742839296`, `2.047948614742839296e18`},
			[]string{`2047948614742839297`, `2047948614742839295`, `2.047948614742839297e18`}},
		{`{"id":{"$number":-9007199254740993}}`, []string{`{"id":-9007199254740993.0}`}, []string{`{"id":-9007199254740992}`}},
		{`{"$number":9007199254740993,"$tolerance":2}`, []string{`9007199254740995`, `9007199254740991`}, []string{`9007199254740996`, `9007199254740990`}},
		{`{"$number":1,"$tolerance":0.3}`, []string{`1.3`, `0.7`, `1`}, []string{`1.31`}},
		// as near as floats are
		{`{"$number":0.1}`, []string{`0.1000000000000000055511151231257827`}, []string{`0.11`}},
		{`{"$number":1e300}`, []string{`1e300`}, []string{`2e300`, `1e999999999`, `1e-999999999`}},
		{`{"$equals":{"$set":{"a":1}}}`, []string{`{"$set":{"a":1}}`}, []string{`{"a":1}`}},
		{`{"$regex":"^a.c$"}`, []string{`"abc"`}, []string{`"abcd"`, `5`}},
		{`[1,{"$any":true}]`, []string{`[1,null]`}, []string{`[1]`, `[2,1]`, `[1,2,3]`}},
	}
	for _, test := range tests {
		p, err := grade.NewPattern(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		for _, v := range test.met {
			if why := p.Unmet(v); why != "" {
				t.Errorf("%s does not meet %s: %s", v, test.pattern, why)
			}
		}
		for _, v := range test.not {
			if p.Unmet(v) == "" {
				t.Errorf("%s meets %s", v, test.pattern)
			}
		}
	}
}

func TestPatternErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		`{"a":{"$anyof":[1]}}`:              `$.a: unknown operator "$anyof" (did you mean "$any_of"?)`,
		`{"$set":[1],"b":2}`:                `"$set" stands alone`,
		`{"$tolerance":1}`:                  "$number is not a number",
		`{"$number":1,"$tolerance":-1}`:     "at least 0",
		`{"$regex":"("}`:                    "missing closing",
		`{"$any_of":[]}`:                    "nothing could meet it",
		`{"$any":false}`:                    "true or left out",
		`[{"$optional":1}]`:                 "$[0]: $optional stands for a member of an object",
		`{"$optional":1}`:                   "$optional stands for a member",
		`{"$unordered":{}}`:                 "is not a list",
		`{"$subset":[]}`:                    "is not an object",
		`{"a":1,"a":2}`:                     "duplicate",
		`{"$any_of":[1],"$one_of":[1]}`:     "stands alone",
		`{"$set":[{"$regex":7}]}`:           "is not a text",
		`{"a":[{"b":{"$number":"seven"}}]}`: "$.a[0].b.$number",
	} {
		if p, err := grade.NewPattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", pattern, p, err, want)
		}
	}
}

// What is not met says where: the path leads to the value.
func TestPatternSaysWhere(t *testing.T) {
	p, err := grade.NewPattern(`{"rows":[{"name":"ann"},{"name":"bob"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if why := p.Unmet(`{"rows":[{"name":"ann"},{"name":"eve"}]}`); why != `$.rows[1].name is "eve", not "bob"` {
		t.Error(why)
	}
}

// A value meets itself under $equals, its list meets itself unordered in any order, and no longer with an element
// changed.
func TestPatternProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 8).Draw(t, "values")
		order := rapid.Permutation(values).Draw(t, "order")
		text := func(v any) string {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		for _, operator := range []string{"$unordered", "$set", "$includes"} {
			p, err := grade.NewPattern(`{"` + operator + `":` + text(values) + `}`)
			if err != nil {
				t.Fatal(err)
			}
			if why := p.Unmet(text(order)); why != "" {
				t.Fatalf("%s: %s", operator, why)
			}
			order[0] += 10
			if p.Unmet(text(order)) == "" && operator != "$includes" {
				t.Fatalf("%s of %v is met by %v", operator, values, order)
			}
			order[0] -= 10
		}
	})
}
