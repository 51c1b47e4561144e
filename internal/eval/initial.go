package eval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/learn/modelfile"
	"hone/internal/llm"
	"hone/internal/proxy"
	"hone/internal/serve/local"
)

// initialCalls puts behind the systems the last of them with an initial-call agent before it, where one is asked for;
// and checks whether the model can be calibrated as one.
func (a Asked) initialCalls(c config.Config, systems []job.System) ([]job.System, error) {
	model := &systems[len(systems)-1]
	if a.Calibrate != 0 {
		why, next := "", "give --model an adapter's folder"
		switch {
		case !(a.Calibrate > 0 && a.Calibrate < 1):
			why, next = "the share of right calls must lie between 0 and 1", "give 0.9 or so"
		case a.Model == "" || model.Adapter == "":
			why = "it is an adapter that is calibrated"
		case c.Eval.Temperature > 0:
			why, next = "eval.temperature is not 0, and proposals are made at 0", "set eval.temperature to 0"
		}
		if why != "" {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot calibrate",
				Where: fmt.Sprintf("--calibrate %g", a.Calibrate), Why: why, Next: next}
		}
	}
	if a.InitialCall == "" {
		return systems, nil
	}
	if model.Endpoint == nil {
		return nil, &fault.Error{Code: fault.CodeUsage,
			What: "--initial-call needs an endpoint to evaluate in front of", Where: "--initial-call " + a.InitialCall,
			Why:  "the model is on this machine",
			Next: "serve it with hone serve, and name it --model http://127.0.0.1:8000/v1/NAME"}
	}
	a.InitialCall = basemodel.AdapterAt(a.InitialCall)
	if _, err := os.Stat(filepath.Join(a.InitialCall, modelfile.ConfigFile)); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "there is no such adapter",
			Where: "--initial-call " + a.InitialCall, Next: "name a folder with " + modelfile.ConfigFile}
	}
	with := *model
	with.Name, with.InitialCall = "initial-call", a.InitialCall
	return append(systems, with), nil
}

// agents are the initial-call agents that are open, by folder.
type agents map[string]openAgent

type openAgent struct {
	*proxy.Agent
	end func()
}

func (a agents) of(b *bench, folder string, slots int) (*proxy.Agent, error) {
	if open, ok := a[folder]; ok {
		return open.Agent, nil
	}
	agent, end, err := local.OpenInitialAgent(b.Host, b.Config, folder, 0, slots)
	if err != nil {
		return nil, err
	}
	a[folder] = openAgent{agent, end}
	return agent, nil
}

func (a agents) close() {
	for _, open := range a {
		open.end()
	}
}

// behind is an endpoint behind an initial-call agent, as a proxy has it: the same agent decides.
type behind struct {
	llm.Policy
	agent *proxy.Agent
}

// Speaker implements rollout.Policy.
func (p behind) Speaker(a rollout.Attempt) rollout.Speaker {
	return &behindSpeaker{Speaker: p.Policy.Speaker(a), behind: p}
}

type behindSpeaker struct {
	rollout.Speaker
	behind
	proposed int
}

// Say implements rollout.Speaker.
func (s *behindSpeaker) Say(
	ctx context.Context, messages []chat.Message, tools []chat.Tool,
) (environment.Reply, error) {
	if len(tools) == 0 || messages[len(messages)-1].Role != chat.User {
		return s.Speaker.Say(ctx, messages, tools)
	}
	p := s.agent.Propose(ctx, messages, tools, false)
	if p.Calls == nil {
		if err := ctx.Err(); err != nil {
			return environment.Reply{}, err
		}
		return s.Speaker.Say(ctx, messages, tools)
	}
	for i := range p.Calls {
		p.Calls[i].ID = fmt.Sprintf("call_initial_%d", s.proposed)
		s.proposed++
	}
	turn := &trajectory.Turn{Calls: p.Calls, Usage: &trajectory.Usage{},
		InitialCall: &trajectory.InitialCall{Confidence: p.Confidence, PromptTokens: p.Used.PromptTokens,
			CompletionTokens: p.Used.CompletionTokens}}
	if s.Cost != nil {
		turn.Usage.Cost = new(float64)
	}
	return environment.Reply{Turn: turn}, nil
}

// InitialCalls is what an initial-call agent is worth: a system with it, held against the same one without.
type InitialCalls struct {
	With     string         `json:"with"`
	Without  string         `json:"without"`
	Success  stats.Interval `json:"success"`        // the difference of whole episodes
	Requests stats.Interval `json:"requests_saved"` // share of the upstream's requests that are saved
	Tokens   stats.Interval `json:"tokens_saved"`   // and of its tokens, read and written
	Seconds  stats.Interval `json:"model_seconds"`  // the difference of what an episode waits for models
	Episodes int            `json:"episodes"`       // with the agent
	Proposed int            `json:"proposed"`       // of them, those in which it made a call
	Right    int            `json:"right"`          // of them, those whose first call is the first gold call
	// SmallTokens are what the agent's own model read and wrote for its calls, in the mean of all episodes.
	SmallTokens float64 `json:"small_tokens"`
}

// InitialCalls compares the system behind an agent with the one before it; nil where there is none.
func (m *Evaluated) InitialCalls() *InitialCalls {
	n := len(m.Systems)
	if n < 2 || !m.initial {
		return nil
	}
	old, new := m.Systems[n-2], m.Systems[n-1]
	out := &InitialCalls{With: new.Name, Without: old.Name, Episodes: len(new.Rows),
		Success: stats.Compare(old.Rows, new.Rows, stats.Completion(), m.Bootstrap), Requests: stats.Saving(old.Rows,
			new.Rows, stats.Requests(), m.Bootstrap),
		Tokens: stats.Saving(old.Rows, new.Rows, stats.Tokens(), m.Bootstrap)}
	for _, metric := range stats.Metrics() {
		if metric.Name == "model_seconds" {
			out.Seconds = stats.Compare(old.Rows, new.Rows, metric, m.Bootstrap)
		}
	}
	for _, r := range new.Rows {
		if r.NumInitialCalls > 0 {
			out.Proposed++
			if r.FirstCall && r.NumGold > 0 {
				out.Right++
			}
		}
	}
	for _, e := range new.Episodes {
		for _, turn := range e.Trajectory.Turns {
			if c := turn.InitialCall; c != nil {
				out.SmallTokens += float64(c.PromptTokens+c.CompletionTokens) / float64(len(new.Episodes))
			}
		}
	}
	return out
}

// Text is what there is to say of it.
func (i *InitialCalls) Text() string {
	saved := func(s stats.Interval) string {
		return fmt.Sprintf("%.1f%% [%.1f, %.1f]", 100*s.Mean, 100*s.Low, 100*s.High)
	}
	return fmt.Sprintf("%s - %s: %s points of whole episodes; %s fewer requests to the upstream, "+
		"%s fewer of its tokens; %.2f [%.2f, %.2f] s of models; a call was proposed in %d of %d episodes, "+
		"and was the first gold call in %d of them; %.0f tokens of the small model an episode",
		i.With, i.Without, i.Success.PointsText(), saved(i.Requests), saved(i.Tokens), i.Seconds.Mean, i.Seconds.Low,
		i.Seconds.High, i.Proposed, i.Episodes, i.Right, i.SmallTokens)
}

// enoughToCalibrate is an error where a run of so many episodes cannot come to the calls that a calibration takes,
// before it is made.
func (a Asked) enoughToCalibrate(episodes int) error {
	if a.Calibrate == 0 || episodes >= proxy.Fewest {
		return nil
	}
	return &fault.Error{
		Code:  fault.CodeUsage,
		What:  fmt.Sprintf("cannot calibrate on %s", fault.Count(episodes, "episode")),
		Where: fmt.Sprintf("--calibrate %g", a.Calibrate),
		Why: fmt.Sprintf("a calibration takes %d first calls, and an episode has one",
			proxy.Fewest),
		Next: fmt.Sprintf("give --repeats %d or more, or a --dataset with more held-out scenarios",
			(proxy.Fewest+episodes-1)/max(1, episodes)),
	}
}

// Calibrate fits the initial-call agent of the adapter that was evaluated last to its first calls, and saves that
// beside the adapter. The scenarios must be held out from what it was trained on, and from what it will be measured on.
func (m *Evaluated) Calibrate(h *host.Host, a Asked) error {
	if a.Calibrate == 0 {
		return nil
	}
	s := m.Systems[len(m.Systems)-1]
	rows := map[string]stats.Row{}
	for _, r := range s.Rows {
		rows[fmt.Sprint(r.ScenarioID, r.Repeat)] = r
	}
	var seen []proxy.Observed
	for _, e := range s.Episodes {
		r, rated := rows[fmt.Sprint(e.Trajectory.ScenarioID, e.Trajectory.Rollout)]
		if !rated || len(e.Trajectory.Turns) == 0 || len(e.Trajectory.Turns[0].Calls) == 0 {
			continue
		}
		right := r.FirstCall
		if r.NumGold == 0 { // nothing says which call is right but whether the task was done
			right = r.Episode && !r.NoTool && !r.MissingTool
		}
		seen = append(seen,
			proxy.Observed{Evidence: proxy.EvidenceOf(e.Trajectory.Turns[0].SamplerLogprobs), Right: right})
	}
	c, err := proxy.FitCalibration(seen, a.Calibrate)
	if err != nil {
		return err
	}
	if c.Scenarios = a.Dataset + " " + a.Split; a.Dataset == "" {
		c.Scenarios = a.Split
	}
	if err := c.SaveBeside(basemodel.AdapterAt(a.Model)); err != nil {
		return err
	}
	if c.Accepted == 0 {
		return &fault.Error{Code: fault.CodeFailures, What: "no threshold reaches the requested precision",
			Where: fmt.Sprintf("--calibrate %g",
				a.Calibrate), Why: fmt.Sprintf("%d of %d calls are right, and the likeliest are no better",
				c.Right, c.Calls), Next: "ask for less, or train the adapter further"}
	}
	h.Say("initial calls: at confidence %.3f and above, %d of %d calls, %d of them right; kept in %s",
		c.Threshold, c.Accepted, c.Calls, c.AcceptedRight, filepath.Join(a.Model, proxy.File))
	return nil
}
