// Package evallog writes an evaluation as logs of Inspect (https://inspect.aisi.org.uk/eval-logs.html), one log a
// system, which its viewer opens and its library reads. The types are its EvalLog, version 2, as far as hone has
// something to say; what is left out takes Inspect's defaults.
package evallog

import "encoding/json"

// Version is the version of the log's format.
const Version = 2

// Log is the record of one system's evaluation. The order of the fields is part of the format: a reader that wants the
// numbers alone stops before the samples.
type Log struct {
	Version    int          `json:"version"`
	Status     string       `json:"status"` // success, or cancelled where the evaluation is not whole
	Eval       Spec         `json:"eval"`
	Plan       Plan         `json:"plan"`
	Results    Results      `json:"results"`
	Stats      Stats        `json:"stats"`
	Samples    []Sample     `json:"samples"`
	Reductions []Reductions `json:"reductions"`
}

// Spec says what was evaluated on what.
type Spec struct {
	EvalID   string            `json:"eval_id"`
	RunID    string            `json:"run_id"`
	Created  string            `json:"created"`
	Task     string            `json:"task"`
	TaskID   string            `json:"task_id"`
	TaskArgs map[string]any    `json:"task_args"`
	Tags     []string          `json:"tags,omitempty"`
	Dataset  Dataset           `json:"dataset"`
	Model    string            `json:"model"`
	Args     map[string]any    `json:"model_args"`
	Config   Config            `json:"config"`
	Packages map[string]string `json:"packages"`
	Metadata map[string]any    `json:"metadata"`
	Scorers  []Scorer          `json:"scorers"`
}

// Dataset names the scenarios.
type Dataset struct {
	Name      string   `json:"name"`
	Location  string   `json:"location,omitempty"`
	Samples   int      `json:"samples"`
	SampleIDs []string `json:"sample_ids"`
	Shuffled  bool     `json:"shuffled"`
}

// Config is how the samples were run.
type Config struct {
	Epochs      int      `json:"epochs"`
	Reducers    []string `json:"epochs_reducer"`
	FailOnError bool     `json:"fail_on_error"`
	LogSamples  bool     `json:"log_samples"`
}

// Scorer names a score and its metrics by Inspect's registry, so that Inspect can compute them again.
type Scorer struct {
	Name    string       `json:"name"`
	Metrics []MetricName `json:"metrics"`
}

// MetricName is a metric in Inspect's registry.
type MetricName struct {
	Name string `json:"name"`
}

// Plan is what made the samples.
type Plan struct {
	Name   string     `json:"name"`
	Steps  []PlanStep `json:"steps"`
	Config Generate   `json:"config"`
}

// PlanStep is one solver of the plan.
type PlanStep struct {
	Solver string         `json:"solver"`
	Params map[string]any `json:"params"`
}

// Generate is the configuration of sampling.
type Generate struct {
	Temperature *float64 `json:"temperature,omitempty"`
}

// Results are a system's numbers. Metadata holds those that are hone's own: the system's line of results.json.
type Results struct {
	TotalSamples     int            `json:"total_samples"`
	CompletedSamples int            `json:"completed_samples"`
	Scores           []EvalScore    `json:"scores"`
	Metadata         map[string]any `json:"metadata,omitempty"`
}

// EvalScore is what one scorer's values come to.
type EvalScore struct {
	Name     string            `json:"name"`
	Scorer   string            `json:"scorer"`
	Reducer  string            `json:"reducer,omitempty"`
	Scored   int               `json:"scored_samples"`
	Unscored int               `json:"unscored_samples"` // by a scorer that ran: lost episodes are in no score at all
	Params   map[string]any    `json:"params"`
	Metrics  map[string]Metric `json:"metrics"`
}

// Metric is one number of a score.
type Metric struct {
	Name     string         `json:"name"`
	Value    float64        `json:"value"`
	Params   map[string]any `json:"params"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Stats are sums over the samples. hone keeps no clock times: from StartedAt, the run's beginning, to CompletedAt it is
// as long as all samples took, one after the other.
type Stats struct {
	StartedAt   string           `json:"started_at"`
	CompletedAt string           `json:"completed_at"`
	ModelUsage  map[string]Usage `json:"model_usage"`
}

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Total  int `json:"total_tokens"`
}

// Reductions are a scorer's values by scenario, each the mean of its epochs.
type Reductions struct {
	Scorer  string        `json:"scorer"`
	Reducer string        `json:"reducer,omitempty"`
	Samples []SampleScore `json:"samples"`
}

// SampleScore is the value of one scenario.
type SampleScore struct {
	Value    float64 `json:"value"`
	SampleID string  `json:"sample_id"`
}

// Sample is one episode: Inspect's epoch is its rollout, counted from 1.
type Sample struct {
	ID          string            `json:"id"`
	Epoch       int               `json:"epoch"`
	Input       []Message         `json:"input"`
	Target      string            `json:"target"`
	Messages    []Message         `json:"messages"`
	Output      Output            `json:"output"`
	Scores      map[string]Score  `json:"scores,omitempty"`
	Metadata    map[string]any    `json:"metadata"`
	Store       map[string]any    `json:"store"`
	Events      []any             `json:"events"`
	ModelUsage  map[string]Usage  `json:"model_usage"`
	TotalTime   float64           `json:"total_time"`
	WorkingTime float64           `json:"working_time"`
	UUID        string            `json:"uuid"`
	Error       *Error            `json:"error,omitempty"`
	Attachments map[string]string `json:"attachments"`
	Limit       *Limit            `json:"limit,omitempty"`
}

// Error is why a sample has no score.
type Error struct {
	Message       string `json:"message"`
	Traceback     string `json:"traceback"`
	TracebackANSI string `json:"traceback_ansi"`
}

// Limit is what ended a sample early. Inspect wants a number; hone keeps none with an episode, so that it is 0.
type Limit struct {
	Type  string  `json:"type"`
	Limit float64 `json:"limit"`
}

// Score is one scorer's verdict on a sample: "C" or "I", or a number.
type Score struct {
	Value       any            `json:"value"`
	Answer      string         `json:"answer,omitempty"`
	Explanation string         `json:"explanation,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	History     []any          `json:"history"`
}

// Message is one message of the conversation. Content is a text, or parts where there is reasoning.
type Message struct {
	ID         string     `json:"id"`
	Content    any        `json:"content"`
	Source     string     `json:"source,omitempty"`
	Role       string     `json:"role"`
	Calls      []Call     `json:"tool_calls,omitempty"`
	Model      string     `json:"model,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Function   string     `json:"function,omitempty"`
	Error      *CallError `json:"error,omitempty"`
}

// Part is a part of a message's content.
type Part struct {
	Type      string `json:"type"` // reasoning or text
	Reasoning string `json:"reasoning,omitempty"`
	Text      string `json:"text,omitempty"`
}

// Call is one tool call. Arguments that are no JSON object are empty, and ParseError holds them.
type Call struct {
	ID         string          `json:"id"`
	Function   string          `json:"function"`
	Arguments  json.RawMessage `json:"arguments"`
	Type       string          `json:"type"`
	ParseError string          `json:"parse_error,omitempty"`
}

// CallError says that a call was not answered as asked.
type CallError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Output is one completion.
type Output struct {
	Model      string   `json:"model"`
	Choices    []Choice `json:"choices"`
	Completion string   `json:"completion"`
	Usage      *Usage   `json:"usage,omitempty"`
	Time       float64  `json:"time,omitempty"`
}

// Choice is the message of a completion.
type Choice struct {
	Message    Message `json:"message"`
	StopReason string  `json:"stop_reason"`
}
