package basemodel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
)

// Untrained are tokens that a model is prompted with, or is to write, and that its weights do not tell from others:
// their row of the embedding, or of the head, is that of tokens which nothing was ever trained on. An adapter of linear
// maps cannot learn to read or write them; one with rows of its own for them can (lora.trainable_tokens).
type Untrained struct {
	Tokens []string // in the order in which a conversation has them
	IDs    []int32
	Like   []string // tokens with the same row, by their texts or their ids
	Calls  bool     // all stand in calls alone, so that another form of calls does without them
	named  bool     // a file or an adapter has the template, over which hone writes no form of its own
}

// sameRow is how far rows may lie apart, as a part of their length, and be one row that was rounded twice. Trained rows
// that began as one lie 0.3 apart and more (Qwen2.5-Coder's <|im_start|> and its unused ids).
const sameRow = 0.05

// maxCompared bounds the rows that a token's is compared with: a vocabulary may hold thousands that are unused.
const maxCompared = 512

// FindUntrainedTokens compares the rows of the added tokens that a renderer writes with those of other added tokens,
// and of ids that no token has.
func FindUntrainedTokens(file *modelfile.Model, tok *tokenizer.Tokenizer, r render.Renderer) (Untrained, error) {
	var u Untrained
	written, inCalls := outputTokens(tok, r)
	if len(written) == 0 {
		return u, nil
	}
	others := referenceIDs(file, tok, written)
	names := []string{"model.embed_tokens.weight"}
	if !file.Config.TiedHead {
		names = append(names, "lm_head.weight")
	}
	found, like := map[int]bool{}, map[int]bool{}
	for _, name := range names {
		rows, err := file.Rows(file.Config.Prefix+name, slices.Concat(written, others))
		if err != nil {
			return u, err
		}
		for i, id := range written {
			same := sameRows(rows, i)
			if len(same) > 0 || length(rows[i]) == 0 {
				found[id] = true
			}
			for _, j := range same {
				if j >= len(written) {
					like[others[j-len(written)]] = true
				}
			}
		}
	}
	u.Calls = true
	for _, id := range written {
		if found[id] {
			token, _ := tok.Token(int32(id))
			u.Tokens, u.IDs, u.Calls = append(u.Tokens, token), append(u.IDs, int32(id)), u.Calls && inCalls[id]
		}
	}
	for _, id := range others {
		if like[id] {
			token, ok := tok.Token(int32(id))
			if !ok {
				token = fmt.Sprint("id ", id)
			}
			u.Like = append(u.Like, token)
		}
	}
	return u, nil
}

// outputTokens are the added tokens of a conversation with a call and its result, and which of them are not in one
// without.
func outputTokens(tok *tokenizer.Tokenizer, r render.Renderer) (ids []int, inCalls map[int]bool) {
	schema := []byte(`{"type": "object", "properties": {"x": {"type": "string"}}}`)
	tools := []chat.Tool{{Name: "f", Description: "f", InputSchema: schema}}
	call := []chat.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"x": "d"}`}}
	words := []chat.Message{{Role: chat.User, Content: "a"}, {Role: chat.Assistant, Content: "b"},
		{Role: chat.User, Content: "c"}}
	calls := []chat.Message{words[0], {Role: chat.Assistant, ToolCalls: call},
		{Role: chat.ToolRole, ToolCallID: "call_0", Name: "f", Content: "e"}, words[1], words[2]}
	added := func(messages []chat.Message, tools []chat.Tool) (out []int) {
		prompt, err := r.Prompt(messages, tools)
		if err != nil { // a template may refuse one of the two
			return nil
		}
		for _, id := range prompt {
			if tok.IsAdded(id) && !slices.Contains(out, int(id)) {
				out = append(out, int(id))
			}
		}
		return out
	}
	without := added(words, nil)
	ids, inCalls = added(calls, tools), map[int]bool{}
	for _, id := range ids {
		inCalls[id] = !slices.Contains(without, id)
	}
	for _, id := range without {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, inCalls
}

// referenceIDs are other added tokens, tokens that the file calls unused, and rows behind the last token.
func referenceIDs(file *modelfile.Model, tok *tokenizer.Tokenizer, written []int) (ids []int) {
	types := file.Vocabulary.TokenTypes
	for id := file.Config.VocabSize - 1; id >= 0 && len(ids) < maxCompared; id-- { // the last are the likeliest
		unused := id >= tok.NumTokens() || id < len(types) && types[id] == tokenizer.TypeUnused
		if (unused || tok.IsAdded(int32(id))) && !slices.Contains(written, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// sameRows are the rows that are row i but for rounding.
func sameRows(rows [][]float32, i int) (same []int) {
	for j, row := range rows {
		if j == i {
			continue
		}
		var apart float64
		for k, x := range row {
			d := float64(x) - float64(rows[i][k])
			apart += d * d
		}
		if math.Sqrt(apart) <= sameRow*length(rows[i]) {
			same = append(same, j)
		}
	}
	return same
}

func length(row []float32) float64 {
	var sum float64
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// Describe says what was found; empty where nothing was.
func (u Untrained) Describe() string {
	if len(u.Tokens) == 0 {
		return ""
	}
	like := "zero"
	if n := len(u.Like); n > 0 {
		like = "those of " + u.Like[0]
		if n > 1 {
			like += fmt.Sprintf(" and %d more", n-1)
		}
	}
	return fmt.Sprintf("the base model never learnt %s, with which it is prompted: the rows of its embedding or "+
		"head are %s",
		strings.Join(u.Tokens, ", "), like)
}

// Help says what to do about it under the settings of a fresh adapter.
func (u Untrained) Help(c config.LoRA) string {
	if u.hasRows(c) {
		return "hone sft and hone train train these rows with a new adapter (lora.trainable_tokens)"
	}
	return "set lora.trainable_tokens: auto, with which their rows are trained; or " + u.otherTokens()
}

// hasRows reports whether a fresh adapter has rows of its own for all of them.
func (u Untrained) hasRows(c config.LoRA) bool {
	known := func(token string) bool { return slices.Contains(c.TrainableTokens, token) }
	return c.TrainableTokens.Is(config.AutoTokens) ||
		!slices.ContainsFunc(u.Tokens, func(t string) bool { return !known(t) })
}

// otherTokens is what helps beside rows of their own.
func (u Untrained) otherTokens() string {
	if u.Calls && !u.named {
		return "set model.tool_format: llama3_json, for which hone has a template with calls as bare JSON"
	}
	return "name a template that writes other tokens with model.chat_template, or take another model"
}

// WarnUntrainedTokens tells of them to who trains or samples the adapter in a folder: a fresh one, or the base model
// alone, where that is empty.
func (m *Model) WarnUntrainedTokens(c config.LoRA, folder string, trains bool) {
	u := m.untrainedTokens()
	if len(u.Tokens) == 0 {
		return
	}
	if folder != "" {
		if m.lacksRows(u, folder) {
			m.host.Say("%s: %s has no rows of its own for them, and cannot learn to read or write them; "+
				"hone sft makes an adapter that has (lora.trainable_tokens)", u.Describe(), folder)
		}
		return
	}
	if trains && u.hasRows(c) {
		m.host.Say("%s: these rows are trained with the adapter (lora.trainable_tokens)", u.Describe())
		return
	}
	m.host.Say("%s: without rows of its own an adapter cannot learn to read or write them; %s", u.Describe(), u.Help(c))
}

// lacksRows reports whether the adapter in a folder has no rows of its own for some of the tokens.
func (m *Model) lacksRows(u Untrained, folder string) bool {
	lora, _, err := model.LoadPEFT(folder, m.Shape())
	return err == nil && slices.ContainsFunc(u.IDs, func(id int32) bool { return !slices.Contains(lora.Tokens, id) })
}

// UntrainedUnder are the tokens of the model, as it is prompted, that it never learnt and for which the adapter in a
// folder has no rows either.
func (m *Model) UntrainedUnder(folder string) Untrained {
	if u := m.untrainedTokens(); len(u.IDs) > 0 && m.lacksRows(u, folder) {
		return u
	}
	return Untrained{}
}

// untrainedTokens are those of the model as it is prompted. None are found where something cannot be read, which is
// said when the weights are loaded.
func (m *Model) untrainedTokens() Untrained {
	if m.Text == nil || m.Renderer == nil {
		return Untrained{}
	}
	if m.found == nil {
		u, err := FindUntrainedTokens(m.File, m.Text.Tokenizer, m.Renderer)
		if err != nil {
			u = Untrained{}
		}
		u.named = !m.Text.Own || m.Text.trained != nil
		m.found = &u
	}
	return *m.found
}

// CheckNewTokens is FindUntrainedTokens of the configuration's base model; ok is false where it is not on this machine,
// or cannot be read, which others say.
func CheckNewTokens(h *host.Host, c config.Config) (u Untrained, ok bool) {
	at, ok := here(h, c.Model.Base)
	if !ok {
		return u, false
	}
	file, err := modelfile.Open(at)
	if err != nil {
		return u, false
	}
	m := readPrompting(file, c)
	defer m.Close()
	return m.untrainedTokens(), m.Renderer != nil
}

// readPrompting is a model of a file whose weights are not read, with what it is prompted by as far as that can be
// read.
func readPrompting(file *modelfile.Model, c config.Config) *Model {
	m := &Model{Name: file.Config.Name, File: file, context: c.Model.Context}
	var err error
	if m.Text, err = ReadText(c.Model, file); err != nil {
		m.Text = nil
	} else if m.Renderer, err = m.Text.Renderer(c.Rollout.System); err != nil {
		m.Renderer = nil
	}
	return m
}

// FindShape is a base model for what is planned of it alone: no plug-in is looked for and no weight read.
func FindShape(h *host.Host, c config.Config, base string) (*Model, error) {
	file, err := openFile(h, base)
	if err != nil {
		return nil, err
	}
	return readPrompting(file, c), nil
}
