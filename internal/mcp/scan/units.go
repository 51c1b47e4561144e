package scan

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// units are the texts of a tool as the classifier reads them: its title and description, and what is said of each
// parameter, with the parameter's name before it.
func (t Tool) units() []unit {
	out := append(unitsOf("/title", fold(t.Title), false), unitsOf("/description", fold(t.Description), false)...)
	for _, part := range []struct {
		at  string
		raw json.RawMessage
	}{{"/inputSchema", t.InputSchema}, {"/outputSchema", t.OutputSchema}, {"/annotations", t.Annotations}} {
		texts(part.raw, func(pointer, text string, key bool) {
			name := ""
			if _, after, ok := strings.Cut(pointer, "/properties/"); ok {
				name, _, _ = strings.Cut(after, "/")
			}
			words := splitName(name)
			switch {
			case key && text == name && len(words) >= 3:
				out = append(out, unitsOf(part.at+pointer, fold(strings.Join(words, " ")), true)...)
			case !key && !isWord(text) && !strings.HasSuffix(pointer, "/$schema"):
				lead := ""
				if name != "" {
					lead = strings.Join(words, " ") + ": "
				}
				units := unitsOf(part.at+pointer, fold(lead+text), name != "" && part.at == "/inputSchema")
				if len(units) > 0 {
					units[0].lead = min(len([]rune(lead)), len(units[0].text.key)-1)
				}
				out = append(out, units...)
			}
		})
	}
	return out
}

// inARow is all texts of a tool in a row where they are short, since orders can be spread over fields: the last of
// the units that are looked at, when no other is enough.
func (t Tool) inARow() []unit {
	row := t.Title + "\n" + t.Description
	for _, raw := range []json.RawMessage{t.InputSchema, t.OutputSchema, t.Annotations} {
		texts(raw, func(pointer, text string, key bool) {
			if !key && !isWord(text) && !strings.HasSuffix(pointer, "/$schema") {
				row += "\n" + text
			}
		})
	}
	if len(row) > wideUnit || row == t.Title+"\n"+t.Description {
		return nil
	}
	return unitsOf("/description", fold(row), false)
}

// texts calls yield with every key and every text of a JSON value, and its pointer.
func texts(raw json.RawMessage, yield func(pointer, text string, key bool)) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return
		}
		if token.Kind() == '"' {
			kind, n := d.StackIndex(d.StackDepth())
			yield(string(d.StackPointer()), token.String(), kind == '{' && n%2 == 1)
		}
	}
}

// isWord reports a type, a unit, the value of an enumeration: what holds no sentence.
func isWord(text string) bool {
	return len(text) < 24 && !strings.ContainsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !inWord(r) && !strings.ContainsRune("-./#", r)
	})
}
