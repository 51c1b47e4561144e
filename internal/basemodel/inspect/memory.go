package inspect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/plan"
	"hone/internal/learn/train"
)

// RunOptions say what the configuration does not: how long prompts and rows are depends on the tasks.
type RunOptions struct {
	Base, Adapter string // as hone train takes them
	Dataset       string // scenarios, whose tasks count beside what episodes add to them; "" counts none
	Prefix        int    // tokens that all prompts begin with
	Private       int    // tokens of an episode after them; 0: as many as there can be, as far as there is memory
	Row           int    // tokens of the longest training row after the prefix; 0: Private, -1: nothing is trained
}

// forecast is a run of the configuration as far as a plan knows it.
type forecast struct {
	plan.Settlement // of what the configuration says, with what it leaves to the plan
	spec            model.Spec
	room            plan.Room
	exact           bool // the row's length is given: else rows may be shorter
}

// make plans what the configuration says; no device is opened and no weight read.
func (o RunOptions) make(h *host.Host, c config.Config) (x forecast, err error) {
	x.exact = o.Row > 0
	if o.Adapter, err = basemodel.AdapterFolder(h, o.Adapter); err != nil {
		return x, err
	}
	if o.Base, err = basemodel.BaseOf(o.Adapter, o.Base, c); err != nil {
		return x, err
	}
	if o.Prefix < 0 || o.Private < 0 || o.Row < -1 {
		return x, &fault.Error{Code: fault.CodeUsage, What: "lengths are in tokens",
			Where: "--prefix, --private, --row", Next: "give them as hone inspect memory --help says"}
	}
	if err := basemodel.CheckShards(c.Engine); err != nil {
		return x, err
	}
	found, err := basemodel.FindPlugin(h, c.Engine)
	if err != nil {
		return x, err
	}
	c.Model.Base = o.Base
	if c, err = basemodel.SettleLengths(h, c); err != nil {
		return x, err
	}
	m, err := basemodel.FindShape(h, c, o.Base)
	if err != nil {
		return x, err
	}
	defer m.Close()
	x.spec = m.Shape()
	lora, err := m.AdapterShape(c, o.Adapter)
	if err != nil {
		return x, err
	}
	limit, err := basemodel.LimitOf(c.Engine, found.IsCUDA())
	if err != nil {
		return x, err
	}
	c.Engine = basemodel.FillStep(h, c.Engine, basemodel.RowsOfStep(c))
	x.spec.BF16 = engine.DType(c.Engine.DType).IsBF16(found.IsCUDA())
	x.room = plan.Room{Tokens: o.Private}
	if o.Private == 0 {
		row := o.Row
		of := func(private int) plan.Settings {
			if o.Row = row; row == 0 {
				o.Row = private
			}
			return basemodel.SettingsOf(c, lora, found.IsCUDA(), o.Prefix, private, max(o.Row, 0))
		}
		e := basemodel.EpisodeOf(c)
		if e.Prompt, err = longestTask(h, c, o.Dataset); err != nil {
			return x, err
		}
		if x.room, err = plan.FindRoom(x.spec, e, of, basemodel.OpenOf(c.Engine),
			max(1, min(c.Model.Context, x.spec.MaxContext-o.Prefix)), limit); err != nil {
			return x, err
		}
		o.Private, o.Row, x.room.Trains = x.room.Tokens, row, true
		c.Engine = basemodel.Allot(c.Engine, x.room)
		h.Say("%s", x.room)
	}
	if o.Row == 0 {
		o.Row = o.Private
	}
	x.Settlement, err = plan.Settle(x.spec, basemodel.SettingsOf(c, lora, found.IsCUDA(), o.Prefix, o.Private,
		max(o.Row, 0)), basemodel.OpenOf(c.Engine), limit)
	return x, err
}

// tokens is the length of the longest sequence.
func (x forecast) tokens() int { return x.Asked.Prefix + max(x.Asked.Context, x.Asked.Row) }

// refusal is an error with all for which the run would be refused.
func (x forecast) refusal(h *host.Host) error {
	all := []error{plan.TooLong(x.spec, x.tokens(),
		basemodel.ShorterEpisodes+"; here --prefix, --private and --row say how long they are")}
	if !x.Holds() {
		warning, err := plan.TooLarge(x.spec, x.Asked, x.Limit, x.exact)
		if warning != "" {
			h.Say("warning: %s", warning)
		}
		all = append(all, err)
	}
	var why, next []string
	for _, err := range all {
		if err == nil {
			continue
		}
		f, ok := errors.AsType[*fault.Error](err)
		if !ok {
			return err
		}
		why, next = append(why, f.What+": "+f.Why), append(next, f.Next)
	}
	if why == nil {
		return nil
	}
	return &fault.Error{Code: fault.CodeFailures, What: "this run would be refused", Where: x.spec.Name,
		Why: strings.Join(why, "\n    "), Next: strings.Join(next, "; ")}
}

// MemoryReport is what Memory prints as JSON. Bytes all.
type MemoryReport struct {
	plan.Plan
	Peak      int64  `json:"peak"`
	During    string `json:"during"` // the program
	Available int64  `json:"available,omitempty"`
	Of        string `json:"of,omitempty"`
	Fits      bool   `json:"fits"`
	Private   int    `json:"private"` // tokens of a slot after the prefix
	Results   int    `json:"results"` // of them, those for tools' results; 0 where --private is given
	// The longest sequence, and what the model has positions for.
	Tokens    int `json:"tokens"`
	Positions int `json:"positions"`
	// What training steps do, settled where the configuration leaves it to the plan.
	MicroBatch int             `json:"micro_batch"`
	Recompute  train.Recompute `json:"recompute"`
	Sharded    bool            `json:"shard_weights"`
}

// Memory prints what a run of the configuration would hold. It is an error where the run would be refused. A program's
// row adds up: what is held throughout, what programs take from and leave to each other, and what it needs while it
// runs.
func Memory(h *host.Host, c config.Config, o RunOptions) error {
	x, err := o.make(h, c)
	if err != nil {
		return err
	}
	most, chosen, b := x.Plan.Peak(), x.Chosen, x.Limit
	report := MemoryReport{x.Plan, most.Peak, most.Name, b.Bytes, b.Of, x.Holds(), x.Asked.Context, x.room.Results(),
		x.tokens(), x.spec.MaxContext, chosen.Train.RowsAtOnce(chosen.Row), chosen.Train.Recompute, chosen.ShardWeights}
	mib := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
	rows := [][]string{{"MiB", "THROUGHOUT", "OF PROGRAMS", "WHILE IT RUNS", "IN ALL"}}
	for _, item := range x.Plan.Held {
		rows = append(rows, []string{item.Name, mib(item.Bytes), "", "", ""})
	}
	throughout := x.Plan.Throughout()
	for _, program := range x.Plan.Programs {
		name := program.Name
		if program.Training { // the trainer and the sampler both have a prefix
			name += ", training"
		}
		rows = append(rows, []string{name, mib(throughout), mib(program.Peak - throughout - program.Temporary),
			mib(program.Temporary), mib(program.Peak)})
	}
	rows = append(rows, []string{"most, during " + most.Name, "", "", "", mib(most.Peak)})
	if b.Bytes > 0 {
		rows = append(rows, []string{b.Of, "", "", "", mib(b.Bytes)})
	}
	switch {
	case chosen.ShardWeights:
		h.Say("on each of %d devices, which share the weights (engine.shard_weights):", chosen.Devices)
	case chosen.Devices > 1:
		h.Say("on each of %d devices:", chosen.Devices)
	}
	h.Say("%s of %s after a prefix of %d, rows of %s, %d at once, engine.recompute: %s",
		fault.Count(chosen.Slots, "slot"), fault.Count(chosen.Context, "token"), chosen.Prefix, fault.Count(chosen.Row,
			"token"), chosen.Train.RowsAtOnce(chosen.Row), chosen.Train.Recompute)
	h.Say("the longest sequence has %s, and the model positions for %d",
		fault.Count(report.Tokens, "token"), report.Positions)
	if err := h.Print(report, rows); err != nil {
		return err
	}
	if !report.Fits {
		h.Say("it does not fit: %s MiB are missing", mib(most.Peak-b.Bytes))
	}
	if err := x.refusal(h); err != nil {
		return err
	}
	if report.Fits && b.Bytes > 0 {
		h.Say("it fits")
	}
	return nil
}

// Programs writes the programs that a run of the configuration compiles into a folder, as StableHLO text.
func Programs(h *host.Host, c config.Config, o RunOptions, folder string) error {
	if folder == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no folder for the programs", Next: "name one with --hlo"}
	}
	p, err := o.make(h, c)
	if err != nil {
		return err
	}
	if h.DryRun {
		h.Say("would write %s into %s", fault.Count(len(p.Plan.Programs), "program"), folder)
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	rows := [][]string{{"FILE", "LINES"}}
	files := []string{}
	for i, x := range p.Plan.Programs {
		file := filepath.Join(folder, fmt.Sprintf("%02d_%s.mlir", i+1, x.Name))
		text := x.Text()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		files = append(files, file)
		rows = append(rows, []string{file, fmt.Sprint(strings.Count(text, "\n"))})
	}
	return h.Print(map[string][]string{"files": files}, rows)
}
