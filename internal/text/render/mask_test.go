package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

type maskRow struct {
	SHA256 string
	IDs    int
	Runs   []int
}

type maskGolden struct {
	Now           string
	Conversations json.RawMessage
	Templates     map[string]struct {
		SHA256 string
		Added  []string
		Rows   []*maskRow
	}
}

type namedConversation struct {
	name     string
	messages []chat.Message
	tools    []chat.Tool
}

// readConversations reads what transformers were given: arguments are objects, which are made text of here.
func readConversations(t *testing.T, raw json.RawMessage) []namedConversation {
	t.Helper()
	v, err := chat.Decode(raw, chat.DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []namedConversation
	for _, item := range v.([]chat.Value) {
		o := item.(*chat.Object)
		name, _ := o.Get("name")
		messages, _ := o.Get("messages")
		for _, m := range messages.([]chat.Value) {
			calls, _ := m.(*chat.Object).Get("tool_calls")
			list, _ := calls.([]chat.Value)
			for _, call := range list {
				function, _ := call.(*chat.Object).Get("function")
				arguments, _ := function.(*chat.Object).Get("arguments")
				function.(*chat.Object).Set("arguments", string(encode(t, arguments)))
			}
		}
		tools, _ := o.Get("tools")
		c := namedConversation{name: name.(string)}
		if err := json.Unmarshal(encode(t, messages), &c.messages); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encode(t, tools), &c.tools); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func encode(t *testing.T, v chat.Value) []byte {
	t.Helper()
	text, err := chat.AppendJSON(nil, v, chat.Format{KeepNumbers: true})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// asMaskRow is a row up to its last trained id.
func asMaskRow(t *testing.T, s Sequence) maskRow {
	t.Helper()
	end := len(s.IDs)
	for end > 0 && !s.Trained[end-1] {
		end--
	}
	text, err := json.Marshal(s.IDs[:end])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	row := maskRow{SHA256: hex.EncodeToString(sum[:16]), IDs: end, Runs: []int{0}}
	now := false
	for _, trained := range s.Trained[:end] {
		if trained != now {
			row.Runs, now = append(row.Runs, 0), trained
		}
		row.Runs[len(row.Runs)-1]++
	}
	return row
}

// plainText is what transformers make of a conversation.
func plainText(t *testing.T, v *Vendor, c namedConversation) string {
	t.Helper()
	conversation, err := v.conversation(c.messages, c.tools)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := conversation.text(len(c.messages), false)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Where a template has {% generation %} and extends, ids and mask are those of transformers' apply_chat_template with
// return_assistant_tokens_mask.
func TestMasksEqualTransformers(t *testing.T) {
	var golden maskGolden
	data, err := os.ReadFile(filepath.Join(referenceDir, "render", "golden.json"))
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	conversations := readConversations(t, golden.Conversations)
	now, err := time.Parse("2006-01-02T15:04:05.999999", golden.Now)
	if err != nil {
		t.Fatal(err)
	}
	equal, seams, split, refused, skipped := 0, 0, 0, 0, 0
	for name, g := range golden.Templates {
		path := filepath.Join(referenceDir, "template", name)
		if filepath.Base(name) != name {
			if *reference == "" {
				skipped++
				continue
			}
			path = filepath.Join(*reference, name)
		}
		source, err := os.ReadFile(path)
		if sum := sha256.Sum256(source); hex.EncodeToString(sum[:]) != g.SHA256 {
			t.Fatalf("%s is not what the golden file was made from (%v)", name, err)
		}
		o := VendorOptions{Template: string(source), Name: name, BOS: "<s>", EOS: "</s>", Now: now}
		if _, known := toolcall.Detect(o.Template); !known {
			o.Format = toolcall.Hermes()
		}
		tools := KnowsTools(o.Template)
		v, err := NewVendor(extended(t, g.Added...), o)
		if err != nil {
			if tools { // others are of models for images
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for i, c := range conversations {
			if len(c.tools) > 0 && !tools {
				continue
			}
			rows, err := v.Sequences(c.messages, 0, c.tools)
			switch {
			case g.Rows[i] == nil || err != nil:
				refused++
				if err == nil {
					t.Errorf("%s, %s: transformers refuse it", name, c.name)
				}
			case len(rows) > 1:
				split++
			default:
				got, text := asMaskRow(t, rows[0]), v.tok.Decode(rows[0].IDs)
				if whole := plainText(t, v, c); !strings.HasPrefix(whole, strings.TrimSuffix(text, "</s>")) || v.open {
					split++ // the one text that transformers mask is not what the model is prompted with
					continue
				}
				whole := asMaskRow(t, Sequence{IDs: v.tok.Encode(text)[:got.IDs], Trained: rows[0].Trained})
				switch {
				case got.SHA256 == g.Rows[i].SHA256 && slices.Equal(got.Runs, g.Rows[i].Runs):
					equal++
				case got.SHA256 != g.Rows[i].SHA256 && got.SHA256 != whole.SHA256:
					seams++ // a token of the whole text reaches over the end of a prompt
				default:
					t.Errorf("%s, %s: got %v, want %v", name, c.name, got, *g.Rows[i])
				}
			}
		}
	}
	t.Logf(
		"%d masks are equal; in %d more, tokens of the whole text reach over the end of a prompt; "+
			"%d conversations are not prompted as they are masked; %d refused; %d templates are not here: "+
			"run testdata/reference/make_template.py",
		equal, seams, split, refused, skipped,
	)
	if equal < 5 {
		t.Errorf("only %d masks are equal", equal)
	}
}
