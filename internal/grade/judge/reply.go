package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hone/internal/text/toolcall"
)

// Opinion is what a reply says of one attempt.
type Opinion struct {
	Score  float64            // 0 to 1
	Why    string             // the judge's words
	Axes   map[string]float64 // of a rubric of axes, on its scale
	Passed *bool              // of the form for one attempt alone
}

// maxWhy bounds, in bytes, what is kept of the judge's words.
const maxWhy = 600

// written is one entry of a reply as the judge wrote it.
type written struct {
	ID          json.RawMessage            `json:"trajectory_id"`
	Explanation string                     `json:"explanation"`
	Score       json.RawMessage            `json:"score"`
	Axes        map[string]json.RawMessage `json:"axes"`
	Passed      *bool                      `json:"passed"`
}

// ReadGroup reads a reply to a question about several attempts: {"scores": [{"trajectory_id", "explanation",
// "score"}]}, by id. It is an error unless it has each of the ids once and no other, each with a score in its bounds: a
// judge that loses track of ids has lost track of what it read. Broken JSON is mended where only one reading is
// possible (package toolcall), never guessed.
func (r *Rubric) ReadGroup(text string, ids []string) (map[string]Opinion, error) {
	var reply struct {
		Scores []written `json:"scores"`
	}
	if err := readObject(text, &reply); err != nil {
		return nil, err
	}
	if reply.Scores == nil {
		return nil, errors.New(`it has no list "scores"`)
	}
	found := map[string]Opinion{}
	for i, w := range reply.Scores {
		id, err := idOf(w.ID)
		if err != nil {
			return nil, fmt.Errorf("scores[%d]: %w", i, err)
		}
		if !slices.Contains(ids, id) {
			return nil, fmt.Errorf("scores[%d] is of the id %q, which nobody has", i, id)
		}
		if _, twice := found[id]; twice {
			return nil, fmt.Errorf("the id %q has two scores", id)
		}
		o, err := r.opinion(w)
		if err != nil {
			return nil, fmt.Errorf("scores[%d]: %w", i, err)
		}
		found[id] = o
	}
	for _, id := range ids {
		if _, has := found[id]; !has {
			return nil, fmt.Errorf("the id %q has no score", id)
		}
	}
	return found, nil
}

// ReadOne reads a reply to a question about one attempt: {"reason", "passed"}, or with a rubric of axes {"reason",
// "axes"}, where an attempt passes from PassFrom on.
func (r *Rubric) ReadOne(text string) (Opinion, error) {
	var reply struct {
		Reason string `json:"reason"`
		written
	}
	if err := readObject(text, &reply); err != nil {
		return Opinion{}, err
	}
	o := Opinion{Why: short(reply.Reason), Passed: reply.Passed}
	if len(r.Axes) > 0 {
		scored, err := r.opinion(reply.written)
		if err != nil {
			return Opinion{}, err
		}
		passed := scored.Score >= r.PassFrom
		o.Score, o.Axes, o.Passed = scored.Score, scored.Axes, &passed
		return o, nil
	}
	if o.Passed == nil {
		return Opinion{}, errors.New(`it does not say "passed": true or false`)
	}
	if *o.Passed {
		o.Score = 1
	}
	return o, nil
}

// opinion reads the scores of one entry.
func (r *Rubric) opinion(w written) (Opinion, error) {
	o := Opinion{Why: short(w.Explanation)}
	if len(r.Axes) == 0 {
		var err error
		o.Score, err = number(w.Score, 0, 1, false)
		return o, err
	}
	o.Axes = map[string]float64{}
	for _, a := range r.Axes {
		x, err := number(w.Axes[a.Name], r.Least, r.Most, r.Whole)
		if err != nil {
			return o, fmt.Errorf("axis %s: %w", a.Name, err)
		}
		o.Axes[a.Name] = x
	}
	if len(w.Axes) != len(r.Axes) {
		return o, errors.New("it has an axis that the rubric does not have")
	}
	o.Score = r.join(o.Axes)
	return o, nil
}

func readObject(text string, into any) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty")
	}
	object, _, err := toolcall.RepairObject(text)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(object), into)
}

// idOf reads an id, which some judges write as a number.
func idOf(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return text, nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil && n != "" {
		return n.String(), nil
	}
	return "", errors.New(`it has no "trajectory_id"`)
}

// number reads a score, which some judges write as a text.
func number(raw json.RawMessage, least, most float64, whole bool) (float64, error) {
	word := strings.TrimSpace(string(raw))
	var text string
	if json.Unmarshal(raw, &text) == nil {
		word = strings.TrimSpace(text)
	}
	x, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("the score is %.40q, which is no number", word)
	}
	if x < least || x > most {
		return 0, fmt.Errorf("the score is %v, which is not from %v to %v", x, least, most)
	}
	if whole && x != math.Trunc(x) {
		return 0, fmt.Errorf("the score is %v, which is no whole number", x)
	}
	return x, nil
}

func short(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxWhy {
		return text
	}
	return strings.ToValidUTF8(text[:maxWhy], "") + "..."
}
