package demo

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"syscall"
	"time"

	"hone/internal/basemodel"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run/report"
)

// demoSummary is the demo's last line on stdout. Success is of the first call; episode_success of the whole episode.
type demoSummary struct {
	Base          stats.Summary        `json:"base"`
	SFT           stats.Summary        `json:"sft"`
	GRPO          stats.Summary        `json:"grpo"`
	Deltas        map[string]demoDelta `json:"deltas"`
	Seconds       float64              `json:"seconds"` // of this attempt
	TokensPerS    float64              `json:"tokens_per_s"`
	SampledPerS   float64              `json:"sampled_per_s"`
	Orchestration float64              `json:"orchestration_share"`
	PeakRSSMB     float64              `json:"peak_rss_mb"`
	Seed          uint64               `json:"seed"`
}

// demoDelta is a paired difference of two systems on the same scenarios.
type demoDelta struct {
	Mean    float64        `json:"mean"`
	Low     float64        `json:"low"`
	High    float64        `json:"high"`
	Episode stats.Interval `json:"episode"`
}

// report writes report.html and results.json, and prints the summary.
func (d demo) report(data recipe.Data, l *episodes.Episodes, pipeline time.Duration) error {
	sampling, training := l.Sampler.Stats(), l.Trainer.Seconds
	p, n, err := records.WritePage(d.Env, d.dir.Path, func(p *report.Page) {
		p.Say("demonstrations", fmt.Sprint(len(data.Demonstrations)))
		p.Say("device", l.Model.Engine.Description())
		p.Parts = []stats.Part{{Name: "training", Seconds: training}, {Name: "sampling", Seconds: sampling.BusySeconds},
			{Name: "tools and orchestration", Orchestration: true,
				Seconds: math.Max(0, pipeline.Seconds()-training-sampling.BusySeconds)}}
	})
	if err != nil {
		return err
	}
	for _, line := range beforeAfter(p.Comparison) {
		d.Say("%s", line)
	}
	return d.print(n.Results, l.Trainer, sampling.Decoded, sampling.BusySeconds)
}

func (d demo) print(results stats.Results, l *basemodel.Trainer, decoded int, busy float64) error {
	s := demoSummary{Base: results.Systems["base"], SFT: results.Systems["sft"], GRPO: results.Systems["grpo"],
		Deltas: map[string]demoDelta{}, Seconds: time.Since(d.began).Seconds(), Seed: d.c.Seed,
		Orchestration: results.OrchestrationShare, PeakRSSMB: peakRSS()}
	if l.Seconds > 0 {
		s.TokensPerS = float64(l.Tokens) / l.Seconds
	}
	if busy > 0 {
		s.SampledPerS = float64(decoded) / busy
	}
	for _, x := range results.Deltas {
		s.Deltas[x.New+"_"+x.Old] = demoDelta{Mean: x.First.Mean, Low: x.First.Low, High: x.First.High,
			Episode: x.Episode}
	}
	for _, line := range d.got(s, results) {
		d.Say("%s", line)
	}
	if d.Data.Terminal() != nil && !d.JSON { // there the table is the answer
		return nil
	}
	return json.NewEncoder(d.Data).Encode(s)
}

// got says what the demo came to, and what to do with it.
func (d demo) got(s demoSummary, results stats.Results) []string {
	lines := []string{
		fmt.Sprintf("on %s that training never saw, with %g%% intervals:",
			fault.Count(s.Base.N, "task"), 100*d.c.Eval.Confidence),
		fmt.Sprintf("%-12s %-24s %s", "", "FIRST CALL RIGHT", "WHOLE EPISODE RIGHT"),
	}
	for _, x := range []struct {
		name string
		s    stats.Summary
	}{{"base", s.Base}, {"after SFT", s.SFT}, {"after GRPO", s.GRPO}} {
		lines = append(lines, fmt.Sprintf("%-12s %-24s %s", x.name, x.s.FirstCallText(), x.s.EpisodeText()))
	}
	for _, x := range results.Deltas {
		lines = append(lines,
			fmt.Sprintf("%s against %s: %s points of whole episodes", x.New, x.Old, x.Episode.PointsText()))
	}
	lines = append(lines,
		"The tasks were made for this server's demo, as those it learnt from: these are no rates on your tasks, "+
			"which hone eval measures.",
		fmt.Sprintf("GRPO's %s that the loop runs, and are too few to measure; docs/LEARNING.md has what it adds.",
			steps(d.c.GRPO.Steps)),
		"page:    "+filepath.Join(d.dir.Path, report.HTMLFile),
		"serve:   hone serve --model "+filepath.Join(d.dir.Path, "final"),
		"yours:   hone servers add npm:YOUR-SERVER --name mine")
	for _, line := range host.FirstRun()[2:] { // with another server; the engine is there
		lines = append(lines, "         "+line)
	}
	return lines
}

func steps(n int) string {
	if n == 1 {
		return "step shows"
	}
	return fmt.Sprintf("%d steps show", n)
}

// peakRSS is the most memory the process had resident, in megabytes (getrusage reports kilobytes on Linux).
func peakRSS() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024
}
