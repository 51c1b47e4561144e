package serve

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// metrics are counters in Prometheus' text form (version 0.0.4). Those that vLLM counts too have its names, and its label model_name.
type metrics struct {
	mu         sync.Mutex
	counters   map[series]float64
	histograms map[series]*histogram
}

// series is a metric of one set of labels, which are written as Prometheus does.
type series struct{ name, labels string }

type histogram struct {
	counts []int // by bucket, the last is all
	sum    float64
}

// buckets are vLLM's of times, in seconds.
func buckets() []float64 {
	return []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
}

const (
	promptTokens     = "vllm:prompt_tokens_total"
	generationTokens = "vllm:generation_tokens_total"
	requestSuccess   = "vllm:request_success_total"
	firstTokenTime   = "vllm:time_to_first_token_seconds"
	perTokenTime     = "vllm:time_per_output_token_seconds"
	requestTime      = "vllm:e2e_request_latency_seconds"
	queueTime        = "vllm:request_queue_time_seconds"
	refusedRequests  = "hone:requests_refused_total"
)

// help says what each metric is. What is not in it is not told.
func help() map[string]string {
	return map[string]string{
		promptTokens: "Tokens of prompts.", generationTokens: "Tokens sampled.", requestSuccess: "Completions by why they ended.",
		firstTokenTime: "Seconds from a request to its first token.", perTokenTime: "Seconds per token behind the first.",
		requestTime: "Seconds from a request to its answer's end.", queueTime: "Seconds in which a request waited for a slot.",
		refusedRequests: "Requests that were answered with an error, by its code.",
	}
}

func newMetrics() *metrics {
	return &metrics{counters: map[series]float64{}, histograms: map[series]*histogram{}}
}

func labels(pairs ...string) string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, pairs[i]+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(pairs[i+1])+`"`)
	}
	return strings.Join(out, ",")
}

func (m *metrics) add(name, labels string, n float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counters[series{name, labels}] += n
}

func (m *metrics) observe(name, labels string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := series{name, labels}
	h := m.histograms[key]
	if h == nil {
		h = &histogram{counts: make([]int, len(buckets())+1)}
		m.histograms[key] = h
	}
	seconds := took.Seconds()
	h.sum += seconds
	for i, bound := range buckets() {
		if seconds <= bound {
			h.counts[i]++
		}
	}
	h.counts[len(h.counts)-1]++
}

func (m *metrics) waited(model string, took time.Duration) {
	m.observe(queueTime, labels("model_name", model), took)
}

// count counts a refusal.
func (s *Server) count(e *apiError) { s.metrics.add(refusedRequests, labels("code", e.Code), 1) }

// measure counts an exchange that has ended.
func (s *Server) measure(x *exchange, err error, abandoned bool) {
	own := labels("model_name", x.model.ID)
	switch {
	case abandoned:
		s.metrics.add(requestSuccess, labels("model_name", x.model.ID, "finished_reason", "abort"), 1)
		return
	case err != nil:
		s.count(asRefusal(err))
		return
	}
	prompt, completion := x.counts()
	s.metrics.add(promptTokens, own, float64(prompt))
	s.metrics.add(generationTokens, own, float64(completion))
	now := time.Now()
	for _, a := range x.answers {
		reason := "stop"
		if a.cut() {
			reason = "length"
		}
		s.metrics.add(requestSuccess, labels("model_name", x.model.ID, "finished_reason", reason), 1)
		if a.first.IsZero() {
			continue
		}
		s.metrics.observe(firstTokenTime, own, a.first.Sub(x.created))
		if n := len(a.IDs); n > 1 {
			s.metrics.observe(perTokenTime, own, now.Sub(a.first)/time.Duration(n-1))
		}
	}
	s.metrics.observe(requestTime, own, now.Sub(x.created))
}

func (s *Server) showMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var b strings.Builder
	gauge := func(name, text string, value func(*served) int) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, text, name)
		for _, m := range s.models.snapshot() {
			fmt.Fprintf(&b, "%s{%s} %d\n", name, labels("model_name", m.ID), value(m))
		}
	}
	// Models of one sampler share its slots, so these are the sampler's.
	gauge("vllm:num_requests_running", "Completions that are sampled now.", func(m *served) int { n, _ := m.slots.busy(); return n })
	gauge("vllm:num_requests_waiting", "Completions that wait for a slot.", func(m *served) int { _, n := m.slots.busy(); return n })
	s.metrics.write(&b)
	_, _ = io.WriteString(w, b.String())
}

func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	bySeries := func(a, b series) int { return strings.Compare(a.name+a.labels, b.name+b.labels) }
	last := ""
	head := func(name, kind string) {
		if name != last {
			_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help()[name], name, kind)
		}
		last = name
	}
	for _, key := range slices.SortedFunc(maps.Keys(m.counters), bySeries) {
		head(key.name, "counter")
		_, _ = fmt.Fprintf(w, "%s{%s} %v\n", key.name, key.labels, m.counters[key])
	}
	for _, key := range slices.SortedFunc(maps.Keys(m.histograms), bySeries) {
		head(key.name, "histogram")
		h := m.histograms[key]
		for i, n := range h.counts {
			bound := "+Inf"
			if i < len(buckets()) {
				bound = strconv.FormatFloat(buckets()[i], 'g', -1, 64)
			}
			_, _ = fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", key.name, key.labels, bound, n)
		}
		_, _ = fmt.Fprintf(w, "%s_sum{%s} %v\n%s_count{%s} %d\n", key.name, key.labels, h.sum, key.name, key.labels, h.counts[len(h.counts)-1])
	}
}
