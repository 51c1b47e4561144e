package dataset

import (
	"fmt"
	"slices"

	"hone/internal/chat"
)

// Sequence is a training row as ids.
type Sequence struct {
	IDs      []int32
	Trained  []bool        // of each id, whether the loss counts it
	Messages map[int][]int // of each message, the ids from the first up to the second
}

// Render makes training rows of a conversation, of which messages from first on are trained.
type Render func(messages []chat.Message, first int, tools []chat.Tool) ([]Sequence, error)

// Covered is how often an assistant message is trained.
type Covered struct {
	Message   int // its place in the conversation
	Tokens    int // ids that a model samples to say it, its reasoning and its stop among them
	Times     int // rows that train it
	Different int // of those, how many train other ids than a model samples: reasoning that is lost, for example
}

// Coverage tells of each assistant message that may be learnt by how many of the rows of a scheme it is trained, and
// whether they train what a model would say in its place.
func Coverage(scheme string, r Row, render Render) ([]Covered, error) {
	counts := map[int][][]int32{} // of each message, the ids that are trained, by row
	for _, row := range UnrollRow(scheme, r) {
		sequences, err := render(row.Messages, row.Opening, row.Tools)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", row.Turn, err)
		}
		for _, s := range sequences {
			for message := range s.Messages {
				if ids := s.lossIDs(message); len(ids) > 0 {
					counts[message] = append(counts[message], ids)
				}
			}
		}
	}
	var out []Covered
	for i := r.Opening; i < len(r.Messages); i++ {
		if !r.Trains(i) {
			continue
		}
		sampled, err := render(r.Messages[:i+1], i, r.Tools)
		if err != nil {
			return nil, err
		}
		want := sampled[len(sampled)-1].lossIDs(i)
		c := Covered{Message: i, Tokens: len(want), Times: len(counts[i])}
		for _, ids := range counts[i] {
			if !slices.Equal(ids, want) {
				c.Different++
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// lossIDs are the ids of a message that the loss counts.
func (s Sequence) lossIDs(message int) []int32 {
	var ids []int32
	if at := s.Messages[message]; at != nil {
		for i := at[0]; i < at[1]; i++ {
			if s.Trained[i] {
				ids = append(ids, s.IDs[i])
			}
		}
	}
	return ids
}

// CoverageSummary adds up the coverage of conversations.
type CoverageSummary struct {
	Scheme    string `json:"scheme"`
	Messages  int    `json:"messages"`  // of assistants, to be learnt
	Once      int    `json:"once"`      // of those, trained by exactly one row, as a model says them
	Never     int    `json:"never"`     // trained by no row
	Repeated  int    `json:"repeated"`  // trained by several
	Different int    `json:"different"` // trained by one row, otherwise than a model says them
	Tokens    int    `json:"tokens"`    // that should be trained
	Trained   int    `json:"trained"`   // that are, each as often as it is
}

// Add counts the messages of one conversation.
func (s *CoverageSummary) Add(list []Covered) {
	for _, c := range list {
		s.Messages++
		s.Tokens += c.Tokens
		s.Trained += c.Tokens * c.Times
		switch {
		case c.Times == 0:
			s.Never++
		case c.Times > 1:
			s.Repeated++
		case c.Different > 0:
			s.Different++
		default:
			s.Once++
		}
	}
}
