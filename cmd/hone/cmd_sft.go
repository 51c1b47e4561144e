package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/mcp"
	"hone/internal/mcp/lint"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
)

type sftFlags struct {
	lora                                 loraFlags
	data, catalog, base, adapter, output string
	resume                               bool
	allowFindings                        lint.Allowed
}

func newSFT(a *app) *cobra.Command {
	var f sftFlags
	c := &cobra.Command{
		Use:   "sft",
		Short: "Train an adapter on conversations: those of hone collect, or your own",
		Long: "sft learns to say what the assistant says in each conversation of a JSON-lines file: {\"messages\": [...], \"tools\": [...]}\n" +
			"in OpenAI's form, or the trajectories.jsonl of a run. Trajectories that failed are left out. Rows without tools take\n" +
			"those of --catalog.",
		Example: "  hone sft --data traces/trajectories.jsonl --base-model SmolLM2-135M-Instruct --output-dir out\n" +
			"  hone sft --data conversations.jsonl --catalog catalog.json --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runSFT(c.Context(), a, f) },
	}
	c.Flags().StringVar(&f.data, "data", "", "conversations or trajectories, one JSON object a line")
	c.Flags().StringVar(&f.catalog, "catalog", "", "tools of rows that name none (default catalog.json beside the data, where there is one)")
	c.Flags().StringVar(&f.base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.adapter, "adapter", "", "start from this adapter instead of a fresh one")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	c.Flags().BoolVar(&f.resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	allowFindingsFlag(c.Flags(), &f.allowFindings)
	f.lora.register(c.Flags())
	return c
}

func runSFT(ctx context.Context, a *app, f sftFlags) error {
	if f.output == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no output folder", Next: "name one with --output-dir"}
	}
	if f.resume {
		return resumeRun(ctx, a, toolset.Source{}, f.output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.data == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no conversations to learn from", Next: "name a file with --data; hone collect makes one"}
	}
	if err := free(f.output); err != nil {
		return err
	}
	d, err := readConversations(f.data, f.catalog)
	if err != nil {
		return err
	}
	if c.Model.Base, err = basemodel.BaseOf(f.adapter, f.base, c); err != nil {
		return err
	}
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		return err
	}
	if err := f.lora.apply(a, &c, f.adapter); err != nil {
		return err
	}
	rows, err := d.demonstrations(a)
	if err == nil {
		err = toolset.RefuseFindings(a.Host, d.lintTools(rows), f.allowFindings)
	}
	if err != nil {
		return err
	}
	t := &tuning{a: a, verb: "sft", path: f.output, c: c, kept: keptFlags{Adapter: f.adapter, AllowFindings: f.allowFindings}}
	defer t.close()
	if a.DryRun {
		return t.rehearseSFT(d, rows)
	}
	return t.sft(ctx, d, rows)
}

func resumeSFT(ctx context.Context, a *app, path string, kept keptFlags) error {
	t := &tuning{a: a, verb: "sft", path: path, kept: kept}
	defer t.close()
	if err := t.reopen(); err != nil {
		return err
	}
	d, err := readConversations(filepath.Join(path, conversationsFile), "")
	if err != nil {
		return err
	}
	rows, err := d.demonstrations(a)
	if err == nil {
		err = toolset.RefuseFindings(a.Host, d.lintTools(rows), kept.AllowFindings)
	}
	if err != nil {
		return err
	}
	return t.sft(ctx, d, rows)
}

// conversations is a data file with the tools of its rows.
type conversations struct {
	path    string
	text    []byte
	rows    []dataset.Row
	catalog *mcp.Catalog // nil where there is none
}

func readConversations(path, catalog string) (conversations, error) {
	d := conversations{path: path}
	var err error
	if d.text, err = os.ReadFile(path); err != nil {
		return d, &fault.Error{Code: fault.CodeUsage, What: "cannot read the conversations", Where: path, Err: err, Next: "name a file with --data; hone collect makes one"}
	}
	if d.rows, err = dataset.Parse(path, d.text); err != nil {
		return d, err
	}
	if catalog == "" {
		catalog = filepath.Join(filepath.Dir(path), catalogFile)
		if _, err := os.Stat(catalog); errors.Is(err, fs.ErrNotExist) {
			return d, nil
		}
	}
	d.catalog, err = mcp.Load(catalog)
	return d, err
}

// lintTools are the tools whose texts the rows put before the model, each once: the catalog's, and those that only rows
// list, whose server is called "data".
func (d conversations) lintTools(rows []dataset.Row) []lint.Tool {
	known := map[string]bool{}
	text := func(t chat.Tool) string { return t.Name + "\x00" + t.Description + "\x00" + string(t.InputSchema) }
	var out []lint.Tool
	if d.catalog != nil {
		out = d.catalog.LintTools()
		for _, t := range d.catalog.Tools() {
			known[text(t)] = true
		}
	}
	for _, r := range rows {
		for _, t := range r.Tools {
			if !known[text(t)] {
				known[text(t)] = true
				out = append(out, lint.Tool{Server: "data", Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
			}
		}
	}
	return out
}

// demonstrations are the rows to learn from, each with its tools. A row that calls what it does not list is an error:
// the model would learn to invent tools.
func (d conversations) demonstrations(a *app) ([]dataset.Row, error) {
	var tools []chat.Tool
	if d.catalog != nil {
		tools = d.catalog.Tools()
	}
	var rows []dataset.Row
	held := map[string]int{} // rows by split
	for _, r := range d.rows {
		if !r.ToLearnFrom() {
			held[r.Split]++
			continue
		}
		if why := r.NotDemonstrated(); why != "" {
			a.Say("left out %s:%d: %s", d.path, r.Line, why)
			continue
		}
		callable := r.Tools
		switch {
		case len(r.Tools) > 0:
		case r.Shown != nil:
			var err error
			if r.Tools, err = toolsShown(*r.Shown, d.catalog, fmt.Sprintf("%s:%d", d.path, r.Line)); err != nil {
				return nil, err
			}
			if callable = r.Tools; len(r.Shown.Own) > 0 { // by which it found others
				callable = slices.Concat(r.Shown.Own, tools)
			}
		default:
			r.Tools, callable = tools, tools
		}
		if name := r.UnknownTool(callable); name != "" {
			return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("a conversation calls the tool %q, which it does not list", name),
				Where: fmt.Sprintf("%s:%d", d.path, r.Line), Next: `give the row its "tools", or name the catalog of its server with --catalog`}
		}
		rows = append(rows, r)
	}
	for _, split := range slices.Sorted(maps.Keys(held)) {
		a.Say("left out %s of the split %s: what is learnt from cannot be measured on", fault.Count(held[split], "row"), split)
	}
	if len(rows) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation shows how it is done", Where: d.path,
			Why: "all were left out", Next: "collect more: hone collect --split train, with a model that can do the tasks"}
	}
	return rows, nil
}

// lesson is what SFT settles before a device is opened.
type lesson struct {
	machine   *basemodel.Model
	sequences []batch.Sequence
	prefix    int // tokens that all of them begin with
}

// findSFT finds the base model, renders rows for it, and refuses what its positions or the memory do not hold. No device is
// opened and no weight read. The lesson's machine is to be closed where there is one.
func (t *tuning) findSFT(d conversations, rows []dataset.Row) (l lesson, err error) {
	if err := basemodel.CheckShards(t.c.Engine); err != nil {
		return l, err
	}
	c, trained, err := basemodel.TrainedUnder(t.a.Host, t.c, t.kept.Adapter, true)
	if err != nil {
		return l, err
	}
	t.c = c
	t.c.Rollout.System = t.a.systemOf(d.path, rows, t.c.Rollout.System)
	if l.machine, err = basemodel.Find(t.a.Host, t.c, t.c.Model.Base, trained); err != nil {
		return l, err
	}
	if l.sequences, err = sequencesOf(t.a, l.machine, d.path, rows, t.c.Model.Context); err != nil {
		return l, err
	}
	l.prefix = len(batch.New(l.sequences).Prefix)
	t.c.Engine, err = l.machine.FitRows(t.c, t.kept.Adapter, l.prefix, l.sequences)
	return l, err
}

// systemOf is the system message that all rows begin with: what is learnt under it is to be served under it. Where they begin
// with several, or some with none, it is the one given, which those without one take.
func (a *app) systemOf(path string, rows []dataset.Row, given string) string {
	own := map[string]int{}
	for _, r := range rows {
		system := given
		if len(r.Messages) > 0 && r.Messages[0].Role == chat.System {
			system = r.Messages[0].Content
		}
		own[system]++
	}
	if len(own) == 1 {
		for system := range own {
			return system
		}
	}
	a.Say("the conversations of %s begin with %d different system messages: requests without one are served under %q", path, len(own), given)
	return given
}

// rehearseSFT is an error where sft would be one before it opens a device, or where the plug-in cannot be used.
func (t *tuning) rehearseSFT(d conversations, rows []dataset.Row) error {
	l, err := t.findSFT(d, rows)
	defer l.close()
	if err != nil {
		return err
	}
	if err := engine.CheckDevices(l.machine.Plugin.Path, t.c.Engine.Devices); err != nil {
		return err
	}
	if l.machine.Plugin.Path != "" {
		if _, err := engine.Probe(l.machine.Plugin.Path); err != nil {
			return err
		}
	}
	longest, trained := 0, 0
	for _, s := range l.sequences {
		longest, trained = max(longest, len(s.IDs)), trained+s.NumTrained()
	}
	t.a.Say("would take %s over %s of at most %s, %d of them trained, in %s", fault.Count(sftOf(t.c).NumSteps(len(l.sequences)), "step"),
		fault.Count(len(l.sequences), "row"), fault.Count(longest, "token"), trained, t.path)
	return nil
}

func (l lesson) close() {
	if l.machine != nil {
		l.machine.Close()
	}
}

// sft runs what is left of SFT on rows.
func (t *tuning) sft(ctx context.Context, d conversations, rows []dataset.Row) error {
	l, err := t.findSFT(d, rows)
	defer l.close()
	if err != nil {
		return err
	}
	m := l.machine
	if err := m.Load(basemodel.Loader(t.c.Engine)); err != nil {
		return err
	}
	t.a.Say("model %s on %s", m.Spec.Name, m.Engine.Description())
	trainer, _, err := trainerOf(t.a.Host, m, t.c, t.kept.Adapter, l.prefix)
	if err != nil {
		return err
	}
	inputs := []run.Input{{Name: conversationsFile, Data: d.text}}
	if d.catalog != nil {
		catalog, err := encodeCatalog(d.catalog)
		if err != nil {
			return err
		}
		inputs = append(inputs, catalog)
	}
	if err := t.begin(inputs...); err != nil {
		return err
	}
	log := runLog{dir: t.dir, say: t.a.Say}
	s := sftOf(t.c)
	t.a.Opens(s)
	err = s.Run(ctx, l.sequences, &learner{Trainer: trainer, renderer: m.Renderer}, nil, log, t.a.Progress(1))
	if err := t.ended(ctx, s.Stage, err); err != nil {
		return err
	}
	final := filepath.Join(t.path, "final")
	if err := basemodel.SaveAdapter(final, trainer, m.Renderer); err != nil {
		return err
	}
	basemodel.SayPrograms(t.a.Host, m.Engine)
	t.a.Say("adapter: %s", final)
	t.a.Say("next: hone train --adapter %s --dataset SCENARIOS --output-dir DIR, or hone serve --model %s", final, final)
	return nil
}

// sequencesOf renders rows as training rows. One that the context does not hold is left out: cut short, it would teach to
// stop.
func sequencesOf(a *app, m *basemodel.Model, path string, rows []dataset.Row, context int) ([]batch.Sequence, error) {
	var out []batch.Sequence
	splits := 0
	for _, r := range rows {
		rendered, err := m.Renderer.Sequences(r.Messages, r.Opening, r.Tools)
		if err != nil {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "a conversation cannot be rendered", Where: fmt.Sprintf("%s:%d", path, r.Line), Err: err}
		}
		for _, s := range rendered {
			if s.Rewrite != "" {
				if splits++; splits == 1 {
					a.Say("%s:%d is trained as several rows: %s", path, r.Line, s.Rewrite)
				}
			}
			if len(s.IDs) > context {
				a.Say("left out %s:%d: %d tokens, more than model.context", path, r.Line, len(s.IDs))
				continue
			}
			out = append(out, batch.Sequence{IDs: s.IDs, Trained: s.Trained})
		}
	}
	if splits > 1 {
		a.Say("%d rows in all begin anew within a conversation, because the chat template rewrites what was said before", splits)
	}
	if len(out) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation fits the model's context", Where: path,
			Why: "each has more than " + fault.Count(context, "token"), Next: "raise model.context, or list fewer tools"}
	}
	return out, nil
}

func sftOf(c config.Config) recipe.SFT {
	return recipe.SFT{Stage: "sft", Epochs: c.SFT.Epochs, BatchSize: c.SFT.BatchSize, Optimizer: optimizerOf(c.SFT.Optimizer),
		CheckpointEvery: c.SFT.CheckpointEvery, Seed: c.Seed}
}
