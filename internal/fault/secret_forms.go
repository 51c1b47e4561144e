package fault

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// SecretForms are how a text may be written in another, the longest first: as it is, in quotes of Go and of JSON, once
// and within JSON again, in a URL, in HTML, and in base64 and hexadecimal, also inside a longer run of them. A form
// shorter than 8 characters is left out, for it would be found by chance.
func SecretForms(text string) []string {
	var all []string
	add := func(forms ...string) {
		for _, f := range forms {
			if f == text || len(f) >= 8 && !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	add(text)
	for _, quoted := range append(inJSON(text), strings.Trim(strconv.Quote(text), `"`)) {
		add(quoted)
		for _, twice := range inJSON(quoted) {
			add(twice)
		}
	}
	for _, escaped := range []string{
		url.QueryEscape(text), url.PathEscape(text), strings.ReplaceAll(url.QueryEscape(text), "+", "%20"),
		percent(text),
	} {
		add(escaped, lowerHex(escaped))
	}
	plain := html.EscapeString(text)
	add(plain, strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(plain),
		strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;").Replace(plain), entities(text, "&#%d;"),
		entities(text, "&#x%x;"))
	add(hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))))
	add(inBase64(text)...)
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

// inJSON are a text's spellings in a string of JSON, by encoders that escape more or less.
func inJSON(text string) (forms []string) {
	for _, escapesHTML := range []bool{false, true} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapesHTML)
		if e.Encode(text) != nil {
			continue
		}
		form := strings.Trim(strings.TrimSpace(b.String()), `"`)
		if strings.HasSuffix(text, `"`) { // which Trim took with the quote
			form = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
		}
		forms = append(forms, form, strings.ReplaceAll(form, "/", `\/`), ascii(form))
	}
	return forms
}

// ascii escapes what is not ASCII, as Python's encoder does.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// percent escapes each byte, letters too.
func percent(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}

// lowerHex writes the digits of escapes in small letters.
func lowerHex(escaped string) string {
	out := []byte(escaped)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], strings.ToLower(string(out[i+1:i+3])))
		}
	}
	return string(out)
}

func entities(text, format string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// inBase64 is what of a text's base64 does not depend on what stands around it, for each of the three places that it
// may have in groups of three bytes, in both alphabets.
func inBase64(text string) (forms []string) {
	for before := range 3 {
		data := append(make([]byte, before), text...)
		first, whole := (8*before+5)/6, 8*len(data)/6
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if encoded := e.EncodeToString(data); first < whole {
				forms = append(forms, encoded[first:whole])
			}
		}
	}
	return forms
}
