package toolset

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"hone/internal/blob"
	"hone/internal/fault"
)

// Seen is what was seen of one tool of one server, since the server last changed it.
type Seen struct {
	Server string  `json:"server"` // as the configuration called it last
	Tool   string  `json:"tool"`   // the server's name for it
	SHA256 string  `json:"sha256"` // of the tool
	Calls  float64 `json:"calls"`  // the newest count most: see most
	Failed float64 `json:"failed"` // of them: no answer, none in time, or an error
	Millis float64 `json:"millis"` // of all calls together
	Drifts int     `json:"drifts"` // how often the server changed it
}

// File is what was seen, by server and tool: Key makes the keys.
type File struct {
	Tools map[string]Seen `json:"tools"`
	// Listed is how many tools a server had when it last listed them, by the Key of the server and no tool.
	Listed map[string]int `json:"listed,omitempty"`
	// Suspicious is how many of their texts could steer a model, so that runs wait, by the same Key.
	Suspicious map[string]int `json:"suspicious,omitempty"`
}

// Key is what a tool is kept under. server tells servers apart: it is the same for the same command line or URL,
// whatever a configuration calls it, and holds no secret.
func Key(server, tool string) string { return server + "/" + tool }

// most is how many calls count: with more, older ones count less, so that a server that is mended is seen to be.
const most = 400

// Add adds calls to what was seen of a tool. One that has another hash than before was changed by its server: what was
// seen of it counts no more, and the change does.
func (f *File) Add(key string, s Seen) {
	if f.Tools == nil {
		f.Tools = map[string]Seen{}
	}
	was, known := f.Tools[key]
	if known && was.SHA256 != s.SHA256 {
		was = Seen{Drifts: was.Drifts + 1}
	}
	s.Calls, s.Failed, s.Millis, s.Drifts =
		s.Calls+was.Calls, s.Failed+was.Failed, s.Millis+was.Millis, s.Drifts+was.Drifts
	if s.Calls > most {
		scale := most / s.Calls
		s.Calls, s.Failed, s.Millis = most, s.Failed*scale, s.Millis*scale
	}
	f.Tools[key] = s
}

// z is of a 90% interval.
const z = 1.645

// interval is Wilson's for the share of calls that were answered.
func (s Seen) interval() (low, high float64) {
	if s.Calls == 0 {
		return 0, 1
	}
	p, n := 1-s.Failed/s.Calls, s.Calls
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return (mid - half) / (1 + z*z/n), (mid + half) / (1 + z*z/n)
}

// Success is the share of calls that were answered, 1 of none.
func (s Seen) Success() float64 {
	if s.Calls == 0 {
		return 1
	}
	return 1 - s.Failed/s.Calls
}

// slower is how many times longer a tool takes, from enough calls, until that counts.
const (
	slower = 3
	enough = 10
)

// Better reports whether a is to be shown rather than b, which does the same: its interval lies above b's; or these
// overlap and its server changed it less often, or it takes less than a third of the time. Else neither is better.
func (s Seen) Better(than Seen) bool {
	low, high := s.interval()
	otherLow, otherHigh := than.interval()
	switch {
	case low > otherHigh:
		return true
	case otherLow > high:
		return false
	case s.Drifts != than.Drifts:
		return s.Drifts < than.Drifts
	case s.Calls < enough || than.Calls < enough:
		return false
	}
	return slower*s.Millis/s.Calls < than.Millis/than.Calls
}

// Load reads a file; one that is not there has seen nothing.
func Load(path string) (File, error) {
	var f File
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return File{}, &fault.Error{Code: fault.CodeUsage, What: "what was seen of servers cannot be read", Where: path,
			Err: fault.JSON(err), Next: "remove the file: it is then seen anew"}
	}
	return f, nil
}

// Save writes a file: whole or not at all.
func (f File) Save(path string) error {
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return blob.Write(path, append(text, '\n'), 0o600)
}
