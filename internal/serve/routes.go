package serve

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
)

func (s *Server) routes() []Route {
	return []Route{
		{"GET", "/health", true, func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
		}},
		{"GET", "/metrics", false, s.showMetrics},
		{"GET", "/v1/models", false, s.listModels},
		{"POST", "/v1/chat/completions", false, s.generating(chatDialect{})},
		{"POST", "/v1/completions", false, s.generating(completionsDialect{})},
		{"POST", "/v1/messages", false, s.generating(messagesDialect{})},
		{"POST", "/v1/messages/count_tokens", false, s.countTokens},
		{"POST", "/v1/responses", false, s.generating(responsesDialect{s.responses})},
		{"GET", "/v1/responses/{id}", false, s.getResponse},
		{"DELETE", "/v1/responses/{id}", false, s.deleteResponse},
		{"POST", "/tokenize", false, s.tokenize},
		{"POST", "/detokenize", false, s.detokenize},
		{"POST", "/v1/load_lora_adapter", false, s.loadAdapter},
		{"POST", "/v1/unload_lora_adapter", false, s.unloadAdapter},
	}
}

// Handler answers all routes, for tests and for mounting under a server of the caller's.
func (s *Server) Handler() http.Handler { return s.front().Handler(s.routes()) }

func (s *Server) front() Front { return Front{Keys: s.o.Keys, Grace: s.o.Grace, Logger: s.o.Logger} }

func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}
