package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// op is one operation of a program's StableHLO text.
type op struct {
	kind     string // "add", "dot_general", ...
	results  []string
	bytes    []int64 // of each result
	elements int64   // of the first result
	operands []string
	rest     string // of the line, without the operands' names
	regions  []text
	factors  []factor // of a product
}

// factor is a product's operand.
type factor struct {
	bytes  int64
	narrow bool // bfloat16
}

// text is a program's text, taken apart.
type text struct {
	params map[string]int64 // bytes
	ops    []op
	outs   []string
}

var (
	nameOf   = regexp.MustCompile(`%[A-Za-z0-9_]+(#[0-9]+)?`)
	tensorOf = regexp.MustCompile(`tensor<([^>]*)>`)
	paramOf  = regexp.MustCompile(`(%[A-Za-z0-9_]+): (tensor<[^>]*>)`)
	opOf     = regexp.MustCompile(`^(%[A-Za-z0-9_]+)(?::([0-9]+))? = "?(?:stablehlo|func)\.([a-z_0-9]+)`)
)

// parse reads what the engine writes: one operation a line, types at the line's end, regions between "({" and "})".
func parse(hlo string) (text, error) {
	t := text{params: map[string]int64{}}
	lines := strings.Split(hlo, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(line, "func.func"):
			for _, m := range paramOf.FindAllStringSubmatch(line, -1) {
				size, _, err := sizes(m[2])
				if err != nil {
					return t, err
				}
				t.params[m[1]] = size[0]
			}
			ops, outs, _, err := block(lines[i+1:])
			if err != nil {
				return t, fmt.Errorf("the program's text: %w", err)
			}
			t.ops, t.outs = ops, outs
			return t, nil
		}
	}
	return t, fmt.Errorf("the program's text has no function")
}

// block reads operations up to the return of a function or a region, and returns the number of lines read.
func block(lines []string) (ops []op, outs []string, n int, err error) {
	for n < len(lines) {
		line := strings.TrimSpace(lines[n])
		n++
		if strings.HasPrefix(line, "return ") || strings.HasPrefix(line, "stablehlo.return") {
			values, _, _ := strings.Cut(line, " : ")
			return ops, nameOf.FindAllString(values, -1), n, nil
		}
		m := opOf.FindStringSubmatch(line)
		if m == nil {
			continue // a block's label
		}
		o := op{kind: m[3]}
		head := line[len(m[0]):]
		signature := line
		if strings.HasSuffix(line, "({") {
			for {
				inner, outs, read, err := block(lines[n:])
				if err != nil {
					return nil, nil, 0, err
				}
				o.regions = append(o.regions, text{ops: inner, outs: outs})
				n += read
				if n >= len(lines) {
					return nil, nil, 0, fmt.Errorf("a region of %s has no end", m[1])
				}
				signature = strings.TrimSpace(lines[n])
				n++
				if strings.HasPrefix(signature, "})") {
					break
				}
			}
		}
		if at := strings.LastIndex(head, " : "); at >= 0 && len(o.regions) == 0 {
			head = head[:at]
		}
		o.operands = nameOf.FindAllString(head, -1)
		o.rest = nameOf.ReplaceAllString(line[len(m[0]):], "%")
		_, types, ok := cutLast(signature, "->")
		if !ok { // "value = dense<...> : tensor<f32>}> : () -> tensor<f32>" has an arrow; the short form has not
			_, types, _ = cutLast(signature, " : ")
		}
		if o.bytes, o.elements, err = sizes(types); err != nil {
			return nil, nil, 0, fmt.Errorf("%s: %w", m[1], err)
		}
		if o.kind == "dot_general" {
			if o.factors, err = factorsOf(signature); err != nil {
				return nil, nil, 0, fmt.Errorf("%s: %w", m[1], err)
			}
		}
		o.results = []string{m[1]}
		switch {
		case m[2] == "" && len(o.bytes) > 1: // a tuple
			var all int64
			for _, n := range o.bytes {
				all += n
			}
			o.bytes = []int64{all}
		case m[2] != "":
			o.results = nil
			for i := range o.bytes {
				o.results = append(o.results, m[1]+"#"+strconv.Itoa(i))
			}
		}
		ops = append(ops, o)
	}
	return ops, nil, n, nil
}

// factorsOf reads the operands' types of a product's line, "... : (tensor<2x3xbf16>, tensor<3x4xbf16>) ->
// tensor<2x4xbf16>".
func factorsOf(line string) (factors []factor, err error) {
	before, _, _ := cutLast(line, "->")
	_, types, ok := cutLast(before, " : ")
	if !ok {
		return nil, nil
	}
	for _, m := range tensorOf.FindAllString(types, -1) {
		bytes, _, err := sizes(m)
		if err != nil {
			return nil, err
		}
		factors = append(factors, factor{bytes[0], strings.HasSuffix(m, "bf16>")})
	}
	if len(factors) > 2 {
		return nil, fmt.Errorf("a product of %d factors", len(factors))
	}
	return factors, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// widths are bytes of an element, by the names of types.
var widths = map[string]int64{"i1": 1, "i8": 1, "ui8": 1, "bf16": 2, "f16": 2, "f32": 4, "i32": 4, "ui32": 4, "i64": 8,
	"ui64": 8, "f64": 8}

// maxElements bounds what a damaged text can say.
const maxElements = 1 << 50

// sizes returns the bytes of each tensor type in a text, and the elements of the first.
func sizes(types string) (bytes []int64, elements int64, err error) {
	for _, m := range tensorOf.FindAllStringSubmatch(types, -1) {
		parts := strings.Split(m[1], "x")
		width, ok := widths[parts[len(parts)-1]]
		if !ok {
			return nil, 0, fmt.Errorf("the type tensor<%s> is not known", m[1])
		}
		count := int64(1)
		for _, d := range parts[:len(parts)-1] {
			n, err := strconv.ParseInt(d, 10, 64)
			if err != nil {
				return nil, 0, fmt.Errorf("the type tensor<%s>: %w", m[1], err)
			}
			if n > maxElements/max(count, 1) {
				return nil, 0, fmt.Errorf("the type tensor<%s> is too large", m[1])
			}
			count *= n
		}
		if len(bytes) == 0 {
			elements = count
		}
		bytes = append(bytes, count*width)
	}
	if len(bytes) == 0 {
		return nil, 0, fmt.Errorf("%q names no type", types)
	}
	return bytes, elements, nil
}
