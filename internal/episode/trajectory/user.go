package trajectory

import "hone/internal/chat"

// User is what is known of the simulated user of an episode. Its words are the messages of the role user: the last of
// the opening, and those behind the policy's. None of them is trained on.
type User struct {
	Played string `json:"played"` // the name of the model that played it, or Script
	// who ended the conversation: EndedByUser and the like; empty where something else ended the episode
	Ended string `json:"ended,omitempty"`
	Turns int    `json:"turns"` // its messages, the last of the opening included
	// What the model that played it read and wrote, whether it was asked or a cache had the answer. It is in no count
	// of the policy's.
	PromptTokens     int     `json:"prompt_tokens,omitempty"`
	CompletionTokens int     `json:"completion_tokens,omitempty"`
	Seconds          float64 `json:"seconds,omitempty"`
}

// Script plays a user that has one.
const Script = "script"

// Who ended a conversation.
const (
	EndedByUser       = "user"         // its goal is met
	EndedByTransfer   = "transfer"     // the user was passed on to a person
	EndedByOutOfScope = "out_of_scope" // the user was not told how to go on
	EndedByScript     = "script"       // the script has no more words
	EndedByPolicy     = "policy"       // it said so, or said nothing
	EndedByTool       = "tool"         // it called a tool that ends the conversation
)

// Answers are the policy's messages to its user, in order: those without a call. Text beside a call is not shown to the
// user.
func (t *Trajectory) Answers() []string {
	var said []string
	for _, m := range t.Messages[min(t.Opening, len(t.Messages)):] {
		if m.Role == chat.Assistant && len(m.ToolCalls) == 0 && m.Content != "" {
			said = append(said, m.Content)
		}
	}
	return said
}
