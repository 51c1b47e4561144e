package trajectory

import "time"

// Rating is what a person thinks of an episode.
type Rating struct {
	Score float64   `json:"score"` // 0..1
	Note  string    `json:"note,omitempty"`
	Rated time.Time `json:"rated"`
}
