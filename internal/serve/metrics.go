package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"hone/internal/run/metrics"
)

// Those that vLLM counts too have its names, and its label model_name.
const (
	promptTokens     = "vllm:prompt_tokens_total"
	generationTokens = "vllm:generation_tokens_total"
	requestSuccess   = "vllm:request_success_total"
	firstTokenTime   = "vllm:time_to_first_token_seconds"
	perTokenTime     = "vllm:time_per_output_token_seconds"
	requestTime      = "vllm:e2e_request_latency_seconds"
	queueTime        = "vllm:request_queue_time_seconds"
	refusedRequests  = "hone:requests_refused_total"
	leftAside        = "hone:left_aside_total"
)

// help says what each metric is. What is not in it is not told.
func help() map[string]string {
	return map[string]string{
		promptTokens: "Tokens of prompts.", generationTokens: "Tokens sampled.",
		requestSuccess: "Completions by why they ended.", firstTokenTime: "Seconds from a request to its first token.",
		perTokenTime: "Seconds per token behind the first.", requestTime: "Seconds from a request to its answer's end.",
		queueTime:       "Seconds in which a request waited for a slot.",
		refusedRequests: "Requests that were answered with an error, by its code.",
		leftAside:       "What of requests was not taken, by what it is.",
	}
}

// count counts a refusal.
func (s *Server) count(e *apiError) {
	s.metrics.Add(refusedRequests, metrics.Labels("code", e.Code), 1)
}

// measure counts an exchange that has ended.
func (s *Server) measure(x *exchange) {
	own := metrics.Labels("model_name", x.model.ID)
	switch {
	case x.gone:
		s.metrics.Add(requestSuccess, metrics.Labels("model_name", x.model.ID, "finished_reason", "abort"), 1)
		return
	case x.refused != nil:
		s.count(x.refused)
		return
	}
	prompt, completion := x.counts()
	s.metrics.Add(promptTokens, own, float64(prompt))
	s.metrics.Add(generationTokens, own, float64(completion))
	now := time.Now()
	for _, a := range x.answers {
		reason := "stop"
		if a.cut() {
			reason = "length"
		}
		s.metrics.Add(requestSuccess, metrics.Labels("model_name", x.model.ID, "finished_reason", reason), 1)
		if a.first.IsZero() {
			continue
		}
		s.metrics.Observe(firstTokenTime, own, a.first.Sub(x.created))
		if n := len(a.IDs); n > 1 {
			s.metrics.Observe(perTokenTime, own, now.Sub(a.first)/time.Duration(n-1))
		}
	}
	s.metrics.Observe(requestTime, own, now.Sub(x.created))
}

func (s *Server) showMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var b strings.Builder
	gauge := func(name, text string, value func(*served) int) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, text, name)
		for _, m := range s.models.snapshot() {
			fmt.Fprintf(&b, "%s{%s} %d\n", name, metrics.Labels("model_name", m.ID), value(m))
		}
	}
	// Models of one sampler share its slots, so these are the sampler's.
	gauge("vllm:num_requests_running", "Completions that are sampled now.", func(m *served) int {
		n, _ := m.slots.busy()
		return n
	})
	gauge("vllm:num_requests_waiting", "Completions that wait for a slot.", func(m *served) int {
		_, n := m.slots.busy()
		return n
	})
	s.metrics.Write(&b)
	_, _ = io.WriteString(w, b.String())
}
