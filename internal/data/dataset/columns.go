package dataset

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"hone/internal/chat"
)

// assembler makes JSON of one row of parquet: of the values of each leaf, with their repetition and definition levels
// (Dremel, Melnik et al. 2010, section 4). Members that are null are left out: a data set with one column for many
// kinds of objects fills each with nulls for the members of the others.
type assembler struct {
	values [][]parquet.Value // of each leaf, those not yet written
	most   int
	reason string
	detail string
}

func countLeaves(c *parquet.Column) int {
	if c.Leaf() {
		return 1
	}
	n := 0
	for _, child := range c.Columns() {
		n += countLeaves(child)
	}
	return n
}

func rowJSON(root *parquet.Column, leaves int, row parquet.Row, most int) (data []byte, reason, detail string) {
	size := 0
	a := assembler{values: make([][]parquet.Value, leaves), most: most}
	row.Range(func(column int, values []parquet.Value) bool {
		if column < leaves {
			a.values[column] = values
		}
		for _, v := range values {
			if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
				size += len(v.ByteArray())
			}
		}
		return true
	})
	if size > most {
		return nil, TooLong, fmt.Sprintf("%d bytes, more than %d", size, most)
	}
	data = a.group(make([]byte, 0, size+size/4+256), root)
	if a.reason != "" {
		return nil, a.reason, a.detail
	}
	return data, "", ""
}

// firstLeaf is the index of the first leaf in a column's tree.
func firstLeaf(c *parquet.Column) int {
	for !c.Leaf() {
		if len(c.Columns()) == 0 {
			return -1
		}
		c = c.Columns()[0]
	}
	return c.Index()
}

// peek is the next value of a column's first leaf.
func (a *assembler) peek(c *parquet.Column) (parquet.Value, bool) {
	i := firstLeaf(c)
	if i < 0 || i >= len(a.values) || len(a.values[i]) == 0 {
		return parquet.Value{}, false
	}
	return a.values[i][0], true
}

// drop takes one value from each leaf of a column: those that stand for its absence.
func (a *assembler) drop(c *parquet.Column) {
	if c.Leaf() {
		if i := c.Index(); i < len(a.values) && len(a.values[i]) > 0 {
			a.values[i] = a.values[i][1:]
		}
		return
	}
	for _, child := range c.Columns() {
		a.drop(child)
	}
}

// column writes a column at the present place of the row.
func (a *assembler) column(dst []byte, c *parquet.Column) []byte {
	v, there := a.peek(c)
	if c.Repeated() {
		return a.writeList(dst, c, c)
	}
	if !there || c.Optional() && v.DefinitionLevel() < c.MaxDefinitionLevel() {
		a.drop(c)
		return append(dst, "null"...)
	}
	return a.present(dst, c)
}

func (a *assembler) present(dst []byte, c *parquet.Column) []byte {
	if c.Leaf() {
		v, _ := a.peek(c)
		a.drop(c)
		return a.leaf(dst, v)
	}
	children := c.Columns()
	if len(children) == 1 && children[0].Repeated() {
		inner := children[0]
		switch {
		case inner.Leaf():
			return a.writeList(dst, inner, inner)
		case len(inner.Columns()) == 1 && (inner.Name() == "list" || inner.Name() == "bag" || inner.Name() == "array"):
			return a.writeList(dst, inner, inner.Columns()[0])
		case inner.Name() == "key_value" && len(inner.Columns()) == 2:
			return a.mapping(dst, inner)
		}
	}
	return a.group(dst, c)
}

// writeList writes a list: element once for each time that c is repeated.
func (a *assembler) writeList(dst []byte, c, element *parquet.Column) []byte {
	dst = append(dst, '[')
	a.each(c, func(i int) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if element == c {
			dst = a.present(dst, c)
		} else {
			dst = a.column(dst, element)
		}
	})
	return append(dst, ']')
}

// mapping writes a map as an object.
func (a *assembler) mapping(dst []byte, c *parquet.Column) []byte {
	dst = append(dst, '{')
	a.each(c, func(i int) {
		if i > 0 {
			dst = append(dst, ',')
		}
		key := a.column(nil, c.Columns()[0])
		if len(key) == 0 || key[0] != '"' {
			key = chat.AppendString(nil, string(key), false)
		}
		dst = append(append(dst, key...), ':')
		dst = a.column(dst, c.Columns()[1])
	})
	return append(dst, '}')
}

// each calls f for each time that c is repeated at the present place.
func (a *assembler) each(c *parquet.Column, f func(i int)) {
	v, there := a.peek(c)
	if !there || v.DefinitionLevel() < c.MaxDefinitionLevel() {
		a.drop(c)
		return
	}
	for i := 0; ; i++ {
		left := a.remaining(c)
		f(i)
		if v, there = a.peek(c); !there || v.RepetitionLevel() != c.MaxRepetitionLevel() || a.remaining(c) == left {
			return
		}
	}
}

// remaining is how many values of a column's first leaf are not yet written.
func (a *assembler) remaining(c *parquet.Column) int {
	if i := firstLeaf(c); i >= 0 && i < len(a.values) {
		return len(a.values[i])
	}
	return 0
}

// group writes an object of the members that are not null.
func (a *assembler) group(dst []byte, c *parquet.Column) []byte {
	dst = append(dst, '{')
	any := false
	for _, child := range c.Columns() {
		start := len(dst)
		if any {
			dst = append(dst, ',')
		}
		dst = append(chat.AppendString(dst, child.Name(), false), ':')
		value := len(dst)
		if dst = a.column(dst, child); string(dst[value:]) == "null" {
			dst = dst[:start]
			continue
		}
		any = true
	}
	return append(dst, '}')
}

func (a *assembler) leaf(dst []byte, v parquet.Value) []byte {
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.AppendBool(dst, v.Boolean())
	case parquet.Int32:
		return strconv.AppendInt(dst, int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case parquet.Float:
		return number(dst, float64(v.Float()), 32)
	case parquet.Double:
		return number(dst, v.Double(), 64)
	case parquet.ByteArray:
		text := v.ByteArray()
		if !utf8.Valid(text) {
			a.reason, a.detail = NotUTF8, "a text of the row"
			return append(dst, "null"...)
		}
		return chat.AppendString(dst, string(text), false)
	}
	return append(dst, "null"...) // dates before 1970 and hashes say nothing in a conversation
}

func number(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}
