package view

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/run"
)

// row is what the index keeps of a trajectory. Names are places in the index's dictionaries.
type row struct {
	place      int64 // in the ledger
	sum, score string
	seq        int64 // rises with each change
	id         string
	stage      int
	step       int
	scenario   int
	rollout    int
	attempt    int
	outcome    int
	stop       int
	reward     float64
	scored     bool
	passed     verdict
	turns      int
	calls      int
	errors     int // calls that were not answered, or with an error
	tokens     int // written
	seconds    float64
	tools      []int // that were called, each once
	terms      []termAt
	why        string // it cannot be read
	text       string // what is looked through, in small letters
}

// termAt is a reward's term.
type termAt struct {
	name          int
	score, weight float64
}

// verdict is whether an episode did its task, as far as that is known.
type verdict int

const (
	failed verdict = iota
	passed
	unknown
)

// record is the part of a trajectory's JSON that the index takes. What it skips, such as token ids, is most of it.
type record struct {
	ScenarioID string                `json:"scenario_id"`
	Rollout    int                   `json:"rollout"`
	Attempt    int                   `json:"attempt"`
	Outcome    trajectory.Outcome    `json:"outcome"`
	StopReason trajectory.StopReason `json:"stop_reason"`
	Error      string                `json:"error"`
	Reward     float64               `json:"reward"`
	Terms      []readTerm            `json:"terms"`
	Seconds    float64               `json:"seconds"`
	Messages   []readMessage         `json:"messages"`
	Turns      []readTurn            `json:"turns"`
}

type readTerm struct {
	Name      string  `json:"name"`
	Score     float64 `json:"score"`
	Weight    float64 `json:"weight"`
	Judgement *struct {
		Passed *bool `json:"passed"`
	} `json:"judgement"`
}

type readMessage struct {
	Role      string     `json:"role"`
	Content   text       `json:"content"`
	ToolCalls []readCall `json:"tool_calls"`
}

type readCall struct {
	Function struct {
		Name      string `json:"name"`
		Arguments text   `json:"arguments"`
	} `json:"function"`
}

type readTurn struct {
	CompletionIDs length `json:"completion_ids"`
	Calls         []struct {
		Name string `json:"Name"` // chat.ToolCall has no names of its own in JSON
	} `json:"calls"`
	Results []struct {
		Status  trajectory.CallStatus `json:"status"`
		Seconds float64               `json:"seconds"`
	} `json:"results"`
	Usage *struct {
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// length counts a list without keeping it.
type length int

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (n *length) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	*n = 0
	if err == nil && value.Kind() == '[' && len(bytes.Trim(value, "[] \n")) > 0 {
		*n = length(1 + bytes.Count(value, []byte(",")))
	}
	return err
}

// text is a string, and of any other value its JSON: who writes arguments as an object is read too.
type text string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	switch {
	case err != nil:
	case value.Kind() == '"':
		var s string
		err = json.Unmarshal(value, &s, jsontext.AllowInvalidUTF8(true))
		*t = text(s)
	case value.Kind() == 'n':
		*t = ""
	default:
		*t = text(value)
	}
	return err
}

// mostSearched is how many bytes of an episode are looked through.
const mostSearched = 2000

// lax takes what other programs wrote as it is.
var lax = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// recordOf reads a row of the ledger.
func recordOf(t run.TrajectoryRow) (e record, err error) {
	if err = json.Unmarshal(t.JSON, &e, lax); err == nil && t.Score != nil {
		err = json.Unmarshal(t.Score, &e, lax)
	}
	return e, err
}

// rowOf is what the index keeps; fresh is whether its calls were not counted before. A trajectory that cannot be read
// is a row too, which says why.
func (x *Index) rowOf(place int64, t run.TrajectoryRow, e record, err error, fresh bool) row {
	r := row{place: place, id: t.ID, stage: x.stages.at(t.Stage), step: t.Step, passed: unknown, scored: t.Score != nil}
	if err != nil {
		r.why = "this row of the ledger cannot be read: " + err.Error()
		r.scenario, r.outcome, r.stop, r.text =
			x.scenarios.at(""), x.outcomes.at("unreadable"), x.stops.at(""), strings.ToLower(t.ID)
		return r
	}
	r.scenario, r.rollout, r.attempt = x.scenarios.at(e.ScenarioID), e.Rollout, e.Attempt
	r.outcome, r.stop = x.outcomes.at(string(e.Outcome)), x.stops.at(string(e.StopReason))
	r.reward, r.seconds, r.turns = e.Reward, e.Seconds, len(e.Turns)
	for _, term := range e.Terms {
		r.terms = append(r.terms, termAt{x.terms.at(term.Name), term.Score, term.Weight})
		switch {
		case term.Name == stats.ChecksTerm:
			r.passed = verdictOf(term.Score >= 1)
		case term.Judgement != nil && term.Judgement.Passed != nil && r.passed == unknown:
			r.passed = verdictOf(*term.Judgement.Passed)
		}
	}
	for _, turn := range e.Turns {
		n := int(turn.CompletionIDs)
		if turn.Usage != nil {
			n = turn.Usage.CompletionTokens
		}
		r.tokens, r.calls = r.tokens+n, r.calls+len(turn.Calls)
		for _, c := range turn.Calls {
			if tool := x.tools.at(c.Name); !slices.Contains(r.tools, tool) {
				r.tools = append(r.tools, tool)
			}
		}
		for i, result := range turn.Results {
			if result.Status != trajectory.CallOK {
				r.errors++
			}
			if fresh && i < len(turn.Calls) {
				x.use(turn.Calls[i].Name).add(result.Status, result.Seconds)
			}
		}
	}
	r.text = searchText(t.ID, e)
	return r
}

func verdictOf(ok bool) verdict {
	if ok {
		return passed
	}
	return failed
}

// searchText are the first words of an episode: its name, what it was asked and said and called, and why it ended.
// Results of tools come last, for they are long.
func searchText(id string, e record) string {
	var b strings.Builder
	add := func(s string) {
		if left := mostSearched - b.Len(); left > 1 && s != "" {
			b.WriteString(s[:min(len(s), left-1)])
			b.WriteByte('\n')
		}
	}
	add(id)
	add(e.Error)
	for _, results := range []bool{false, true} {
		for _, m := range e.Messages {
			if (m.Role == "tool") == results && m.Role != "system" {
				add(string(m.Content))
				for _, c := range m.ToolCalls {
					add(c.Function.Name)
					add(string(c.Function.Arguments))
				}
			}
		}
	}
	return strings.ToLower(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

// use is how the calls of a tool went.
func (x *Index) use(tool string) *usageOf {
	if x.used == nil {
		x.used = map[string]*usageOf{}
	}
	if x.used[tool] == nil {
		x.used[tool] = &usageOf{answers: map[trajectory.CallStatus]int{}}
	}
	return x.used[tool]
}
