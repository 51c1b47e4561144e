package tokenizer

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/fault"
)

func family(tb testing.TB, name string) *Tokenizer {
	tb.Helper()
	return parse(tb, readFamilies(tb), name)
}

func parse(tb testing.TB, families map[string]json.RawMessage, name string) *Tokenizer {
	tb.Helper()
	tok, err := Parse(name, families[name])
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// TestOrdinaryTextNeverYieldsASpecial tries every family with text that is made of the special tokens.
func TestOrdinaryTextNeverYieldsASpecial(t *testing.T) {
	g, families := readGolden(t), readFamilies(t)
	for _, name := range slices.Sorted(maps.Keys(g.Families)) {
		tok := parse(t, families, name)
		unknown := map[int32]bool{}
		if id, ok := tok.ID("<unk>"); ok {
			unknown[id] = true // stands for characters the vocabulary lacks
		}
		for i := range 400 {
			text := g.Fragments.text(i) + strings.Join(g.Fragments.Groups[5], "")
			parts := []Part{{Text: "<|im_start|>user\n"}, {Text: text, Ordinary: true}, {Text: "<|im_end|>"}}
			for _, id := range tok.EncodeOrdinary(text) {
				if tok.IsSpecial(id) && !unknown[id] {
					t.Fatalf("%s: ordinary text %d yields the special id %d", name, i, id)
				}
			}
			start, _ := tok.ID("<|im_start|>")
			end, _ := tok.ID("<|im_end|>")
			count := map[int32]int{}
			for _, id := range tok.EncodeParts(parts...) {
				count[id]++
			}
			if count[start] != 1 || count[end] != 1 {
				t.Fatalf("%s: text %d between the markers yields %d and %d of them", name, i, count[start], count[end])
			}
		}
	}
}

func TestEncodeParts(t *testing.T) {
	tok := family(t, "qwen3")
	start, _ := tok.ID("<|im_start|>")
	call, _ := tok.ID("<tool_call>")
	if tok.IsSpecial(call) || !tok.IsAdded(call) {
		t.Fatal("<tool_call> is to be added and not special")
	}
	got := tok.EncodeParts(Part{Text: "<|im_start|><|im_"}, Part{Text: "start|><tool_call>", Ordinary: true}, Part{},
		Part{Text: "<tool_call>"})
	if n := len(got); got[0] != start || got[n-1] != call || slices.Contains(got[1:], start) ||
		slices.Contains(got[:n-1], call) {
		t.Errorf("got %v", got)
	}
	text := "the naïve café, e\u0301 12  x\n\n"
	whole := tok.Encode(text)
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(text)).Draw(t, "seam")
		for _, ordinary := range []bool{false, true} {
			if got := tok.EncodeParts(Part{text[:i], !ordinary}, Part{text[i:], ordinary}); !slices.Equal(got, whole) {
				t.Fatalf("cut at %d: got %v, want %v", i, got, whole)
			}
		}
	})
}

// TestEncodePartsOfNormalized has added tokens that are looked for after normalising, where seams are cut at.
func TestEncodePartsOfNormalized(t *testing.T) {
	tok := family(t, "added-flags")
	id, _ := tok.ID("NORMAL")
	got := tok.EncodeParts(Part{Text: "X NORMAL "}, Part{Text: "Normal Y", Ordinary: true}, Part{Text: " normal"})
	n := 0
	for _, each := range got {
		if each == id {
			n++
		}
	}
	if n != 2 || got[len(got)-1] != id {
		t.Errorf("%d of them in %v", n, got)
	}
	if got := tok.EncodeParts(Part{Text: "x normal "}, Part{Text: "normal", Ordinary: true}); got[len(got)-1] == id ||
		!slices.Contains(got, id) {
		t.Errorf("without a change by normalising: %v", got)
	}
}

func TestByteFallbackIsHeldBack(t *testing.T) {
	tok := family(t, "llama2")
	at := func(token string) int32 {
		id, ok := tok.ID(token)
		if !ok {
			t.Fatalf("no %s", token)
		}
		return id
	}
	d := tok.NewDecoder()
	for i, c := range []struct{ token, text string }{
		{"▁the", "the"}, {"<0xE2>", ""}, {"<0x82>", ""}, {"<0xAC>", ""}, {"a", "€a"}, {"<0xE2>", ""}, {"<0x41>", ""},
		{"▁", "\uFFFD\uFFFD "}, {"<0x42>", ""},
	} {
		if got := d.Next(at(c.token)); got != c.text {
			t.Errorf("%d, %s: got %q, want %q", i, c.token, got, c.text)
		}
	}
	if got := d.Close(); got != "B" {
		t.Errorf("at the end: %q", got)
	}
	if d := tok.NewDecoder(); d.Close() != "" || d.Next(-1) != "" || d.Next(1<<20) != "" {
		t.Error("nothing decodes to something")
	}
}

func TestDecoders(t *testing.T) {
	vocab := `{"type":"BPE","vocab":{"▁a":0,"b":1,"Ġ":2,"<0x62>":3},"merges":[]}`
	for decoder, want := range map[string]string{
		`null`: "▁a b Ġ <0x62> ▁a",
		`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"}`:                                           "abĠ<0x62> a",
		`{"type":"Metaspace","replacement":"▁","prepend_scheme":"never"}`:                                            " abĠ<0x62> a",
		`{"type":"Replace","pattern":{"Regex":"[b-z]|▁+"},"content":"-"}`:                                            "-a-Ġ<0-62>-a",
		`{"type":"Sequence","decoders":[{"type":"ByteLevel"},{"type":"Strip","content":"a","start":0,"stop":1}]}`:    "▁ab <0x62>▁",
		`{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"▁","start":3,"stop":0}]}`:         "abĠ<0x62>▁a",
		`{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Strip","content":"b","start":1,"stop":1}]}`: "▁aĠ▁a",
	} {
		tok, err := Parse("x", small(map[string]string{"model": vocab, "decoder": decoder}))
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Decode([]int32{0, 1, 2, 3, 0}); got != want {
			t.Errorf("%s: got %q, want %q", decoder, got, want)
		}
	}
}

// sentencePieceOptions is a vocabulary of the llama kind: "€5" is a token, "€" alone is not.
func sentencePieceOptions() Options {
	o := Options{Model: "llama", Tokens: []string{"<unk>", "<s>", "</s>"},
		Types: []int32{TypeUnknown, TypeControl, TypeControl}, AddBOS: true, BOS: 1, AddEOS: true, EOS: 2}
	for _, hex := range []string{"<0xE2>", "<0x82>", "<0xAC>"} {
		o.Tokens, o.Types = append(o.Tokens, hex), append(o.Types, TypeByte)
	}
	for _, token := range []string{"▁", "a", "b", "5", "▁a", "ab", "▁ab", "€5", "s", "<", ">", "s>", "/", "</"} {
		o.Tokens, o.Types = append(o.Tokens, token), append(o.Types, TypeNormal)
	}
	for i := range o.Tokens {
		o.Scores = append(o.Scores, -float32(i))
	}
	return o
}

func TestSentencePieceOfGGUF(t *testing.T) {
	tok, err := New(sentencePieceOptions())
	if err != nil {
		t.Fatal(err)
	}
	tokens := func(ids []int32) string {
		var all []string
		for _, id := range ids {
			token, _ := tok.Token(id)
			all = append(all, token)
		}
		return strings.Join(all, " ")
	}
	for text, want := range map[string]string{
		"ab": "▁ab", " ab": "▁ ▁ab", "a€5€": "▁a €5 <0xE2> <0x82> <0xAC>", "": "", "a?": "▁a <unk>",
		"a<s>ab": "▁a <s> ▁ab", "5": "▁ 5",
	} {
		if got := tokens(tok.Encode(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := tokens(tok.EncodeOrdinary("<s></s>")); got != "▁ < s> </ s>" {
		t.Errorf("ordinary: %q", got)
	}
	if got := tokens(tok.Wrap(tok.Encode("a"))); got != "<s> ▁a </s>" {
		t.Errorf("wrapped: %q", got)
	}
	if got := tok.Decode(tok.Encode("ab €5€")); got != "ab €5€" {
		t.Errorf("decoded: %q", got)
	}
	o := sentencePieceOptions()
	o.NoSpacePrefix = true
	if tok, err = New(o); err != nil || tokens(tok.Encode("ab")) != "ab" || tok.Decode(tok.Encode(" ab")) != " ab" {
		t.Errorf("without a space in front: %v", err)
	}
}

func TestNewRefusesOtherKinds(t *testing.T) {
	short := sentencePieceOptions()
	short.Scores = short.Scores[:3]
	for name, o := range map[string]Options{
		"model":  {Model: "bert"},
		"scores": short,
		"merge":  {Tokens: []string{"a"}, Merges: []string{"a"}},
	} {
		_, err := New(o)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CodeUsage {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	g := readGolden(t)
	for _, name := range []string{"llama3", "t5", "gemma"} {
		tok := family(t, name)
		want := make([][]int32, 200)
		other := family(t, name)
		for i := range want {
			want[i] = other.Encode(g.Fragments.text(i))
		}
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for i := range want {
					if !slices.Equal(tok.Encode(g.Fragments.text(i)), want[i]) {
						t.Errorf("%s: text %d differs", name, i)
						return
					}
				}
			})
		}
		wait.Wait()
	}
}
