package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/data/formats"
	"hone/internal/engine"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// ResumeSFT goes on with a stopped run of hone sft.
func ResumeSFT(ctx context.Context, e Env, path string, b Begun, _ toolset.Source) error {
	j := &Job{Env: e, Verb: "sft", Path: path, Kept: b.Flags, SkipBad: true} // what the run began without
	defer j.Close()
	if over, err := j.over(b, sftStage, "final", j.sayTuned); over || err != nil {
		return err
	}
	if err := j.GoOn(); err != nil {
		return err
	}
	d, err := ReadConversations(filepath.Join(path, ConversationsFile), "")
	if err == nil {
		err = unread(j.Host, &d.report, true)
	}
	if err != nil {
		return err
	}
	rows, err := d.Demonstrations(j.Host, j.Config)
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, d.LintTools(rows), j.Kept.AllowFindings)
	}
	if err != nil {
		return err
	}
	return j.SFT(ctx, d, rows)
}

// Conversations are the rows of a data file or folder, with the tools of those that name none.
type Conversations struct {
	path    string
	rows    []dataset.Row
	report  formats.Report
	catalog *mcp.Catalog       // nil where there is none
	chosen  *toolset.Selection // of the catalog's tools, for rows that name none; nil: all of them
}

// ReadConversations reads a data file or a folder of them, in any form that package formats knows, and the catalog that is named, or
// lies beside it. Rows that cannot be read are in the report.
func ReadConversations(path, catalog string) (Conversations, error) {
	d := Conversations{path: path}
	err := uncurated(path)
	if err != nil {
		return d, err
	}
	if d.rows, d.report, err = formats.Load([]string{path}, formats.Options{}); err != nil {
		return d, err
	}
	d.catalog, err = catalogBeside(path, catalog)
	return d, err
}

// holdOut is holdOut of the rows, once they are read for a run that begins: what it keeps of them says their splits.
func (d *Conversations) holdOut(h *host.Host, list []scenario.Scenario) {
	rows := make([]*dataset.Row, len(d.rows))
	for i := range d.rows {
		rows[i] = &d.rows[i]
	}
	holdOut(h, d.path, rows, list)
}

// choose has rows that name no tools show those of the catalog that an episode of theirs would (mcp.max_tools). Tools that episodes search for
// stay shown, since such rows call them without a search; that is told.
func (d *Conversations) choose(h *host.Host, c config.Config) {
	unnamed := 0
	for _, r := range d.rows {
		if len(r.Tools) == 0 && r.Shown == nil {
			unnamed++
		}
	}
	if d.catalog == nil || unnamed == 0 {
		return
	}
	s := toolset.Select(c, nil, d.catalog.Tools(), nil)
	switch {
	case s.UsesSearch():
		h.Say("warning: rows that name no tools (%d) show all of the catalog, which an episode searches (mcp.search_share); rows of hone collect search too", unnamed)
	case s.Of != nil:
		h.Say("rows that name no tools (%d) show those of an episode: %s", unnamed, s.Why)
		d.chosen = &s
	}
}

// catalogBeside reads the catalog that is named, or lies beside a file or in a folder; nil where neither is.
func catalogBeside(path, named string) (*mcp.Catalog, error) {
	if named == "" {
		named = filepath.Join(path, CatalogFile)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			named = filepath.Join(filepath.Dir(path), CatalogFile)
		}
		if _, err := os.Stat(named); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return mcp.Load(named)
}

// lines are the rows as hone writes them, whatever form they were read from.
func (d Conversations) lines() (text []byte, err error) {
	for i := range d.rows {
		if text, err = d.rows[i].AppendJSON(text); err != nil {
			return nil, err
		}
		text = append(text, '\n')
	}
	return text, nil
}

// where is a row's place, for errors.
func where(r *dataset.Row) string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// LintTools are the tools whose texts the rows put before the model, each once: the catalog's, and those that only rows
// list, whose server is called "data".
func (d Conversations) LintTools(rows []dataset.Row) []scan.Tool {
	known := map[string]bool{}
	text := func(t chat.Tool) string { return t.Name + "\x00" + t.Description + "\x00" + string(t.InputSchema) }
	var out []scan.Tool
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
				out = append(out, scan.Tool{Server: toolset.DataServer, Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
			}
		}
	}
	return out
}

// Demonstrations are the rows to learn from, each with the tools that it names or that c chooses for it. A row that calls what it does not list is an error:
// the model would learn to invent tools.
func (d *Conversations) Demonstrations(h *host.Host, c config.Config) ([]dataset.Row, error) {
	d.choose(h, c)
	var rows []dataset.Row
	held := map[string]int{}         // rows by split
	leftOut := map[string][]string{} // places by why
	for _, r := range d.rows {
		if !r.ToLearnFrom() {
			held[r.Split]++
			continue
		}
		if why := r.NotDemonstrated(); why != "" {
			if r.Outcome == trajectory.Limit {
				why += " (cut by rollout.max_turns or another limit; hone collect names the key to raise)"
			}
			leftOut[why] = append(leftOut[why], where(&r))
			continue
		}
		r, err := d.shown(r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	for _, why := range slices.Sorted(maps.Keys(leftOut)) {
		sayLeftOut(h, leftOut[why], why)
	}
	if measured, err := d.validation(); err != nil {
		return nil, err
	} else if held["validation"] -= len(measured); held["validation"] == 0 {
		delete(held, "validation") // all are measured on, which PlanSFT says
	}
	for _, split := range slices.Sorted(maps.Keys(held)) {
		h.Say("left out %s of the split %s: what is learnt from cannot be measured on", fault.Count(held[split], "row"), split)
	}
	if len(rows) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation shows how it is done", Where: d.path,
			Why: "all were left out", Next: "collect more: hone collect --split train, with a model that can do the tasks"}
	}
	return rows, nil
}

// validation are the rows of the split validation that show how it is done, each with its tools.
func (d Conversations) validation() (rows []dataset.Row, err error) {
	for _, r := range d.rows {
		if r.Split != "validation" || r.NotDemonstrated() != "" {
			continue
		}
		if r, err = d.shown(r); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// shown is a row with the tools that it was shown.
func (d Conversations) shown(r dataset.Row) (dataset.Row, error) {
	var tools []chat.Tool
	if d.catalog != nil {
		tools = d.catalog.Tools()
	}
	callable := r.Tools
	switch {
	case len(r.Tools) > 0:
	case r.Shown != nil:
		var err error
		if r.Tools, err = ToolsShown(*r.Shown, d.catalog, where(&r)); err != nil {
			return r, err
		}
		if callable = r.Tools; len(r.Shown.Own) > 0 { // by which it found others
			callable = slices.Concat(r.Shown.Own, tools)
		}
	case d.chosen != nil:
		var err error
		if r.Tools, err = d.chosen.ForDemonstration(cmp.Or(r.ScenarioID, r.ID), r.Messages); err != nil {
			return r, err
		}
		callable = tools
	default:
		r.Tools, callable = tools, tools
	}
	if name := r.UnknownTool(callable); name != "" {
		return r, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("a conversation calls the tool %q, which it does not list", name),
			Where: where(&r), Next: `give the row its "tools", or name the catalog of its server with --catalog`}
	}
	return r, nil
}

// SFTPlan is what SFT settles before a device is opened.
type SFTPlan struct {
	Model     *basemodel.Model
	Sequences []batch.Sequence
	Held      []batch.Sequence // that are measured and not learnt from
	prefix    int              // tokens that all Sequences begin with
}

// PlanSFT finds the base model, renders rows for it, and refuses what its positions or the memory do not hold. No device is
// opened and no weight read. The plan is to be closed, unless there is an error.
func (j *Job) PlanSFT(d Conversations, rows []dataset.Row) (l SFTPlan, err error) {
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.Model, err = j.baseOf(d.path, rows); err != nil {
		return l, err
	}
	validation, err := d.validation()
	if err != nil {
		return l, err
	}
	rows, held, err := holding[dataset.Row]{"sft", "row", j.Config.SFT.Validation, j.Config.SFT.Patience, j.Config.Seed, func(r dataset.Row) dataset.Row { return r }}.part(j.Host, rows, validation)
	if err != nil {
		return l, err
	}
	sequences := func(rows []dataset.Row) ([]batch.Sequence, error) {
		return SequencesOf(j.Host, l.Model, d.path, dataset.Unroll(j.Config.SFT.Unroll, rows), j.Config.Model.Context, j.SkipBad)
	}
	if l.Sequences, err = sequences(rows); err == nil && len(held) > 0 {
		l.Held, err = sequences(held)
		if why, is := errors.AsType[tooLong](err); is && len(validation) > 0 && j.Config.SFT.Patience == 0 {
			j.Say("note: the loss is measured on nothing: of the split validation, %v", why)
			err = nil
		}
	}
	if f, is := err.(*fault.Error); is && f.What == unrendered {
		err = orSkip(err)
	}
	if err != nil {
		return l, err
	}
	var steps []batch.Batch
	for _, picked := range l.stage(j.Config).Pass(len(l.Sequences), 0) {
		steps = append(steps, batch.New(pick(l.Sequences, picked)))
	}
	c := j.Config
	multiple := l.fewPrograms(&c, steps)
	if err = l.fit(j, c, steps); err != nil && multiple > 0 { // for want of memory, of which longer rows take more
		c, multiple = j.Config, 0
		err = l.fit(j, c, steps)
	}
	if multiple > 0 {
		j.Say("rows are padded to a multiple of %d tokens: so few steps are not worth compiling programs of more lengths (engine.row_multiple)", multiple)
	}
	if l.compiles() {
		l.sayTime(j, steps)
	}
	return l, err
}

// pack puts the rows of steps behind what all begin with, and settles whether they are worth packing: with how many tokens, and how many apart.
func (l *SFTPlan) pack(c *config.Config, steps []batch.Batch) (packed, apart int) {
	l.prefix = len(batch.New(l.Sequences).Prefix)
	for i := range steps {
		steps[i] = steps[i].Shorten(max(1, l.prefix))
	}
	packed, apart = basemodel.CountPacking(c.Engine, l.Model.Plugin.IsCUDA(), steps)
	if c.Engine.Packing == "auto" && float64(packed) > (1-worthPacking)*float64(apart) {
		c.Engine.Packing = "off"
	}
	return packed, apart
}

// baseOf finds the base model that conversations are rendered for, and settles what it is prompted with.
func (j *Job) baseOf(path string, rows []dataset.Row) (*basemodel.Model, error) {
	if err := basemodel.CheckShards(j.Config.Engine); err != nil {
		return nil, err
	}
	c, trained, err := basemodel.AdapterPrompting(j.Host, j.Config, j.Kept.Adapter, true)
	if err != nil {
		return nil, err
	}
	j.Config = c
	j.Config.Rollout.System = systemOf(j.Host, path, rows, j.Config.Rollout.System)
	m, err := basemodel.Find(j.Host, j.Config, j.Config.Model.Base, trained)
	if err == nil {
		m.SayUntrained(j.Config.LoRA, j.Kept.Adapter, true)
	}
	return m, err
}

// worthPacking is which share of the tokens of a pass rows as trees save at least, where hone chooses: a tree's rows are held against each
// other in attention, and its programs are others, which are compiled too.
const worthPacking = 1. / 3

// fit settles how the rows are computed, in the configuration of the job: with c's engine, and as the steps of the first pass have them.
func (l *SFTPlan) fit(j *Job, c config.Config, steps []batch.Batch) (err error) {
	packed, apart := l.pack(&c, steps)
	if j.Config.Engine, err = l.Model.FitRows(c, j.Kept.Adapter, l.prefix, slices.Concat(l.Sequences, l.Held)); err == nil && j.Config.Engine.Packing == "tree" {
		j.Say("a pass computes %d tokens, not %d: what rows of a step begin with is computed once (engine.packing)", packed, apart)
	}
	return err
}

// stage is the one of the rows.
func (l *SFTPlan) stage(c config.Config) recipe.SFT {
	s := SFTOf(c)
	s.Held = l.Held
	for _, r := range l.Sequences {
		s.Together = append(s.Together, r.Group)
	}
	return s
}

func pick(rows []batch.Sequence, which []int) (picked []batch.Sequence) {
	for _, i := range which {
		picked = append(picked, rows[i])
	}
	return picked
}

// systemOf is the system message that all rows begin with: what is learnt under it is to be served under it. Where they begin
// with several, or some with none, it is the one given, which those without one take.
func systemOf(h *host.Host, path string, rows []dataset.Row, given string) string {
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
	h.Say("the conversations of %s begin with %d different system messages: requests without one are served under %q", path, len(own), given)
	return given
}

// RehearseSFT is an error where sft would be one before it opens a device, or where the plug-in cannot be used.
func (j *Job) RehearseSFT(d Conversations, rows []dataset.Row) error {
	l, err := j.PlanSFT(d, rows)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := engine.CheckDevices(l.Model.Plugin.Path, j.Config.Engine.Devices); err != nil {
		return err
	}
	if l.Model.Plugin.Path != "" {
		if _, err := engine.Probe(l.Model.Plugin.Path); err != nil {
			return err
		}
	}
	longest, trained := 0, 0
	for _, s := range l.Sequences {
		longest, trained = max(longest, len(s.IDs)), trained+s.NumTrained()
	}
	j.Say("would take %s over %s of at most %s, %d of them trained, in %s", fault.Count(SFTOf(j.Config).NumSteps(len(l.Sequences)), "step"),
		fault.Count(len(l.Sequences), "row"), fault.Count(longest, "token"), trained, j.Path)
	return nil
}

// Close gives the model back, where there is one.
func (l SFTPlan) Close() {
	if l.Model != nil {
		l.Model.Close()
	}
}

// SFT runs what is left of SFT on rows.
func (j *Job) SFT(ctx context.Context, d Conversations, rows []dataset.Row) (err error) {
	l, err := j.PlanSFT(d, rows)
	if err != nil {
		return err
	}
	defer l.Close()
	m := l.Model
	if err := m.Load(basemodel.Loader(j.Config.Engine)); err != nil {
		return err
	}
	j.Say("model %s on %s; %s", m.Spec.Name, m.Engine.Description(), compiling(m.Engine))
	trainer, _, err := trainerOf(j.Host, m, j.Config, j.Kept.Adapter, l.prefix)
	if err != nil {
		return err
	}
	text, err := d.lines()
	if err != nil {
		return err
	}
	inputs := []run.Input{{Name: ConversationsFile, Data: text}}
	if d.catalog != nil {
		catalog, err := EncodeCatalog(d.catalog)
		if err != nil {
			return err
		}
		inputs = append(inputs, catalog)
	}
	if err := j.Begin(inputs...); err != nil {
		return err
	}
	s := l.stage(j.Config)
	track := j.StartTracking(j.Config.Metrics, j.Dir, Tracked{Main: s.Stage, Engine: m.Engine})
	defer func() { track.Close(err) }()
	log := Journal{Dir: j.Dir, Say: j.Say, Track: track}
	j.Opens(s)
	saved := newTrainer(trainer, m.Renderer)
	err = s.Run(ctx, l.Sequences, track.Trainer(saved, metrics.Eval), nil, log, track.Progress(j.Progress(1)))
	if err := j.Ended(ctx, s.Stage, err); err != nil {
		return err
	}
	if err := j.takeBest(log, s.Stage, saved); err != nil {
		return err
	}
	final := j.final()
	if err := basemodel.SaveAdapter(final, trainer, m.Renderer); err != nil {
		return err
	}
	basemodel.SayPrograms(j.Host, m.Engine)
	if err := track.Tell(j.Dir); err != nil {
		return err
	}
	return j.sayTuned(final)
}

// sayTuned tells where the adapter is and what can be done with it.
func (j *Job) sayTuned(final string) error {
	j.Say("adapter: %s", final)
	j.Say("next: hone train --adapter %s --dataset SCENARIOS --output-dir DIR, or hone serve --model %s", final, final)
	return nil
}

// SequencesOf renders rows as training rows, whose Group is the number of their conversation. One that the context does not hold is left out: cut short, it would teach to
// stop. So is, with skip, one that cannot be rendered.
func SequencesOf(h *host.Host, m *basemodel.Model, path string, rows []dataset.Row, context int, skip bool) ([]batch.Sequence, error) {
	return sequencesWithin(freeMemory(), h, m, path, rows, context, skip)
}

func sequencesWithin(free int64, h *host.Host, m *basemodel.Model, path string, rows []dataset.Row, context int, skip bool) ([]batch.Sequence, error) {
	var out []batch.Sequence
	splits, conversation := 0, 0
	var long []string // places of those that the context does not hold
	longest, bad := 0, refusedRows{}
	held := rendering{one: "row", all: len(rows), free: free}
	for i, r := range rows {
		if err := held.refuse(i, path); err != nil {
			return nil, err
		}
		if i > 0 && (r.TraceID == "" || r.TraceID != rows[i-1].TraceID) {
			conversation++
		}
		rendered, err := m.Renderer.Sequences(r.Messages, r.Opening, r.Tools)
		if err != nil && skip {
			bad.add(&r, err)
			continue
		}
		if err != nil {
			return nil, &fault.Error{Code: fault.CodeUsage, What: unrendered, Where: where(&r), Err: err, Next: "correct the row"}
		}
		for _, s := range rendered {
			if s.Rewrite != "" {
				if splits++; splits == 1 {
					h.Say("%s is trained as several rows: %s", where(&r), s.Rewrite)
				}
			}
			if len(s.IDs) > context {
				long, longest = append(long, where(&r)), max(longest, len(s.IDs))
				continue
			}
			out = append(out, batch.Sequence{IDs: s.IDs, Trained: s.Trained, Group: conversation})
			held.tokens += len(s.IDs)
		}
	}
	why := fmt.Sprintf("%d tokens, more than model.context", longest)
	if len(long) > 1 {
		why = "more tokens than model.context, at most " + strconv.Itoa(longest)
	}
	sayLeftOut(h, long, why)
	bad.say(h)
	if splits > 1 {
		h.Say("%d rows in all begin anew within a conversation, because the chat template rewrites what was said before", splits)
	}
	if len(out) == 0 && len(bad) > 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation can be learnt from", Where: path, Why: "none fits the chat template and model.context; see above",
			Next: "give other conversations"}
	}
	if len(out) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation fits the model's context", Where: path,
			Err: tooLong(context), Next: "raise model.context, or list fewer tools"}
	}
	return out, nil
}

// firstPlaces is how many rows are named that are left out for one reason.
const firstPlaces = 3

// sayLeftOut tells of rows that are not learnt from for one reason, in one line.
func sayLeftOut(h *host.Host, places []string, why string) {
	switch n := len(places); {
	case n == 1:
		h.Say("left out %s: %s", places[0], why)
	case n > firstPlaces:
		h.Say("left out %d rows: %s: %s and %d more", n, why, strings.Join(places[:firstPlaces], ", "), n-firstPlaces)
	case n > 0:
		h.Say("left out %d rows: %s: %s", n, why, strings.Join(places, ", "))
	}
}

// tooLong is why no conversation is left: each has more tokens than this.
type tooLong int

func (t tooLong) Error() string { return "each has more than " + fault.Count(int(t), "token") }
