package trajectory

import "slices"

// Observation is what one look at the world saw, after the last turn or between two: an answer of a server, a file,
// rows of a database, what a program made of the episode. Checks hold or not by what is here, so that a trajectory can
// be scored again when its servers and folders are gone.
type Observation struct {
	Look   string   `json:"look"`             // what was looked at, as the check says it; one look is recorded once
	Status string   `json:"status"`           // Seen and the like
	Text   string   `json:"text,omitempty"`   // what was there
	SHA256 string   `json:"sha256,omitempty"` // of a file's content
	Score  *float64 `json:"score,omitempty"`  // a program's, 0..1
}

// What a look came to. All but Seen say why there is no text to hold a condition against.
const (
	Seen     = "seen"
	Absent   = "absent"   // there is no such file, table or column
	Refused  = "refused"  // the server answered the call with an error, which is the text
	TooLong  = "too_long" // more than the record keeps
	Unusable = "unusable" // something else is in its place: a folder, a link out of the episode's own, no database
)

// Saw returns what a look saw, and whether it was made.
func (t *Trajectory) Saw(look string) (Observation, bool) {
	i := slices.IndexFunc(t.Seen, func(o Observation) bool { return o.Look == look })
	if i < 0 {
		return Observation{}, false
	}
	return t.Seen[i], true
}
