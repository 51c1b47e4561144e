package service

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hone/internal/episode/trajectory"
	"hone/internal/run/metrics"
)

const (
	running           = "hone:env_episodes_running"
	episodesEnded     = "hone:env_episodes_total"
	sessionsRefused   = "hone:env_sessions_refused_total"
	waitTime          = "hone:env_slot_wait_seconds"
	openTime          = "hone:env_open_seconds"
	stepTime          = "hone:env_step_seconds"
	orchestrationTime = "hone:env_orchestration_seconds"
)

// help says what each metric is.
func help() map[string]string {
	return map[string]string{
		running:       "Episodes whose servers are open, or being opened or closed.",
		episodesEnded: "Episodes by how they ended.", sessionsRefused: "Sessions that could not begin, by why.",
		waitTime: "Seconds in which a session waited for a slot.",
		openTime: "Seconds to open the servers of a session.", stepTime: "Seconds of a step.",
		orchestrationTime: "Seconds of a step beside the tools' own.",
	}
}

func (x *table) measureStep(took time.Duration, results []trajectory.ToolResult) {
	x.metrics.Observe(stepTime, "", took)
	for _, r := range results {
		took -= time.Duration(r.Seconds * float64(time.Second))
	}
	x.metrics.Observe(orchestrationTime, "", took)
}

func (x *table) measureEnd(v *Verdict) {
	x.metrics.Add(episodesEnded,
		metrics.Labels("outcome", string(v.Outcome), "trainable", strconv.FormatBool(v.Trainable)), 1)
}

func (x *table) measureRefusal(err error) {
	why := "other"
	switch {
	case err == errFull:
		why = "full"
	case err == errDraining:
		why = "shutting_down"
	case isAsk(err):
		why = "no_such_scenario"
	}
	x.metrics.Add(sessionsRefused, metrics.Labels("why", why), 1)
}

func (s *Server) showMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.metrics.Set(running, "", float64(s.table.active()))
	var b strings.Builder
	s.metrics.Write(&b)
	_, _ = io.WriteString(w, b.String())
}
