package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Like proposes the JSON of a value for the member of a name, of one of JSON's types; ok is false where it knows none.
// Where it is true without a value, none is to be made up.
type Like func(name, kind string) (raw json.RawMessage, ok bool)

// exampleTries is how often an object is drawn: what members of a schema ask of one another is not looked ahead.
const exampleTries = 60

// Example draws arguments that the schema takes: those that it requires, and with optional some others. Of values that
// like proposes those are taken that fit. ok is false where none of some tries fits, or the schema does not compile.
func (s *Schema) Example(r *rand.Rand, optional bool, like Like) (arguments json.RawMessage, ok bool) {
	if s.compiled == nil {
		return nil, false
	}
	for range exampleTries {
		d := drawer{r, like, optional}
		value, made := d.object(d.gather([]*jsonschema.Schema{s.compiled}), 0)
		if !made {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			continue
		}
		if verdict, _ := s.Validate(string(text)); verdict == Valid {
			return text, true
		}
	}
	return nil, false
}

// drawer draws values of schemas. The schemas of a value are all of those in a list.
type drawer struct {
	r        *rand.Rand
	like     Like
	optional bool
}

// gather is every schema that a value has to fit: those given, those that they refer to, and of alternatives one each.
func (d *drawer) gather(given []*jsonschema.Schema) (all []*jsonschema.Schema) {
	seen := map[*jsonschema.Schema]bool{}
	var add func(s *jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		all = append(all, s)
		add(s.Ref)
		add(s.RecursiveRef)
		if s.DynamicRef != nil {
			add(s.DynamicRef.Ref)
		}
		for _, part := range s.AllOf {
			add(part)
		}
		for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			if len(list) > 0 {
				add(list[d.r.IntN(len(list))])
			}
		}
		if s.If != nil && d.r.IntN(2) == 0 {
			add(s.If)
			add(s.Then)
		} else if s.If != nil {
			add(s.Else)
		}
	}
	for _, s := range given {
		add(s)
	}
	return all
}

func takesAll(all []*jsonschema.Schema, value any) bool {
	return !slices.ContainsFunc(all, func(s *jsonschema.Schema) bool { return s.Validate(value) != nil })
}

// mostDepth bounds values of schemas that hold themselves.
const mostDepth = 8

// value draws one for the member of a name.
func (d *drawer) value(given []*jsonschema.Schema, name string, depth int) (any, bool) {
	if depth > mostDepth {
		return nil, false
	}
	all := d.gather(given)
	if chosen, some := d.choice(all); some {
		return chosen, takesAll(all, chosen)
	}
	kind := d.kind(all)
	if kind == "object" {
		return d.object(all, depth)
	}
	raw, ok := d.like(name, kind)
	switch {
	case ok && raw == nil:
		return nil, false
	case ok:
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		var value any
		if dec.Decode(&value) == nil && takesAll(all, value) {
			return value, true
		}
	}
	switch kind {
	case "null":
		return nil, true
	case "boolean":
		return d.r.IntN(2) == 0, true
	case "integer", "number":
		return d.number(all, kind == "integer")
	case "array":
		return d.array(all, name, depth)
	}
	return d.text(all)
}

// choice is one of the values that the schemas list, where they list some.
func (d *drawer) choice(all []*jsonschema.Schema) (any, bool) {
	for _, s := range all {
		switch {
		case s.Const != nil:
			return *s.Const, true
		case s.Enum != nil && len(s.Enum.Values) > 0:
			fits := slices.DeleteFunc(slices.Clone(s.Enum.Values), func(v any) bool { return !takesAll(all, v) })
			if len(fits) == 0 {
				return nil, true
			}
			return fits[d.r.IntN(len(fits))], true
		}
	}
	return nil, false
}

// kind is a type that all schemas take, and where none states one, that of which they say something.
func (d *drawer) kind(all []*jsonschema.Schema) string {
	kinds := []string{"string", "integer", "number", "boolean", "array", "object", "null"}
	stated := false
	for _, s := range all {
		if s.Types == nil {
			continue
		}
		own := s.Types.ToStrings()
		if stated = true; slices.Contains(own, "number") {
			own = append(own, "integer")
		}
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return !slices.Contains(own, k) })
	}
	if !stated {
		return kindText(all)
	}
	if len(kinds) > 1 {
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "null" })
	}
	if len(kinds) == 0 {
		return "null" // which does not fit either
	}
	return kinds[d.r.IntN(len(kinds))]
}

func kindText(all []*jsonschema.Schema) string {
	for _, s := range all {
		switch {
		case len(s.Properties)+len(s.Required)+len(s.PatternProperties) > 0 || s.MinProperties != nil:
			return "object"
		case s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil || s.Contains != nil || s.MinItems != nil:
			return "array"
		case s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
			s.MultipleOf != nil:
			return "number"
		}
	}
	return "string"
}

// object draws members: those that are required, those that others require or the number of members asks for, and some
// more.
func (d *drawer) object(all []*jsonschema.Schema, depth int) (any, bool) {
	out := map[string]any{}
	put := func(name string) bool {
		if _, there := out[name]; there {
			return true
		}
		of := schemasOf(all, name)
		value, ok := d.value(of, name, depth+1)
		if ok {
			out[name] = value
		}
		return ok
	}
	least := 0
	var names []string
	for _, s := range all {
		for _, name := range s.Required {
			if !put(name) {
				return nil, false
			}
		}
		if s.MinProperties != nil {
			least = max(least, *s.MinProperties)
		}
		names = append(names, slices.Sorted(maps.Keys(s.Properties))...)
	}
	d.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	more := 0
	if d.optional && depth == 0 || depth > 0 && len(out) == 0 {
		more = d.r.IntN(3)
	}
	for _, name := range names {
		if _, there := out[name]; !there && (len(out) < least || more > 0) && put(name) {
			more--
		}
	}
	want := least
	if depth > 0 && len(names) == 0 && isMap(all) {
		want = max(least, 1) // an empty one says nothing
	}
	for try := 0; len(out) < want && try < 8*want; try++ {
		put(d.name(all))
	}
	return out, d.dependents(all, put, out) && len(out) >= least
}

// isMap reports whether schemas say what members under any name are, or under those of a pattern.
func isMap(all []*jsonschema.Schema) bool {
	return slices.ContainsFunc(all, func(s *jsonschema.Schema) bool {
		_, more := s.AdditionalProperties.(*jsonschema.Schema)
		return more || len(s.PatternProperties) > 0
	})
}

// dependents puts what members that are there require.
func (d *drawer) dependents(all []*jsonschema.Schema, put func(string) bool, out map[string]any) bool {
	for range 4 { // one may require the next
		for _, s := range all {
			for _, name := range slices.Sorted(maps.Keys(out)) {
				needs := s.DependentRequired[name]
				var of *jsonschema.Schema
				switch x := s.Dependencies[name].(type) {
				case []string:
					needs = append(slices.Clone(needs), x...)
				case *jsonschema.Schema:
					of = x
				}
				for _, schema := range []*jsonschema.Schema{of, s.DependentSchemas[name]} {
					if schema != nil {
						needs = append(slices.Clone(needs), schema.Required...)
					}
				}
				for _, need := range needs {
					if !put(need) {
						return false
					}
				}
			}
		}
	}
	return true
}

// schemasOf are those that the member of a name has to fit.
func schemasOf(all []*jsonschema.Schema, name string) (of []*jsonschema.Schema) {
	for _, s := range all {
		known := false
		if p := s.Properties[name]; p != nil {
			of, known = append(of, p), true
		}
		for form, p := range s.PatternProperties {
			if form.MatchString(name) {
				of, known = append(of, p), true
			}
		}
		if p, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !known {
			of = append(of, p)
		}
	}
	return of
}

// name draws one for a member that no schema names.
func (d *drawer) name(all []*jsonschema.Schema) string {
	for _, s := range all {
		var forms []string
		for form := range s.PatternProperties {
			forms = append(forms, form.String())
		}
		slices.Sort(forms)
		for _, form := range forms {
			if text, ok := d.matching(form); ok {
				return text
			}
		}
		if s.PropertyNames != nil {
			if text, ok := d.text(d.gather([]*jsonschema.Schema{s.PropertyNames})); ok {
				return text.(string)
			}
		}
	}
	return d.word()
}

// array draws items: at first those that have a schema by their place.
func (d *drawer) array(all []*jsonschema.Schema, name string, depth int) (any, bool) {
	least, most, unique := 0, -1, false
	var placed [][]*jsonschema.Schema
	var each, contained []*jsonschema.Schema
	place := func(list []*jsonschema.Schema) {
		for i, s := range list {
			if i == len(placed) {
				placed = append(placed, nil)
			}
			placed[i] = append(placed[i], s)
		}
	}
	for _, s := range all {
		place(s.PrefixItems)
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			each = append(each, items)
		case []*jsonschema.Schema:
			place(items)
		}
		if s.Items2020 != nil {
			each = append(each, s.Items2020)
		}
		if s.Contains != nil {
			contained = append(contained, s.Contains)
		}
		if s.MinItems != nil {
			least = max(least, *s.MinItems)
		}
		if s.MaxItems != nil && (most < 0 || *s.MaxItems < most) {
			most = *s.MaxItems
		}
		unique = unique || s.UniqueItems
	}
	n := max(least, len(placed), len(contained), 1+d.r.IntN(2))
	if most >= 0 {
		n = min(n, most)
	}
	out := []any{}
	for try := 0; len(out) < n && try < 8*n; try++ {
		of := each
		if i := len(out); i < len(placed) {
			of = placed[i]
		} else if left := n - i; left <= len(contained) {
			of = append(slices.Clone(each), contained[left-1])
		}
		one, ok := d.value(of, name, depth+1)
		if !ok {
			return nil, false
		}
		if unique && slices.ContainsFunc(out, func(v any) bool { return sameJSON(v, one) }) {
			continue
		}
		out = append(out, one)
	}
	return out, len(out) >= least
}

func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// number draws a multiple of the step that the schemas ask for, or of a fine one, within their bounds.
func (d *drawer) number(all []*jsonschema.Schema, whole bool) (any, bool) {
	var low, high *big.Rat
	step := big.NewRat(1, 1)
	stated := whole
	atLeast := func(bound *big.Rat) {
		if bound != nil && (low == nil || bound.Cmp(low) > 0) {
			low = bound
		}
	}
	atMost := func(bound *big.Rat) {
		if bound != nil && (high == nil || bound.Cmp(high) < 0) {
			high = bound
		}
	}
	for _, s := range all {
		atLeast(s.Minimum)
		atLeast(s.ExclusiveMinimum)
		atMost(s.Maximum)
		atMost(s.ExclusiveMaximum)
		if s.MultipleOf != nil && s.MultipleOf.Sign() > 0 {
			step, stated = s.MultipleOf, true
		}
	}
	span := big.NewRat(100, 1)
	switch {
	case low == nil && high == nil:
		low, high = big.NewRat(0, 1), new(big.Rat).Mul(step, span)
	case low == nil:
		low = new(big.Rat).Sub(high, new(big.Rat).Mul(step, span))
	case high == nil:
		high = new(big.Rat).Add(low, new(big.Rat).Mul(step, span))
	}
	if wide := new(big.Rat).Sub(high, low); !stated && wide.Cmp(big.NewRat(2, 1)) < 0 {
		step = new(big.Rat).Quo(wide, big.NewRat(8, 1))
	}
	if step.Sign() == 0 { // one number alone
		if step = new(big.Rat).Set(low); step.Sign() <= 0 {
			step = big.NewRat(1, 1024)
		}
	}
	return d.between(all, low, high, step)
}

// between draws a multiple of step from low to high that the schemas take; of those the bounds themselves may be none.
func (d *drawer) between(all []*jsonschema.Schema, low, high, step *big.Rat) (any, bool) {
	first := new(big.Rat).Quo(low, step)
	from := new(big.Int).Div(first.Num(), first.Denom()) // rounded down, also below 0
	last := new(big.Rat).Quo(high, step)
	to := new(big.Int).Div(last.Num(), last.Denom())
	width := new(big.Int).Sub(to, from)
	n := int64(1000)
	if width.IsInt64() && width.Int64() >= 0 {
		n = min(n, width.Int64())
	}
	for range 16 {
		k := new(big.Int).Add(from, big.NewInt(d.r.Int64N(n+1)))
		x := new(big.Rat).Mul(new(big.Rat).SetInt(k), step)
		places, exact := x.FloatPrec()
		if !exact {
			places = 17
		}
		if value := json.Number(x.FloatString(places)); takesAll(all, value) {
			return value, true
		}
	}
	return nil, false
}

// text draws one of the length, the pattern and the format that the schemas ask for.
func (d *drawer) text(all []*jsonschema.Schema) (any, bool) {
	least, most := 0, -1
	text := d.word() + " " + d.word()
	for _, s := range all {
		if s.MinLength != nil {
			least = max(least, *s.MinLength)
		}
		if s.MaxLength != nil && (most < 0 || *s.MaxLength < most) {
			most = *s.MaxLength
		}
		if s.Pattern != nil {
			made, ok := d.matching(s.Pattern.String())
			if !ok {
				return nil, false
			}
			text = made
			for try := 0; try < 16 && !takesAll(all, text); try++ {
				if made, ok := d.matching(s.Pattern.String()); ok {
					text = made
				}
			}
			return text, takesAll(all, text)
		}
		if s.Format != nil && formats[s.Format.Name] != nil {
			text = formats[s.Format.Name](d.r)
		}
	}
	for utf8.RuneCountInString(text) < least {
		text += " " + d.word()
	}
	if most >= 0 && utf8.RuneCountInString(text) > most {
		text = strings.Repeat("x", max(least, 0)) + text // keeps the length where a space would end it
		text = string([]rune(text)[:most])
	}
	return text, takesAll(all, text)
}
