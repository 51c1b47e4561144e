package fault

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
)

// Whatever a text was put through, and whatever stands around it, one of its forms is there.
func TestSecretForms(t *testing.T) {
	quoted := func(text string) string {
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, secret := range []string{
		"hunter2-hunter2", `open "sesame" now`, "a/b+c=d&e<f>'g'", "sk-Abc_123-xyz/9", "schlüssel-ä€😀",
		"line\nand\ttab here", `back\slash\ed`, `ends in a quote"`,
	} {
		for name, encode := range map[string]func(string) string{
			"itself":        func(s string) string { return s },
			"JSON":          quoted,
			"JSON in JSON":  func(s string) string { return quoted(quoted(s)) },
			"JSON, slashes": func(s string) string { return strings.ReplaceAll(quoted(s), "/", `\/`) },
			"JSON of ASCII": func(s string) string { return ascii(quoted(s)) },
			"query":         url.QueryEscape,
			"path":          url.PathEscape,
			"every byte":    percent,
			"small digits":  func(s string) string { return strings.ToLower(percent(s)) },
			"HTML":          html.EscapeString,
			"HTML, Python's": func(s string) string {
				return strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;").Replace(html.EscapeString(s))
			},
			"entities":        func(s string) string { return entities(s, "&#%d;") },
			"hexadecimal":     func(s string) string { return hex.EncodeToString([]byte(s)) },
			"hexadecimal, A-": func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
			"base64":          func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
			"base64, URL's":   func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
			"basic":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s)) },
			"inside":          func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user=me;" + s + ";more")) },
			"inside, 1":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u" + s + "xyz")) },
		} {
			text := encode(secret)
			found := false
			for _, form := range SecretForms(secret) {
				found = found || strings.Contains(text, form)
			}
			if !found {
				t.Errorf("%q as %s is not found in %s", secret, name, text)
			}
		}
	}
	for _, form := range SecretForms("short-id") {
		if len(form) < 8 {
			t.Errorf("the form %q is found by chance", form)
		}
	}
}
