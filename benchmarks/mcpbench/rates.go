package mcpbench

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat/schema"
)

// Rates are those of one task, or their means over tasks. nil is not defined: None there.
type Rates struct {
	ValidToolName    *float64 `json:"valid_tool_name_rate"`
	SchemaCompliance *float64 `json:"input_schema_compliance"`
	ExecutionSuccess *float64 `json:"execution_success_rate"`
	ValidCallFailure *float64 `json:"valid_call_failure_rate"`
	PlanningJSON     *float64 `json:"planning_json_compliance"`
}

// rate is a share; whole is above 0.
func rate(part, whole int) *float64 {
	r := float64(part) / float64(whole)
	return &r
}

// rateOr is a share, or otherwise of nothing.
func rateOr(part, whole int, otherwise float64) *float64 {
	if whole == 0 {
		return &otherwise
	}
	return rate(part, whole)
}

// PublishedRates are the rates of a task by the evaluator's formulas (_calculate_tool_accuracy_metrics). Planned
// entries are calls that could be read, which all name a tool, for its agent asks another model to mend the others.
func (t Tools) PublishedRates(l Log) Rates {
	named := 0
	for _, c := range l.Calls {
		if c.Tool != "" {
			named++
		}
	}
	out := Rates{PlanningJSON: rateOr(named, len(l.Calls), 1)}
	if len(l.Calls) == 0 {
		return out
	}
	valid, compliant, answered, failed := 0, 0, 0, 0
	for _, c := range l.Calls {
		known, there := t[c.Tool]
		if there {
			valid++
			if known.compliant(c.Arguments) {
				compliant++
			}
			if !c.Answered {
				failed++
			}
		}
		if c.Answered {
			answered++
		}
	}
	out.ValidToolName = rate(valid, len(l.Calls))
	out.SchemaCompliance = rateOr(compliant, valid, 0)
	out.ExecutionSuccess = rate(answered, len(l.Calls))
	out.ValidCallFailure = rateOr(failed, valid, 0)
	return out
}

// ClosedRates are the rates of a task with the holes closed, see Definitions.
func (t Tools) ClosedRates(l Log) Rates {
	all := len(l.Calls) + l.NumMalformed
	out := Rates{PlanningJSON: rateOr(len(l.Calls), all, 1)}
	if all == 0 {
		if zero := 0.0; !l.NoToolFits {
			out.ValidToolName, out.SchemaCompliance, out.ExecutionSuccess = &zero, &zero, &zero
		}
		return out
	}
	made, valid, checkable, compliant, worked, failed := 0, 0, 0, 0, 0, 0
	done := map[string]bool{} // calls that have succeeded
	for _, c := range l.Calls {
		worksNow := c.Answered && !c.Refused
		key := c.key()
		if worksNow && done[key] {
			continue // asked again for what is known
		}
		done[key] = done[key] || worksNow
		made++
		known, there := t[c.Tool]
		verdict := schema.Invalid
		if there {
			valid++
			verdict, _ = known.own.Validate(c.Arguments)
			if !worksNow {
				failed++
			}
		}
		if worksNow {
			worked++
		}
		if verdict != schema.Uncheckable {
			checkable++
		}
		if verdict == schema.Valid {
			compliant++
		}
	}
	made, checkable = made+l.NumMalformed, checkable+l.NumMalformed
	out.ValidToolName = rate(valid, made)
	out.ExecutionSuccess = rate(worked, made)
	if checkable > 0 {
		out.SchemaCompliance = rate(compliant, checkable)
	}
	if valid > 0 {
		out.ValidCallFailure = rate(failed, valid)
	}
	return out
}

// key is the same for calls that ask for the same.
func (c Call) key() string {
	arguments := jsontext.Value(cmp.Or(c.Arguments, "{}"))
	if arguments.Canonicalize() != nil {
		return c.Tool + "\x00" + c.Arguments
	}
	return c.Tool + "\x00" + string(arguments)
}

// mean is that of the values which are defined, 0 of none (ResultsAggregator.safe_avg); n is how many those are.
func mean(values []*float64) (m float64, n int) {
	for _, v := range values {
		if v != nil {
			m, n = m+*v, n+1
		}
	}
	if n > 0 {
		m /= float64(n)
	}
	return m, n
}

// Means are those of Rates over tasks.
type Means struct {
	ValidToolName    float64 `json:"valid_tool_name_rate"`
	SchemaCompliance float64 `json:"input_schema_compliance"`
	ExecutionSuccess float64 `json:"execution_success_rate"`
	ValidCallFailure float64 `json:"valid_call_failure_rate"`
	PlanningJSON     float64 `json:"planning_json_compliance"`
	// Rules is the mean of the first three: a quarter of MCP-Bench's overall score. The others are a judge's.
	Rules float64 `json:"rules"`
	// NumTasks are those whose rates are defined, and which the first three are means of.
	NumTasks int `json:"num_tasks"`
}

func meansOf(rates []Rates) Means {
	of := func(get func(Rates) *float64) (float64, int) {
		var values []*float64
		for _, r := range rates {
			values = append(values, get(r))
		}
		return mean(values)
	}
	var m Means
	m.ValidToolName, m.NumTasks = of(func(r Rates) *float64 { return r.ValidToolName })
	m.SchemaCompliance, _ = of(func(r Rates) *float64 { return r.SchemaCompliance })
	m.ExecutionSuccess, _ = of(func(r Rates) *float64 { return r.ExecutionSuccess })
	m.ValidCallFailure, _ = of(func(r Rates) *float64 { return r.ValidCallFailure })
	m.PlanningJSON, _ = of(func(r Rates) *float64 { return r.PlanningJSON })
	m.Rules = (m.ValidToolName + m.SchemaCompliance + m.ExecutionSuccess) / 3
	return m
}

// Summary is what many tasks come to.
type Summary struct {
	NumTasks        int `json:"num_tasks"`         // each run of a task counts
	NumWithoutCalls int `json:"num_without_calls"` // which Published leaves out
	// of these, those that Closed leaves out too, for they are right so
	NumNoToolFits int     `json:"num_no_tool_fits"`
	Published     Means   `json:"published"`
	Closed        Means   `json:"closed"`
	Calls         float64 `json:"calls"`        // of a task, in the mean
	Servers       float64 `json:"servers"`      // that a task called known tools of, in the mean
	CrossServer   float64 `json:"cross_server"` // share of tasks that did so of more than one
}

// Summarize computes the numbers of many tasks.
func (t Tools) Summarize(logs []Log) Summary {
	s := Summary{NumTasks: len(logs)}
	var published, closed []Rates
	for _, l := range logs {
		published, closed = append(published, t.PublishedRates(l)), append(closed, t.ClosedRates(l))
		if len(l.Calls) == 0 {
			s.NumWithoutCalls++
			if l.NoToolFits && l.NumMalformed == 0 {
				s.NumNoToolFits++
			}
		}
		var servers []string
		for _, c := range l.Calls {
			if server := t[c.Tool].server; server != "" && !slices.Contains(servers, server) {
				servers = append(servers, server)
			}
		}
		s.Calls += float64(len(l.Calls)) / float64(len(logs))
		s.Servers += float64(len(servers)) / float64(len(logs))
		if len(servers) > 1 {
			s.CrossServer += 1 / float64(len(logs))
		}
	}
	s.Published, s.Closed = meansOf(published), meansOf(closed)
	return s
}
