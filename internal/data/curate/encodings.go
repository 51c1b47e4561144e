package curate

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// encodings are runs of characters that may be another text, and what that is.
var encodings = []struct {
	run    *regexp.Regexp
	decode func(string) (string, error)
}{
	{regexp.MustCompile(`\b(?:[0-9a-fA-F]{2}){16,}\b`), func(run string) (string, error) {
		data, err := hex.DecodeString(run)
		return string(data), err
	}},
	{regexp.MustCompile(`[A-Za-z0-9+/_-]{20,}={0,2}`), func(run string) (string, error) {
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(run, "="))
		data, err := base64.RawStdEncoding.DecodeString(plain)
		return string(data), err
	}},
	{regexp.MustCompile(`[A-Za-z0-9._~+-]*(?:%[0-9a-fA-F]{2}[A-Za-z0-9._~+-]*)+`), url.QueryUnescape},
}

// findEncoded are runs of a text that hold a secret in base64, in hexadecimal or as in a URL.
func findEncoded(text string) (out []Found) {
	for _, e := range encodings {
		for _, at := range e.run.FindAllStringIndex(text, -1) {
			said, err := e.decode(text[at[0]:at[1]])
			if err != nil || said == text[at[0]:at[1]] || !utf8.ValidString(said) ||
				strings.ContainsFunc(said, unprintable) {
				continue
			}
			if slices.ContainsFunc(plain(said), func(f Found) bool { return f.Kind == Secret }) {
				out = append(out, Found{Secret, at[0], at[1]})
			}
		}
	}
	return out
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }
