package serve

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"slices"
)

func (s *Server) routes() []Route {
	return []Route{
		{"GET", "/health", true, s.health},
		{"GET", "/metrics", false, s.showMetrics},
		{"GET", "/v1/models", false, s.listModels},
		{"GET", "/v1/models/{id...}", false, s.getModel},
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

func (s *Server) front() Front {
	f := s.o.front()
	f.Drain = s.drain
	return f
}

func (o Options) front() Front {
	return Front{Keys: o.Keys, Grace: o.Grace, Patience: o.Patience, Logger: o.Logger}
}

// health says whether requests are answered: a balancer takes away a server that is failed or shutting down.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	status := "ok"
	if slices.ContainsFunc(s.models.snapshot(), func(m *served) bool { return m.Failed != nil && m.Failed() }) {
		status = "failed"
	} else if s.draining.Load() {
		status = "shutting down"
	}
	code := http.StatusOK
	if status != "ok" {
		code = http.StatusServiceUnavailable
	}
	writeJSON(w, code, map[string]string{"status": status})
}

func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}
