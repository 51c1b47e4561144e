package train

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/run/report"
)

// sayNextGRPO tells where the adapter is and what can be done with it. It is an error where nothing was learnt.
func sayNextGRPO(j *job.Job, final string) error {
	if err := unlearnt(j, job.GRPOStage, final); err != nil {
		return err
	}
	j.Say("adapter: %s", final)
	j.Say("next: hone eval --model %s --dataset %s%s", final, evalFile(j), heldOutSplit(j))
	return nil
}

// heldOutSplit is the flag of a split that can be measured: the first of validation and test that has scenarios, or
// what was trained on.
func heldOutSplit(j *job.Job) string {
	list, err := scenario.LoadCopy(filepath.Join(j.Path, job.ScenariosFile))
	if err != nil {
		return " --split " + scenario.Validation
	}
	for _, split := range []string{scenario.Validation, scenario.Test} {
		if len(scenario.OfSplit(list, split)) > 0 {
			return " --split " + split
		}
	}
	return " --split " + scenario.Train
}

// evalFile is the file of scenarios to measure the adapter on: the run's own, which have their splits and none that
// --skip-bad left out. Rows that name files beside their own file are read from there alone, without those that cannot
// be read.
func evalFile(j *job.Job) string {
	own := filepath.Join(j.Path, job.ScenariosFile)
	if _, err := scenario.Load(own); err != nil {
		if _, err := scenario.Load(j.Config.Scenarios.File); err != nil {
			return j.Config.Scenarios.File + " --skip-bad"
		}
		return j.Config.Scenarios.File
	}
	return own
}

// unlearnt is an error where no group of any step of a stage had two rewards that differ, and neither a success, nor a
// demonstration, nor a teacher was learnt from.
func unlearnt(j *job.Job, stage, final string) error {
	rows, err := j.Dir.Ledger.Metrics(stage)
	if err != nil {
		return err
	}
	for _, r := range rows {
		var m struct {
			Spread   float64 `json:"reward_spread"`
			Imitated float64 `json:"imitation/episodes"`
			Shown    float64 `json:"demonstrations"`
			Passed   float64 `json:"raft/episodes"`
			Taught   float64 `json:"distillation/rows"`
		}
		if err := json.Unmarshal(r.JSON, &m); err != nil {
			return fmt.Errorf("reading the metrics of %s step %d: %w", stage, r.Step, err)
		}
		if m.Spread > 0 || m.Imitated > 0 || m.Shown > 0 || m.Passed > 0 || m.Taught > 0 {
			return nil
		}
	}
	return &fault.Error{
		Code:  fault.CodeFailures,
		What:  "nothing was learnt: in no step did two episodes of one scenario earn different rewards",
		Where: j.Path,
		Why: "GRPO learns from such differences alone; the adapter in " + final +
			" is the one it began with",
		Next: "see the rewards in trajectories.jsonl; where all fail, hone sft first or easier scenarios; " +
			"where none do, harder ones",
	}
}

// reportOf writes the report of a training run.
func reportOf(j *job.Job, l *episodes.Episodes) error {
	_, _, err := records.WritePage(j.Env, j.Path, func(p *report.Page) {
		p.Say("device", l.Device())
	})
	return err
}
