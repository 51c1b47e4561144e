package plan

import "strings"

// Temporaries estimates the bytes a program holds while it runs, beside its inputs and outputs, from its StableHLO
// text.
//
// It does in small what XLA does: element-wise operations, and those that move data, are computed where they are read
// (fused), unless they are dear and read more than once or something reads them that must find them in memory; the
// others take memory from their place in the text to their last reader; an operation writes over an operand of its size
// that nobody reads later. Operations that hardly depend on each other, as where an adapter is merged, are started
// together: of those about half are held at one time (measured).
func Temporaries(hlo string, gpu bool) (int64, error) {
	t, err := parse(hlo)
	if err != nil {
		return 0, err
	}
	if !gpu {
		t = widen(t)
	}
	l := newLiveness(t)
	if l.depth() <= 3 {
		return l.sum() / 2, nil
	}
	return l.peak(), nil
}

// widen says what XLA for CPUs does with products of bfloat16: it computes them in float32, of factors that it
// converts, and a factor of several products once. In a product of few rows it converts what it reads (measured).
func widen(t text) text {
	wide := map[string]string{}
	var ops []op
	for _, o := range t.ops {
		if o.kind != "dot_general" || thin(o) {
			ops = append(ops, o)
			continue
		}
		operands := append([]string{}, o.operands...)
		for i, factor := range o.factors[:min(len(o.factors), len(operands))] {
			v := operands[i]
			if factor.narrow && wide[v] == "" {
				wide[v] = v + "_f32"
				ops = append(ops, op{kind: "convert", results: []string{wide[v]}, bytes: []int64{2 * factor.bytes},
					elements: factor.bytes / 2, operands: []string{v}})
			}
			if factor.narrow {
				operands[i] = wide[v]
			}
		}
		o.operands = operands
		ops = append(ops, o)
	}
	return text{t.params, ops, t.outs}
}

// thin reports whether one factor of a product is nothing beside the other.
func thin(o op) bool {
	if len(o.factors) < 2 {
		return true
	}
	x, y := o.factors[0].bytes, o.factors[1].bytes
	return max(x, y) > 256*min(x, y)
}

// moves are operations without arithmetic; cheap ones are computed again by each that reads them.
var moves = kinds("broadcast_in_dim", "iota", "constant", "slice", "pad", "concatenate", "transpose", "gather",
	"dynamic_slice", "reverse")
var cheap = kinds("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "not", "compare",
	"select", "negate", "convert", "sign", "abs")
var dear = kinds("divide", "power", "exponential", "log", "sqrt", "rsqrt", "tanh", "logistic", "sine", "cosine")

const barrier = "optimization_barrier"

// views share their operand's memory.
var views = kinds("reshape", barrier, "bitcast_convert", "get_tuple_element")

func kinds(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}

func fuses(kind string) bool { return moves[kind] || cheap[kind] || dear[kind] }

// liveness is a program with what is known of its values.
type liveness struct {
	text
	at      map[string]int   // op that makes the value
	readers map[string][]int // ops that read it, views looked through
	inline  []bool           // op's result is computed where it is read
	isOut   map[string]bool
	roots   map[string][]string // values in memory that a value is computed from
	needed  []bool
}

func newLiveness(t text) *liveness {
	t = mergeEqual(t)
	l := &liveness{text: t, at: map[string]int{}, readers: map[string][]int{}, inline: make([]bool, len(t.ops)),
		isOut: map[string]bool{}, roots: map[string][]string{}, needed: make([]bool, len(t.ops))}
	for i, o := range t.ops {
		for _, r := range o.results {
			l.at[r] = i
		}
	}
	l.need()
	for _, v := range t.outs {
		l.isOut[l.behind(v)] = true
	}
	for i, o := range t.ops {
		if !l.needed[i] || views[o.kind] && o.kind != barrier {
			continue
		}
		for _, v := range o.operands { // nothing is fused across a barrier: what it is given lies in memory
			b := l.behind(v)
			l.readers[b] = append(l.readers[b], i)
		}
	}
	for i := range t.ops {
		l.inline[i] = l.isInline(i)
	}
	return l
}

// mergeEqual drops operations that compute what one before them computes.
func mergeEqual(t text) text {
	same := map[string]string{}
	first := map[string]string{}
	rename := func(v string) string {
		if r, ok := same[v]; ok {
			return r
		}
		return v
	}
	var ops []op
	for _, o := range t.ops {
		operands := make([]string, len(o.operands))
		for i, v := range o.operands {
			operands[i] = rename(v)
		}
		o.operands = operands
		if len(o.results) == 1 && len(o.regions) == 0 && o.kind != barrier {
			key := o.kind + o.rest + strings.Join(operands, " ")
			if v, ok := first[key]; ok {
				same[o.results[0]] = v
				continue
			}
			first[key] = o.results[0]
		}
		ops = append(ops, o)
	}
	outs := make([]string, len(t.outs))
	for i, v := range t.outs {
		outs[i] = rename(v)
	}
	return text{t.params, ops, outs}
}

// need marks the ops that outputs depend on.
func (l *liveness) need() {
	stack := append([]string{}, l.outs...)
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i, ok := l.at[v]; ok && !l.needed[i] {
			l.needed[i] = true
			stack = append(stack, l.ops[i].operands...)
		}
	}
}

// behind looks through views.
func (l *liveness) behind(v string) string {
	for {
		i, ok := l.at[v]
		if !ok || !views[l.ops[i].kind] {
			return v
		}
		o := l.ops[i]
		k := 0
		for j, r := range o.results {
			if r == v {
				k = j
			}
		}
		v = o.operands[min(k, len(o.operands)-1)]
	}
}

func (l *liveness) isInline(i int) bool {
	o := l.ops[i]
	if views[o.kind] || !l.needed[i] {
		return true
	}
	if !fuses(o.kind) || l.isOut[o.results[0]] {
		return false
	}
	readers := l.readers[o.results[0]]
	if len(readers) > 1 && (dear[o.kind] || l.joins(o)) {
		return false
	}
	for _, r := range readers {
		if k := l.ops[r].kind; !fuses(k) && k != "reduce" {
			return o.kind == "constant" || o.kind == "iota"
		}
	}
	return true
}

// joins reports whether an operation reads more than one value of its own length: computing it twice reads them twice.
func (l *liveness) joins(o op) bool {
	n := 0
	for _, v := range o.operands {
		i, ok := l.at[l.behind(v)]
		if !ok || l.ops[i].elements >= o.elements && !kinds("constant", "iota", "broadcast_in_dim")[l.ops[i].kind] {
			n++
		}
	}
	return n > 1
}

// rootsOf returns the values in memory that v is computed from.
func (l *liveness) rootsOf(v string) []string {
	v = l.behind(v)
	i, ok := l.at[v]
	if !ok || !l.inline[i] {
		return []string{v}
	}
	if r, ok := l.roots[v]; ok {
		return r
	}
	seen := map[string]bool{}
	var all []string
	for _, x := range l.ops[i].operands {
		for _, r := range l.rootsOf(x) {
			if !seen[r] {
				seen[r] = true
				all = append(all, r)
			}
		}
	}
	l.roots[v] = all
	return all
}

// peak walks through the program and returns the most bytes held at one time.
func (l *liveness) peak() int64 {
	last := map[string]int{}
	for i, o := range l.ops {
		if l.inline[i] || !l.needed[i] {
			continue
		}
		for _, v := range o.operands {
			for _, r := range l.rootsOf(v) {
				last[r] = i
			}
		}
	}
	for v := range l.isOut {
		last[v] = len(l.ops)
	}
	dying := make([][]string, len(l.ops)+1)
	for v, i := range last {
		dying[i] = append(dying[i], v)
	}
	size := map[string]int64{} // of what is held
	var held, peak int64
	for i, o := range l.ops {
		if l.inline[i] || !l.needed[i] {
			continue
		}
		var own int64
		for k, r := range o.results {
			if !l.isOut[r] {
				size[r] = o.bytes[k]
				own += o.bytes[k]
			}
		}
		over := int64(0) // what is written over
		for _, v := range dying[i] {
			if (fuses(o.kind) || o.kind == "scatter" || o.kind == "dynamic_update_slice") && size[v] > 0 &&
				size[v] == own && !l.isDot(v) {
				over = own
			}
		}
		peak = max(peak, held+own-over+l.inside(o))
		held += own
		for _, v := range dying[i] {
			held -= size[v]
			delete(size, v)
		}
	}
	return peak
}

// depth is the longest chain of operations that each wait for the one before; what is computed in place counts none.
func (l *liveness) depth() int {
	depth := make([]int, len(l.ops))
	most := 0
	for i, o := range l.ops {
		if !l.needed[i] {
			continue
		}
		for _, v := range o.operands {
			if j, ok := l.at[v]; ok {
				depth[i] = max(depth[i], depth[j])
			}
		}
		if !l.inline[i] {
			depth[i]++
		}
		most = max(most, depth[i])
	}
	return most
}

// sum is the bytes of all that is put into memory and is no output.
func (l *liveness) sum() int64 {
	var sum int64
	for i, o := range l.ops {
		if l.inline[i] || !l.needed[i] {
			continue
		}
		for k, r := range o.results {
			if !l.isOut[r] {
				sum += o.bytes[k]
			}
		}
	}
	return sum
}

func (l *liveness) isDot(v string) bool {
	i, ok := l.at[v]
	return ok && l.ops[i].kind == "dot_general"
}

// inside is what an operation's regions hold.
func (l *liveness) inside(o op) int64 {
	var most int64
	for _, r := range o.regions {
		most = max(most, newLiveness(r).peak())
	}
	return most
}
