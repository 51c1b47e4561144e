package grammar

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/policy"
)

// large is a vocabulary of the size of Qwen3's, of words, their pieces, and what code is written with.
func large() *Vocabulary {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	var texts []string
	for b := range 256 {
		texts = append(texts, string([]byte{byte(b)}))
	}
	for len(texts) < 151_000 {
		text := ""
		if r.IntN(2) == 0 {
			text = " "
		}
		for range 1 + r.IntN(9) {
			text += string(rune('a' + r.IntN(26)))
		}
		switch r.IntN(10) {
		case 0:
			text += []string{`"`, `",`, "\n", `\`, `":`}[r.IntN(5)]
		case 1:
			text = string(rune(0x4E00+r.IntN(5000))) + string(rune(0x4E00+r.IntN(5000)))
		}
		if !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	return NewVocabulary(len(texts), func(id int32) Token { return Token{Text: texts[id]} })
}

// The first mask within a string is what a sampler waits for longest; later ones of the kind are kept.
func BenchmarkFirstMaskOfAString(b *testing.B) {
	v := large()
	for b.Loop() {
		b.StopTimer()
		g, err := Compile(v,
			Wanted{Answer: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)})
		if err != nil {
			b.Fatal(err)
		}
		at := g.readText(g.start, `{"a":"x`)
		b.StartTimer()
		g.nextTokens(at)
	}
}

// Thousands of tools are offered by some clients, with every request.
func BenchmarkCompileAThousandTools(b *testing.B) {
	v := large()
	var tools []chat.Tool
	for i := range 1000 {
		tools = append(tools, chat.Tool{Name: fmt.Sprintf("server_tool_%d", i), InputSchema: []byte(fmt.Sprintf(
			`{"type":"object","properties":{"path":{"type":"string","maxLength":4096},"limit_%d":{"type":"integer","minimum":1,"maximum":1000},"mode":{"enum":["read","write","append"]},"recursive":{"type":"boolean"}},"required":["path"]}`, i))})
	}
	for b.Loop() {
		if _, err := Compile(v, Wanted{Tools: tools, Frame: frame, Many: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSpeech is three tokens of a completion without calls, in a vocabulary of Qwen3's size.
func BenchmarkSpeech(b *testing.B) {
	v := large()
	m, said, allowed := v.Mark(`"`), []int32{'a', '<', 't'}, policy.NewIDSet(151_000)
	for b.Loop() {
		c := v.Speech(nil, "", m)
		for i := range said {
			allowed.Fill()
			c.Narrow(said[:i], allowed)
		}
	}
}
