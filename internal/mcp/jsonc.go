package mcp

import "bytes"

// plainJSON is JSON with comments, as VS Code and Cursor write it, with blanks in the place of its comments, of commas
// before a closing bracket and of a byte order mark, so that places in errors stay. Strings are left alone; so is what
// is neither.
func plainJSON(data []byte) []byte {
	out := bytes.Clone(data)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	if bytes.HasPrefix(out, []byte("\ufeff")) {
		blank(0, 3)
	}
	comma := -1     // the last token, where it was a comma behind a value
	last := byte(0) // the last token's last byte
	for i := 0; i < len(out); {
		rest, end := out[i:], i+1
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			if end = i + bytes.IndexByte(rest, '\n'); end < i {
				end = len(out)
			}
			blank(i, end)
		case bytes.HasPrefix(rest, []byte("/*")):
			end = len(out)
			if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
		case out[i] == '"':
			end = stringEnd(out, i)
			comma, last = -1, '"'
		case out[i] == ',' && !bytes.Contains([]byte("[{,:\x00"), []byte{last}):
			comma, last = i, ','
		case bytes.Contains([]byte(" \t\r\n"), rest[:1]):
		default:
			if comma >= 0 && (out[i] == '}' || out[i] == ']') {
				blank(comma, comma+1)
			}
			comma, last = -1, out[i]
		}
		i = end
	}
	return out
}

// stringEnd is the place behind the string that begins at start.
func stringEnd(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
