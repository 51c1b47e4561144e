// Package scenario holds the tasks given to the agent and the conditions that say whether it did them.
package scenario

import (
	"encoding/json"
	"fmt"

	"hone/internal/chat"
	"hone/internal/grade"
)

// Splits of a data set. Training and every choice look at Train and Validation; Test is for the final numbers.
const (
	Train      = "train"
	Validation = "validation"
	Test       = "test"
)

// Scenario is one task. Of a file's row only Task is required, or Messages or User in its place; Load fills in ID and
// Split.
type Scenario struct {
	ID   string `json:"id"`
	Task string `json:"task,omitempty"` // what the user says
	// Messages are the conversation so far, in OpenAI's form: earlier turns, which nothing is trained on, and what the
	// user says now.
	Messages []chat.Message `json:"messages,omitempty"`
	// with whom the policy speaks; without one its first message without a call ends the episode
	User     *User     `json:"user,omitempty"`
	Template Templates `json:"template,omitempty"` // what the episode's folders begin as
	// calls made on the episode's session before it starts; the model does not see them
	Setup      []Gold  `json:"setup,omitempty"`
	Checks     []Check `json:"checks,omitempty"`
	Gold       []Gold  `json:"gold,omitempty"`        // the calls of a known good solution, in order
	GoldAnswer string  `json:"gold_answer,omitempty"` // the answer of that solution
	// how the answer follows from the results, which a demonstration says as its reasoning
	GoldReasoning string `json:"gold_reasoning,omitempty"`
	// calls that go wrong on the way there, which are shown and not learnt
	Slips      []Slip      `json:"slips,omitempty"`
	Difficulty string      `json:"difficulty,omitempty"`
	Tags       []string    `json:"tags,omitempty"`
	Split      string      `json:"split"`
	Provenance *Provenance `json:"provenance,omitempty"` // where a made scenario comes from; no part of what it asks
}

// Provenance says where a scenario comes from that nobody wrote by hand.
type Provenance struct {
	By      string `json:"by"`                // what made it, as hone synth
	Version string `json:"version,omitempty"` // of that
	Kind    string `json:"kind,omitempty"`    // what it was made as: single, chain, ...
	Wording string `json:"wording,omitempty"` // the family of templates that worded it
	Teacher string `json:"teacher,omitempty"` // the model that did, where one did
	// Prompts are those that models were asked with, by name: the SHA-256 of their texts.
	Prompts map[string]string `json:"prompts,omitempty"`
	Quality float64           `json:"quality,omitempty"` // a model's score of task and calls, 0 to 10
	Seed    uint64            `json:"seed,omitempty"`
	// Servers are the versions that they state of themselves, Tools the SHA-256 that the catalog has of each tool it
	// calls.
	Servers map[string]string `json:"servers,omitempty"`
	Tools   map[string]string `json:"tools,omitempty"`
	Proof   []string          `json:"proof,omitempty"` // the calls that proved it, by their names in the maker's ledger
	// Reference is how an agent did on it, where one has tried.
	Reference *Reference `json:"reference,omitempty"`
}

// Reference is what came of an agent's tries at a scenario.
type Reference struct {
	By     string `json:"by"`     // the agent's model
	Runs   int    `json:"runs"`   // episodes that say something of it
	Passed int    `json:"passed"` // of them, with all checks
}

// PassRate is the share of the runs that passed, 0 of none.
func (r Reference) PassRate() float64 {
	if r.Runs == 0 {
		return 0
	}
	return float64(r.Passed) / float64(r.Runs)
}

// Gold is a tool call as a scenario file writes it: {"name": "hash", "arguments": {"text": "hi"}}.
type Gold struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
	// what is said to the scenario's user before this gold call, such as "Shall I?"
	Asks string `json:"asks,omitempty"`
	// how what is said follows from the results before it
	AsksReasoning string `json:"asks_reasoning,omitempty"`
	// how the call follows from the results before it
	Reasoning string `json:"reasoning,omitempty"`
}

// Slip is a call that somebody may get wrong on the way of the gold calls: a demonstration shows it with what the
// server says, and the gold call behind it is how one goes on from there. It changes nothing.
type Slip struct {
	// the number of the gold call that comes next, from 0; of all: the answer comes next
	Before    int             `json:"before"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// Call returns the call in the conversation's form, without an id.
func (s Slip) Call() chat.ToolCall { return Gold{Name: s.Name, Arguments: s.Arguments}.Call() }

// Call returns the same call in the conversation's form, without an id.
func (g Gold) Call() chat.ToolCall {
	return chat.ToolCall{Name: g.Name, Arguments: string(g.Arguments)}
}

func (g Gold) validate() error {
	if g.Name == "" {
		return fmt.Errorf(`"name" is missing`)
	}
	if len(g.Arguments) == 0 {
		return fmt.Errorf(`"arguments" of %s are missing: write {} for none`, g.Name)
	}
	v, err := grade.Decode(string(g.Arguments))
	if err != nil {
		return fmt.Errorf(`"arguments" of %s: %w`, g.Name, err)
	}
	if _, ok := v.(map[string]any); !ok {
		return fmt.Errorf(`"arguments" of %s are not a JSON object`, g.Name)
	}
	return nil
}

// GoldCalls returns Gold in the conversation's form.
func (s *Scenario) GoldCalls() []chat.ToolCall {
	calls := make([]chat.ToolCall, len(s.Gold))
	for i, g := range s.Gold {
		calls[i] = g.Call()
	}
	return calls
}

// SetupCalls returns Setup in the conversation's form, with ids.
func (s *Scenario) SetupCalls() []chat.ToolCall {
	calls := make([]chat.ToolCall, len(s.Setup))
	for i, g := range s.Setup {
		calls[i] = g.Call()
		calls[i].ID = fmt.Sprintf("setup_%d", i)
	}
	return calls
}

// Validate says what keeps a scenario from being run and checked, or nil.
func (s *Scenario) Validate() error {
	if err := s.validateOpening(); err != nil {
		return err
	}
	switch s.Split {
	case "", Train, Validation, Test:
	default:
		return fmt.Errorf(`"split" is %q; it must be train, validation or test`, s.Split)
	}
	if err := s.Template.validate(); err != nil {
		return err
	}
	if s.User != nil {
		if err := s.User.validate(s.Task != "" || len(s.Messages) > 0); err != nil {
			return err
		}
	}
	for i, g := range s.Setup {
		if err := g.validate(); err != nil {
			return fmt.Errorf("setup[%d]: %w", i, err)
		}
		if g.Asks != "" {
			return fmt.Errorf(`setup[%d]: "asks" is for gold calls: setup calls are made before the conversation`, i)
		}
	}
	for i, c := range s.Checks {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("checks[%d]: %w", i, err)
		}
	}
	for i, slip := range s.Slips {
		if err := (Gold{Name: slip.Name, Arguments: slip.Arguments}).validate(); err != nil {
			return fmt.Errorf("slips[%d]: %w", i, err)
		}
		if slip.Before < 0 || slip.Before > len(s.Gold) { // behind the last call it comes before the answer
			return fmt.Errorf(`slips[%d]: "before" is %d: it counts gold calls, of which there are %d`, i, slip.Before,
				len(s.Gold))
		}
	}
	for i, g := range s.Gold {
		if err := g.validate(); err != nil {
			return fmt.Errorf("gold[%d]: %w", i, err)
		}
		if g.Asks != "" && s.User == nil {
			return fmt.Errorf(`gold[%d]: "asks" has nobody to answer it: the scenario has no "user"`, i)
		}
	}
	return nil
}

// NeedsJudge reports whether some scenario has no checks, so that only a judge could score it.
func NeedsJudge(scenarios []Scenario) bool {
	for _, s := range scenarios {
		if len(s.Checks) == 0 {
			return true
		}
	}
	return false
}

// ByID maps scenarios by their ids.
func ByID(list []Scenario) map[string]*Scenario {
	m := map[string]*Scenario{}
	for i := range list {
		m[list[i].ID] = &list[i]
	}
	return m
}

// OfSplit returns the scenarios of one split, in order.
func OfSplit(scenarios []Scenario, split string) []Scenario {
	var out []Scenario
	for _, s := range scenarios {
		if s.Split == split {
			out = append(out, s)
		}
	}
	return out
}
