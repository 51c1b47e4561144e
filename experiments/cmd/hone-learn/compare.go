package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/run/report"
	"hone/internal/toolset"
)

// Options are the flags of a comparison.
type Options struct {
	Backend        string // auto, cuda, cpu or go
	Split          string // evaluated on
	Arms           []string
	Output         string // run directory; "" is a new one of runs_dir
	Dataset        string // a file of scenarios; "" is the demo's own
	Servers        string // the servers' file for Dataset; "" is the configuration's
	Demonstrations int    // rows of the start
	ShownKinds     int    // of which kinds of task they are, of a Dataset: of which tools; 0 is all
	Epochs         int    // of the start over them
	Steps, Groups  int    // of GRPO, and scenarios of a step
	GroupSize      int
	SFTRate        float64 // peak learning rate of the arms that are SFT
	GRPORate       float64
	RewardNoise    float64 // share of GRPO's episodes whose reward is turned around
}

// The arms, in the order they are run. An SFT arm takes as many rows as GRPO samples rollouts.
const (
	ArmGRPO      = "grpo"
	ArmRejection = "rejection" // SFT on those of the start's own rollouts that passed, as many as GRPO samples
	ArmRFT       = "rft"       // SFT on these and on the start's demonstrations
	ArmContinued = "continued" // SFT on the start's demonstrations, further
	ArmGold      = "gold"      // SFT on executed solutions of the very tasks GRPO is only told to try
)

// Verb is what a run directory has of who began it: the name that the comparison had when it was a verb of hone.
const Verb = "demo learn"

// GoesOn is the command that goes on with a comparison, in the run directory behind it.
const GoesOn = "hone-learn --resume --output-dir "

// numHeld is how many scenarios are held out; numWatched of validation are those that GRPO measures itself on while it
// trains.
const (
	numHeld    = 320
	numWatched = 64
)

// kept are the flags that hone runs resume needs of a comparison, beside the configuration.
type kept struct {
	Arms           []string `json:"arms"`
	Demonstrations int      `json:"demonstrations"`
	ShownKinds     int      `json:"shown_kinds,omitempty"`
	SFTRate        float64  `json:"sft_rate"`
	Dataset        string   `json:"dataset,omitempty"`
	Servers        string   `json:"servers,omitempty"`
	RewardNoise    float64  `json:"reward_noise,omitempty"`
}

// Arms are the ways to go on that there are, in the order they are run.
func Arms() []string { return []string{ArmGRPO, ArmRejection, ArmRFT, ArmContinued, ArmGold} }

// Compare fine-tunes on few demonstrations and goes on from there in several ways, in a new run directory.
func Compare(ctx context.Context, e job.Env, c config.Config, o Options) error {
	k := kept{Arms: o.Arms, Demonstrations: o.Demonstrations, ShownKinds: o.ShownKinds, SFTRate: o.SFTRate,
		Dataset: o.Dataset, Servers: o.Servers, RewardNoise: o.RewardNoise}
	for _, arm := range k.Arms {
		if !slices.Contains(Arms(), arm) {
			return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("unknown arm %q", arm), Where: "--arms",
				Next: strings.Join(Arms(), ", ") + " are known"}
		}
	}
	if o.Split != scenario.Test && o.Split != scenario.Validation {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot evaluate on %q", o.Split),
			Where: "--split", Next: "give validation or test"}
	}
	if !(o.RewardNoise >= 0 && o.RewardNoise <= 1) {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%v is no share of episodes", o.RewardNoise),
			Where: "--reward-noise", Next: "give a number from 0 to 1"}
	}
	if o.RewardNoise > 0 && c.GRPO.Advantage == "per_term" {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "noise would be a term of its own beside those that are normalised each",
			Where: "--reward-noise",
			Next:  "set another grpo.advantage",
		}
	}
	c = settingsOf(c, o)
	if slices.ContainsFunc(k.Arms, func(arm string) bool { return arm != ArmGRPO }) && supervisedSteps(c) == 0 {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "an arm that is SFT would have no step",
			Where: "--steps, --groups, --group-size",
			Why: fmt.Sprintf("it takes as many rows as grpo samples rollouts, %d, in whole batches of %d",
				c.GRPO.Steps*c.GRPO.ScenariosPerStep*c.GRPO.GroupSize, c.SFT.BatchSize),
			Next: "give more of them, a smaller sft.batch_size, or --arms " + ArmGRPO,
		}
	}
	if o.Output == "" {
		o.Output = filepath.Join(c.RunsDir, "learn-"+time.Now().Format("20060102-150405"))
	}
	if e.DryRun {
		e.Say("would make %s, then compare %s in %s", sizeOf(c, k),
			strings.Join(append([]string{"the start"}, k.Arms...), ", "), o.Output)
		return nil
	}
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	dir, err := e.Create(o.Output, c, job.Begun{Build: host.ReadBuild(), Verb: Verb, Study: text})
	if err != nil {
		return err
	}
	return compare(ctx, e, c, dir, k)
}

// Resume goes on with the comparison in path.
func Resume(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
	var k kept
	if b.Study == nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot resume the run", Where: path,
			Why: "its arms were not kept by the hone that began it", Next: "begin it again with hone-learn"}
	}
	if err := json.Unmarshal(b.Study, &k); err != nil {
		return fmt.Errorf("reading how %s was begun: %w", path, err)
	}
	var c config.Config
	dir, err := e.Open(path, &c)
	if err != nil {
		return err
	}
	return compare(ctx, e, c, dir, k)
}

// compare makes what is missing of a comparison, and closes its directory.
func compare(ctx context.Context, e job.Env, c config.Config, dir *run.Dir, k kept) error {
	defer func() { _ = dir.Close() }() // the ledger is durable row by row
	err := experiment{Env: e, c: c, dir: dir, began: time.Now(), size: sizeOf(c, k),
		servers: toolset.Source{File: k.Servers}, solved: slices.Contains(k.Arms, ArmGold)}.compare(ctx, k)
	if ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeStopped, What: "stopped; nothing finished is lost", Where: dir.Path,
			Next: GoesOn + run.Name(dir.Path)}
	}
	return err
}

// sizeOf follows from the configuration a run keeps, so that a resumed one makes the same scenarios.
func sizeOf(c config.Config, k kept) demo.Size {
	if k.Dataset != "" {
		return demo.Size{Demonstrations: k.Demonstrations, Held: c.Eval.Split, ShownKinds: k.ShownKinds,
			File: k.Dataset}
	}
	return demo.Size{Demonstrations: k.Demonstrations, Train: c.GRPO.Steps * c.GRPO.ScenariosPerStep, Test: numHeld,
		Validation: numWatched, Held: c.Eval.Split, ShownKinds: k.ShownKinds}
}

// settingsOf is the demo's, with as many steps as it takes for GRPO to show; for a dataset it is the user's.
func settingsOf(c config.Config, o Options) config.Config {
	if o.Dataset == "" {
		c = demo.Settings(c, true)
	} else {
		c.Scenarios.File = o.Dataset
		if c.Model.Base == "" {
			c.Model.Base = host.BaseModelAsset().Name
		}
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	c.Engine.Backend, c.Eval.Split = o.Backend, o.Split
	c.GRPO.Steps, c.GRPO.ScenariosPerStep, c.GRPO.GroupSize = o.Steps, o.Groups, o.GroupSize
	c.GRPO.CheckpointEvery, c.SFT.Epochs = 10, o.Epochs
	c.GRPO.Patience = 0 // arms are compared at equal budgets
	c.GRPO.Optimizer.LearningRate = o.GRPORate
	if o.Backend == "cuda" {
		c.Engine.Slots, c.Engine.RowMultiple = 128, 128
	}
	return c
}

// experiment is one comparison in its run directory.
type experiment struct {
	job.Env
	c       config.Config
	dir     *run.Dir
	size    demo.Size
	began   time.Time
	servers toolset.Source // of the scenarios of size.File; the demo's tasks have their own
	solved  bool           // an arm learns from the solutions of training scenarios
}

// open opens servers and model, on tasks that are executed, or read back. Its episodes must be closed.
func (d *experiment) open(ctx context.Context) (l *episodes.Episodes, tasks demo.Tasks, err error) {
	from, only := d.servers, []string(nil)
	if d.size.File == "" {
		from, only = toolset.Source{File: d.c.MCP.Config}, demo.Tools(d.size.Few)
	}
	servers, err := toolset.LoadServers(d.Host, d.c, from)
	if err != nil {
		return nil, tasks, err
	}
	if l, err = episodes.Open(ctx, d.Host, d.c, servers, "", only...); err != nil {
		return nil, tasks, err
	}
	defer func() {
		if err != nil {
			l.Close()
			l = nil
		}
	}()
	if err = l.Catalog.Save(filepath.Join(d.dir.Path, job.CatalogFile)); err != nil {
		return l, tasks, err
	}
	made := true
	if d.size.File == "" {
		tasks, err = demo.TasksOf(ctx, d.Host, d.dir, d.c, d.size, l.Tools)
	} else if tasks, made, err = demo.LoadTasks(d.dir, d.size); err == nil && !made {
		tasks, err = d.own(l)
	}
	var p episodes.Plan
	if err == nil {
		p, err = l.Resolve(d.Host, d.c,
			episodes.Wanted{Scenarios: slices.Concat(tasks.Train, tasks.Test), Trains: true, Shares: true})
	}
	if err == nil {
		d.c, err = p.Config, l.OpenModel(d.Host, p)
	}
	if err == nil && !made {
		if err = d.show(ctx, l, &tasks); err == nil {
			err = demo.KeepTasks(d.dir, tasks)
		}
	}
	return l, tasks, err
}

func (d experiment) compare(ctx context.Context, k kept) (err error) {
	l, tasks, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	validation := l.Validation(d.c, tasks.Validation)
	track := records.StartTracking(d.Env, d.c.Metrics, d.dir,
		records.Tracked{Main: d.mainOf(k.Arms), Engine: l.Model.Engine, Measures: validation != nil})
	defer func() { track.Close(err) }()
	s := comparison{
		experiment: d,
		episodes:   l,
		tasks:      tasks,
		kept:       k,
		validation: track.Validation(validation),
		track:      track,
		trainer:    track.Trainer(l.Trainer, metrics.Train),
		publisher:  track.Publisher(l.Policy),
		log:        records.Journal{Dir: d.dir, Say: d.Say, Episodes: l, Track: track},
		progress:   track.Progress(d.Progress(l.Speaker.NumSlots())),
	}
	systems, err := s.run(ctx, k.Arms)
	if err != nil {
		return err
	}
	return s.report(systems)
}

// mainOf is the stage that a comparison is for: GRPO where it is an arm, else the first arm, else the start's SFT.
func (d experiment) mainOf(arms []string) string {
	switch {
	case slices.Contains(arms, ArmGRPO):
		return ArmGRPO
	case len(arms) > 0:
		return arms[0]
	}
	return job.SFTOf(d.c).Stage
}

// comparison is one in an open environment.
type comparison struct {
	experiment
	episodes *episodes.Episodes
	tasks    demo.Tasks
	kept     kept
	log      records.Journal
	progress recipe.Progress

	validation *recipe.Validation // of GRPO, while it trains; nil: none
	track      *records.Track
	trainer    recipe.Trainer
	publisher  recipe.Publisher
}

// run makes the start, then each arm from it, and evaluates them and the base model.
func (s comparison) run(ctx context.Context, arms []string) ([]recipe.System, error) {
	rows, err := s.episodes.Rows(s.tasks.Demonstrations)
	if err != nil {
		return nil, err
	}
	pipeline := demo.PipelineOf(s.c, s.episodes.MaxMismatch())
	var systems []recipe.System
	evaluate := func(name string) error {
		ts, err := recipe.Evaluation{Stage: report.EvalStage + name,
			Runner: s.track.Evaluation(s.episodes.Evaluation(s.c.Eval)), Scorer: s.episodes.Scorer, Log: s.log,
			Progress: s.progress}.Run(ctx, s.tasks.Test)
		systems = append(systems, recipe.System{Name: name, Trajectories: ts})
		if err != nil {
			return err
		}
		return s.tellNewest(systems)
	}
	if err := recipe.Publish(s.publisher, report.EvalStage+job.BaseOnly); err != nil {
		return nil, err
	}
	if err := evaluate(job.BaseOnly); err != nil { // the adapter is fresh, so it changes nothing yet
		return nil, err
	}
	if err := pipeline.SFT.Run(ctx, rows, s.trainer, s.publisher, s.log, s.progress); err != nil {
		return nil, err
	}
	start, _, err := s.log.Latest(pipeline.SFT.Stage)
	if err != nil {
		return nil, err
	}
	if err := evaluate("start"); err != nil {
		return nil, err
	}
	err = fromStart(s.trainer, start, arms, func(arm string) error {
		began := time.Now()
		if err := s.arm(ctx, arm); err != nil {
			return err
		}
		s.Say("%s: %s", arm, time.Since(began).Round(time.Second))
		return evaluate(arm)
	})
	return systems, err
}

// fromStart puts the trainer back to the start before each arm, so that none goes on from where another ended.
func fromStart(
	trainer interface{ Load(dir string) error }, start string, arms []string, do func(arm string) error,
) error {
	for _, arm := range arms {
		if err := trainer.Load(start); err != nil {
			return err
		}
		if err := do(arm); err != nil {
			return err
		}
	}
	return nil
}

// supervisedSteps are those of an arm that is SFT: as many rows as GRPO samples rollouts.
func supervisedSteps(c config.Config) int {
	return c.GRPO.Steps * c.GRPO.ScenariosPerStep * c.GRPO.GroupSize / c.SFT.BatchSize
}

// arm trains one arm from the adapter that is loaded.
func (s comparison) arm(ctx context.Context, name string) (err error) {
	grpo := demo.PipelineOf(s.c, s.episodes.MaxMismatch()).GRPO
	sampled := func() recipe.Runner { return s.track.Rollouts(s.episodes.Rollouts(s.c.Rollout.Temperature)) }
	steps := supervisedSteps(s.c)
	optimizer := job.OptimizerOf(s.c.SFT.Optimizer)
	optimizer.LearningRate = s.kept.SFTRate
	sft := recipe.SFT{Stage: name, BatchSize: s.c.SFT.BatchSize, Optimizer: optimizer, Steps: steps,
		CheckpointEvery: 100, Seed: s.c.Seed}
	supervised := func(list []scenario.Solved) error {
		rows, err := s.episodes.Rows(list)
		if err != nil {
			return err
		}
		return sft.Run(ctx, rows, s.trainer, s.publisher, s.log, s.progress)
	}
	switch name {
	case ArmContinued:
		return supervised(s.tasks.Demonstrations)
	case ArmGold:
		return supervised(s.tasks.Solutions)
	case ArmRejection, ArmRFT:
		success := s.episodes.Criteria(scenario.ByID(s.tasks.Train), nil)
		r := recipe.Rejection{GroupSize: grpo.GroupSize, SFT: sft, Keep: func(t *trajectory.Trajectory) bool {
			return t.Outcome == trajectory.OK && success.Episode(t)
		}}
		if name == ArmRFT {
			if r.Beside, err = s.episodes.Rows(s.tasks.Demonstrations); err != nil {
				return err
			}
		}
		return r.Run(ctx, s.tasks.Train, sampled(), s.track.Scores(s.episodes.Scorer, metrics.Score), s.trainer,
			s.publisher, s.log, s.progress)
	case ArmGRPO:
		grpo.Validation = s.validation
		if grpo.Parity, err = s.episodes.Parity(s.c, s.tasks.Train); err != nil {
			return err
		}
		if err := s.episodes.Stage(&grpo, s.tasks.Train); err != nil {
			return err
		}
		shown, err := s.episodes.Rows(s.tasks.Demonstrations)
		if err != nil {
			return err
		}
		grpo.Show(shown)
		s.Opens(grpo)
		var scorer recipe.Scorer = episodes.ByTurn(s.c, s.episodes.Scorer)
		if s.kept.RewardNoise > 0 {
			scorer = noisy{Scorer: scorer, share: s.kept.RewardNoise, most: s.episodes.Scorer.Max, seed: s.c.Seed}
		}
		return grpo.Run(ctx, s.tasks.Train, sampled(), s.track.Scores(scorer, metrics.Score), s.trainer, s.publisher,
			s.log, s.progress)
	}
	return &fault.Error{Code: fault.CodeError, What: "nothing runs this arm", Where: name,
		Next: "report it: learn.Arms names what its switch does not know"}
}

// comparisonSummary is the last line on stdout. Deltas are paired differences of the start and each arm to the base
// model, of each arm to the start, and of the first arm to each other one.
type comparisonSummary struct {
	Split   string                   `json:"split"`
	Seed    uint64                   `json:"seed"`
	Systems map[string]stats.Summary `json:"systems"`
	Deltas  []stats.Delta            `json:"deltas"`
	Seconds float64                  `json:"seconds"`
}

// page writes the report of what is measured so far.
func (s comparison) page(systems []recipe.System) (stats.Results, error) {
	_, n, err := records.WritePage(s.Env, s.dir.Path, func(p *report.Page) {
		p.Say("device", s.episodes.Model.Engine.Description())
		p.Say("split", s.size.EvalSplit())
		p.Pairs = pairsOf(systems)
	})
	return n.Results, err
}

// tellNewest says what the newest system came to, so that a comparison which is ended in a later arm has told of the
// arms before.
func (s comparison) tellNewest(systems []recipe.System) error {
	results, err := s.page(systems)
	if err != nil {
		return err
	}
	name := systems[len(systems)-1].Name
	s.Say("%s", summaryText(name, results.Systems[name]))
	return nil
}

func summaryText(name string, v stats.Summary) string {
	return fmt.Sprintf("%-10s first call %s  whole episode %s  of %d", name, v.FirstCallText(), v.EpisodeText(), v.N)
}

func (s comparison) report(systems []recipe.System) error {
	results, err := s.page(systems)
	if err != nil {
		return err
	}
	for _, x := range systems {
		s.Say("%s", summaryText(x.Name, results.Systems[x.Name]))
	}
	summary := comparisonSummary{Split: s.size.EvalSplit(), Seed: s.c.Seed, Systems: results.Systems,
		Deltas: results.Deltas, Seconds: time.Since(s.began).Seconds()}
	return json.NewEncoder(s.Data).Encode(summary)
}

// pairsOf holds the start and each arm against those before them: the base model, the start, and of the arms the first.
func pairsOf(systems []recipe.System) []stats.Pair {
	pairs := []stats.Pair{}
	for i, x := range systems { // the base model, the start, the arms
		for k := range min(i, 2) {
			pairs = append(pairs, stats.Pair{Old: systems[k].Name, New: x.Name})
		}
		if i > 2 {
			pairs = append(pairs, stats.Pair{Old: x.Name, New: systems[2].Name})
		}
	}
	return pairs
}

// HasEnded reports whether a comparison has ended.
func HasEnded(s run.Summary, b job.Begun) bool {
	var k kept
	if b.Study == nil || json.Unmarshal(b.Study, &k) != nil {
		return false
	}
	return !slices.ContainsFunc(append([]string{"start"}, k.Arms...), func(arm string) bool {
		return !job.HasEnded(s, report.EvalStage+arm)
	})
}
