package pyvalue

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// Binary runs one of + - * / // % ** with Python's types.
func (m *Meter) Binary(op string, a, b Value) Value {
	if s, ok := a.(string); ok && op == "%" {
		return m.Printf(s, b)
	}
	m.Must(a)
	m.Must(b)
	if IsNumber(a) && IsNumber(b) {
		return m.calculate(op, IntegerOf(a), IntegerOf(b))
	}
	switch op {
	case "+":
		if v, ok := m.join(a, b); ok {
			return v
		}
	case "*":
		if _, ok := IntegerOf(a).(int64); ok {
			a, b = b, a
		}
		if x, ok := a.(*big.Int); ok && !IsNumber(b) {
			a, b = b, x
		}
		if _, tooLarge := b.(*big.Int); tooLarge {
			if _, ok := m.repeat(a, 0); ok {
				Fail(m.At, OverflowFault, "cannot fit 'int' into an index-sized integer")
			}
		}
		if n, ok := IntegerOf(b).(int64); ok {
			if v, ok := m.repeat(a, int(max(0, min(n, 1<<40)))); ok {
				return v
			}
		}
	}
	Fail(m.At, TypeFault, "unsupported operand type(s) for %s: '%s' and '%s'", op, TypeName(a), TypeName(b))
	return nil
}

func (m *Meter) join(a, b Value) (Value, bool) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			m.Charge(len(x) + len(y))
			return x + y, true
		}
	case []Value:
		if y, ok := b.([]Value); ok {
			m.Charge(ItemBytes * (len(x) + len(y)))
			return slices.Concat(x, y), true
		}
	case Tuple:
		if y, ok := b.(Tuple); ok {
			m.Charge(ItemBytes * (len(x) + len(y)))
			return slices.Concat(x, y), true
		}
	}
	return nil, false
}

func (m *Meter) repeat(a Value, n int) (Value, bool) {
	size := func(one int) {
		if high, low := bits.Mul64(uint64(one), uint64(n)); high > 0 || low > math.MaxInt {
			m.Charge(math.MaxInt)
		}
		m.Charge(one * n)
	}
	switch x := a.(type) {
	case string:
		size(len(x))
		return strings.Repeat(x, n), true
	case []Value:
		size(ItemBytes * len(x))
		return slices.Repeat(x, n), true
	case Tuple:
		size(ItemBytes * len(x))
		return slices.Repeat(x, n), true
	}
	return nil, false
}

// calculate takes int64, *big.Int and float64.
func (m *Meter) calculate(op string, a, b Value) Value {
	x, xIsInt := a.(int64)
	y, yIsInt := b.(int64)
	if xIsInt && yIsInt {
		if v, ok := m.small(op, x, y); ok {
			return v
		}
	}
	_, xIsFloat := a.(float64)
	_, yIsFloat := b.(float64)
	if xIsFloat || yIsFloat || op == "/" {
		return m.floats(op, m.ToFloat(a), m.ToFloat(b))
	}
	return m.large(op, bigInt(a), bigInt(b))
}

// small computes in int64; false where the result may not fit, or is no int.
func (m *Meter) small(op string, x, y int64) (Value, bool) {
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

func bigInt(v Value) *big.Int {
	if n, ok := v.(int64); ok {
		return big.NewInt(n)
	}
	return v.(*big.Int)
}

// maxBits bounds integers: Python has no bound, and no template needs more.
const maxBits = 1 << 16

func (m *Meter) large(op string, x, y *big.Int) Value {
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
			Fail(m.At, DivisionFault, "integer division or modulo by zero")
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
			return m.floats(op, m.ToFloat(x), m.ToFloat(y))
		}
		if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits) {
			Fail(m.At, LimitFault, "an integer of more than %d bits", maxBits)
		}
		if x.BitLen() <= 1 { // 0, 1 and -1 stay small whatever the exponent
			y = new(big.Int).And(y, big.NewInt(1)).Add(y, big.NewInt(int64(2*min(1, y.Sign()))))
		}
		if int64(x.BitLen())*y.Int64() > maxBits {
			Fail(m.At, LimitFault, "an integer of more than %d bits", maxBits)
		}
		z.Exp(x, y, nil)
	}
	if z.BitLen() > maxBits {
		Fail(m.At, LimitFault, "an integer of more than %d bits", maxBits)
	}
	m.Charge(z.BitLen() / 8)
	return Shrink(z)
}

// ToFloat takes int64, *big.Int and float64.
func (m *Meter) ToFloat(v Value) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	f, _ := new(big.Float).SetInt(v.(*big.Int)).Float64()
	if math.IsInf(f, 0) {
		Fail(m.At, OverflowFault, "int too large to convert to float")
	}
	return f
}

func (m *Meter) floats(op string, x, y float64) Value {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		if x == 0 && y < 0 {
			Fail(m.At, DivisionFault, "0.0 cannot be raised to a negative power")
		}
		z := math.Pow(x, y)
		if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			Fail(m.At, OverflowFault, "Numerical result out of range")
		}
		if math.IsNaN(z) && !math.IsNaN(x) && !math.IsNaN(y) {
			Fail(m.At, Unsupported, "complex numbers")
		}
		return z
	}
	if y == 0 {
		Fail(m.At, DivisionFault, "division by zero")
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
