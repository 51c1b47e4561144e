package serve

import (
	"net/http"
)

// tokenizeRequest is vLLM's /tokenize: of a text, or of a conversation as it is prompted.
type tokenizeRequest struct {
	Model             string      `json:"model"`
	Prompt            *string     `json:"prompt"`
	Messages          messageList `json:"messages"`
	Tools             tools       `json:"tools"`
	ReturnTokenStrs   bool        `json:"return_token_strs"`
	AddGenerationTurn *bool       `json:"add_generation_prompt"`
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var q tokenizeRequest
	aside, refused := readBody(w, r, &q, "add_special_tokens")
	if refused != nil {
		refuse(w, refused)
		return
	}
	s.tellOmissions(w, r, aside)
	m, refused := s.models.take(q.Model)
	if refused != nil {
		refuse(w, refused)
		return
	}
	defer s.models.leave(m)
	var ids []int32
	switch {
	case q.AddGenerationTurn != nil && !*q.AddGenerationTurn:
		refused = unsupportedError("add_generation_prompt", "prompts end with the opening of the model's turn")
	case (q.Prompt == nil) == (q.Messages == nil):
		refused = invalid("prompt", "either prompt or messages is needed")
	case q.Prompt != nil:
		ids = m.Encode(*q.Prompt)
	default:
		asked := &request{messages: q.Messages}
		asked.setTools(q.Tools)
		ids, refused = m.promptIDs(r, s, asked)
	}
	if refused != nil {
		refuse(w, refused)
		return
	}
	out := map[string]any{"count": len(ids), "max_model_len": m.MaxContext, "tokens": append([]int32{}, ids...)}
	if q.ReturnTokenStrs && m.Token != nil {
		texts := []string{}
		for _, id := range ids {
			text, _ := m.Token(id)
			texts = append(texts, text)
		}
		out["token_strs"] = texts
	}
	writeJSON(w, http.StatusOK, out)
}

// promptIDs are the ids that a conversation is sampled behind.
func (m *served) promptIDs(r *http.Request, s *Server, q *request) ([]int32, *apiError) {
	if refused := q.check(s.o.Agent, r.Header); refused != nil {
		return nil, refused
	}
	if err := s.shorten(r.Context(), q.messages); err != nil {
		return nil, asRefusal(err)
	}
	return m.prompt(q)
}

// detokenize is vLLM's /detokenize.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string  `json:"model"`
		Tokens []int32 `json:"tokens"`
	}
	aside, refused := readBody(w, r, &q)
	if refused != nil {
		refuse(w, refused)
		return
	}
	s.tellOmissions(w, r, aside)
	m, refused := s.models.take(q.Model)
	if refused != nil {
		refuse(w, refused)
		return
	}
	defer s.models.leave(m)
	writeJSON(w, http.StatusOK, map[string]string{"prompt": m.Decode(q.Tokens)})
}
