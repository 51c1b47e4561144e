package grade

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// Decimal is a JSON number with all its digits: as a float, two ids of 19 digits may be one.
type Decimal string

// DecimalOf is a float in its shortest spelling.
func DecimalOf(f float64) Decimal { return Decimal(strconv.FormatFloat(f, 'g', -1, 64)) }

// ParseDecimal reads a number in decimal digits. What a float holds to the last digit becomes that float's shortest
// spelling.
func ParseDecimal(text string) (Decimal, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", err
	}
	if exact(f, canonical(text)) {
		return DecimalOf(f), nil
	}
	return Decimal(text), nil
}

// Float is the nearest float.
func (d Decimal) Float() float64 {
	f, _ := strconv.ParseFloat(string(d), 64) // of what is beyond all floats, an infinity
	return f
}

// Spellings are how people may write the number.
func (d Decimal) Spellings() []string {
	plain := string(d)
	if f := d.Float(); exact(f, canonical(string(d))) {
		plain = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return []string{plain, string(d)}
}

// UnmarshalJSON takes a number and nothing else.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	text := string(data)
	if kind := map[byte]string{'"': "string", '{': "object", '[': "array", 't': "bool",
		'f': "bool"}[text[0]]; kind != "" {
		return &json.UnmarshalTypeError{Value: kind, Type: reflect.TypeFor[float64]()}
	}
	if text == "null" {
		return nil
	}
	number, err := ParseDecimal(text)
	if err != nil {
		return &json.UnmarshalTypeError{Value: "number " + text, Type: reflect.TypeFor[float64]()}
	}
	*d = number
	return nil
}

// MarshalJSON writes all digits.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if f := d.Float(); exact(f, canonical(string(d))) {
		return json.Marshal(f)
	}
	return []byte(d), nil
}

// Near reports whether two numbers are no further apart than the tolerance. Of whole numbers no digit is lost; others
// may also be as near as floats, for what a program calculated is a float.
func (d Decimal) Near(other Decimal, tolerance float64) bool {
	return near{canonical(string(d)), canonical(string(DecimalOf(tolerance)))}.matches(canonical(string(other)))
}

// near is a number and how far from it another may be.
type near struct{ number, tolerance number }

func (n near) matches(got number) bool {
	if got == n.number {
		return true
	}
	a, b, most := got.rational(), n.number.rational(), n.tolerance.rational()
	if a != nil && b != nil && most != nil {
		apart := new(big.Rat).Sub(a, b)
		if apart.Abs(apart).Cmp(most) <= 0 {
			return true
		}
		if a.IsInt() && b.IsInt() {
			return false
		}
	}
	x, errX := strconv.ParseFloat(string(got), 64)
	y, errY := strconv.ParseFloat(string(n.number), 64)
	tolerance, err := strconv.ParseFloat(string(n.tolerance), 64)
	return errX == nil && errY == nil && err == nil && math.Abs(x-y) <= tolerance
}

// rational is the number exactly, nil where it is so long, large or small that this would take much memory.
func (n number) rational() *big.Rat {
	_, exponent, _ := strings.Cut(string(n), "e")
	power, err := strconv.Atoi("0" + strings.TrimPrefix(exponent, "-"))
	if err != nil || power > 400 || len(n) > 1000 {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}
