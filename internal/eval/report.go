package eval

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"time"

	"hone/internal/fault"
)

//go:embed report.html
var reportHTML string

// Report is what the report is made of. Only Systems is required.
type Report struct {
	Title    string
	Facts    []Fact   // what ran: model, servers, data, seed; shown in order
	Systems  []System // in the order they arose: base, sft, grpo
	Curves   []Curve
	Parts    []Part
	Examples []Example
	// TrainedOn are ids of scenarios that the model learnt from.
	TrainedOn []string
	Bootstrap
}

// Fact is one line of the report's head.
type Fact struct{ Name, Value string }

// Curve is one learning curve, such as the loss or the reward by step.
type Curve struct {
	Name   string
	Points []Point
}

// Point is one optimiser step's value.
type Point struct {
	Step  int
	Value float64
}

// Part is the time one part of the run took. Orchestration marks time in which neither trainer nor sampler worked, so
// our own book-keeping is no more than that; its share of the whole is reported.
type Part struct {
	Name          string
	Seconds       float64
	Orchestration bool
}

// Results are the report's numbers, as JSON beside the page.
type Results struct {
	Systems            map[string]Summary `json:"systems"`
	Deltas             []Delta            `json:"deltas"`
	OrchestrationShare float64            `json:"orchestration_share"`  // of all parts' seconds
	TrainedOn          []string           `json:"trained_on,omitempty"` // ids of scenarios that the model learnt from
}

// Results computes the report's numbers.
func (r Report) Results() Results {
	out := Results{Systems: map[string]Summary{}, Deltas: Deltas(r.Systems, r.Bootstrap), TrainedOn: r.TrainedOn}
	for _, s := range r.Systems {
		out.Systems[s.Name] = Summarize(s, r.Bootstrap)
	}
	var all, ours float64
	for _, p := range r.Parts {
		all += p.Seconds
		if p.Orchestration {
			ours += p.Seconds
		}
	}
	if all > 0 {
		out.OrchestrationShare = ours / all
	}
	return out
}

// page is what the template sees.
type page struct {
	Report
	Results
	Names       []string
	Level       float64
	Lines       []Summary // by system
	Kinds       []KindRow
	Regressions []Regression
	NumPaired   int // scenarios that first and last system both have
	Plots       []plot
	Bars        []bar
}

// SystemsInOrder is the report's Systems: Results, embedded beside it, has a field of that name too.
func (p page) SystemsInOrder() []System { return p.Report.Systems }

// LastName is the system that regressions are looked for in.
func (p page) LastName() string { return p.Names[len(p.Names)-1] }

type bar struct {
	Part
	Share float64 // of the whole, in [0, 1]
}

// WriteHTML writes the report as one page that loads nothing from anywhere.
func (r Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"percent": func(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) },
		"points":  func(x float64) string { return fmt.Sprintf("%+.1f", 100*x) },
		"number":  number,
		"seconds": func(s float64) string {
			return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
		},
		"verdict": verdict,
		"pretty":  pretty,
		"scale":   func(x, by float64) float64 { return math.Round(x*by*10) / 10 },
	}).Parse(reportHTML)
	if err != nil {
		return err
	}
	p := page{Report: r, Results: r.Results(), Level: r.Level, Kinds: Kinds(r.Systems, r.Bootstrap), Regressions: Regressions(r.Systems)}
	if p.Level == 0 {
		p.Level = 0.95
	}
	for _, s := range r.Systems {
		p.Names = append(p.Names, s.Name)
		p.Lines = append(p.Lines, p.Results.Systems[s.Name])
	}
	if n := len(r.Systems); n > 1 {
		p.NumPaired = Compare(r.Systems[0].Rows, r.Systems[n-1].Rows, Episode, Bootstrap{NumResamples: 1}).N
	}
	for _, c := range r.Curves {
		p.Plots = append(p.Plots, newPlot(c))
	}
	var all float64
	for _, part := range r.Parts {
		all += part.Seconds
	}
	for _, part := range r.Parts {
		p.Bars = append(p.Bars, bar{part, part.Seconds / max(all, math.SmallestNonzeroFloat64)})
	}
	if err := t.Execute(w, p); err != nil {
		return &fault.Error{What: "cannot write the report", Err: err}
	}
	return nil
}

func number(x float64) string { return fmt.Sprintf("%.4g", x) }

// verdict says in words what an interval of a difference shows.
func verdict(d Interval) string {
	switch {
	case d.N == 0:
		return "no scenario in common"
	case d.Low > 0:
		return "better"
	case d.High < 0:
		return "worse"
	}
	return "no clear difference"
}

func pretty(text string) string {
	var v json.RawMessage
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return text
	}
	return string(b)
}
