package template

import (
	"slices"
	"strings"
	"unicode"

	"hone/internal/chat"
)

// getter returns what reads attribute from an item: "a.b.0" goes through items and indices, nil is the item itself.
func (r *run) getter(attribute, standard value) func(value) value {
	var path []value
	switch a := attribute.(type) {
	case nil:
	case string:
		for part := range strings.SplitSeq(a, ".") {
			if n, ok := parseInt(part, 10); ok && stringTest(part, "isdigit") {
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
			if _, missing := item.(*undefined); missing && standard != nil {
				item = standard
			}
		}
		return item
	}
}

// folded is a string in lower case, and every other value as it is.
func folded(v value) value {
	if s, ok := v.(string); ok {
		if lower := changeCase(s, "lower"); lower != s {
			return lower
		}
	}
	return v
}

// keyed is an item and what it is sorted by.
type keyed struct{ item, key value }

func (r *run) keyed(items []value, caseSensitive value, key func(value) value) []keyed {
	sensitive := r.truth(or(caseSensitive, false))
	r.charge(2 * itemBytes * len(items))
	list := make([]keyed, len(items))
	for i, item := range items {
		item = plain(item)
		k := key(item)
		if !sensitive {
			k = folded(k)
		}
		list[i] = keyed{item, k}
	}
	return list
}

func (r *run) sortKeyed(list []keyed, reverse value) {
	at, descending := r.at, r.truth(or(reverse, false))
	slices.SortStableFunc(list, func(a, b keyed) int {
		r.at = at
		if descending {
			a, b = b, a
		}
		x, ok := a.key.(string)
		if y, both := b.key.(string); ok && both {
			r.scan(min(len(x), len(y)))
			return strings.Compare(x, y)
		}
		if r.equal(a.key, b.key) { // as Python compares the lists that jinja2 makes of keys, undefined ones too
			return 0
		}
		return r.order(a.key, b.key, "<") % unordered
	})
}

func itemsOf(list []keyed) []value {
	items := make([]value, len(list))
	for i, k := range list {
		items[i] = k.item
	}
	return items
}

func sortFilter(r *run, v value, a *args) value {
	p := a.bind(r, "sort", 0, "reverse", "case_sensitive", "attribute")
	attribute := or(p[2], nil)
	key := r.getter(attribute, nil)
	if names, ok := attribute.(string); ok && strings.Contains(names, ",") {
		var getters []func(value) value
		for name := range strings.SplitSeq(names, ",") {
			getters = append(getters, r.getter(name, nil))
		}
		sensitive := r.truth(or(p[1], false))
		key = func(item value) value {
			keys := make([]value, len(getters))
			for i, get := range getters {
				if keys[i] = get(item); !sensitive {
					keys[i] = folded(keys[i])
				}
			}
			return keys
		}
	}
	list := r.keyed(r.list(v), p[1], key)
	r.sortKeyed(list, p[0])
	return itemsOf(list)
}

func dictsortFilter(r *run, v value, a *args) value {
	p := a.bind(r, "dictsort", 0, "case_sensitive", "by", "reverse")
	r.must(v)
	by := or(p[1], "key")
	if by != "key" && by != "value" {
		fail(r.at, ArgumentFault, `You can only sort by either "key" or "value"`)
	}
	d, ok := v.(*chat.Object)
	if !ok {
		fail(r.at, AttributeFault, "'%s' object has no attribute 'items'", typeName(v))
	}
	r.charge(itemBytes * d.Len())
	pairs := r.newValues(d.Len())
	for i := range pairs {
		stored, member := d.At(i)
		pair := r.newValues(2)
		pair[0], pair[1] = r.key(stored), plain(member)
		pairs[i] = tuple(pair)
	}
	list := r.keyed(pairs, p[0], func(pair value) value {
		if by == "key" {
			return pair.(tuple)[0]
		}
		return pair.(tuple)[1]
	})
	r.sortKeyed(list, p[2])
	return itemsOf(list)
}

func groupbyFilter(r *run, v value, a *args) value {
	p := a.bind(r, "groupby", 1, "attribute", "default", "case_sensitive")
	get := r.getter(p[0], or(p[1], nil))
	list := r.keyed(r.list(v), p[2], get)
	r.sortKeyed(list, false)
	var groups []value
	for len(list) > 0 {
		n := 1
		for n < len(list) && r.equal(list[n].key, list[0].key) {
			n++
		}
		groups = append(groups, tuple{get(list[0].item), itemsOf(list[:n])})
		list = list[n:]
	}
	return groups
}

func uniqueFilter(r *run, v value, a *args) value {
	p := a.bind(r, "unique", 0, "case_sensitive", "attribute")
	seen := map[string]bool{}
	var others []value // keys that are tuples
	next := r.each(v)
	get := r.getter(or(p[1], nil), nil)
	return &iterator{name: "generator", next: func() (value, bool) {
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			k := r.keyed([]value{item}, p[0], get)[0]
			r.step()
			r.hashable(k.key)
			if stored, ok := storedKey(k.key); !ok {
				if r.contains(others, k.key) {
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

func (r *run) extreme(v value, name string, a *args) value {
	p := a.bind(r, name, 0, "case_sensitive", "attribute")
	list := r.keyed(r.list(v), p[0], r.getter(or(p[1], nil), nil))
	if len(list) == 0 {
		return &undefined{message: "No aggregated item, sequence was empty."}
	}
	best := list[0]
	for _, k := range list[1:] {
		if c := r.order(k.key, best.key, map[string]string{"min": "<", "max": ">"}[name]); name == "min" && c == -1 || name == "max" && c == 1 {
			best = k
		}
	}
	return best.item
}

func sumFilter(r *run, v value, a *args) value {
	p := a.bind(r, "sum", 0, "attribute", "start")
	get, total := r.getter(or(p[0], nil), nil), or(p[1], int64(0))
	if _, ok := total.(string); ok {
		fail(r.at, TypeFault, "sum() can't sum strings [use ''.join(seq) instead]")
	}
	next := r.each(v)
	for item, ok := next(); ok; item, ok = next() {
		r.step()
		total = r.binary("+", total, get(item))
	}
	return total
}

func joinFilter(r *run, v value, a *args) string {
	p := a.bind(r, "join", 0, "d", "attribute")
	get := r.getter(or(p[1], nil), nil)
	return r.joinAll(r.text(or(p[0], "")), v, func(_ int, item value) string { return r.text(get(item)) })
}

func (r *run) end(v value, name string) value {
	if name == "first" {
		if item, ok := r.each(v)(); ok {
			return item
		}
	} else {
		n, ok := length(v)
		if _, lookahead := v.(*loop); !ok || lookahead {
			fail(r.at, TypeFault, "'%s' object is not reversible", typeName(v))
		}
		if n > 0 {
			items := r.list(v)
			return plain(items[n-1])
		}
	}
	return &undefined{message: "No " + name + " item, sequence was empty."}
}

func reverseFilter(r *run, v value, a *args) value {
	a.bind(r, "reverse", 0)
	if s, ok := v.(string); ok {
		return r.slice(s, [3]value{nil, nil, int64(-1)})
	}
	if iterate(v) == nil {
		fail(r.at, ArgumentFault, "argument must be iterable")
	}
	items := slices.Clone(r.list(v))
	slices.Reverse(items)
	r.charge(itemBytes * len(items))
	if _, isGenerator := v.(*iterator); isGenerator {
		return items
	}
	return &iterator{name: "list_reverseiterator", next: iterate(items)}
}

func itemsFilter(r *run, v value, a *args) value {
	a.bind(r, "items", 0)
	d := dictOf(r, v)
	i := -1
	return &iterator{name: "generator", next: func() (value, bool) {
		i++
		if i >= d.Len() {
			return nil, false
		}
		stored, member := d.At(i)
		pair := r.newValues(2)
		pair[0], pair[1] = r.key(stored), plain(member)
		return tuple(pair), true
	}}
}

// dictOf is the dict that items are taken from; of what is undefined it is empty.
func dictOf(r *run, v value) *chat.Object {
	switch v := v.(type) {
	case *undefined:
		return &chat.Object{}
	case *chat.Object:
		return v
	}
	fail(r.at, TypeFault, "Can only get item pairs from a mapping.")
	return nil
}

// generate gives what a function makes of each item, or leaves out. As a generator it does nothing, not even look at
// its arguments, before the first item is asked for; a value that is false, even None, has no items.
func (r *run) generate(v value, prepare func() func(item value) (value, bool)) value {
	var next func() (value, bool)
	var one func(item value) (value, bool)
	at := r.at
	return &iterator{name: "generator", next: func() (value, bool) {
		r.at = at
		if next == nil {
			if !r.truth(v) {
				return nil, false
			}
			one = prepare()
			next = r.each(v)
		}
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			r.step()
			if made, keep := one(item); keep {
				return made, true
			}
		}
	}}
}

func mapFilter(r *run, v value, a *args) value {
	return r.generate(v, func() func(value) (value, bool) {
		if len(a.positional) == 0 {
			a := a.clone()
			attribute, ok := a.take("attribute")
			standard, _ := a.take("default")
			switch {
			case !ok:
				fail(r.at, ArgumentFault, "map requires a filter argument")
			case len(a.names) > 0:
				fail(r.at, ArgumentFault, "Unexpected keyword argument '%s'", a.names[0])
			}
			get := r.getter(attribute, standard)
			return func(item value) (value, bool) { return get(item), true }
		}
		name, rest := r.string(a.positional[0]), *a
		rest.positional = a.positional[1:]
		run := filterNamed(name)
		return func(item value) (value, bool) {
			if run == nil {
				fail(r.at, RuntimeFault, "No filter named '%s'.", name)
			}
			return unmarked(run(r, item, rest.clone())), true
		}
	})
}

// clone is for calls that take arguments out.
func (a *args) clone() *args {
	return &args{a.positional, slices.Clone(a.names), slices.Clone(a.named)}
}

// selection is select, reject, selectattr and rejectattr.
func (r *run) selection(v value, name string, a *args) value {
	return r.generate(v, func() func(value) (value, bool) {
		get := func(item value) value { return item }
		rest := *a
		if strings.HasSuffix(name, "attr") {
			if len(a.positional) == 0 {
				fail(r.at, ArgumentFault, "Missing parameter for attribute name")
			}
			get = r.getter(a.positional[0], nil)
			rest.positional = a.positional[1:]
		}
		keep := r.truth
		if len(rest.positional) > 0 {
			testName := r.string(rest.positional[0])
			rest.positional = rest.positional[1:]
			run := testNamed(testName)
			keep = func(item value) bool {
				if run == nil {
					fail(r.at, RuntimeFault, "No test named '%s'.", testName)
				}
				return run(r, item, rest.clone())
			}
		}
		want := strings.HasPrefix(name, "select")
		return func(item value) (value, bool) { return item, keep(get(item)) == want }
	})
}

func batchFilter(r *run, v value, a *args) value {
	p := a.bind(r, "batch", 1, "linecount", "fill_with")
	size, fill := r.integer(p[0]), or(p[1], nil)
	var rows []value
	var row []value
	for _, item := range r.list(v) {
		if row != nil && len(row) == size {
			rows, row = append(rows, row), nil
		}
		row = append(row, plain(item))
	}
	if row != nil {
		if fill != nil && len(row) < size {
			r.charge(itemBytes * size)
			row = append(row, slices.Repeat([]value{fill}, size-len(row))...)
		}
		rows = append(rows, row)
	}
	return &iterator{name: "generator", next: iterate(rows)}
}

func sliceFilter(r *run, v value, a *args) value {
	p := a.bind(r, "slice", 1, "slices", "fill_with")
	n, fill, items := r.integer(p[0]), or(p[1], nil), r.list(v)
	if n == 0 {
		fail(r.at, DivisionFault, "integer division or modulo by zero")
	}
	r.charge(2 * itemBytes * max(0, n))
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
	return &iterator{name: "generator", next: iterate(columns)}
}

func truncateFilter(r *run, v value, a *args) value {
	p := a.bind(r, "truncate", 0, "length", "killwords", "end", "leeway")
	end := r.string(or(p[2], "..."))
	size, leeway := r.integer(or(p[0], int64(255))), 5
	if l := or(p[3], nil); l != nil {
		leeway = r.integer(l)
	}
	keep := size - len([]rune(end))
	if keep < 0 || leeway < 0 {
		fail(r.at, "AssertionError", "expected length >= %d, got %d", len([]rune(end)), size)
	}
	if n, ok := length(v); ok && n <= size+leeway { // of whatever has a length
		return v
	}
	if _, isList := v.([]value); isList && !r.truth(or(p[1], false)) {
		fail(r.at, AttributeFault, "'list' object has no attribute 'rsplit'")
	}
	s := []rune(r.string(v))
	r.charge(len(s))
	result := string(s[:keep])
	if !r.truth(or(p[1], false)) {
		if i := strings.LastIndexByte(result, ' '); i >= 0 {
			result = result[:i]
		}
	}
	return result + end
}

func wordcountFilter(r *run, v value, a *args) value {
	a.bind(r, "wordcount", 0)
	count, inWord := 0, false
	text := r.text(v)
	r.scan(len(text))
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
	if d, ok := v.(*chat.Object); ok && !hasMethod(d, name) {
		return r.absent(d, name)
	}
	return r.attribute(v, name)
}
