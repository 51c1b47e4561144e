package sanitize_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hone/internal/console/sanitize"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, text, line string }{
		{"plain", "a: é 漢 👩", "a: é 漢 👩", "a: é 漢 👩"},
		{"lines and tabs", "a\n\tb", "a\n\tb", `a\n\tb`},
		{"clear", "\x1b[2J\x1b[H", `\u001b[2J\u001b[H`, `\u001b[2J\u001b[H`},
		{"title", "\x1b]0;x\x07", `\u001b]0;x\u0007`, `\u001b]0;x\u0007`},
		{"C1", "\u009b31m\u009d0;x\u009c", `\u009b31m\u009d0;x\u009c`, `\u009b31m\u009d0;x\u009c`},
		{"C1 as a byte", "\x9b31m", "\ufffd31m", "\ufffd31m"},
		{"carriage return", "bad\rgood", `bad\rgood`, `bad\rgood`},
		{"backspace, DEL, NUL", "a\b\x7f\x00", `a\u0008\u007f\u0000`, `a\u0008\u007f\u0000`},
		{"direction", "a\u202egpj.exe\u2066", `a\u202egpj.exe\u2066`, `a\u202egpj.exe\u2066`},
		{"zero width", "a\u200b\ufeff\u00ad", `a\u200b\ufeff\u00ad`, `a\u200b\ufeff\u00ad`},
		{"line separators", "a\u2028b\u2029", `a\u2028b\u2029`, `a\u2028b\u2029`},
		{"tags", "\U000e0041", `\udb40\udc41`, `\udb40\udc41`},
		{"joiners", "می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"},
	} {
		if got := sanitize.Text(c.in); got != c.text {
			t.Errorf("%s: %q, want %q", c.name, got, c.text)
		}
		if got := sanitize.Line(c.in); got != c.line {
			t.Errorf("%s on a line: %q, want %q", c.name, got, c.line)
		}
	}
}

// However a text is cut into writes, what arrives is Text of it; and JSON has the value it had.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.String().Draw(t, "text")+
			rapid.SampledFrom([]string{"", "\x1b[2J", "\u009b", "\U000e0041é", "\r\n"}).Draw(t, "end"), "")
		var out bytes.Buffer
		w := sanitize.New(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if out.String() != sanitize.Text(text) || strings.ContainsFunc(out.String(), sanitize.IsHidden) ||
			!utf8.Valid(out.Bytes()) {
			t.Fatalf("%q became %q", text, &out)
		}
		out.Reset()
		var back string
		if err := json.NewEncoder(w).Encode(text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != text ||
			strings.ContainsFunc(out.String(), sanitize.IsHidden) {
			t.Fatalf("%q became %q by %q: %v", text, back, &out, err)
		}
	})
}

func TestWriterPassesErrors(t *testing.T) {
	if n, err := sanitize.New(broken{}).Write([]byte("x")); n != 0 || err == nil {
		t.Error(n, err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }
