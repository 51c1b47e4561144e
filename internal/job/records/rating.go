package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
)

// RatingsFile is the file of a run's folder with what people think of its episodes. It is no part of the ledger, so a
// run that goes on may be rated.
const RatingsFile = "ratings.jsonl"

// Rated is a line of RatingsFile: an episode by its name in the run, and its rating.
type Rated struct {
	Episode string `json:"episode"`
	trajectory.Rating
}

// Rate keeps a person's rating, a number from 0 to 1, of the episode of a name in the run in path. It takes the place
// of an earlier one.
func Rate(path, episode, score, note string, now time.Time) (Rated, error) {
	x, err := strconv.ParseFloat(score, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return Rated{}, &fault.Error{Code: fault.CodeUsage,
			What: fmt.Sprintf("the score %q is no number from 0 to 1", score), Next: "give one, such as 0.5"}
	}
	found, err := FindEpisode(path, episode)
	if err != nil {
		return Rated{}, err
	}
	ratings, err := RatingsOf(path)
	if err != nil {
		return Rated{}, err
	}
	r := Rated{found.Name(), trajectory.Rating{Score: x, Note: note, Rated: now.UTC()}}
	ratings[r.Episode] = &r.Rating
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for _, name := range slices.Sorted(maps.Keys(ratings)) {
		if err := out.Encode(Rated{name, *ratings[name]}); err != nil {
			return r, err
		}
	}
	return r, job.WriteFile(filepath.Join(path, RatingsFile), text.Bytes())
}

// RatingsOf are the ratings of a run's episodes by their names in it.
func RatingsOf(path string) (map[string]*trajectory.Rating, error) {
	name := filepath.Join(path, RatingsFile)
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ratings := map[string]*trajectory.Rating{}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var r Rated
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil || r.Episode == "" || !(r.Score >= 0 && r.Score <= 1) {
			return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("line %d is no rating", i+1), Where: name,
				Err: err, Next: "mend the line or remove it"}
		}
		ratings[r.Episode] = &r.Rating
	}
	return ratings, nil
}
