package toolcall

import (
	"strings"
	"testing"

	"hone/internal/chat"
)

// tokens cuts a text as a model would write it, four bytes at a time.
func tokens(text string) (chunks []string) {
	for len(text) > 4 {
		chunks, text = append(chunks, text[:4]), text[4:]
	}
	return append(chunks, text)
}

// BenchmarkStream reports the time that parsing adds to each token, in every form: a page of text and four calls, one
// of them with two thousand bytes of arguments.
func BenchmarkStream(b *testing.B) {
	long := `{"path": "a.txt", "text": ` + quote(strings.Repeat("A line of text, \"quoted\".\n", 80)) + "}"
	calls := []chat.ToolCall{
		{Name: "weather", Arguments: `{"city": "Paris", "days": 3}`},
		{Name: "now", Arguments: "{}"},
		{Name: "write", Arguments: long},
		{Name: "now", Arguments: "{}"},
	}
	tools := []chat.Tool{
		{
			Name:        "write",
			InputSchema: []byte(`{"properties": {"path": {"type": "string"}, "text": {"type": "string"}}}`),
		},
	}
	for _, f := range All() {
		text, err := f.Emit(strings.Repeat("Let me look at this <first>.\n", 40), calls)
		if err != nil {
			text, err = f.Emit(strings.Repeat("Let me look at this first.\n", 40), calls)
		}
		if err != nil {
			b.Fatal(err)
		}
		chunks := tokens(text)
		b.Run(f.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := f.Parser(Options{Tools: tools})
				for _, c := range chunks {
					p.Feed(c)
				}
				if _, r := p.Close(); len(r.Calls) != len(calls) {
					b.Fatalf("%+v", r)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(chunks)), "ns/token")
		})
	}
}

// BenchmarkStreamLong is one block of a megabyte: the time per token must not grow with the block.
func BenchmarkStreamLong(b *testing.B) {
	text, err := Hermes().Emit("", []chat.ToolCall{
		{Name: "write", Arguments: `{"text": ` + quote(strings.Repeat("A line, \"quoted\".\n", 60000)) + "}"},
	})
	if err != nil {
		b.Fatal(err)
	}
	chunks := tokens(text)
	for b.Loop() {
		p := Hermes().Parser(Options{})
		for _, c := range chunks {
			p.Feed(c)
		}
		if _, r := p.Close(); len(r.Calls) != 1 {
			b.Fatal(r.Err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(chunks)), "ns/token")
}
