// Package env lets the trainers of others run hone's scenarios: it serves them, writes the rows that name them, and the
// Python file by which TRL speaks with the server.
package env

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/env/service"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/recipe"
	"hone/internal/serve/local"
	"hone/internal/toolset"
)

// Verb is the name of runs that keep what clients did.
const Verb = "env serve"

// Stage is the stage that episodes of clients are kept as.
const Stage = "env"

// Options are the flags of hone env serve.
type Options struct {
	Dataset       string
	Listen        string
	KeyEnvs       []string
	MaxSessions   int
	Idle          time.Duration
	Output        string // run directory; "": no episode is kept
	AllowFindings scan.Allowed
}

// announced is what is printed once the server answers.
type announced struct {
	URL       string `json:"url"`
	Scenarios int    `json:"scenarios"`
	Tools     int    `json:"tools"`
}

// Serve answers until ctx ends.
func Serve(ctx context.Context, e job.Env, c config.Config, o Options, from toolset.Source) error {
	if o.MaxSessions < 1 || o.Idle <= 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "--max-sessions and --idle must be positive",
			Next: "hone env serve --help"}
	}
	keys, err := local.Keys(e.Host, o.KeyEnvs)
	if err != nil {
		return err
	}
	if o.Dataset, err = job.Dataset(o.Dataset, c); err != nil {
		return err
	}
	list, err := job.LoadForTraining(e.Host, o.Dataset, false, len(c.Rewards.Expressions) > 0)
	if err != nil {
		return err
	}
	if list, err = servable(e.Host, c, list, o.Dataset); err != nil {
		return err
	}
	if c, err = basemodel.SettleLengths(e.Host, c); err != nil { // tools are shown as train shows them
		return err
	}
	listener, err := local.Listen(o.Listen, keys)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // the server has closed it, but for an error before
	if e.DryRun {
		e.Say("would serve %s on %s", fault.Count(len(list), "scenario"), o.Listen)
		return nil
	}
	j := &job.Job{Env: e, Verb: Verb, Path: o.Output, Config: c, Kept: job.Kept{AllowFindings: o.AllowFindings}}
	defer j.Close()
	l, err := open(ctx, j, list, from, o.MaxSessions)
	if err != nil {
		return err
	}
	defer l.Close()
	s, err := newService(j, l, list, o, keys)
	if err != nil {
		return err
	}
	if err := announce(e.Host, listener, o, len(list), len(l.World.ToolList)); err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

// open opens the servers and, where one is asked for, the run directory.
func open(
	ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source, maxSessions int,
) (*episodes.Episodes, error) {
	servers, err := toolset.LoadServers(j.Host, j.Config, from)
	if err != nil {
		return nil, err
	}
	l, err := episodes.Open(ctx, j.Host, j.Config, servers, j.Path)
	if err != nil {
		return nil, err
	}
	if err := prepare(j, l, list, maxSessions); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// prepare refuses what sessions would fail for, and has the episodes take place as the run was begun.
func prepare(j *job.Job, l *episodes.Episodes, list []scenario.Scenario, maxSessions int) error {
	if err := toolset.RefuseFindings(j.Host, j.Config.MCP, l.Catalog.LintTools(), j.Kept.AllowFindings); err != nil {
		return err
	}
	if err := l.Runnable(j.Config, list); err != nil {
		return err
	}
	if err := toolset.CheckRules(j.Host, l.Gate, list); err != nil {
		return err
	}
	if alone := l.Pool.OneAtATime(); maxSessions > 1 && len(alone) > 0 {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "a server takes one episode at a time, and a trainer begins several before it ends one",
			Where: "server " + alone[0],
			Next:  "give the server isolation process, or --max-sessions 1",
		}
	}
	if j.Path != "" {
		if err := j.BeginOrGoOn(l.Set); err != nil {
			return err
		}
		if err := refuse(j.Config, list, j.Path); err != nil {
			return err
		}
		if err := j.KeepScenarios(list); err != nil {
			return err
		}
	}
	scorer, err := episodes.ScorerOf(j.Host, j.Config.Rewards, l.Catalog)
	if err != nil {
		return err
	}
	l.Scorer, l.World = scorer, l.Remote(j.Host, j.Config).World
	j.Host.Opens(l.World)
	l.NoteUnsendable(j.Host, j.Config, list)
	return nil
}

func newService(
	j *job.Job, l *episodes.Episodes, list []scenario.Scenario, o Options, keys []string,
) (*service.Server, error) {
	unseen := blindSpots(j.Config)
	for _, t := range l.World.ToolList {
		if slices.Contains(service.ReservedNames(), t.Name) {
			unseen = append(unseen, "the tool "+t.Name+
				" is called over MCP alone in NeMo Gym, whose requests have another meaning for its name")
		}
	}
	for _, text := range unseen {
		j.Say("note: %s", text)
	}
	attempt := 1
	if j.Dir != nil {
		attempt = j.Dir.Attempt
	}
	r := j.Config.Rollout
	options := service.Options{
		Environment: environment.New(l.World),
		Records:     &keeper{job: j, on: l},
		Scenarios:   list,
		Tools:       l.World.ToolList,
		About: service.About{Version: host.ReadBuild().Version, MaxTurns: r.MaxTurns, MaxToolCalls: r.MaxToolCalls,
			Catalog: l.Catalog.Hash, ToolsByScenario: l.Selection.Of != nil || l.Selection.UsesSearch(),
			Unseen: unseen},
		MCP: func(of func(*http.Request) service.Callable) http.Handler {
			return mcp.Offer(host.ReadBuild().Version, func(r *http.Request) mcp.Offered { return of(r) })
		},
		Attempt:     attempt,
		MaxSessions: o.MaxSessions,
		Idle:        o.Idle,
		Keys:        keys,
		Logger:      local.Logger(j.Host),
	}
	j.Host.Opens(options)
	return service.New(options)
}

// keeper scores episodes, and keeps them in a run where there is one.
type keeper struct {
	job *job.Job
	on  *episodes.Episodes

	mu sync.Mutex // of Keep
}

// Score implements service.Records.
func (r *keeper) Score(ctx context.Context, s *scenario.Scenario, t *trajectory.Trajectory) (trajectory.Score, error) {
	scores, err := recipe.Score(ctx, r.on.Scorer, s,
		trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{t}})
	if err != nil {
		return trajectory.Score{}, err
	}
	return scores[0], nil
}

// Keep implements service.Records.
func (r *keeper) Keep(t *trajectory.Trajectory, score trajectory.Score) error {
	if r.job.Dir == nil {
		r.on.Stamp(t) // forgets what the servers wrote
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	log := records.Journal{Dir: r.job.Dir, Say: r.job.Say, Episodes: r.on}
	if err := log.Trajectory(Stage, r.job.Dir.Attempt, t); err != nil {
		return err
	}
	return log.Scores(Stage, trajectory.Group{ScenarioID: t.ScenarioID, Trajectories: []*trajectory.Trajectory{t}},
		[]trajectory.Score{score})
}

func announce(h *host.Host, l net.Listener, o Options, scenarios, tools int) error {
	url := "http://" + l.Addr().String()
	if err := h.Print(announced{url, scenarios, tools}, [][]string{{url}}); err != nil {
		return err
	}
	key := ""
	if len(o.KeyEnvs) > 0 {
		key = "; clients send the key in $" + o.KeyEnvs[0] + " as a bearer token"
	}
	h.Say("OpenEnv, ORS and NeMo Gym: %s; verifiers: %s%s", url, url, service.GymPath)
	h.Say("%s, %s, up to %s at once%s", fault.Count(scenarios, "scenario"), fault.Count(tools, "tool"),
		fault.Count(o.MaxSessions, "session"), key)
	return nil
}
