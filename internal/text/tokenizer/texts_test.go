package tokenizer

import "strings"

// fragments are what texts are drawn from: testdata/reference/tokenizer_texts.py, of which this file is the other half.
type fragments struct {
	Groups [][]string
	Pools  []string
	Ranges [][2]rune
}

// draw is a congruential generator.
type draw struct{ state uint64 }

func newDraw(seed int) *draw {
	d := &draw{uint64(seed)*0x9E3779B97F4A7C15 + 1}
	d.pick(1)
	return d
}

func (d *draw) pick(n int) int {
	d.state = d.state*6364136223846793005 + 1442695040888963407
	return int(d.state>>33) % n
}

func of[T any](d *draw, items []T) T { return items[d.pick(len(items))] }

func (f *fragments) letter(d *draw) string {
	r := of(d, f.Ranges)
	return string(r[0] + rune(d.pick(int(r[1]-r[0])+1)))
}

// text is the i-th text.
func (f *fragments) text(i int) string {
	d := newDraw(i)
	var b strings.Builder
	if i%400 == 399 {
		pool := []rune(of(d, f.Pools))
		for range 8192 {
			b.WriteRune(of(d, pool))
		}
		return b.String()
	}
	spaces := f.Groups[3]
	kind, n := d.pick(8), 1+d.pick(24)
	var group []string
	if kind == 4 {
		group = of(d, f.Groups)
	}
	for range n {
		switch kind {
		case 0, 1, 2, 3:
			b.WriteString(of(d, of(d, f.Groups)))
			b.WriteString(of(d, []string{"", "", " "}))
		case 4:
			b.WriteString(of(d, group))
		case 5:
			b.WriteString(f.letter(d))
		case 6:
			b.WriteString("a" + f.letter(d))
			b.WriteString(of(d, spaces))
			b.WriteString(f.letter(d) + "1")
		default:
			fragment := []rune(of(d, of(d, f.Groups)))
			b.WriteString(string(fragment[d.pick(len(fragment)):]))
		}
	}
	return b.String()
}
