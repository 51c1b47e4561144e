package render

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/chat/schema"
	"hone/internal/episode/policy"
	"hone/internal/text/tokenizer"
)

func smolLM2(t *testing.T) (tok *tokenizer.Tokenizer, size int) {
	f, err := os.Open(filepath.Join("..", "..", "..", "testdata", "reference", "tokenizer",
		"smollm2_vocabulary.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Pre            string
		Tokens, Merges []string
		Types          []int32
	}
	if err := json.NewDecoder(z).Decode(&v); err != nil {
		t.Fatal(err)
	}
	tok, err = tokenizer.New(tokenizer.Options{Tokens: v.Tokens, Merges: v.Merges, Types: v.Types, PreTokenizer: v.Pre})
	if err != nil {
		t.Fatal(err)
	}
	return tok, len(v.Tokens)
}

// Whatever tokens are drawn of those that may come: a completion is read back as one call of the tool, with arguments
// of its schema, and tools of one name with other schemas are kept apart.
func TestACompletionIsOneCall(t *testing.T) {
	tok, size := smolLM2(t)
	r, err := NewChatML(tok, Options{})
	if err != nil {
		t.Fatal(err)
	}
	words := TokenTexts(tok, size)
	calls, ok := NewCalls(words, r)
	if !ok {
		t.Fatal("its calls cannot be held")
	}
	object := func(property string) json.RawMessage {
		return json.RawMessage(`{"type": "object", "properties": {"x": ` + property +
			`}, "required": ["x"], "additionalProperties": false}`)
	}
	tools := []chat.Tool{
		{Name: "base", InputSchema: object(`{"enum": ["hex", "binary"]}`)}, {Name: "base",
			InputSchema: object(`{"type": "integer", "minimum": 0, "maximum": 99}`)},
		{Name: "now", InputSchema: object(`{"type": "boolean"}`)},
	}
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.SampledFrom(tools).Draw(t, "tool")
		c, err := calls.Call(tool, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int32
		allowed := policy.NewIDSet(size)
		for len(ids) == 0 || !slices.Contains(r.StopIDs(), ids[len(ids)-1]) {
			if len(ids) > 200 {
				t.Skip("no end within the tokens")
			}
			allowed.Fill()
			c.Narrow(ids, allowed)
			n := rapid.IntRange(0, allowed.Len()-1).Draw(t, "token")
			for id := int32(0); ; id++ {
				if allowed.Has(id) {
					if n--; n < 0 {
						ids = append(ids, id)
						break
					}
				}
			}
		}
		m, parseError := r.Parse(ids, nil)
		if parseError != "" || len(m.ToolCalls) != 1 || m.ToolCalls[0].Name != tool.Name || m.Content != "" {
			t.Fatalf("%q: %+v, %s", tok.Decode(ids), m, parseError)
		}
		if verdict, why := schema.Compile(tool.InputSchema).Validate(m.ToolCalls[0].Arguments); verdict !=
			schema.Valid {
			t.Fatalf("%s: %v", m.ToolCalls[0].Arguments, why)
		}
	})
	calls.r = thinker{r} // a model that reasons is held from the end of that on
	end := tok.Encode("</think>")
	begins := func(thinks bool, said []int32) (n int, call bool) {
		c, err := calls.Call(tools[0], nil, thinks)
		if err != nil {
			t.Fatal(err)
		}
		allowed := policy.NewIDSet(size)
		for i := range len(said) + 1 {
			allowed.Fill()
			c.Narrow(said[:i], allowed)
		}
		return allowed.Len(), allowed.Has(tok.Encode("<")[0])
	}
	held, call := begins(false, nil)
	free, _ := begins(true, nil)
	behind, then := begins(true, end)
	if !call || !then || held > 100 || behind > 100 || free < size/2 {
		t.Errorf("%d tokens may begin a call, %d a thought, and %d follow one", held, free, behind)
	}
	for thinks, want := range map[bool]bool{true: true, false: false} { // words are held so too
		allowed := policy.NewIDSet(size)
		allowed.Fill()
		if calls.None(nil, thinks).Narrow(nil, allowed); allowed.Has(tok.Encode("<")[0]) != want {
			t.Errorf("a model that reasons (%v) may begin a call in its thoughts: %v", thinks, !want)
		}
	}
	if _, err := calls.Call(chat.Tool{Name: "none",
		InputSchema: json.RawMessage(`{"type": "object", "required": ["x"], "properties": {"x": false}}`)}, nil,
		false); err == nil {
		t.Error("a schema that nothing fits is held to")
	}
}

// Whatever tokens are drawn of those that may come, also where each goes on with a call as far as it can: no call is in
// the completion, and it may say nearly all else. None is begun.
func TestACompletionWithoutACall(t *testing.T) {
	tok, size := smolLM2(t)
	r, err := NewChatML(tok, Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls, ok := NewCalls(TokenTexts(tok, size), r)
	if !ok {
		t.Fatal("its calls cannot be held")
	}
	may := func(said string) (allowed *policy.IDSet) {
		c, ids := calls.None(nil, false), tok.Encode(said)
		for i := range len(ids) + 1 {
			allowed = policy.NewIDSet(size)
			allowed.Fill()
			c.Narrow(ids[:i], allowed)
		}
		return allowed
	}
	if may("").Has(r.StopIDs()[0]) || !may("Well").Has(r.StopIDs()[0]) {
		t.Error("the completion may end before anything is said, or not behind that")
	}
	first := tok.Encode("<tool_call>")[0]
	for _, said := range []string{"", "Well,", "Well.\n", "Well.\nThen"} {
		if got := may(said); got.Has(first) || got.Len() < size-200 {
			t.Errorf("a call may begin behind %q, or few tokens may come: %d of %d", said, got.Len(), size)
		}
	}
	written, err := r.Completion(chat.Message{Role: "assistant", ToolCalls: []chat.ToolCall{
		{Name: "now", Arguments: `{"x": true}`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	call := tok.Decode(written)
	rapid.Check(t, func(t *rapid.T) {
		c, allowed := calls.None(nil, false), policy.NewIDSet(size)
		var ids []int32
		for rest := ""; len(ids) < 40; {
			allowed.Fill()
			c.Narrow(ids, allowed)
			if rest == "" && rapid.Bool().Draw(t, "begins") {
				rest = call
			}
			var fits []int32 // the tokens of any length that go on with the call
			for id := range int32(size) {
				if text, _ := tok.Bytes(id); text != "" && strings.HasPrefix(rest, text) && allowed.Has(id) {
					fits = append(fits, id)
				}
			}
			id := rapid.Int32Range(0, int32(size)-1).Draw(t, "token")
			if len(fits) > 0 {
				id = rapid.SampledFrom(fits).Draw(t, "further")
				text, _ := tok.Bytes(id)
				rest = rest[len(text):]
			} else {
				rest = ""
			}
			if allowed.Has(id) && !slices.Contains(r.StopIDs(), id) {
				ids = append(ids, id)
			} else {
				rest = ""
			}
		}
		if m, parseError := r.Parse(append(ids, r.StopIDs()[0]), nil); len(m.ToolCalls) > 0 || parseError != "" {
			t.Fatalf("%q: %+v, %s", tok.Decode(ids), m, parseError)
		}
	})
}

// thinker is a renderer of a model that reasons.
type thinker struct{ Renderer }

func (thinker) Closes() string { return "</think>" }
