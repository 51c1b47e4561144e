package grammar

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"hone/internal/chat"
)

// integerBetween is an integer between minimum and maximum, where both or one are whole numbers that can be counted in
// digits.
func (b *builder) integerBetween(o *chat.Object, at string) symbol {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for key, bound := range map[string]func(int64){
		"minimum": func(n int64) { least = max(least, n) }, "exclusiveMinimum": func(n int64) {
			least = max(least, n+1)
		},
		"maximum": func(n int64) { most = min(most, n) }, "exclusiveMaximum": func(n int64) { most = min(most, n-1) },
	} {
		v, ok := o.Get(key)
		if !ok {
			continue
		}
		number, isNumber := v.(chat.Number)
		n, err := strconv.ParseInt(strings.TrimSuffix(string(number), ".0"), 10, 64)
		if !isNumber || err != nil || n > limit || n < -limit {
			continue // stays among what is not held
		}
		bound(n)
		delete(b.unheld, key+" at "+at)
	}
	if least == math.MinInt64 && most == math.MaxInt64 {
		return b.integer()
	}
	var alternatives []sequence
	if least == math.MinInt64 {
		for _, x := range widest() {
			alternatives = append(alternatives, join(bytes("-"), x))
		}
	}
	if most == math.MaxInt64 {
		alternatives = append(alternatives, widest()...)
	}
	least, most = max(least, -limit), min(most, limit)
	if least < 0 {
		for _, x := range spans(max(1, -most), -least) {
			alternatives = append(alternatives, join(bytes("-"), x))
		}
	}
	if most >= 0 {
		alternatives = append(alternatives, spans(max(0, least), most)...)
	}
	if len(alternatives) == 0 {
		b.unheld["minimum at "+at] = true // nothing lies between the two
		return b.integer()
	}
	return b.rule(alternatives...)
}

// limit is the largest integer of 18 digits, the most that all fit into 64 bits.
const limit = 999_999_999_999_999_999

// widest are the integers of 19 digits that 64 bits hold, but for the last hundredth.
func widest() []sequence {
	digit := symbol{set: ranges('0', '9')}
	return []sequence{
		join(one(symbol{set: ranges('1', '8')}), slices.Repeat(one(digit), 18)),
		join(bytes("9"), one(symbol{set: ranges('0', '1')}), slices.Repeat(one(digit), 17)),
	}
}

// spans are the numbers from a to b, both at least 0, as rows of digits: 8 to 120 are 8-9, 10-99, 100-119 and 120.
func spans(a, b int64) (out []sequence) {
	for a <= b {
		// The largest block of 10^k numbers that begins at a, has as many digits as a, and ends by b.
		size := int64(1)
		for a%(size*10) == 0 && a+size*10-1 <= b && a >= size*10 {
			size *= 10
		}
		first := a / size
		last := first
		for (last+1)%10 != 0 && (last+2)*size-1 <= b {
			last++
		}
		head := strconv.FormatInt(first, 10)
		x := bytes(head[:len(head)-1])
		x = append(x, symbol{set: ranges(byte('0'+first%10), byte('0'+last%10))})
		for n := size; n > 1; n /= 10 {
			x = append(x, symbol{set: ranges('0', '9')})
		}
		out = append(out, x)
		a = (last + 1) * size
	}
	return out
}
