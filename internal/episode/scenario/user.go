package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
)

// User is a simulated user: the policy speaks with it until one of them ends the conversation. It is played by a model
// that is told a goal, or by a script:
//
//	{"goal": "Cancel order #W12.", "persona": "You are in a hurry.", "knows": {"order": "#W12", "zip": "19122"}}
//	{"says": ["I want to cancel an order.", "#W12", "Yes, please."]}
type User struct {
	Goal    string `json:"goal,omitempty"`    // what it wants
	Persona string `json:"persona,omitempty"` // who it is, and how it speaks
	// what it can tell when it is asked: a text, or an object of facts
	Knows json.RawMessage `json:"knows,omitempty"`
	First string          `json:"first,omitempty"` // its first words
	Says  []string        `json:"says,omitempty"`  // a script: its words, one message after the other
	// most messages of a user that a model plays, the first included; 0 is 10
	MaxTurns int `json:"max_turns,omitempty"`
	// tools: a call of one that is answered without error ends the conversation
	EndsOn []string `json:"ends_on,omitempty"`
}

// What a user writes to end a conversation (tau2-bench, simulation_guidelines.md): its goal is met; it was passed on to
// a person; what it was told does not say how to go on. A policy that writes StopToken ends it too.
const (
	StopToken       = "###STOP###"
	TransferToken   = "###TRANSFER###"
	OutOfScopeToken = "###OUT-OF-SCOPE###"
)

// EndTokens are what ends a conversation.
func EndTokens() []string { return []string{OutOfScopeToken, StopToken, TransferToken} }

// HasScript reports whether the user has a script, and needs no model.
func (u *User) HasScript() bool { return len(u.Says) > 0 }

// Limit is how many messages the user may write, the first included; 0 where its script says it.
func (u *User) Limit() int {
	switch {
	case u.HasScript():
		return 0
	case u.MaxTurns == 0:
		return 10
	}
	return u.MaxTurns
}

// first are the user's first words, "" where a model is to find them.
func (u *User) first() string {
	if u.First == "" && u.HasScript() {
		return u.Says[0]
	}
	return u.First
}

// Replies are what a scripted user says behind the opening.
func (s *Scenario) Replies() []string {
	if s.Task == "" && len(s.Messages) == 0 && s.User.First == "" {
		return s.User.Says[1:]
	}
	return s.User.Says
}

// UserBegins reports whether a model is to find the user's first words, so that no opening is known before an episode.
func (s *Scenario) UserBegins() bool { return s.User != nil && len(s.Opening()) == 0 }

// NeedUserModel reports whether some scenario has a user that a model must play.
func NeedUserModel(scenarios []Scenario) bool {
	return slices.ContainsFunc(scenarios, func(s Scenario) bool { return s.User != nil && !s.User.HasScript() })
}

// validate says what is wrong with a user, or nil. opened says whether the scenario has an opening without it.
func (u *User) validate(opened bool) error {
	switch {
	case u.Goal == "" && !u.HasScript():
		return errors.New(`"user" has neither "goal", for a model that plays it, nor "says", a script`)
	case u.Goal != "" && u.HasScript():
		return errors.New(`"user" has both "goal" and "says": a model plays it, or a script`)
	case u.HasScript() && (u.Persona != "" || u.Knows != nil || u.MaxTurns != 0):
		return errors.New(
			`"persona", "knows" and "max_turns" are for a model that plays the user, and do not go with "says"`,
		)
	case opened && u.First != "":
		return errors.New(`"first" of "user" are its first words, which "task" or "messages" say already`)
	case u.MaxTurns < 0:
		return errors.New(`"max_turns" of "user" must be at least 1, or left out for 10`)
	case slices.Contains(u.EndsOn, ""):
		return errors.New(`"ends_on" of "user" holds an empty name`)
	}
	if err := validateKnows(u.Knows); err != nil {
		return err
	}
	return u.validateWords(opened)
}

// validateWords refuses words that nobody could say, and an end in their midst.
func (u *User) validateWords(opened bool) error {
	ends := func(text string) bool {
		return slices.ContainsFunc(EndTokens(), func(token string) bool { return strings.Contains(text, token) })
	}
	if ends(u.First) {
		return errors.New(`"first" of "user" ends the conversation before it began`)
	}
	for i, line := range u.Says {
		first := i == 0 && !opened && u.First == ""
		switch {
		case strings.TrimSpace(line) == "":
			return fmt.Errorf(`"says"[%d] of "user" is empty`, i)
		case ends(line) && (first || i < len(u.Says)-1):
			return fmt.Errorf(`"says"[%d] of "user" ends the conversation, and only its last words can`, i)
		}
	}
	return nil
}

func validateKnows(knows json.RawMessage) error {
	if knows == nil {
		return nil
	}
	var text string
	var facts map[string]json.RawMessage
	if json.Unmarshal(knows, &text) == nil && text != "" || json.Unmarshal(knows, &facts) == nil && len(facts) > 0 {
		return nil
	}
	return errors.New(`"knows" of "user" must be a text, or an object of facts`)
}

// userWords are the user's own words of an opening.
func userWords(text string) []chat.Message {
	if text == "" {
		return nil
	}
	return []chat.Message{{Role: chat.User, Content: text}}
}
