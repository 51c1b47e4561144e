package sidecar

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/eval/stats"
	"hone/internal/job"
	"hone/internal/proxy/revise"
)

type rawJSON = json.RawMessage

// Report is what an evaluation of sidecars measured.
type Report struct {
	Split   string     `json:"split"`
	Rows    int        `json:"rows"`
	Right   int        `json:"right"` // drafts that were right as they stood
	Wrong   int        `json:"wrong"`
	Systems []Measured `json:"systems"`
	Pairs   []Gain     `json:"gains"` // of each sidecar over the others
	// of rows by kind of error, source, server, and what was held out
	Parts map[string][]PartRates `json:"parts"`
	// whose calls could not be tried on the servers: in no rate of executions
	Lost int `json:"points_not_executed,omitempty"`
}

// Measured is what one system did.
type Measured struct {
	System   string         `json:"system"`
	Rows     int            `json:"rows"`
	Success  stats.Interval `json:"success"`       // rows that are right in the end
	Fixed    stats.Interval `json:"fix_rate"`      // of the wrong drafts, those that are right in the end
	Harmed   stats.Interval `json:"harm_rate"`     // of the right drafts, those that are wrong in the end
	Net      stats.Interval `json:"net_gain"`      // success less that of the drafts, paired
	Verdicts map[string]int `json:"verdicts"`      // of a sidecar
	Asked    float64        `json:"asked"`         // share of the rows for which a model was asked
	Prompt   float64        `json:"prompt_tokens"` // added, of a row in the mean
	Written  float64        `json:"completion_tokens"`
	P50      float64        `json:"seconds_p50,omitempty"` // of one request at a time
	P95      float64        `json:"seconds_p95,omitempty"`
	// places whose calls were all answered without error; nil: none was made
	Executed *stats.Interval `json:"executed,omitempty"`
}

// Gain is a paired difference of success.
type Gain struct {
	New      string         `json:"new"`
	Old      string         `json:"old"`
	Interval stats.Interval `json:"interval"`
}

// PartRates are those of one system on a part of the rows.
type PartRates struct {
	System string         `json:"system"`
	Part   string         `json:"part"`
	Right  int            `json:"right"`
	Wrong  int            `json:"wrong"`
	Fixed  float64        `json:"fix_rate"`
	Harmed float64        `json:"harm_rate"`
	Net    stats.Interval `json:"net_gain"`
}

// bootstrap is the intervals'.
func (e *evaluation) bootstrap() stats.Bootstrap { return job.IntervalsOf(e.c) }

// evalRows are a system's rows as package stats takes them: those of one scenario are one piece of evidence. Only rows
// that keep holds are taken, and of those with a system that says nothing none.
func (e *evaluation) evalRows(system string, keep func(*revise.Row) bool) (rows []stats.Row) {
	for i := range e.rows {
		r, out := &e.rows[i], e.of[system][i]
		if out.gives && keep(r) {
			rows = append(rows, stats.Row{ScenarioID: r.ID, Family: r.Scenario, Episode: out.gold})
		}
	}
	return rows
}

func (e *evaluation) report() *Report {
	p := &Report{Split: e.o.Split, Rows: len(e.rows), Parts: map[string][]PartRates{}}
	for i := range e.rows {
		if e.rows[i].Right {
			p.Right++
		} else {
			p.Wrong++
		}
	}
	for _, name := range e.names {
		p.Systems = append(p.Systems, e.measure(name))
	}
	all := func(*revise.Row) bool { return true }
	for _, name := range e.names[2:] {
		for _, old := range e.names {
			if old == name {
				continue
			}
			both := func(r *revise.Row) bool { return true }
			p.Pairs = append(p.Pairs, Gain{name, old,
				stats.Compare(e.evalRows(old, both), e.evalRows(name, all), stats.Completion(), e.bootstrap())})
		}
	}
	e.parts(p)
	if e.executed != nil {
		p.Lost = len(e.executed.lost)
	}
	return p
}

func (e *evaluation) measure(name string) Measured {
	right, wrong := func(r *revise.Row) bool { return r.Right }, func(r *revise.Row) bool { return !r.Right }
	all := func(*revise.Row) bool { return true }
	b := e.bootstrap()
	m := Measured{
		System:   name,
		Verdicts: map[string]int{},
		Success:  stats.Estimate(e.evalRows(name, all), stats.Completion(), b),
		Fixed:    stats.Estimate(e.evalRows(name, wrong), stats.Completion(), b),
		Harmed:   complement(stats.Estimate(e.evalRows(name, right), stats.Completion(), b)),
		Net:      stats.Compare(e.evalRows(Nothing, all), e.evalRows(name, all), stats.Completion(), b),
		Executed: e.successRate(name),
	}
	for i := range e.rows {
		out := e.of[name][i]
		if !out.gives {
			continue
		}
		m.Rows++
		if out.verdict != "" {
			m.Verdicts[string(out.verdict)]++
		}
		if out.asked {
			m.Asked++
			m.Prompt += float64(out.prompt)
			m.Written += float64(out.written)
		}
	}
	n := float64(max(1, m.Rows))
	m.Asked, m.Prompt, m.Written = m.Asked/n, m.Prompt/n, m.Written/n
	if seconds := slices.Sorted(slices.Values(e.timed[name])); len(seconds) > 0 {
		m.P50, m.P95 = seconds[len(seconds)/2], seconds[len(seconds)*95/100]
	}
	return m
}

// complement is the interval of the complement of a share.
func complement(i stats.Interval) stats.Interval {
	if i.N == 0 {
		return i
	}
	i.Mean, i.Low, i.High = 1-i.Mean, 1-i.High, 1-i.Low
	return i
}

// parts measures each system on parts of the rows.
func (e *evaluation) parts(p *Report) {
	sources, servers := e.trainingSources()
	by := map[string]func(*revise.Row) []string{
		"kind":   func(r *revise.Row) []string { return r.Kinds },
		"source": func(r *revise.Row) []string { return []string{r.Source} },
		"server": func(r *revise.Row) []string { return []string{r.Server} },
		"due": func(r *revise.Row) []string {
			switch {
			case !r.IsEnd():
				return []string{"a call"}
			case r.Messages[len(r.Messages)-1].Role == chat.User:
				return []string{"words at once"}
			}
			return []string{"words behind calls"}
		},
		"held out": func(r *revise.Row) (of []string) {
			if !sources[r.Source] {
				of = append(of, "source")
			}
			if !servers[r.Server] {
				of = append(of, "server")
			}
			if len(of) == 0 {
				of = []string{"neither"}
			}
			return of
		},
	}
	for _, what := range slices.Sorted(maps.Keys(by)) {
		of, found := by[what], map[string]bool{}
		for i := range e.rows {
			for _, part := range of(&e.rows[i]) {
				found[part] = true
			}
		}
		for _, part := range slices.Sorted(maps.Keys(found)) {
			in := func(r *revise.Row) bool { return slices.Contains(of(r), part) }
			for _, name := range e.names[1:] {
				p.Parts[what] = append(p.Parts[what], e.part(name, part, in))
			}
		}
	}
}

func (e *evaluation) part(name, part string, in func(*revise.Row) bool) PartRates {
	x := PartRates{System: name, Part: part,
		Net: stats.Compare(e.evalRows(Nothing, in), e.evalRows(name, in), stats.Completion(), e.bootstrap())}
	for i := range e.rows {
		r, out := &e.rows[i], e.of[name][i]
		if !out.gives || !in(r) {
			continue
		}
		good := out.gold
		switch {
		case r.Right:
			x.Right++
			x.Harmed += float64(one(!good))
		default:
			x.Wrong++
			x.Fixed += float64(one(good))
		}
	}
	x.Harmed, x.Fixed = x.Harmed/float64(max(1, x.Right)), x.Fixed/float64(max(1, x.Wrong))
	return x
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// save writes the report.
func (p *Report) save(o EvalOptions) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return job.WriteFile(o.where(), append(text, '\n'))
}

// doubtful marks an interval of too few pieces of evidence; Doubt says what the mark means. In words it would make
// lines too long for a terminal.
func doubtful(text string) string { return strings.ReplaceAll(text, " too few", "*") }

// Doubt explains the marks of Tables; "" where there is none.
func (p *Report) Doubt() string {
	if !slices.ContainsFunc(p.Tables(), func(row []string) bool {
		return slices.ContainsFunc(row, func(cell string) bool { return strings.HasSuffix(cell, "]*") })
	}) {
		return ""
	}
	return "*: too few pieces of evidence; fewer than 5 scenarios hold a success, or a failure, " +
		"or fewer than 6 tell two systems apart; such intervals are wide on purpose"
}

// executionRows is a row for each system whose calls were made.
func (p *Report) executionRows() (rows [][]string) {
	for _, m := range p.Systems {
		if m.Executed != nil {
			rows = append(rows, []string{m.System, doubtful(m.Executed.RateText())})
		}
	}
	return rows
}

// Tables are the report for a person, with an empty row between them.
func (p *Report) Tables() [][]string {
	rates, costs := [][]string{{"SYSTEM", "ROWS", "SUCCESS", "FIX RATE", "HARM RATE", "NET GAIN"}}, [][]string{
		{"SYSTEM", "ASKED", "TOKENS ADDED"},
	}
	for _, m := range p.Systems {
		rates = append(rates, []string{m.System, fmt.Sprint(m.Rows), doubtful(m.Success.RateText()),
			doubtful(m.Fixed.RateText()), doubtful(m.Harmed.RateText()), doubtful(m.Net.PointsText())})
		costs = append(costs,
			[]string{m.System, fmt.Sprintf("%.0f%%", 100*m.Asked), fmt.Sprintf("%.0f + %.1f", m.Prompt, m.Written)})
	}
	gains := [][]string{{"NEW", "OLD", "GAIN IN POINTS"}}
	for _, g := range p.Pairs {
		gains = append(gains, []string{g.New, g.Old, doubtful(g.Interval.PointsText())})
	}
	out := slices.Concat(rates, [][]string{{}}, costs, [][]string{{}}, gains)
	if executed := p.executionRows(); len(executed) > 0 {
		out = slices.Concat(out, [][]string{{}, {"SYSTEM", "EXECUTED"}}, executed)
	}
	for _, what := range slices.Sorted(maps.Keys(p.Parts)) {
		out = append(out, []string{}, []string{"SYSTEM", what, "RIGHT", "WRONG", "FIX RATE", "HARM RATE", "NET GAIN"})
		for _, x := range p.Parts[what] {
			out = append(out, []string{x.System, x.Part, fmt.Sprint(x.Right), fmt.Sprint(x.Wrong),
				fmt.Sprintf("%.1f%%", 100*x.Fixed), fmt.Sprintf("%.1f%%", 100*x.Harmed), doubtful(x.Net.PointsText())})
		}
	}
	return out
}
