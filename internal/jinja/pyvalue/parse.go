package pyvalue

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ParseFloat is Python's float(str).
func ParseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, IsSpace)
	word := strings.ToLower(strings.TrimLeft(s, "+-"))
	if word == "inf" || word == "infinity" || word == "nan" {
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	text, ok := withoutUnderscores(s, "0123456789")
	if !ok || strings.ContainsAny(text, "xXpP_iInN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// withoutUnderscores removes those that stand between digits; false where another is left.
func withoutUnderscores(s, digits string) (string, bool) {
	digit := func(i int) bool { return i >= 0 && i < len(s) && strings.IndexByte(digits, s[i]) >= 0 }
	for i := range len(s) {
		if s[i] == '_' && !(digit(i-1) && digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// ParseInt is Python's int(str, base).
func ParseInt(s string, base int) (Value, bool) {
	s = strings.TrimFunc(s, IsSpace)
	sign, digits := "", s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, digits = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	if prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]; prefix != "" &&
		strings.HasPrefix(strings.ToLower(digits), prefix) {
		digits = strings.TrimPrefix(digits[2:], "_")
	}
	digits, ok := withoutUnderscores(digits, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if !ok || digits == "" || strings.ContainsAny(digits, "+-") || base != 0 && (base < 2 || base > 36) {
		return nil, false
	}
	n, ok := new(big.Int).SetString(sign+digits, base)
	if !ok {
		return nil, false
	}
	return Shrink(n), true
}

// ToInt is int(float), and the standard for what is no number.
func ToInt(f float64, standard Value) Value {
	if math.IsNaN(f) {
		return standard
	}
	n, _ := big.NewFloat(f).Int(nil)
	return Shrink(n)
}
