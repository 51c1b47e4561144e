package train

import (
	"fmt"
	"runtime"
	"time"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
)

// compiles reports whether programs of rows are compiled for long.
func (l *Plan) compiles() bool { return l.Model.Plugin.Path != "" }

// fewPrograms has a run of few steps pad its rows to fewer lengths, where that saves more compiling than it costs.
// steps are those of the first pass.
func (l *Plan) fewPrograms(c *config.Config, steps []batch.Batch) (multiple int) {
	all := l.stage(*c).NumSteps(len(l.Sequences))
	if !l.compiles() || all < 1 || len(steps) == 0 {
		return 0
	}
	taken, e := steps[:min(len(steps), all)], *c
	gpu, shape := l.Model.Plugin.IsCUDA(), model.Spec{}
	if gpu {
		shape = l.Model.Shape()
	}
	if l.pack(&e, steps); e.Engine.Packing == "auto" && !gpu { // which a CPU takes for trees
		e.Engine.Packing = "tree"
	}
	times := float64(all) / float64(len(taken))
	if multiple = basemodel.RowMultiple(shape, e.Engine, gpu, taken, times); multiple > 0 {
		c.Engine.RowMultiple = multiple
	}
	return multiple
}

// sayTime says beforehand about how long a run takes that compiles its programs: minutes of silence look like a program
// that hangs. pass has the steps of the first pass.
func (l *Plan) sayTime(j *job.Job, pass []batch.Batch) {
	programs, _ := basemodel.RowProgramsOf(l.Config.Engine, l.Model.Plugin.IsCUDA(), pass)
	l.Model.RowPrograms.Expect(programs)
	if l.Model.Plugin.IsCUDA() { // whose speed is not known
		return
	}
	all := l.stage(l.Config).NumSteps(len(l.Sequences))
	taken := pass[:min(len(pass), max(all, 0))]
	programs, positions := basemodel.RowProgramsOf(l.Config.Engine, false, taken)
	if programs == 0 {
		return
	}
	computed, cores := float64(positions)*float64(all)/float64(len(taken)), runtime.NumCPU()
	takes := basemodel.RowTime(l.Model.Shape(), cores, programs, computed)
	j.Say("%s", timeText(all, programs, computed, takes, cores, l.Config.SFT.Patience > 0 && len(l.Held) > 0))
}

// timeText says how long a run takes, and what that depends on; ends says that it may end before.
func timeText(steps, programs int, tokens float64, takes time.Duration, cores int, ends bool) string {
	about := "about"
	if ends {
		about = "at most about"
	}
	return fmt.Sprintf("%s on %.0f tokens with padding, and at most %s to compile: %s %s on %s; fast and free ones "+
		"take half of it, busy ones two or three times", fault.Count(steps, "step"), tokens,
		fault.Count(programs, "program"), about, roughly(takes), fault.Count(cores, "core"))
}

// roughly is a time in the unit that a person would wait in.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fault.Count(10*max(1, int((d+5*time.Second)/(10*time.Second))), "second")
	case d < 2*time.Hour:
		return fault.Count(int((d+30*time.Second)/time.Minute), "minute")
	}
	return fault.Count(int((d+30*time.Minute)/time.Hour), "hour")
}
