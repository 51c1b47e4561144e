// Package grade decides whether two JSON values, two tool calls or two lists of calls are the same.
//
// Equality is typed: 1 equals 1.0 but not true and not "1"; strings are compared exactly; objects ignore key order,
// arrays do not. A repeated key makes a text invalid, since two readers may disagree on which value counts.
package grade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// Defaults gives the default of each top-level argument of a tool, as JSON text. It may return nil.
type Defaults func(tool string) map[string]json.RawMessage

// number is a decimal in one canonical spelling, so that equal numbers are equal strings, whatever their size.
type number string

// Decode reads one JSON value strictly. Values made by Decode are equal exactly if reflect.DeepEqual says so.
func Decode(text string) (any, error) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	v, err := decode(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("text after the JSON value at byte %d", d.InputOffset())
	}
	return v, nil
}

func decode(d *jsontext.Decoder) (any, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		return canonical(tok.String()), nil
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := decode(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	}
	object := map[string]any{} // '{': the decoder lets nothing else through
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		if object[name], err = decode(d); err != nil {
			return nil, err
		}
	}
	_, err = d.ReadToken()
	return object, err
}

// canonical spells a JSON number as its significant digits and a power of ten. Big rationals would be simpler, but
// 1e999999999 would take all memory.
func canonical(text string) number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0" // and -0, 0.0, 0e5
	}
	var power int64
	if exponent != "" {
		var err error
		if power, err = strconv.ParseInt(exponent, 10, 32); err != nil {
			return number(text) // an exponent this far out equals only its own spelling
		}
	}
	trimmed := strings.TrimRight(digits, "0")
	power += int64(len(digits)-len(trimmed)) - int64(len(fraction))
	sign := ""
	if negative {
		sign = "-"
	}
	return number(sign + trimmed + "e" + strconv.FormatInt(power, 10))
}

// arguments decodes a call's arguments and fills in what the schema defaults.
func arguments(c chat.ToolCall, defaults Defaults) (map[string]any, error) {
	v, err := Decode(c.Arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", c.Name, err)
	}
	args, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("arguments of %s are not a JSON object", c.Name)
	}
	if defaults == nil {
		return args, nil
	}
	for name, raw := range defaults(c.Name) {
		if _, given := args[name]; given {
			continue
		}
		if args[name], err = Decode(string(raw)); err != nil {
			return nil, fmt.Errorf("default of %s.%s: %w", c.Name, name, err)
		}
	}
	return args, nil
}

// EqualCalls reports whether both calls name the same tool with the same arguments once defaults (nil: none) are
// filled in. Call ids do not count. Its error says which arguments are not a strict JSON object.
func EqualCalls(got, want chat.ToolCall, defaults Defaults) (bool, error) {
	if got.Name != want.Name {
		return false, nil
	}
	a, err := arguments(got, defaults)
	if err != nil {
		return false, err
	}
	b, err := arguments(want, defaults)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(a, b), nil
}

// Alike is the share of equal arguments of two calls of one tool, by all names that either has, after defaults: 1 where
// neither has any, 0 where one is no strict JSON object or the tools differ.
func Alike(got, want chat.ToolCall, defaults Defaults) float64 {
	a, err := arguments(got, defaults)
	if err != nil || got.Name != want.Name {
		return 0
	}
	b, err := arguments(want, defaults)
	if err != nil {
		return 0
	}
	equal, names := 0, len(b)
	for name, value := range a {
		other, both := b[name]
		if !both {
			names++
		} else if reflect.DeepEqual(value, other) {
			equal++
		}
	}
	if names == 0 {
		return 1
	}
	return float64(equal) / float64(names)
}

// Match pairs wanted calls with made ones in any order; each made call answers for one wanted call at most. Entry i is
// the index in got of want[i], or -1. A call whose arguments are not strict JSON matches nothing.
func Match(got, want []chat.ToolCall, defaults Defaults) []int {
	used := make([]bool, len(got))
	pairs := make([]int, len(want))
	// Equality is an equivalence relation, so taking the first free equal call already gives the most pairs.
	for i, w := range want {
		pairs[i] = -1
		for j, g := range got {
			if used[j] {
				continue
			}
			if equal, err := EqualCalls(g, w, defaults); err == nil && equal {
				pairs[i], used[j] = j, true
				break
			}
		}
	}
	return pairs
}
