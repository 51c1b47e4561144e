package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/llm"
)

// File has a line of each trace that was sent again, as the answers came.
const File = "replayed.jsonl"

// replayGivesUp is how many requests in a row find the endpoint gone, each for as long as there is patience, until no
// other is sent.
const replayGivesUp = 4

// ReplayAsked says which traces are sent again, and to whom.
type ReplayAsked struct {
	Data, Catalog           string
	Endpoint, Model, KeyEnv string        // Model may be PROVIDER/MODEL alone
	Trace                   string        // one of them; "" is all
	Output                  string        // folder that keeps the answers; "": none does
	AtOnce                  int           // requests at once; 0: 1
	TokenBudget             int           // 0: no limit
	Patience                time.Duration // how long a request is sent again while the endpoint is overloaded or gone
}

// RunReplay sends each trace without its last assistant message, and what follows that, and compares the answer with
// it. What was answered is printed however it ends; a request that fails is that of one trace.
func RunReplay(ctx context.Context, e job.Env, c config.Config, a ReplayAsked) error {
	named, is := c.ModelOf(a.Model)
	if a.Endpoint != "" || !is {
		named = config.NamedModel{URL: a.Endpoint, Model: a.Model, KeyEnv: a.KeyEnv}
	}
	if named.URL == "" || named.Model == "" {
		return &fault.Error{Code: fault.CodeUsage,
			What: "replay needs --endpoint and --model, or --model PROVIDER/MODEL", Next: "hone replay --help"}
	}
	if a.AtOnce < 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "--parallel is at least 1", Next: "hone replay --help"}
	}
	key, _ := e.LookupEnv(named.KeyEnv)
	o := llm.Options{BaseURL: named.URL, API: named.API, Key: llm.Secret(key), TokenBudget: a.TokenBudget,
		Patience: a.Patience}
	if a.Output != "" {
		o.CacheDir = filepath.Join(a.Output, "cache")
	}
	if named.Price != nil {
		o.Cost = named.Price.Of
	}
	client, err := llm.New(o)
	if err != nil {
		return err
	}
	traces, err := replayable(e, a)
	if err != nil {
		return err
	}
	if e.DryRun {
		e.Say("would send %s to %s at %s", fault.Count(len(traces), "trace"), named.Model, named.URL)
		return nil
	}
	kept, err := a.open()
	if err != nil {
		return err
	}
	r := replay{ask: func(ctx context.Context, t dataset.Row) (chat.Message, error) {
		answer, err := client.Chat(ctx, llm.Request{Model: named.Model, Messages: t.Messages[:lastAnswer(t)],
			Tools: t.Tools, MaxTokens: c.Rollout.MaxTokens, Seed: 1})
		return answer.Message, err
	}, kept: kept, said: make([]*Replayed, len(traces)), progress: e.Progress(max(1, a.AtOnce))}
	err = r.run(ctx, traces, max(1, a.AtOnce))
	if kept != nil {
		err = errors.Join(err, kept.Close())
	}
	SayCost((&job.Job{Env: e}), Collection{Client: client, Priced: o.Cost != nil})
	if printErr := e.Print(r.results()); printErr != nil {
		return printErr
	}
	return r.conclude(e, a, err)
}

// conclude says what is left to be done, or why nothing was.
func (r *replay) conclude(e job.Env, a ReplayAsked, err error) error {
	again := "the same command asks again"
	if a.Output != "" {
		e.Say("answers: %s", filepath.Join(a.Output, File))
		again = "the same command asks for these alone"
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &fault.Error{
			Code:  fault.CodeStopped,
			What:  fmt.Sprintf("stopped after %d of %s", r.done, fault.Count(len(r.said), "trace")),
			Where: a.Data,
			Next:  cmp.Or(a.goesOn(), "with --output-dir answers are kept, and the same command goes on"),
		}
	case r.gone >= replayGivesUp:
		return &fault.Error{
			Code: fault.CodeUnavailable,
			What: fmt.Sprintf("the endpoint is gone: stopped after %d of %s",
				r.done, fault.Count(len(r.said), "trace")),
			Where: a.Data,
			Err:   err,
			Next: cmp.Or(a.goesOn(), "with --output-dir answers are kept, and the same command goes on; "+
				"--patience is how long it is waited for"),
		}
	case err != nil:
		return err
	case r.failed == len(r.said):
		return &fault.Error{Code: fault.CodeUnavailable, What: "no trace was answered", Where: a.Data, Err: r.first,
			Next: "hone doctor --endpoint URL --model NAME says what the endpoint can do"}
	case r.failed > 0:
		e.Say("note: %s got no answer, the first by: %s; %s", fault.Count(r.failed, "trace"),
			fault.InnerText(r.first), again)
	}
	return nil
}

// goesOn is the next step of a run that was stopped, "" where its answers are not kept.
func (a ReplayAsked) goesOn() string {
	if a.Output == "" {
		return ""
	}
	return "the same command goes on; what was answered is kept"
}

// open begins the file of answers, nil where none is kept. What was answered before is in the cache beside it, and
// comes again.
func (a ReplayAsked) open() (*os.File, error) {
	if a.Output == "" {
		return nil, nil
	}
	err := os.MkdirAll(a.Output, 0o755)
	var f *os.File
	if err == nil {
		f, err = os.Create(filepath.Join(a.Output, File))
	}
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot keep the answers", Where: a.Output, Err: err,
			Next: "name another --output-dir"}
	}
	return f, nil
}

// replayable are the traces in which an assistant answers something, each with its tools.
func replayable(e job.Env, a ReplayAsked) (traces []dataset.Row, err error) {
	tools, without := job.NewCatalogs(a.Catalog), 0
	if err := job.RefuseCurated(a.Data); err != nil {
		return nil, err
	}
	_, err = dataset.Read([]string{a.Data}, dataset.Options{}, func(r dataset.Row) error {
		if a.Trace != "" && r.Name() != a.Trace {
			return nil
		}
		if lastAnswer(r) < 1 {
			without++
			return nil
		}
		err := tools.ToolsFor(&r)
		traces = append(traces, r)
		return err
	})
	if without > 0 {
		e.Say("left out %s without an assistant message that answers anything", fault.Count(without, "trace"))
	}
	if err == nil && len(traces) == 0 {
		err = &fault.Error{Code: fault.CodeUsage, What: "no trace is to be sent", Where: cmp.Or(a.Trace, a.Data),
			Next: "hone data validate " + a.Data}
	}
	return traces, err
}

// lastAnswer is the index of a trace's last assistant message, -1 where it has none.
func lastAnswer(r dataset.Row) int {
	last := len(r.Messages) - 1
	for last >= 0 && r.Messages[last].Role != chat.Assistant {
		last--
	}
	return last
}
