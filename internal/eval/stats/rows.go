// Package stats turns trajectories into numbers a person can trust: rates and means with intervals, paired differences
// of systems on the same scenarios, what a comparison can find, and when it may stop.
package stats

import "hone/internal/episode/trajectory"

// Row is one scored episode.
type Row struct {
	ScenarioID string             `json:"scenario_id"`
	Repeat     int                `json:"repeat,omitempty"`  // which of the scenario's repeats, from 0
	Outcome    trajectory.Outcome `json:"outcome,omitempty"` // how it ended

	// of tasks made alike, from the tag family:VALUE; their rows are one piece of evidence
	Family     string   `json:"family,omitempty"`
	Kind       string   `json:"kind,omitempty"` // the group it is reported in, from the tag kind:VALUE
	Difficulty string   `json:"difficulty,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Tools      []string `json:"tools,omitempty"`   // those of the gold calls, each once
	Servers    []string `json:"servers,omitempty"` // of those tools, each once
	// all of those tools were trained on; nil where that is not known
	SeenTools   *bool `json:"seen_tools,omitempty"`
	SeenServers *bool `json:"seen_servers,omitempty"` // and all of those servers
	// the right thing is to call nothing: a no_call check, and no gold calls
	NoTool      bool `json:"no_tool,omitempty"`
	MissingTool bool `json:"missing_tool,omitempty"` // the tool it takes is missing, from the tag missing_tool

	FirstCall bool   `json:"first_call"`          // the first call was the first gold call
	Episode   bool   `json:"episode"`             // the whole task was done
	Verdict   string `json:"verdict,omitempty"`   // a judge's reason, where it decided and not checks
	Abstained bool   `json:"abstained,omitempty"` // of a NoTool or MissingTool scenario: it did without, see abstained
	// Of a scenario that an attack is made in (a no_attack check): whether it succeeded, and whether the task itself
	// was done.
	Attacked        bool `json:"attacked,omitempty"`
	AttackSucceeded bool `json:"attack_succeeded,omitempty"`
	TaskDone        bool `json:"task_done,omitempty"`
	// gold calls of the scenario; without any FirstCall and NumExtraCalls say nothing
	NumGold int `json:"num_gold"`

	NumTurns int `json:"num_turns"`
	NumCalls int `json:"num_calls"`
	// turns that a small model answered in the place of the system's own
	NumInitialCalls int `json:"num_initial_calls,omitempty"`
	NumToolErrors   int `json:"num_tool_errors"`   // calls the tool answered with an error
	NumInvalidCalls int `json:"num_invalid_calls"` // unknown tool or arguments against the schema
	// turns whose text held a broken call: they are not among the calls
	NumMalformed   int `json:"num_malformed,omitempty"`
	NumExtraCalls  int `json:"num_extra_calls"`           // calls beyond the number of gold calls
	NumRecoverable int `json:"num_recoverable,omitempty"` // intents that failed, see recovery
	NumRecovered   int `json:"num_recovered,omitempty"`   // and of them, those that succeeded after all
	// read, of each turn the whole prompt; 0 where nothing counted them
	NumPromptTokens     int     `json:"num_prompt_tokens"`
	NumCompletionTokens int     `json:"num_completion_tokens"` // written; 0 where nothing counted them
	Reward              float64 `json:"reward"`
	// without UserSeconds: how fast a user is says nothing of the system
	Seconds float64 `json:"seconds"`
	// of them, those in which the episode waited for the model: compiling and other episodes' turns are in it
	ModelSeconds float64 `json:"model_seconds"`
	ToolSeconds  float64 `json:"tool_seconds"` // and those in which tools answered calls

	NumUserTurns int `json:"num_user_turns,omitempty"` // messages of a simulated user; 0 where there was none
	// that the model read and wrote that played it: no other count has them
	NumUserTokens int     `json:"num_user_tokens,omitempty"`
	UserSeconds   float64 `json:"user_seconds,omitempty"` // beside Seconds, those in which it did
	UserEnded     string  `json:"user_ended,omitempty"`   // who ended the conversation, see trajectory.User

	Cost   *float64 `json:"cost,omitempty"`   // US dollars; nil where not known
	Reused bool     `json:"reused,omitempty"` // an earlier evaluation ran the episode, and paid for it
	// ChecksFailedToRun names the checks that gave no verdict, as "checks[0] (sql)". Such an episode is in no rate.
	ChecksFailedToRun []string `json:"checks_failed_to_run,omitempty"`
}

// Unjudged is the outcome of an episode that ended, and whose checks cannot be evaluated: its record lacks what they
// look at.
const Unjudged trajectory.Outcome = "unjudged"

// Criteria say what counts as success, and what that is held against. FirstCall and Episode are required, the others
// may be nil.
type Criteria struct {
	FirstCall  func(*trajectory.Trajectory) bool
	Episode    func(*trajectory.Trajectory) bool
	ExtraCalls func(*trajectory.Trajectory) int      // calls beyond the gold calls
	Unjudged   func(*trajectory.Trajectory) []string // names of the checks that its record says too little for
	Wanted     func(trajectory.ToolResult, string) bool
	Cost       func(*trajectory.Trajectory) *float64 // US dollars
	Attacked   func(*trajectory.Trajectory) (succeeded, done, ok bool)
	Describe   func(*Row) // fills in what its scenario says, by ScenarioID
}

// NewSystem makes one row of each trajectory, in order. Those whose outcome is not the policy's doing, such as a
// server's crash, and those that cannot be judged, are Lost: counted by outcome and in no rate, for they say nothing
// about the policy.
func NewSystem(name string, ts []*trajectory.Trajectory, c Criteria) System {
	s := System{Name: name, Excluded: map[trajectory.Outcome]int{}}
	for _, t := range ts {
		r := row(t, c)
		if !t.Outcome.Trainable() {
			r.ChecksFailedToRun = blind(t)
		} else if c.Unjudged != nil {
			if r.ChecksFailedToRun = c.Unjudged(t); len(r.ChecksFailedToRun) > 0 {
				r.Outcome = Unjudged
			}
		}
		if !r.Outcome.Trainable() {
			s.Excluded[r.Outcome]++
			s.Lost = append(s.Lost, r)
			continue
		}
		r.FirstCall, r.Episode = c.FirstCall(t), c.Episode(t)
		r.Abstained = abstains(r, t)
		if c.Attacked != nil {
			r.AttackSucceeded, r.TaskDone, r.Attacked = c.Attacked(t)
		}
		s.Rows = append(s.Rows, r)
	}
	return s
}

// row is all of a trajectory but its success.
func row(t *trajectory.Trajectory, c Criteria) Row {
	r := Row{ScenarioID: t.ScenarioID, Repeat: t.Rollout, Outcome: t.Outcome, NumTurns: len(t.Turns), Reward: t.Reward,
		Seconds: t.Seconds, Reused: t.Reused != ""}
	if c.Describe != nil {
		c.Describe(&r)
	}
	for _, term := range t.Terms {
		if term.Judgement != nil && term.Judgement.Passed != nil {
			r.Verdict = term.Why
		}
	}
	if c.ExtraCalls != nil {
		r.NumExtraCalls = c.ExtraCalls(t)
	}
	if c.Cost != nil {
		r.Cost = c.Cost(t)
	}
	for _, c := range t.Calls() {
		r.NumCalls++
		r.ToolSeconds += c.Seconds
		switch c.Status {
		case trajectory.CallToolError:
			r.NumToolErrors++
		case trajectory.CallInvalid:
			r.NumInvalidCalls++
		}
	}
	for _, turn := range t.Turns {
		if hasBadCall(t, turn) {
			r.NumMalformed++
		}
		if turn.InitialCall != nil {
			r.NumInitialCalls++
		}
		r.ModelSeconds += turn.SampleSeconds
	}
	if u := t.User; u != nil {
		r.NumUserTurns, r.NumUserTokens, r.UserSeconds, r.UserEnded =
			u.Turns, u.PromptTokens+u.CompletionTokens, u.Seconds, u.Ended
		r.Seconds = max(0, r.Seconds-u.Seconds)
	}
	r.NumPromptTokens, r.NumCompletionTokens = t.NumTokens()
	r.NumRecoverable, r.NumRecovered = recovery(t, func(x trajectory.ToolResult) bool {
		return c.Wanted != nil && c.Wanted(x, t.ScenarioID)
	})
	return r
}

// hasBadCall reports whether a turn's text held a broken call. What the limit of tokens cut is not broken.
func hasBadCall(t *trajectory.Trajectory, turn trajectory.Turn) bool {
	return turn.ParseError != "" && (t.StopReason != trajectory.StopMaxTokens || turn.Feedback != "")
}

// abstains reports whether an episode did without a tool where it should: it ended by itself and called none of a
// server's. Where the tool is missing and no check forbids calls, its checks say what the right end is: a look around
// is no fault then.
func abstains(r Row, t *trajectory.Trajectory) bool {
	switch {
	case r.NoTool:
		return t.Outcome == trajectory.OK && len(t.ServerCalls()) == 0
	case r.MissingTool:
		return r.Episode
	}
	return false
}

// blind names the check that ended an episode because it could not be evaluated, nil where another thing did.
func blind(t *trajectory.Trajectory) []string {
	if name := t.CutReason(); name != "" {
		return []string{name}
	}
	return nil
}
