package curate

import (
	"encoding/json"
	"slices"
	"strings"
)

// Redaction is what was redacted.
type Redaction struct {
	Traces int            `json:"traces"` // in which anything was
	Kinds  map[string]int `json:"kinds"`  // how many values of each kind, counted in each trace
	Values []Redacted     `json:"values"`
}

// Redacted is a value of a trace that has a placeholder now. The value itself is told by its length alone.
type Redacted struct {
	Trace       string `json:"trace"`
	Operation   int    `json:"operation"` // by which it can be brought back
	Kind        string `json:"kind"`
	Placeholder string `json:"placeholder"`
	Length      int    `json:"length"` // bytes
	Times       int    `json:"times"`  // it is said in the trace
}

// Redact puts placeholders in place of the secrets and personal data of all traces, as an operation on each that has
// any. No kinds stands for all of package redact. What was proven of a trace stays proven: what is said of a value is
// said of its placeholder.
func (c *Curation) Redact(author string, kinds []string) (Redaction, error) {
	out := Redaction{Kinds: map[string]int{}, Values: []Redacted{}}
	var ops []Op
	for _, t := range c.Traces() {
		var texts []string
		o := RedactOptions{Kinds: kinds, Known: c.standIns(t)}
		t.eachText(func(s *string) {
			texts, o.Numbers = append(texts, Texts(*s)...), append(o.Numbers, Numbers(*s)...)
		})
		values := Values(texts, o)
		if len(values) == 0 {
			continue
		}
		ops = append(ops, Op{Do: Redact, Trace: t.ID, Author: author, Values: values})
	}
	done, err := c.DoAll(ops)
	if err != nil {
		return out, err
	}
	for _, op := range done {
		t, err := c.Trace(op.Trace)
		if err != nil {
			return out, err
		}
		out.Traces++
		seen := map[string]bool{} // one value may have several spellings
		for _, v := range op.Values {
			if seen[v.Placeholder] {
				continue
			}
			seen[v.Placeholder] = true
			out.Kinds[v.Kind]++
			r := Redacted{Trace: op.Trace, Operation: op.Seq, Kind: v.Kind, Placeholder: v.Placeholder,
				Length: len(v.Text)}
			t.eachText(func(s *string) { r.Times += Count(*s, v.Placeholder) })
			out.Values = append(out.Values, r)
		}
	}
	return out, nil
}

// standIns are what earlier operations put in place of a trace's values.
func (c *Curation) standIns(t *Trace) (out []string) {
	for _, seq := range t.Ops {
		for _, v := range c.ops[seq-1].Values {
			out = append(out, v.Placeholder)
		}
	}
	return out
}

// eachText calls f with each text of a trace that is learnt from or written, and takes what it becomes.
func (t *Trace) eachText(f func(*string)) {
	for i := range t.Row.Messages {
		m := &t.Row.Messages[i]
		f(&m.Content)
		f(&m.ReasoningContent)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			f(&m.ToolCalls[j].Arguments)
		}
	}
	t.Row.Terms, t.Row.Results = slices.Clone(t.Row.Terms), slices.Clone(t.Row.Results)
	for i := range t.Row.Terms {
		f(&t.Row.Terms[i].Why)
		if j := t.Row.Terms[i].Judgement; j != nil {
			said := *j
			f(&said.Failed)
			t.Row.Terms[i].Judgement = &said
		}
	}
	for i := range t.Row.Results {
		f(&t.Row.Results[i].Error)
	}
}

// redact puts placeholders in place of values.
func (t *Trace) redact(values []Value) {
	t.eachText(func(s *string) { *s = Apply(*s, values) })
	t.redacted = slices.Concat(t.redacted, values)
}

// restore is JSON with the values of a trace in place of their placeholders, which a person may have edited around.
func (t *Trace) restore(arguments string) string {
	for _, v := range t.redacted {
		said, err := json.Marshal(v.Text)
		if err == nil && strings.HasPrefix(v.Placeholder, "[") {
			arguments = strings.ReplaceAll(arguments, v.Placeholder, string(said[1:len(said)-1]))
		}
	}
	return arguments
}
