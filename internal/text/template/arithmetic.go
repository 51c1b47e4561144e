package template

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// binary runs one of + - * / // % ** with Python's types.
func (r *run) binary(op string, a, b value) value {
	if s, ok := a.(string); ok && op == "%" {
		return r.printf(s, b)
	}
	r.must(a)
	r.must(b)
	if isNumber(a) && isNumber(b) {
		return r.calculate(op, integerOf(a), integerOf(b))
	}
	switch op {
	case "+":
		if v, ok := r.join(a, b); ok {
			return v
		}
	case "*":
		if _, ok := integerOf(a).(int64); ok {
			a, b = b, a
		}
		if x, ok := a.(*big.Int); ok && !isNumber(b) {
			a, b = b, x
		}
		if _, tooLarge := b.(*big.Int); tooLarge {
			if _, ok := r.repeat(a, 0); ok {
				fail(r.at, OverflowFault, "cannot fit 'int' into an index-sized integer")
			}
		}
		if n, ok := integerOf(b).(int64); ok {
			if v, ok := r.repeat(a, int(max(0, min(n, 1<<40)))); ok {
				return v
			}
		}
	}
	fail(r.at, TypeFault, "unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
	return nil
}

func (r *run) join(a, b value) (value, bool) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			r.charge(len(x) + len(y))
			return x + y, true
		}
	case []value:
		if y, ok := b.([]value); ok {
			r.charge(itemBytes * (len(x) + len(y)))
			return slices.Concat(x, y), true
		}
	case tuple:
		if y, ok := b.(tuple); ok {
			r.charge(itemBytes * (len(x) + len(y)))
			return slices.Concat(x, y), true
		}
	}
	return nil, false
}

func (r *run) repeat(a value, n int) (value, bool) {
	size := func(one int) {
		if high, low := bits.Mul64(uint64(one), uint64(n)); high > 0 || low > math.MaxInt {
			r.charge(math.MaxInt)
		}
		r.charge(one * n)
	}
	switch x := a.(type) {
	case string:
		size(len(x))
		return strings.Repeat(x, n), true
	case []value:
		size(itemBytes * len(x))
		return slices.Repeat(x, n), true
	case tuple:
		size(itemBytes * len(x))
		return slices.Repeat(x, n), true
	}
	return nil, false
}

// calculate takes int64, *big.Int and float64.
func (r *run) calculate(op string, a, b value) value {
	x, xIsInt := a.(int64)
	y, yIsInt := b.(int64)
	if xIsInt && yIsInt {
		if v, ok := r.small(op, x, y); ok {
			return v
		}
	}
	_, xIsFloat := a.(float64)
	_, yIsFloat := b.(float64)
	if xIsFloat || yIsFloat || op == "/" {
		return r.floats(op, r.float(a), r.float(b))
	}
	return r.large(op, bigInt(a), bigInt(b))
}

// small computes in int64; false where the result may not fit, or is no int.
func (r *run) small(op string, x, y int64) (value, bool) {
	switch op {
	case "+":
		sum := x + y
		return sum, (sum > x) == (y > 0)
	case "-":
		difference := x - y
		return difference, (difference < x) == (y > 0)
	case "*":
		if high, low := bits.Mul64(magnitude(x), magnitude(y)); high > 0 || low > math.MaxInt64 {
			return nil, false
		}
		return x * y, true
	case "//", "%":
		if y == 0 || x == math.MinInt64 {
			return nil, false
		}
		quotient, rest := x/y, x%y
		if rest != 0 && (rest < 0) != (y < 0) {
			quotient, rest = quotient-1, rest+y
		}
		if op == "//" {
			return quotient, true
		}
		return rest, true
	}
	return nil, false
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func bigInt(v value) *big.Int {
	if n, ok := v.(int64); ok {
		return big.NewInt(n)
	}
	return v.(*big.Int)
}

// maxBits bounds integers: Python has no bound, and no template needs more.
const maxBits = 1 << 16

func (r *run) large(op string, x, y *big.Int) value {
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "//", "%":
		if y.Sign() == 0 {
			fail(r.at, DivisionFault, "integer division or modulo by zero")
		}
		rest := new(big.Int)
		z.QuoRem(x, y, rest)
		if rest.Sign() != 0 && (rest.Sign() < 0) != (y.Sign() < 0) {
			z.Sub(z, big.NewInt(1))
			rest.Add(rest, y)
		}
		if op == "%" {
			z = rest
		}
	case "**":
		if y.Sign() < 0 {
			return r.floats(op, r.float(x), r.float(y))
		}
		if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits) {
			fail(r.at, LimitFault, "an integer of more than %d bits", maxBits)
		}
		if x.BitLen() <= 1 { // 0, 1 and -1 stay small whatever the exponent
			y = new(big.Int).And(y, big.NewInt(1)).Add(y, big.NewInt(int64(2*min(1, y.Sign()))))
		}
		if int64(x.BitLen())*y.Int64() > maxBits {
			fail(r.at, LimitFault, "an integer of more than %d bits", maxBits)
		}
		z.Exp(x, y, nil)
	}
	if z.BitLen() > maxBits {
		fail(r.at, LimitFault, "an integer of more than %d bits", maxBits)
	}
	r.charge(z.BitLen() / 8)
	return shrink(z)
}

func (r *run) float(v value) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	f, _ := new(big.Float).SetInt(v.(*big.Int)).Float64()
	if math.IsInf(f, 0) {
		fail(r.at, OverflowFault, "int too large to convert to float")
	}
	return f
}

func (r *run) floats(op string, x, y float64) value {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		if x == 0 && y < 0 {
			fail(r.at, DivisionFault, "0.0 cannot be raised to a negative power")
		}
		z := math.Pow(x, y)
		if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			fail(r.at, OverflowFault, "Numerical result out of range")
		}
		if math.IsNaN(z) && !math.IsNaN(x) && !math.IsNaN(y) {
			fail(r.at, Unsupported, "complex numbers")
		}
		return z
	}
	if y == 0 {
		fail(r.at, DivisionFault, "division by zero")
	}
	if op == "/" {
		return x / y
	}
	rest := math.Mod(x, y)
	quotient := (x - rest) / y
	if rest != 0 && (rest < 0) != (y < 0) {
		rest, quotient = rest+y, quotient-1
	}
	if op == "//" {
		whole := math.Floor(quotient)
		if quotient-whole > 0.5 {
			whole++
		}
		return whole
	}
	if rest == 0 {
		return math.Copysign(0, y)
	}
	return rest
}
