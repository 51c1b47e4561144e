package generate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// Demands are what the tasks of a split ask of whoever solves them, as the gold calls do.
type Demands struct {
	Tasks   int     `json:"tasks"`
	Chained float64 `json:"chained"` // share of tasks of which a call needs what another one answered
	Said    float64 `json:"said"`    // share of the calls' arguments that stand in the wording
	NoCall  float64 `json:"no_call"` // share of tasks whose answer needs no call
	Words   float64 `json:"words"`   // of a task, mean
	Short   int     `json:"short"`   // words of a short task: one in ten has no more
	Long    int     `json:"long"`    // of a long one: one in ten has no fewer
	Model   int     `json:"model"`   // tasks that a model worded
	Own     int     `json:"own"`     // tasks over what the servers hold; the others begin with calls that invent more
}

// demandsOf counts them for one split.
func (m *maker) demandsOf(list []scenario.Scenario, split string) (d Demands) {
	arguments, said, lengths := 0, 0, []int{}
	for i := range list {
		s := &list[i]
		if s.Split != split {
			continue
		}
		d.Tasks++
		lengths = append(lengths, len(strings.Fields(s.Task)))
		d.Words += float64(lengths[len(lengths)-1])
		if s.Provenance.Teacher != "" {
			d.Model++
		}
		if len(s.Gold) == 0 {
			d.NoCall++
		}
		if len(s.Setup) == 0 {
			d.Own++
		}
		if m.isChained(s) {
			d.Chained++
		}
		plain := flat(s.Task)
		for _, g := range s.Gold {
			var leaves []leaf
			walk(nil, g.Arguments, &leaves)
			for _, l := range leaves {
				if arguments++; says(plain, l) {
					said++
				}
			}
		}
	}
	if n := float64(d.Tasks); n > 0 {
		d.Words, d.NoCall, d.Chained = d.Words/n, d.NoCall/n, d.Chained/n
		slices.Sort(lengths)
		d.Short, d.Long = lengths[len(lengths)/10], lengths[len(lengths)-1-len(lengths)/10]
	}
	if arguments > 0 {
		d.Said = float64(said) / float64(arguments)
	}
	return d
}

var argumentWord = regexp.MustCompile(`[\pL\pN_]{2,}`)

// isChained reports whether a gold call says a word or a number that an earlier call answered, and that the task does
// not say: a key, a name of a column, a value.
func (m *maker) isChained(s *scenario.Scenario) bool {
	if s.Provenance == nil || len(s.Provenance.Proof) == 0 {
		return false
	}
	played := m.ledger.get(s.Provenance.Proof[0])
	if played == nil {
		return false
	}
	known := argumentWord.FindAllString(strings.ToLower(s.Task), -1)
	results := slices.Clone(played.Results)
	for _, slip := range s.Slips { // a demonstration's alone
		if slip.Before < len(results) {
			results = slices.Delete(results, slip.Before, slip.Before+1)
		}
	}
	var shown []string
	for i, g := range s.Gold {
		if i >= len(results) {
			return false
		}
		if slices.ContainsFunc(valuesOf(g.Arguments), func(w string) bool {
			return slices.Contains(shown, w) && !slices.Contains(known, w)
		}) {
			return true
		}
		shown = append(shown, argumentWord.FindAllString(strings.ToLower(results[i].Text), -1)...)
	}
	return false
}

// valuesOf are the words of the values of some arguments, in small letters.
func valuesOf(arguments json.RawMessage) (list []string) {
	var leaves []leaf
	walk(nil, arguments, &leaves)
	for _, l := range leaves {
		list = append(list, argumentWord.FindAllString(strings.ToLower(l.text()), -1)...)
	}
	return list
}

// DemandRows are what the tasks ask, as a table, with a column for each split.
func (r *Report) DemandRows() [][]string {
	if len(r.Demands) == 0 {
		return nil
	}
	rows := [][]string{
		{"TASKS"}, {"of them"}, {"over data of your own"}, {"a call needs what another answered"},
		{"arguments that stand in the wording"}, {"the answer needs no call"}, {"words a task"}, {"worded by a model"},
	}
	share := func(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) }
	for _, split := range splits() {
		d := r.Demands[split]
		cells := []string{strings.ToUpper(split), fmt.Sprint(d.Tasks), fmt.Sprint(d.Own), share(d.Chained),
			share(d.Said), share(d.NoCall), fmt.Sprintf("%.1f (most %d to %d)", d.Words, d.Short, d.Long),
			fmt.Sprint(d.Model)}
		for i := range rows {
			rows[i] = append(rows[i], cells[i])
		}
	}
	return rows
}
