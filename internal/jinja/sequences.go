package jinja

import (
	"slices"
	"sort"
	"strings"
	"unicode"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// getter returns what reads attribute from an item: "a.b.0" goes through items and indices, nil is the item itself.
func (r *run) getter(attribute, standard value) func(value) value {
	var path []value
	switch a := attribute.(type) {
	case nil:
	case string:
		for part := range strings.SplitSeq(a, ".") {
			if n, ok := pyvalue.ParseInt(part, 10); ok && pyvalue.StringTest(part, "isdigit") {
				path = append(path, n)
			} else {
				path = append(path, part)
			}
		}
	default:
		path = []value{a}
	}
	return func(item value) value {
		for _, key := range path {
			item = r.item(item, key)
			if _, missing := item.(*pyvalue.Undefined); missing && standard != nil {
				item = standard
			}
		}
		return item
	}
}

// foldCase is a string in lower case, and every other value as it is.
func foldCase(v value) value {
	if s, ok := v.(string); ok {
		if lower := pyvalue.ChangeCase(s, "lower"); lower != s {
			return lower
		}
	}
	return v
}

// keyed is an item and what it is sorted by.
type keyed struct{ item, key value }

func (r *run) withKeys(items []value, caseSensitive value, key func(value) value) []keyed {
	sensitive := r.Truth(pyvalue.Or(caseSensitive, false))
	r.Charge(2 * pyvalue.ItemBytes * len(items))
	list := make([]keyed, len(items))
	for i, item := range items {
		item = pyvalue.Plain(item)
		k := key(item)
		if !sensitive {
			k = foldCase(k)
		}
		list[i] = keyed{item, k}
	}
	return list
}

func (r *run) sortByKey(list []keyed, reverse value) {
	at, descending := r.At, r.Truth(pyvalue.Or(reverse, false))
	sort.SliceStable(list, func(i, j int) bool {
		r.At = at
		a, b := list[i], list[j]
		if descending {
			a, b = b, a
		}
		x, ok := a.key.(string)
		if y, both := b.key.(string); ok && both {
			r.Scan(min(len(x), len(y)))
			return x < y
		}
		if r.Equal(a.key, b.key) { // as Python compares the lists that jinja2 makes of keys, undefined ones too
			return false
		}
		return r.Order(a.key, b.key, "<")%pyvalue.Unordered < 0
	})
}

func itemsOf(list []keyed) []value {
	items := make([]value, len(list))
	for i, k := range list {
		items[i] = k.item
	}
	return items
}

func sortFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "sort", 0, "reverse", "case_sensitive", "attribute")
	attribute := pyvalue.Or(p[2], nil)
	key := r.getter(attribute, nil)
	if names, ok := attribute.(string); ok && strings.Contains(names, ",") {
		var getters []func(value) value
		for name := range strings.SplitSeq(names, ",") {
			getters = append(getters, r.getter(name, nil))
		}
		sensitive := r.Truth(pyvalue.Or(p[1], false))
		key = func(item value) value {
			keys := make([]value, len(getters))
			for i, get := range getters {
				if keys[i] = get(item); !sensitive {
					keys[i] = foldCase(keys[i])
				}
			}
			return keys
		}
	}
	list := r.withKeys(r.List(v), p[1], key)
	r.sortByKey(list, p[0])
	return itemsOf(list)
}

func dictsortFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "dictsort", 0, "case_sensitive", "by", "reverse")
	r.Must(v)
	by := pyvalue.Or(p[1], "key")
	if by != "key" && by != "value" {
		pyvalue.Fail(r.At, ArgumentFault, `You can only sort by either "key" or "value"`)
	}
	d, ok := v.(*chat.Object)
	if !ok {
		pyvalue.Fail(r.At, pyvalue.AttributeFault, "'%s' object has no attribute 'items'", pyvalue.TypeName(v))
	}
	r.Charge(pyvalue.ItemBytes * d.Len())
	pairs := r.NewValues(d.Len())
	for i := range pairs {
		stored, member := d.At(i)
		pair := r.NewValues(2)
		pair[0], pair[1] = r.Key(stored), pyvalue.Plain(member)
		pairs[i] = pyvalue.Tuple(pair)
	}
	list := r.withKeys(pairs, p[0], func(pair value) value {
		if by == "key" {
			return pair.(pyvalue.Tuple)[0]
		}
		return pair.(pyvalue.Tuple)[1]
	})
	r.sortByKey(list, p[2])
	return itemsOf(list)
}

func groupbyFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "groupby", 1, "attribute", "default", "case_sensitive")
	get := r.getter(p[0], pyvalue.Or(p[1], nil))
	list := r.withKeys(r.List(v), p[2], get)
	r.sortByKey(list, false)
	var groups []value
	for len(list) > 0 {
		n := 1
		for n < len(list) && r.Equal(list[n].key, list[0].key) {
			n++
		}
		groups = append(groups, pyvalue.Tuple{get(list[0].item), itemsOf(list[:n])})
		list = list[n:]
	}
	return groups
}

func uniqueFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "unique", 0, "case_sensitive", "attribute")
	seen := map[string]bool{}
	var others []value // keys that are tuples
	next := r.Each(v)
	get := r.getter(pyvalue.Or(p[1], nil), nil)
	return &pyvalue.Iterator{Name: "generator", Next: func() (value, bool) {
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			k := r.withKeys([]value{item}, p[0], get)[0]
			r.Step()
			r.Hashable(k.key)
			if stored, ok := pyvalue.DictKey(k.key); !ok {
				if r.Contains(others, k.key) {
					continue
				}
				others = append(others, k.key)
			} else if seen[stored] {
				continue
			} else {
				seen[stored] = true
			}
			return item, true
		}
	}}
}

func (r *run) extreme(v value, name string, a *pyvalue.Args) value {
	p := r.Bind(a, name, 0, "case_sensitive", "attribute")
	list := r.withKeys(r.List(v), p[0], r.getter(pyvalue.Or(p[1], nil), nil))
	if len(list) == 0 {
		return &pyvalue.Undefined{Message: "No aggregated item, sequence was empty."}
	}
	best := list[0]
	for _, k := range list[1:] {
		if c := r.Order(k.key, best.key, map[string]string{"min": "<", "max": ">"}[name]); name == "min" && c == -1 ||
			name == "max" && c == 1 {
			best = k
		}
	}
	return best.item
}

func sumFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "sum", 0, "attribute", "start")
	get, total := r.getter(pyvalue.Or(p[0], nil), nil), pyvalue.Or(p[1], int64(0))
	if _, ok := total.(string); ok {
		pyvalue.Fail(r.At, pyvalue.TypeFault, "sum() can't sum strings [use ''.join(seq) instead]")
	}
	next := r.Each(v)
	for item, ok := next(); ok; item, ok = next() {
		r.Step()
		total = r.Binary("+", total, get(item))
	}
	return total
}

func joinFilter(r *run, v value, a *pyvalue.Args) string {
	p := r.Bind(a, "join", 0, "d", "attribute")
	get := r.getter(pyvalue.Or(p[1], nil), nil)
	return r.JoinAll(r.Text(pyvalue.Or(p[0], "")), v, func(_ int, item value) string { return r.Text(get(item)) })
}

func (r *run) end(v value, name string) value {
	if name == "first" {
		if item, ok := r.Each(v)(); ok {
			return item
		}
	} else {
		n, ok := pyvalue.Length(v)
		if _, lookahead := v.(*loop); !ok || lookahead {
			pyvalue.Fail(r.At, pyvalue.TypeFault, "'%s' object is not reversible", pyvalue.TypeName(v))
		}
		if n > 0 {
			items := r.List(v)
			return pyvalue.Plain(items[n-1])
		}
	}
	return &pyvalue.Undefined{Message: "No " + name + " item, sequence was empty."}
}

func reverseFilter(r *run, v value, a *pyvalue.Args) value {
	r.Bind(a, "reverse", 0)
	if s, ok := v.(string); ok {
		return r.Slice(s, [3]value{nil, nil, int64(-1)})
	}
	if pyvalue.Iterate(v) == nil {
		pyvalue.Fail(r.At, ArgumentFault, "argument must be iterable")
	}
	items := slices.Clone(r.List(v))
	slices.Reverse(items)
	r.Charge(pyvalue.ItemBytes * len(items))
	if _, isGenerator := v.(*pyvalue.Iterator); isGenerator {
		return items
	}
	return &pyvalue.Iterator{Name: "list_reverseiterator", Next: pyvalue.Iterate(items)}
}

func itemsFilter(r *run, v value, a *pyvalue.Args) value {
	r.Bind(a, "items", 0)
	d := dictOf(r, v)
	i := -1
	return &pyvalue.Iterator{Name: "generator", Next: func() (value, bool) {
		i++
		if i >= d.Len() {
			return nil, false
		}
		stored, member := d.At(i)
		pair := r.NewValues(2)
		pair[0], pair[1] = r.Key(stored), pyvalue.Plain(member)
		return pyvalue.Tuple(pair), true
	}}
}

// dictOf is the dict that items are taken from; of what is undefined it is empty.
func dictOf(r *run, v value) *chat.Object {
	switch v := v.(type) {
	case *pyvalue.Undefined:
		return &chat.Object{}
	case *chat.Object:
		return v
	}
	pyvalue.Fail(r.At, pyvalue.TypeFault, "Can only get item pairs from a mapping.")
	return nil
}

// generate gives what a function makes of each item, or leaves out. As a generator it does nothing, not even look at
// its arguments, before the first item is asked for; a value that is false, even None, has no items.
func (r *run) generate(v value, prepare func() func(item value) (value, bool)) value {
	var next func() (value, bool)
	var one func(item value) (value, bool)
	at := r.At
	return &pyvalue.Iterator{Name: "generator", Next: func() (value, bool) {
		r.At = at
		if next == nil {
			if !r.Truth(v) {
				return nil, false
			}
			one = prepare()
			next = r.Each(v)
		}
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			r.Step()
			if made, keep := one(item); keep {
				return made, true
			}
		}
	}}
}

func mapFilter(r *run, v value, a *pyvalue.Args) value {
	return r.generate(v, func() func(value) (value, bool) {
		if len(a.Positional) == 0 {
			a := a.Clone()
			attribute, ok := a.Take("attribute")
			standard, _ := a.Take("default")
			switch {
			case !ok:
				pyvalue.Fail(r.At, ArgumentFault, "map requires a filter argument")
			case len(a.Names) > 0:
				pyvalue.Fail(r.At, ArgumentFault, "Unexpected keyword argument '%s'", a.Names[0])
			}
			get := r.getter(attribute, standard)
			return func(item value) (value, bool) { return get(item), true }
		}
		name, rest := r.Str(a.Positional[0]), *a
		rest.Positional = a.Positional[1:]
		run := filterByName(name)
		return func(item value) (value, bool) {
			if run == nil {
				pyvalue.Fail(r.At, RuntimeFault, "No filter named '%s'.", name)
			}
			return withoutMarkup(run(r, item, rest.Clone())), true
		}
	})
}

// selection is select, reject, selectattr and rejectattr.
func (r *run) selection(v value, name string, a *pyvalue.Args) value {
	return r.generate(v, func() func(value) (value, bool) {
		get := func(item value) value { return item }
		rest := *a
		if strings.HasSuffix(name, "attr") {
			if len(a.Positional) == 0 {
				pyvalue.Fail(r.At, ArgumentFault, "Missing parameter for attribute name")
			}
			get = r.getter(a.Positional[0], nil)
			rest.Positional = a.Positional[1:]
		}
		keep := r.Truth
		if len(rest.Positional) > 0 {
			testName := r.Str(rest.Positional[0])
			rest.Positional = rest.Positional[1:]
			run := testByName(testName)
			keep = func(item value) bool {
				if run == nil {
					pyvalue.Fail(r.At, RuntimeFault, "No test named '%s'.", testName)
				}
				return run(r, item, rest.Clone())
			}
		}
		want := strings.HasPrefix(name, "select")
		return func(item value) (value, bool) { return item, keep(get(item)) == want }
	})
}

func batchFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "batch", 1, "linecount", "fill_with")
	size, fill := r.Integer(p[0]), pyvalue.Or(p[1], nil)
	var rows []value
	var row []value
	for _, item := range r.List(v) {
		if row != nil && len(row) == size {
			rows, row = append(rows, row), nil
		}
		row = append(row, pyvalue.Plain(item))
	}
	if row != nil {
		if fill != nil && len(row) < size {
			r.Charge(pyvalue.ItemBytes * size)
			row = append(row, slices.Repeat([]value{fill}, size-len(row))...)
		}
		rows = append(rows, row)
	}
	return &pyvalue.Iterator{Name: "generator", Next: pyvalue.Iterate(rows)}
}

func sliceFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "slice", 1, "slices", "fill_with")
	n, fill, items := r.Integer(p[0]), pyvalue.Or(p[1], nil), r.List(v)
	if n == 0 {
		pyvalue.Fail(r.At, pyvalue.DivisionFault, "integer division or modulo by zero")
	}
	r.Charge(2 * pyvalue.ItemBytes * max(0, n))
	var columns []value
	start := 0
	for i := range max(0, n) {
		size := len(items) / n
		if i < len(items)%n {
			size++
		}
		column := slices.Clone(items[start : start+size])
		if fill != nil && i >= len(items)%n {
			column = append(column, fill)
		}
		columns = append(columns, column)
		start += size
	}
	return &pyvalue.Iterator{Name: "generator", Next: pyvalue.Iterate(columns)}
}

func truncateFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "truncate", 0, "length", "killwords", "end", "leeway")
	end := r.Str(pyvalue.Or(p[2], "..."))
	size, leeway := r.Integer(pyvalue.Or(p[0], int64(255))), 5
	if l := pyvalue.Or(p[3], nil); l != nil {
		leeway = r.Integer(l)
	}
	keep := size - len([]rune(end))
	if keep < 0 || leeway < 0 {
		pyvalue.Fail(r.At, "AssertionError", "expected length >= %d, got %d", len([]rune(end)), size)
	}
	if n, ok := pyvalue.Length(v); ok && n <= size+leeway { // of whatever has a length
		return v
	}
	if _, isList := v.([]value); isList && !r.Truth(pyvalue.Or(p[1], false)) {
		pyvalue.Fail(r.At, pyvalue.AttributeFault, "'list' object has no attribute 'rsplit'")
	}
	s := []rune(r.Str(v))
	r.Charge(len(s))
	result := string(s[:keep])
	if !r.Truth(pyvalue.Or(p[1], false)) {
		if i := strings.LastIndexByte(result, ' '); i >= 0 {
			result = result[:i]
		}
	}
	return result + end
}

func wordcountFilter(r *run, v value, a *pyvalue.Args) value {
	r.Bind(a, "wordcount", 0)
	count, inWord := 0, false
	text := r.Text(v)
	r.Scan(len(text))
	for _, c := range text {
		word := c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c)
		if word && !inWord {
			count++
		}
		inWord = word
	}
	return int64(count)
}

func (r *run) attrFilter(v value, name string) value {
	if d, ok := v.(*chat.Object); ok && !pyvalue.HasMethod(d, name) {
		return r.absent(d, name)
	}
	return r.attribute(v, name)
}
