package bfcl

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"hone/internal/jinja/pyvalue"
)

// maxDigits of an int's text: Python refuses to read more (sys.int_info.default_max_str_digits).
const maxDigits = 4300

// What int() and float() take, once digits of other scripts are written as ours and white space is stripped.
var (
	intText   = regexp.MustCompile(`^[+-]?[0-9]+(?:_[0-9]+)*$`)
	floatText = regexp.MustCompile(`^[+-]?(?:(?:[0-9]+(?:_[0-9]+)*\.?|[0-9]+(?:_[0-9]+)*\.[0-9]+(?:_[0-9]+)*|\.[0-9]+(?:_[0-9]+)*)(?:[eE][+-]?[0-9]+(?:_[0-9]+)*)?|(?i:inf|infinity|nan))$`)
)

// strip is str.strip.
func strip(s string) string { return strings.TrimFunc(s, pyvalue.IsSpace) }

// plain strips white space and writes decimal digits of other scripts as ours.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && unicode.Is(unicode.Nd, r) {
			return '0' + digit(r)
		}
		return r
	}, strip(s))
}

// digit is the value of a decimal digit: Unicode has each script's ten in a row, so it is how many stand before it.
func digit(r rune) rune {
	before := rune(0)
	for unicode.Is(unicode.Nd, r-before-1) {
		before++
	}
	return before % 10
}

// parseInt is int(text), false where that is a ValueError.
func parseInt(s string) (any, bool) {
	s = plain(s)
	if !intText.MatchString(s) {
		return nil, false
	}
	return integer(strings.ReplaceAll(s, "_", ""))
}

// integer reads decimal digits with a sign, false where there are too many.
func integer(s string) (any, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if len(strings.TrimLeft(s, "+-")) > maxDigits {
		return nil, false
	}
	n, ok := new(big.Int).SetString(s, 10)
	return n, ok
}

// parseFloat is float(text), false where that is a ValueError.
func parseFloat(s string) (any, bool) {
	s = plain(s)
	if !floatText.MatchString(s) {
		return nil, false
	}
	f, _ := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64) // out of range is infinite, as in Python
	if math.IsNaN(f) {
		f = math.Float64frombits(madeNaN)
	}
	return f, true
}

// toFloat is float(int).
func toFloat(n any) float64 {
	if i, ok := n.(int64); ok {
		return float64(i)
	}
	f, _ := new(big.Float).SetInt(n.(*big.Int)).Float64()
	if math.IsInf(f, 0) {
		raise("OverflowError", "int too large to convert to float")
	}
	return f
}
