package tokenizer

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// small is a tokenizer.json whose parts tests exchange.
func small(parts map[string]string) []byte {
	file := map[string]json.RawMessage{
		"version": json.RawMessage(`"1.0"`),
		"added_tokens": json.RawMessage(`[{"id":4,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,` +
			`"normalized":false,"special":true}]`),
		"normalizer":     json.RawMessage(`null`),
		"pre_tokenizer":  json.RawMessage(`{"type":"WhitespaceSplit"}`),
		"post_processor": json.RawMessage(`null`),
		"decoder":        json.RawMessage(`{"type":"Fuse"}`),
		"model": json.RawMessage(`{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"<unk>":3},"merges":[["a","b"]],` +
			`"unk_token":"<unk>"}`),
	}
	for name, text := range parts {
		file[name] = json.RawMessage(text)
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic(err)
	}
	return data
}

func TestParseSmall(t *testing.T) {
	tok, err := Parse("small", small(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("ab<s> ba?"); !slices.Equal(got, []int32{2, 4, 1, 0, 3}) {
		t.Errorf("got %v", got)
	}
	if tok.NumTokens() != 5 || !tok.IsSpecial(4) || !tok.IsAdded(4) || tok.IsSpecial(0) || tok.IsAdded(9) {
		t.Error("the added token is not one")
	}
	if token, ok := tok.Token(2); token != "ab" || !ok {
		t.Error("token 2 is not ab")
	}
	if _, ok := tok.Token(5); ok {
		t.Error("token 5 exists")
	}
}

func TestParseRefuses(t *testing.T) {
	nested := strings.Repeat(`{"type":"Sequence","normalizers":[`, 40) + strings.Repeat(`]}`, 40)
	for _, c := range []struct{ part, text, where, why string }{
		{"version", `"2.0"`, "version", "1.0"},
		{"normalizer", `{"type":"Bert"}`, "normalizer", "Bert is not supported; supported are ByteLevel"},
		{"normalizer", `{}`, "normalizer", "no type"},
		{"normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"X"}]}`, "normalizer.normalizers[1]", "X is not supported"},
		{"normalizer", `{"type":"Replace","pattern":{"String":""},"content":"a"}`, "normalizer", "empty"},
		{"normalizer", `{"type":"Replace","pattern":{"Regex":"("},"content":"a"}`, "normalizer", "not closed"},
		{"normalizer", nested, "normalizer.", "deep"},
		{"pre_tokenizer", `{"type":"UnicodeScripts"}`, "pre_tokenizer", "UnicodeScripts"},
		{"pre_tokenizer", `{"type":"Split","pattern":{"Regex":"\\p{Nope}"},"behavior":"Isolated","invert":false}`, "pre_tokenizer", `\p{Nope}`},
		{"pre_tokenizer", `{"type":"Split","pattern":{},"behavior":"Isolated","invert":false}`, "pre_tokenizer", "empty"},
		{"pre_tokenizer", `{"type":"Split","pattern":{"String":"a"},"behavior":"Odd","invert":false}`, "pre_tokenizer", "Odd"},
		{"pre_tokenizer", `{"type":"Metaspace","replacement":"__"}`, "pre_tokenizer", "one character"},
		{"pre_tokenizer", `{"type":"Metaspace","replacement":"_","prepend_scheme":"x"}`, "pre_tokenizer", "prepend_scheme"},
		{"pre_tokenizer", `{"type":"Metaspace","replacement":"_","prepend_scheme":"first","add_prefix_space":false}`, "pre_tokenizer", "contradicts"},
		{"pre_tokenizer", `[]`, "pre_tokenizer", ""},
		{"post_processor", `{"type":"X"}`, "post_processor", "X is not supported"},
		{"post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<x>"}}],"special_tokens":{}}`, "post_processor", "template"},
		{"post_processor", `{"type":"RobertaProcessing","cls":["a",99],"sep":["b",1]}`, "post_processor", "99"},
		{"post_processor", `{"type":"RobertaProcessing","cls":["a"],"sep":["b",1]}`, "post_processor", "pair"},
		{"post_processor", `{"type":"BertProcessing","cls":["a",0],"sep":["b",1]}`, "post_processor", "BertProcessing is not supported"},
		{"decoder", `{"type":"CTC"}`, "decoder", "CTC is not supported"},
		{"decoder", `{"type":"Strip","content":"ab","start":1,"stop":0}`, "decoder", "one character"},
		{"decoder", `{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Metaspace","replacement":""}]}`, "decoder.decoders[1]", "one character"},
		{"model", `null`, "model", "missing"},
		{"model", `{"type":"CharBPE","vocab":{}}`, "model", "CharBPE is not supported; supported are BPE, Unigram"},
		{"model", `{"type":"WordPiece","vocab":{},"unk_token":"a"}`, "model", "WordPiece is not supported; supported are BPE, Unigram"},
		{"normalizer", `{"type":"Precompiled"}`, "normalizer.precompiled_charsmap", "missing"},
		{"normalizer", `{"type":"Precompiled","precompiled_charsmap":"?"}`, "normalizer.precompiled_charsmap", "base64"},
		{"normalizer", `{"type":"Precompiled","precompiled_charsmap":"AAA="}`, "normalizer.precompiled_charsmap", "too few"},
		{"normalizer", `{"type":"Precompiled","precompiled_charsmap":"/////wAA"}`, "normalizer.precompiled_charsmap", "trie"},
		{"normalizer", `{"type":"Precompiled","precompiled_charsmap":"BAAAAAABAAA="}`, "normalizer.precompiled_charsmap", "leads out"},
		{"normalizer", `{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAD/"}`, "normalizer.precompiled_charsmap", "UTF-8"},
		{"normalizer", `{"type":"Strip","strip_left":1}`, "normalizer", ""},
		{"model", `{"type":"BPE","vocab":[],"merges":[]}`, "model.vocab", ""},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":{}}`, "model.merges", "not a list"},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":["a"]}`, "model.merges", "two tokens"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"d":3},"merges":["a a"]}`, "model.merges", "third"},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}`, "model.merges", "pair"},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}`, "model.merges", "pair"},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":[7]}`, "model.merges", "pair"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}`, "model.vocab", "one id"},
		{"model", `{"type":"BPE","vocab":{"a":-1},"merges":[]}`, "model.vocab", "-1"},
		{"model", `{"type":"BPE","vocab":{"a":99999999},"merges":[]}`, "model.vocab", "99999999"},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1}`, "model", "dropout"},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":[],"end_of_word_suffix":"</w>"}`, "model", "end_of_word_suffix"},
		{"model", `{"type":"BPE","vocab":{"a":0},"merges":[],"continuing_subword_prefix":"##"}`, "model", "continuing_subword_prefix"},
		{"model", `{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"d":3},"merges":[],"unk_token":"<x>"}`, "model", "unk_token"},
		{"model", `{"type":"Unigram","vocab":[["a",0]]}`, "model.unk_id", "missing"},
		{"model", `{"type":"Unigram","unk_id":3,"vocab":[["a",0]]}`, "model.unk_id", "3"},
		{"model", `{"type":"Unigram","unk_id":0,"vocab":[["a",0],["a",1]]}`, "model.vocab", "two ids"},
		{"model", `{"type":"Unigram","unk_id":0,"vocab":[["a"]]}`, "model.vocab", "elements"},
		{"model", `{"type":"Unigram","unk_id":0,"vocab":[["a","b"]]}`, "model.vocab", ""},
		{"model", `{"type":"Unigram","unk_id":0,"vocab":7}`, "model.vocab", ""},
		{"added_tokens", `[{"id":9,"content":"<s>","special":true}]`, "added_tokens[0]", "9"},
		{"added_tokens", `[{"id":4,"content":"","special":true}]`, "added_tokens[0]", "empty"},
		{"added_tokens", `[{"id":1,"content":"a","special":true}]`, "added_tokens[0]", "gives it 0"},
	} {
		_, err := Parse("dir/tokenizer.json", small(map[string]string{c.part: c.text}))
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CodeUsage || f.Next == "" {
			t.Errorf("%s %s: got %v", c.part, c.text, err)
			continue
		}
		if !strings.HasPrefix(f.Where, "dir/tokenizer.json: "+c.where) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s %s: want %q and %q in\n%v", c.part, c.text, c.where, c.why, err)
		}
	}
}

func TestParseRefusesWhatIsNoTokenizer(t *testing.T) {
	for _, text := range []string{
		"", "{", "[]", "7", strings.Repeat("[", 10<<20), "{\"version\":\"\xff\"}", `{"version":"1.0"} x`, `{}`,
	} {
		_, err := Parse("x.json", []byte(text))
		var f *fault.Error
		if !errors.As(err, &f) || !strings.HasPrefix(f.Where, "x.json") {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.json"))
	if !errors.Is(err, os.ErrNotExist) || fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, small(nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Error(err)
	}
}

func TestNoTypeMeansBPE(t *testing.T) {
	tok, err := Parse("old",
		small(map[string]string{"model": `{"vocab":{"a":0,"b":1,"ab":2,"<unk>":3},"merges":["a b"]}`}))
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("ab?"); !slices.Equal(got, []int32{2}) {
		t.Errorf("got %v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small(nil), "ab <s> ba")
	f.Add(small(map[string]string{"model": `{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1],["▁a",-1.5]]}`,
		"pre_tokenizer": `{"type":"Metaspace","replacement":"▁"}`, "added_tokens": `[]`}), "a b")
	f.Add(small(map[string]string{
		"pre_tokenizer": `{"type":"Split","pattern":{"Regex":"\\s+(?!\\S)|\\p{L}+?"},"behavior":"MergedWithNext","invert":true}`,
		"normalizer":    `{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Strip","strip_left":true}]}`,
	}),
		"e\u0301  x")
	f.Add(
		small(
			map[string]string{
				"normalizer": string(resolve(f, []byte(`{"type":"Precompiled","precompiled_charsmap":"@own"}`))),
			},
		), "ab\r\ne\u0301",
	)
	f.Add([]byte(`{"model":{`), "")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if len(data) > 1<<12 || len(text) > 100 {
			return // an expression of a stranger may backtrack
		}
		tok, err := Parse("fuzz", data)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.Where, "fuzz") {
				t.Fatalf("an error without its place: %v", err)
			}
			return
		}
		for _, id := range tok.EncodeOrdinary(text) {
			if !tok.valid(id) {
				t.Fatalf("id %d of %q is not in the vocabulary", id, text)
			}
		}
		ids := tok.Wrap(tok.Encode(text))
		d, streamed := tok.NewDecoder(), ""
		for _, id := range ids {
			streamed += d.Next(id)
		}
		if streamed += d.Close(); streamed != tok.Decode(ids) {
			t.Fatalf("streamed %q, whole %q", streamed, tok.Decode(ids))
		}
	})
}
