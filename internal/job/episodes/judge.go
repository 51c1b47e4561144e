package episodes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/fault"
	"hone/internal/grade/judge"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/learn/modelfile"
	"hone/internal/llm"
	"hone/internal/run"
)

// Judging is who judges, and what it costs. Close it.
type Judging struct {
	*judge.Judge
	Options judge.Options
	clients []*llm.Client
	budget  *llm.Budget // of both
	closers []func()
	context int // of a judge on this machine; 0: there is none
	AtOnce  int // questions
}

// JudgeOf opens the judge of the configuration, nil where there is none. It asks nothing yet. A judge's replies are
// kept in hone's cache folder by what was asked: a question that was answered once, in whichever run, is not paid for
// again.
func JudgeOf(h *host.Host, c config.Config) (*Judging, error) {
	if c.Judge.Model == "" {
		return nil, nil
	}
	x := &Judging{AtOnce: c.Judge.Concurrency}
	o := judge.Options{Samples: c.Judge.Samples, Temperature: c.Judge.Temperature, MaxTokens: c.Judge.MaxTokens,
		Context: c.Judge.Context, Tie: c.Judge.Tie, Cap: c.Judge.Cap, Seed: c.Seed, Stop: c.Judge.OnFailure == "stop",
		Rubric: judge.DefaultRubric()}
	var err error
	if c.Judge.Rubric != "" {
		if o.Rubric, err = readRubric(c.Judge.Rubric); err != nil {
			return nil, err
		}
	}
	if c.Judge.Reference != "" {
		if o.Reference, err = readReference(c.Judge.Reference); err != nil {
			return nil, err
		}
	}
	x.budget = llm.NewBudget(c.Judge.TokenBudget, c.Judge.BudgetUSD)
	if o.Model, err = x.open(h, c, "judge.model", c.Judge.Model); err == nil && c.Judge.Fallback != "" {
		o.Fallback, err = x.open(h, c, "judge.fallback", c.Judge.Fallback)
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	if x.context > 0 { // a model on this machine may have fewer positions
		x.AtOnce = min(x.AtOnce, mostQuestions)
		o.Context = min(o.Context, x.context)
		o.MaxTokens = min(o.MaxTokens, o.Context/4)
	}
	x.Options, x.Judge = o, judge.New(o)
	h.Opens(o)
	return x, nil
}

// GivenJudge is what the user says of the judge by flags. What is empty or 0 is the configuration's.
type GivenJudge struct {
	Model     string
	BudgetUSD float64
}

// Apply puts it into a configuration.
func (g GivenJudge) Apply(c *config.Config) error {
	c.Judge.Model, c.Judge.BudgetUSD = cmp.Or(g.Model, c.Judge.Model), cmp.Or(g.BudgetUSD, c.Judge.BudgetUSD)
	if err := c.Validate(); err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "a flag of the judge has a value that cannot be used",
			Err: err, Next: "give --judge-model PROVIDER/MODEL, and --budget-usd in US dollars"}
	}
	return nil
}

// RememberJudge takes over the judge of the run that the adapter in a folder lies in, and reports whether it has one.
func RememberJudge(c *config.Config, folder string) bool {
	dir := run.Around(folder)
	text, err := os.ReadFile(filepath.Join(dir, run.ConfigFile))
	if folder == "" || dir == "" || err != nil {
		return false
	}
	was, err := config.Parse(run.ConfigFile, text)
	if err != nil || was.Judge.Model == "" {
		return false
	}
	var b job.Begun
	if text, err := os.ReadFile(filepath.Join(dir, "version.json")); err == nil && json.Unmarshal(text, &b) == nil {
		for _, file := range []*string{&was.Judge.Rubric, &was.Judge.Reference} {
			if *file != "" && !filepath.IsAbs(*file) {
				*file = filepath.Join(b.Folder, *file)
			}
		}
	}
	budget := c.Judge.BudgetUSD
	c.Judge = was.Judge
	c.Judge.BudgetUSD = cmp.Or(budget, c.Judge.BudgetUSD)
	providers := maps.Clone(was.Providers)
	maps.Copy(providers, c.Providers)
	c.Providers = providers
	return true
}

// Close gives back what a model on this machine holds.
func (x *Judging) Close() {
	if x == nil {
		return
	}
	for _, f := range x.closers {
		f()
	}
}

// Term is the term of the reward that the judge gives; nil for none.
func (x *Judging) Term(c config.Config) *reward.Judged {
	if x == nil {
		return nil
	}
	return &reward.Judged{By: x.Judge, Weight: c.Rewards.Judge, All: c.Judge.Scenarios == "all"}
}

// Say tells what the judge cost.
func (x *Judging) Say(h *host.Host) {
	if x == nil {
		return
	}
	for _, client := range x.clients {
		spent := client.Usage()
		if spent.Total() == 0 {
			continue
		}
		cost := ""
		if usd := client.CostUSD(); usd > 0 {
			cost = fmt.Sprintf(", %.4f dollars", usd)
		}
		h.Say("judge: %s sent and %s received were paid for%s", fault.Count(spent.PromptTokens, "token"),
			fault.Count(spent.CompletionTokens, "token"), cost)
	}
}

// open opens the model that a key names.
func (x *Judging) open(h *host.Host, c config.Config, key, name string) (judge.Model, error) {
	if folder, ok := folderHere(name); ok {
		j, err := x.openHere(h, c, name, folder)
		if err == nil {
			x.context = j.context
		}
		return j, err
	}
	e, ok := c.ModelOf(name)
	if !ok {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "there is no such judge", Where: key + ": " + name,
			Why: "it is neither base, nor an adapter's folder, nor a model of a provider: " +
				strings.Join(slices.Sorted(maps.Keys(c.AllProviders())), ", "),
			Next: "name PROVIDER/MODEL, http://HOST/v1/MODEL, base, or a folder with " + modelfile.ConfigFile}
	}
	secret, err := h.KeyIn(e.KeyEnv, "the judge's endpoint", e.URL, "set key_env of the provider to another")
	if err != nil {
		return nil, err
	}
	store, err := h.Store()
	if err != nil {
		return nil, err
	}
	o := llm.Options{BaseURL: e.URL, API: e.API, Key: llm.Secret(secret), Budget: x.budget,
		CacheDir: filepath.Join(store.Dir, "judge"), Timeout: c.Judge.Timeout, Patience: c.Judge.Patience,
		Concurrency: c.Judge.Concurrency, GiveUpAfter: judgeGivesUp}
	if e.Price != nil {
		o.Cost = e.Price.Of
	}
	client, err := llm.New(o)
	if err != nil {
		return nil, err
	}
	h.Opens(o)
	x.clients = append(x.clients, client)
	return llm.Judge{Client: client, Model: e.Model, Called: name, Cost: o.Cost}, nil
}

// judgeGivesUp is after how many failed questions in a row a judge is left alone for a while.
const judgeGivesUp = 3

func readRubric(path string) (judge.Rubric, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return judge.Rubric{}, &fault.Error{
			Code:  fault.CodeUsage,
			What:  "cannot read the judge's rubric",
			Where: "judge.rubric: " + path,
			Err:   err,
			Next:  "name a file that can be read, or leave judge.rubric empty for the built-in one",
		}
	}
	return judge.ParseRubric(path, text)
}

// readReference reads what is known of scenarios beside them: a JSON object a line, with the scenario's id.
func readReference(path string) (func(id string) map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the judge's reference",
			Where: "judge.reference: " + path, Err: err, Next: "name a file that can be read"}
	}
	known := map[string]map[string]any{}
	for n, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var row map[string]any
		err := json.Unmarshal(line, &row)
		id, _ := row["id"].(string)
		if err != nil || id == "" {
			return nil, &fault.Error{
				Code:  fault.CodeUsage,
				What:  "the judge's reference cannot be used",
				Where: fmt.Sprintf("%s:%d", path, n+1),
				Err:   err,
				Why:   `each line is a JSON object with "id"`,
				Next:  "mend the line",
			}
		}
		known[id] = row
	}
	return func(id string) map[string]any { return known[id] }, nil
}
