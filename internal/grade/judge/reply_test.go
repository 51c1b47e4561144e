package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

const twoFine = `{"scores": [{"trajectory_id": "1", "explanation": "x", "score": 0.25}, {"trajectory_id": "2", "explanation": "y", "score": 1}]}`

// What can be read only one way is read; all else is a failure of the sample, never a guess.
func TestReplies(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{ // want: "" is the scores of twoFine
		{"as asked", twoFine, ""},
		{"in another order", `{"scores": [{"trajectory_id": "2", "score": 1}, {"trajectory_id": "1", "score": 0.25}]}`, ""},
		{"in a fence, with prose", "Here you are:\n```json\n" + twoFine + "\n```\nDone.", ""},
		{"numbers for ids, texts for scores", `{"scores": [{"trajectory_id": 1, "score": "0.25"}, {"trajectory_id": 2, "score": "1.0"}]}`, ""},
		{"Python's quotes and a comma too many", `{'scores': [{'trajectory_id': '1', 'score': .25}, {'trajectory_id': '2', 'score': 1.},]}`, ""},
		{"prose", "The first one is better.", "no object"},
		{"nothing", "  \n", "empty"},
		{"a list", `[{"trajectory_id": "1", "score": 1}]`, "not an object"},
		{"another object", `{"winner": "1"}`, `"scores"`},
		{"two objects", twoFine + "\n" + twoFine, "two objects"},
		{"a list of bare numbers", `{"scores": [0.25, 1]}`, "cannot unmarshal"},
		{"an id that nobody has", `{"scores": [{"trajectory_id": "1", "score": 0}, {"trajectory_id": "3", "score": 1}]}`, `"3", which nobody has`},
		{"an id twice", `{"scores": [{"trajectory_id": "1", "score": 0}, {"trajectory_id": "1", "score": 0}]}`, "two scores"},
		{"an id missing", `{"scores": [{"trajectory_id": "1", "score": 0}]}`, `"2" has no score`},
		{"no id", `{"scores": [{"score": 0}, {"trajectory_id": "1", "score": 0}]}`, "trajectory_id"},
		{"no scores", `{"scores": []}`, "no score"},
		{"NaN", `{"scores": [{"trajectory_id": "1", "score": NaN}, {"trajectory_id": "2", "score": 1}]}`, "no value"},
		{"NaN as a text", `{"scores": [{"trajectory_id": "1", "score": "NaN"}, {"trajectory_id": "2", "score": 1}]}`, "no number"},
		{"Infinity as a text", `{"scores": [{"trajectory_id": "1", "score": "inf"}, {"trajectory_id": "2", "score": 1}]}`, "no number"},
		{"null", `{"scores": [{"trajectory_id": "1", "score": null}, {"trajectory_id": "2", "score": 1}]}`, "no number"},
		{"above 1", `{"scores": [{"trajectory_id": "1", "score": 1.5}, {"trajectory_id": "2", "score": 1}]}`, "from 0 to 1"},
		{"of ten", `{"scores": [{"trajectory_id": "1", "score": "7/10"}, {"trajectory_id": "2", "score": 1}]}`, "no number"},
		{"below 0", `{"scores": [{"trajectory_id": "1", "score": -0.1}, {"trajectory_id": "2", "score": 1}]}`, "from 0 to 1"},
		{"cut within a number", `{"scores": [{"trajectory_id": "1", "score": 0.25}, {"trajectory_id": "2", "score": 0.`, "break off"},
		{"cut within a text", `{"scores": [{"trajectory_id": "1", "explanation": "it did`, "does not end"},
		{"a score twice", `{"scores": [{"trajectory_id": "1", "score": 0, "score": 1}, {"trajectory_id": "2", "score": 1}]}`, "repeated"},
	} {
		r := DefaultRubric()
		got, err := r.ReadGroup(c.text, []string{"1", "2"})
		switch {
		case c.want == "" && (err != nil || got["1"].Score != 0.25 || got["2"].Score != 1):
			t.Errorf("%s: %v %v", c.name, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v %v", c.name, got, err)
		}
	}
}

// A reply of no use is asked for again in other words, three times in all; then the judge has failed, and what it wrote
// is told.
func TestBadRepliesAreAskedForAgain(t *testing.T) {
	for name, bad := range map[string]string{
		"JudgeReturnsWrongIDs": `{"scores": [{"trajectory_id": "7", "explanation": "x", "score": 0.5}, {"trajectory_id": "8", "explanation": "y", "score": 0.5}]}`,
		"JudgeReturnsProse":    "Both attempts are fine.",
		"JudgeReturnsNothing":  " ",
		"JudgeReturnsNaN":      `{"scores": [{"trajectory_id": "1", "score": NaN}, {"trajectory_id": "2", "score": 0}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			for good := range 4 { // which try is a good one
				m := &scripted{score: func(text string, _, _ int) float64 { return quality(text) }}
				m.reply = func(n int, _ Question, _ []string) string {
					if n < good {
						return bad
					}
					return ""
				}
				o := options(m)
				o.Samples = 1
				terms, err := New(o).Judge(t.Context(), &scenario.Scenario{}, groupOf("q=0.1", "q=0.9"))
				if good < tries {
					if err != nil || terms[0].Score != 0.1 || terms[1].Score != 0.9 || len(m.asked) != good+1 ||
						*terms[0].Judgement.Cost != 0.25*float64(good+1) {
						t.Errorf("good on try %d: %v %+v of %d", good, err, terms, len(m.asked))
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), "in 3 tries no reply could be used") ||
					len(m.asked) != tries || fault.CodeOf(err) != fault.CodeError {
					t.Errorf("never good: %v", err)
				}
				for i, q := range m.asked { // else a cache would give the same answer again
					if slices.ContainsFunc(m.asked[:i], func(o Question) bool { return o == q }) {
						t.Error("the same question twice")
					}
				}
			}
		})
	}
}

// failing is a model that fails so.
type failing struct {
	err   error
	asked int
}

func (f *failing) Name() string { return "failing" }
func (f *failing) Ask(context.Context, Question) (Reply, error) {
	f.asked++
	return Reply{}, f.err
}

// The fallback judges where the judge fails, and the record says so. What the next question would meet too, as a wrong
// key or a spent budget, is no case for it.
func TestFallback(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		falls bool
	}{
		{"down", &fault.Error{Code: fault.CodeUnavailable, What: "the endpoint did not answer"}, true},
		{"refused", &fault.Error{Code: fault.CodeError, What: "too long"}, true},
		{"wrong key", &fault.Error{Code: fault.CodeUsage, What: "check the API key"}, false},
		{"budget", &fault.Error{Code: fault.CodeBudget, What: "spent"}, false}, {"stopped", context.Canceled, false},
	} {
		other := &scripted{score: func(text string, _, _ int) float64 { return quality(text) }}
		o := options(&failing{err: c.err})
		o.Fallback = other
		terms, err := New(o).Judge(t.Context(), &scenario.Scenario{}, groupOf("q=0.1", "q=0.9"))
		if c.falls {
			if err != nil || !terms[1].Judgement.Fallback || terms[1].Judgement.Model != "scripted" ||
				terms[1].Judgement.Failed == "" || terms[1].Score != 0.9 {
				t.Errorf("%s: %v %+v", c.name, err, terms)
			}
		} else if !errors.Is(err, c.err) || len(other.asked) > 0 {
			t.Errorf("%s: %v, the fallback was asked %d times", c.name, err, len(other.asked))
		}
	}
	down := &fault.Error{Code: fault.CodeUnavailable, What: "the endpoint did not answer"}
	o := options(&failing{err: down})
	o.Fallback = &failing{err: fmt.Errorf("and the other neither")}
	if _, err := New(o).Judge(t.Context(), &scenario.Scenario{}, groupOf("q=0.1")); err == nil ||
		!strings.Contains(err.Error(), "neither") || !strings.Contains(err.Error(), "did not answer") ||
		fault.CodeOf(err) == fault.CodeStopped {
		t.Errorf("both fail: %v", err)
	}
	o.Stop = true
	if _, err := New(o).Judge(t.Context(), &scenario.Scenario{ID: "s"},
		groupOf("q=0.1")); fault.CodeOf(err) != fault.CodeStopped {
		t.Errorf("judge.on_failure: stop gives %v", err)
	}
}

// What is read is whole and in bounds, whatever a reply is.
func FuzzReadGroup(f *testing.F) {
	f.Add(twoFine)
	f.Add("```\n{'scores': [{trajectory_id: 1, score: 1e-1}, {trajectory_id: 2, score: \"0x1p-2\"}]}")
	f.Fuzz(func(t *testing.T, text string) {
		r := DefaultRubric()
		got, err := r.ReadGroup(text, []string{"1", "2"})
		if err != nil {
			return
		}
		for _, id := range []string{"1", "2"} {
			if o, ok := got[id]; !ok || !(o.Score >= 0 && o.Score <= 1) || len(got) != 2 {
				t.Fatalf("%q gives %v", text, got)
			}
		}
	})
}
