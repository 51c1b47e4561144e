package scenario

import (
	"encoding/json"

	"hone/internal/chat"
)

// Solved is a scenario and the conversation of an agent that did it. Which tools its prompt lists follows from the
// scenario, as in each of its episodes.
type Solved struct {
	Scenario Scenario
	Messages []chat.Message
}

// UnmarshalJSON implements json.Unmarshaler. Earlier versions kept the messages alone, whose scenario then has no ID.
func (s *Solved) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, &s.Messages)
	}
	type plain Solved
	return json.Unmarshal(text, (*plain)(s))
}
