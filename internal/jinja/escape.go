package jinja

import (
	"strconv"
	"strings"

	"hone/internal/jinja/pyvalue"
)

// unescape reads the escapes of a string literal as Python does; an unknown one stays as it is written.
func unescape(s string, at int) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'x', 'u', 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+1+n > len(s) {
				pyvalue.Fail(at+i, SyntaxFault, "(unicode error) truncated \\%c escape", c)
			}
			code, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil || code > 0x10ffff {
				pyvalue.Fail(at+i, SyntaxFault, "(unicode error) truncated \\%c escape", c)
			}
			if code >= 0xd800 && code < 0xe000 {
				pyvalue.Fail(at+i, pyvalue.Unsupported, "half of a surrogate pair in a string")
			}
			b.WriteRune(rune(code))
			i += n
		case 'N':
			pyvalue.Fail(at+i, pyvalue.Unsupported, "a character by its name in a string")
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := 1
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
			code, _ := strconv.ParseUint(s[i:i+n], 8, 16) // the digits are octal
			b.WriteRune(rune(code))
			i += n - 1
		default:
			if j := strings.IndexByte("abfnrtv", c); j >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v"[j])
			} else {
				b.WriteString(s[i-1 : i+1])
			}
		}
	}
	return b.String()
}
