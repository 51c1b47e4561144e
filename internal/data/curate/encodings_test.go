package curate

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// A secret is found in whatever it was encoded, and a harmless text in none.
func TestEncodedSecrets(t *testing.T) {
	const key = "export OPENAI_API_KEY=sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMzQ1Njc4OTA"
	if len(Find(key)) == 0 {
		t.Fatal("the key is none")
	}
	for name, encode := range map[string]func(string) string{
		"base64":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64url":   func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"hexadecimal": func(s string) string { return hex.EncodeToString([]byte(s)) },
		"of a URL":    url.QueryEscape,
		"every byte":  func(s string) string { return "%" + strings.Join(strings.Split(hexPairs(s), " "), "%") },
	} {
		text := "the value is " + encode(key) + " here"
		found := Find(text)
		if !slices.ContainsFunc(found, func(f Found) bool { return f.Kind == Secret }) {
			t.Errorf("%s: %v in %s", name, found, text)
		}
		if left := Replace(text, Values([]string{text}, RedactOptions{})); strings.Contains(left, encode(key)) {
			t.Errorf("%s: %s", name, left)
		}
		if harmless := "the value is " + encode("a text of no interest, but of some length") +
			" here"; len(Find(harmless)) > 0 {
			t.Errorf("%s: %v in %s", name, Find(harmless), harmless)
		}
	}
}

func hexPairs(text string) string {
	var pairs []string
	for i := range len(text) {
		pairs = append(pairs, hex.EncodeToString([]byte{text[i]}))
	}
	return strings.Join(pairs, " ")
}
