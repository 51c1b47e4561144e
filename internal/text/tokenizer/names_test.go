package tokenizer

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// asGGUF is the vocabulary of a byte-level tokenizer.json as a GGUF file holds it.
func asGGUF(tb testing.TB, text []byte, pre string) Options {
	tb.Helper()
	var f struct {
		AddedTokens []AddedToken `json:"added_tokens"`
		Model       struct {
			Vocab  map[string]int32
			Merges [][2]string
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		tb.Fatal(err)
	}
	o := Options{PreTokenizer: pre, Tokens: make([]string, len(f.Model.Vocab))}
	for token, id := range f.Model.Vocab {
		o.Tokens[id] = token
	}
	o.Types = slices.Repeat([]int32{TypeNormal}, len(o.Tokens))
	for _, a := range f.AddedTokens {
		kind := TypeUserDefined
		if a.Special {
			kind = TypeControl
		}
		if int(a.ID) == len(o.Tokens) {
			o.Tokens, o.Types = append(o.Tokens, a.Content), append(o.Types, kind)
		}
		o.Types[a.ID] = kind
	}
	for _, m := range f.Model.Merges {
		o.Merges = append(o.Merges, m[0]+" "+m[1])
	}
	return o
}

// TestPreTokenizersEqualFamilies has each splitter that a GGUF names do what the tokenizer.json of its family does,
// which is what Hugging Face's library does (TestFamiliesEqualHuggingFace).
func TestPreTokenizersEqualFamilies(t *testing.T) {
	families, fragments := readFamilies(t), readGolden(t).Fragments
	for pre, family := range map[string]string{
		"gpt-2": "gpt2", "olmo": "neox", "smollm": "smollm2", "command-r": "command-r", "llama-bpe": "llama3",
		"qwen2": "qwen3", "qwen35": "qwen3.5", "gpt-4o": "o200k", "tekken": "tekken", "kimi-k2": "kimi",
		"deepseek-v3": "deepseek3", "deepseek-coder": "deepseek-coder", "exaone-moe": "exaone", "tiny_aya": "aya",
		"jais-2": "jais2", "minicpm5": "minicpm5", "bailingmoe": "bailing", "seed-coder": "seed-coder",
		"youtu": "youtu", "bloom": "bloom", "viking": "viking", "spark2_5": "spark", "laguna": "laguna",
		"ufakzeka": "without-endings",
	} {
		a, err := New(asGGUF(t, families[family], pre))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse(family, families[family])
		if err != nil {
			t.Fatal(err)
		}
		for i := range 800 {
			text := fragments.text(i)
			if got, want := a.EncodeOrdinary(text), b.EncodeOrdinary(text); !slices.Equal(got, want) {
				t.Errorf("%s against %s: %.80q\n got  %v\n want %v", pre, family, text, head(got), head(want))
				break
			}
		}
	}
}

// TestGemma has a vocabulary whose merges are of characters.
func TestGemma(t *testing.T) {
	families, fragments := readFamilies(t), readGolden(t).Fragments
	for _, family := range []string{"gemma", "gemma3"} {
		o := asGGUF(t, families[family], "")
		o.Model = "gemma4"
		o.Types[slices.Index(o.Tokens, "<unk>")] = TypeUnknown
		a, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		b := parse(t, families, family)
		for i := range 800 {
			text := fragments.text(i)
			ids := b.Encode(text)
			if got := a.Encode(text); !slices.Equal(got, ids) {
				t.Errorf("%s: %.80q\n got  %v\n want %v", family, text, head(got), head(ids))
			}
			if got, want := a.Decode(ids), b.Decode(ids); got != want {
				t.Errorf("%s: decoded %q, want %q", family, got, want)
			}
		}
		o.Merges[0] = "a"
		if _, err := New(o); err == nil {
			t.Error("a merge of one token is accepted")
		}
	}
}

// TestKnownPreTokenizersAreReadOrRefused goes through the names that llama.cpp knows.
func TestKnownPreTokenizersAreReadOrRefused(t *testing.T) {
	read := strings.Fields(`llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 deepseek-llm deepseek-coder deepseek-v3 spark2_5
		youtu mpt starcoder gpt-2 phi-2 gigachat a.x-4.0 mellum modern-bert jais-2 refact command-r qwen2 deepseek-r1-qwen kormo f2llmv2
		qwen35 stablelm2 olmo dbrx smaug-bpe poro-chat chatglm-bpe glm4 glm5 viking jais tekken smollm codeshell bloom gpt3-finnish
		exaone exaone4 exaone-moe minerva-7b megrez gpt-4o llama4 kanana2 talkie tiny_aya cohere2moe superbpe trillion granite-docling
		bailingmoe bailingmoe2 llada-moe seed-coder hunyuan hunyuan-dense hy_v4 joyai-llm kimi-k2 ufakzeka grok-2 laguna minimax-m2
		solar-open mellum2 minicpm5`)
	refused := strings.Fields(`default falcon jina-v1-en jina-v2-code jina-v2-es jina-v2-de jina-es jina-de jina-v5-nano roberta-bpe chameleon afmoe
		sarvam-moe whitespace granite-embed-multi-97m granite-embed-multi-311m`)
	if got, want := len(preTokenizers()), len(read)+1; got != want { // and the empty name
		t.Errorf("%d names are supported, %d are known here", got, want)
	}
	for _, name := range read {
		if _, err := New(Options{Tokens: []string{"a"}, PreTokenizer: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range refused {
		_, err := New(Options{Tokens: []string{"a"}, PreTokenizer: name})
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(f.Why, name) || !strings.Contains(f.Next, "llama-bpe") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, model := range []string{"bert", "t5", "rwkv", "plamo2", "hybriddna", "no_vocab"} {
		_, err := New(Options{Model: model, Tokens: []string{"a"}})
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(f.Why, model) || !strings.Contains(f.Next, "gemma4, gpt2, llama") {
			t.Errorf("%s: got %v", model, err)
		}
	}
}
