// Package trajectory is the record of one episode: what was asked, sampled, called, answered, and how it ended.
package trajectory

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"hone/internal/chat"
)

// Outcome says how an episode ended and thereby who is to blame. Only what the policy caused may train it.
type Outcome string

const (
	OK Outcome = "ok" // the episode ended by itself
	// unparseable or invalid calls until the end, or arguments that a tool dies of
	PolicyError Outcome = "policy_error"
	// turns, tokens, calls, context or working time ran out; StopReason says which
	Limit               Outcome = "limit"
	EnvironmentError    Outcome = "environment_error"    // a server crashed, hung, or timed out
	JudgeError          Outcome = "judge_error"          // the judge failed after retries
	InfrastructureError Outcome = "infrastructure_error" // sampler, disk, network, ours
)

// Trainable reports whether trajectories of this outcome are scored and trained on.
func (o Outcome) Trainable() bool { return o == OK || o == PolicyError || o == Limit }

// StopReason says what ended an episode.
type StopReason string

const (
	StopCompleted       StopReason = "completed"
	StopMaxTurns        StopReason = "max_turns"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxToolCalls    StopReason = "max_tool_calls"
	StopMaxWork         StopReason = "max_work"       // the tools' working time, see environment.Options
	StopMaxUserTurns    StopReason = "max_user_turns" // messages of the simulated user, see scenario.User
	StopContextOverflow StopReason = "context_overflow"
	StopParseError      StopReason = "parse_error"
	StopTimeout         StopReason = "timeout"
	StopCancelled       StopReason = "cancelled"
	StopError           StopReason = "error"
)

// CallStatus says how one tool call went.
type CallStatus string

const (
	CallOK             CallStatus = "ok"
	CallToolError      CallStatus = "tool_error" // the tool answered isError: an observation, not an outcome
	CallInvalid        CallStatus = "invalid"    // unknown tool, or arguments against its schema; never sent
	CallDenied         CallStatus = "denied"
	CallTimeout        CallStatus = "timeout"
	CallTransportError CallStatus = "transport_error"
)

// RefusedByConfiguration begins ToolResult.Error where the server sent no error, and a pattern of the configuration
// tells one.
const RefusedByConfiguration = "a refusal, by the server's configuration: "

// ToolResult is the answer to one call: Text is what the model is shown, the rest is kept as the server sent it.
type ToolResult struct {
	Call   chat.ToolCall `json:"call"`
	Status CallStatus    `json:"status"`
	Text   string        `json:"text"`
	// MCP's list of parts, where Text is not the whole of it
	Content           json.RawMessage `json:"content,omitempty"`
	StructuredContent json.RawMessage `json:"structured_content,omitempty"`
	Error             string          `json:"error,omitempty"` // why a call was invalid, denied, timed out or lost
	// what is wrong with a result that counts all the same
	Warning  string  `json:"warning,omitempty"`
	Outcome  Outcome `json:"outcome,omitempty"`  // whose fault a call without an answer is; else empty
	Approval string  `json:"approval,omitempty"` // the rule or person that decided
	// hone answered, a call of complete_task, which ended the episode: no server saw it
	Ends bool `json:"ends,omitempty"`
	// hone answered, a search of the tools: no server saw the call
	Search  bool    `json:"search,omitempty"`
	Seconds float64 `json:"seconds"`
}

// wrappedBytes are how many bytes a text and what wraps it have to share: the text may be cut behind them.
const wrappedBytes = 64

// Data is what a result says to a check: its text, or what the server sent as structured content where that is JSON and
// the text is none. A text that is wrapped there, as some SDKs do ({"result": "a text"}), is the text, uncut.
func (r ToolResult) Data() string {
	if len(r.StructuredContent) == 0 || json.Valid([]byte(r.Text)) {
		return r.Text
	}
	var wrapped map[string]string
	if err := json.Unmarshal(r.StructuredContent, &wrapped); err == nil && len(wrapped) == 1 {
		for _, text := range wrapped {
			if beginning := r.Text[:min(len(r.Text), wrappedBytes)]; strings.HasPrefix(text, beginning) {
				return text
			}
		}
	}
	return string(r.StructuredContent)
}

// Turn is one completion and the tool results that followed it.
//
// Prompt ids are not stored whole: turn k's prompt is turn k-1's prompt + CompletionIDs + BridgeIDs of turn k, where
// the bridge renders the tool results and opens the next assistant message. Turn 0's BridgeIDs are its whole prompt,
// and so are those of a turn with a Rewrite: what came before is written otherwise in it, and a new training row
// begins. Worked example of two turns (p: prompt, s: sampled, b: bridge; only s is trained):
//
//	BridgeIDs  p p p p p              b b b
//	CompletionIDs        s s s                s s
//	the row    p p p p p s s s        b b b   s s
type Turn struct {
	BridgeIDs []int32 `json:"bridge_ids"`
	// why the prompt does not go on from the turn before: what of it the chat template rewrites
	Rewrite         string    `json:"rewrite,omitempty"`
	CompletionIDs   []int32   `json:"completion_ids"`
	SamplerLogprobs []float32 `json:"sampler_logprobs"` // natural log, at the trajectory's Temperature
	PolicyVersion   int       `json:"policy_version"`
	// the completion was held to a call of one tool, or to none: the logprobs are of what was left to choose
	Forced           bool            `json:"forced,omitempty"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	Content          string          `json:"content,omitempty"`
	Calls            []chat.ToolCall `json:"calls,omitempty"`
	NoLoss           bool            `json:"no_loss,omitempty"` // a demonstration's slip: shown, and not learnt
	// why the text held no complete well-formed call where it began one
	ParseError string `json:"parse_error,omitempty"`
	// what the policy was told of it, in a message of the role user, where the episode went on
	Feedback      string       `json:"feedback,omitempty"`
	Results       []ToolResult `json:"results,omitempty"` // in call order
	SampleSeconds float64      `json:"sample_seconds"`
	// as an endpoint counts it; nil where the ids are here
	Usage       *Usage       `json:"usage,omitempty"`
	InitialCall *InitialCall `json:"initial_call,omitempty"` // nil: the policy itself said the turn
}

// InitialCall is how a small model came to answer a turn in the policy's place. Its tokens are in no other count.
type InitialCall struct {
	Confidence       float64 `json:"confidence"`
	PromptTokens     int     `json:"prompt_tokens"`
	CompletionTokens int     `json:"completion_tokens"`
}

// Term is one named part of a reward; it adds Score x Weight.
type Term struct {
	Name   string  `json:"name"`
	Score  float64 `json:"score"`
	Weight float64 `json:"weight"`
	Why    string  `json:"why,omitempty"`

	Judgement *Judgement `json:"judgement,omitempty"` // of a term that a judge gave
}

// Trajectory is the record of one episode.
type Trajectory struct {
	ID         string `json:"id"` // scenario id / step / rollout, unique in a run
	ScenarioID string `json:"scenario_id"`
	Split      string `json:"split,omitempty"`         // the scenario's
	Scenario   string `json:"scenario_hash,omitempty"` // scenario.Scenario.Hash
	Attempt    int    `json:"attempt,omitempty"`       // which of the run's processes made it, from 1
	// checksum of the adapter that was sampled; empty for a base model or an endpoint
	Adapter string `json:"adapter,omitempty"`
	// in an evaluation: SHA-256 of all that the episode depends on
	ContentKey string `json:"content_key,omitempty"`
	// the run directory that it was taken from, in place of running it
	Reused      string         `json:"reused,omitempty"`
	Rollout     int            `json:"rollout"`           // index in its group
	Retries     int            `json:"retries,omitempty"` // attempts before this one, which the tools ended
	Temperature float64        `json:"temperature"`
	Messages    []chat.Message `json:"messages"` // the whole conversation, OpenAI's form
	// messages that it began with: no assistant message of them is the policy's
	Opening int `json:"opening,omitempty"`
	// who wrote the messages of the role user, where that was a simulated user
	User *User `json:"user,omitempty"`
	// shown from the beginning; a run's log keeps Shown in their place
	Tools      []chat.Tool   `json:"tools,omitempty"`
	Shown      *Shown        `json:"shown,omitempty"`
	Turns      []Turn        `json:"turns"`
	Seen       []Observation `json:"seen,omitempty"` // of the world, by the checks that look at it
	Outcome    Outcome       `json:"outcome"`
	StopReason StopReason    `json:"stop_reason"`
	Error      string        `json:"error,omitempty"`
	// Stderr is what each server wrote to stderr during the episode: its last 8 KiB, without secrets.
	Stderr map[string]string `json:"stderr,omitempty"`
	Reward float64           `json:"reward"`
	Terms  []Term            `json:"terms,omitempty"`
	// TurnRewards are what each turn earned, where rewards are divided among turns.
	TurnRewards []float64 `json:"turn_rewards,omitempty"`
	Seconds     float64   `json:"seconds"`
	Rating      *Rating   `json:"rating,omitempty"` // of a person, who gives it later: a run's log has none
}

// Row is ids, and for each whether it was sampled (and so may be trained), and its sampler logprob (0 where not
// sampled). The three slices have equal length.
type Row struct {
	IDs      []int32
	Sampled  []bool
	Logprobs []float32
}

// Rows returns the trajectory as training rows: one, and another for each turn with a Rewrite. Each completion is in
// one row, behind what the model was prompted with.
func (t *Trajectory) Rows() []Row {
	var rows []Row
	for i, turn := range t.Turns {
		if i == 0 || turn.Rewrite != "" {
			rows = append(rows, Row{})
		}
		r := &rows[len(rows)-1]
		r.IDs = append(append(r.IDs, turn.BridgeIDs...), turn.CompletionIDs...)
		r.Sampled = append(append(r.Sampled, make([]bool, len(turn.BridgeIDs))...),
			slices.Repeat([]bool{true}, len(turn.CompletionIDs))...)
		r.Logprobs = append(append(r.Logprobs, make([]float32, len(turn.BridgeIDs))...), turn.SamplerLogprobs...)
	}
	return rows
}

// NumRewrites is how many turns begin a row anew.
func (t *Trajectory) NumRewrites() int {
	n := 0
	for _, turn := range t.Turns {
		if turn.Rewrite != "" {
			n++
		}
	}
	return n
}

// NumSampled counts the tokens that IDs marks as sampled.
func (t *Trajectory) NumSampled() int {
	n := 0
	for _, turn := range t.Turns {
		n += len(turn.CompletionIDs)
	}
	return n
}

// Calls returns all calls with their results, in order.
func (t *Trajectory) Calls() []ToolResult {
	var calls []ToolResult
	for _, turn := range t.Turns {
		calls = append(calls, turn.Results...)
	}
	return calls
}

// ServerCalls returns the calls of servers' tools with their results, in order: all but those that hone answered.
func (t *Trajectory) ServerCalls() []ToolResult {
	var calls []ToolResult
	for _, r := range t.Calls() {
		if !r.Search && !r.Ends {
			calls = append(calls, r)
		}
	}
	return calls
}

// FinalAnswer is the answer in a call of complete_task.
func FinalAnswer(c chat.ToolCall) (answer string, err error) {
	var given struct {
		Answer *string `json:"answer"`
	}
	if err := json.Unmarshal([]byte(c.Arguments), &given); err != nil || given.Answer == nil {
		return "", errors.New("it takes one argument, answer, a text")
	}
	return *given.Answer, nil
}

// Answer is the text of the last assistant message, or what the call that ended the episode gave as the answer; empty
// where the episode ended otherwise. A simulated user's last words may stand behind it.
func (t *Trajectory) Answer() string {
	if k := len(t.Turns); k > 0 && len(t.Turns[k-1].Results) == 1 && t.Turns[k-1].Results[0].Ends {
		answer, _ := FinalAnswer(t.Turns[k-1].Results[0].Call)
		return answer
	}
	n := len(t.Messages)
	for n > t.Opening && t.Messages[n-1].Role == chat.User {
		n--
	}
	if n > 0 && t.Messages[n-1].Role == chat.Assistant && len(t.Messages[n-1].ToolCalls) == 0 {
		return t.Messages[n-1].Content
	}
	return ""
}

// Score is what an episode earned. Where its terms are not known, its outcome is another than it ended with, and Error
// says why.
type Score struct {
	Reward  float64   `json:"reward"`
	Terms   []Term    `json:"terms,omitempty"`
	Turns   []float64 `json:"turn_rewards,omitempty"` // what each turn earned, where that is asked for
	Outcome Outcome   `json:"outcome,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// Group is the trajectories of one scenario under one policy version.
type Group struct {
	ScenarioID   string
	Trajectories []*Trajectory
}

// Take gives each trajectory its score.
func (g Group) Take(scores []Score) {
	for i, s := range scores {
		t := g.Trajectories[i]
		if t.Reward, t.Terms, t.TurnRewards = s.Reward, s.Terms, s.Turns; s.Outcome != "" {
			t.Outcome, t.Error = s.Outcome, s.Error
		}
	}
}
