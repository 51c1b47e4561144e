package train

import (
	"os"
	"path/filepath"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/learn/batch"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/toolset"
)

// trainingInputs are the demonstrations that GRPO learns from, and what the run keeps of all that it was given.
func trainingInputs(
	j *job.Job, l *episodes.Episodes, list []scenario.Scenario,
) (shown []batch.Sequence, kept []run.Input, err error) {
	kept, err = job.InputsOf(l.Set)
	if err != nil {
		return nil, nil, err
	}
	text, err := scenario.Encode(list, false)
	if err != nil {
		return nil, nil, err
	}
	shown, conversations, err := demonstrations(j, l.Model, l.Catalog, list)
	return shown, append(append(kept, run.Input{Name: job.ScenariosFile, Data: text}), conversations...), err
}

// shownIn is the file of the conversations that an adapter's SFT had, "" where its run kept none.
func shownIn(o *job.Origin) string {
	if o == nil || o.Run == "" {
		return ""
	}
	file := filepath.Join(o.Run, job.ConversationsFile)
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// demonstrations are the rows that GRPO learns from beside its episodes, and what the run keeps of them; none where the
// configuration has none. A run that goes on has those that it kept. all are the run's scenarios, of every split.
func demonstrations(
	j *job.Job, m *basemodel.Model, catalog *mcp.Catalog, all []scenario.Scenario,
) (rows []batch.Sequence, kept []run.Input, err error) {
	c := j.Config.GRPO.Demonstrations
	if c.Rows <= 0 {
		return nil, nil, nil
	}
	path := c.File
	if j.Dir != nil {
		path = filepath.Join(j.Path, job.ConversationsFile)
	}
	if path == "" {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "there are no demonstrations to learn from",
			Where: "grpo.demonstrations.file",
			Next: "name the conversations that hone sft had, such as shown/trajectories.jsonl, " +
				"or set grpo.demonstrations.rows to 0"}
	}
	d, err := job.ReadConversations(j.Host, path, "", false)
	if err != nil {
		return nil, nil, err
	}
	if d.Catalog == nil {
		d.Catalog = catalog
	}
	if j.Dir == nil {
		d.HoldOut(j.Host, all)
	}
	list, err := d.Demonstrations(j.Host, j.Config)
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, d.LintTools(list), j.Kept.AllowFindings)
	}
	if err == nil {
		rows, err = job.SequencesOf(j.Host, m, path, dataset.Unroll(j.Config.SFT.Unroll, list),
			j.Config.Model.Context, false)
	}
	if err != nil {
		return nil, nil, err
	}
	d.Rows = list // with their tools
	text, err := d.Lines()
	return rows, []run.Input{{Name: job.ConversationsFile, Data: text}}, err
}

// fewestUnshown is the fewest scenarios that GRPO takes alone: fewer would come too often.
const fewestUnshown = 64

// leaveOutShown leaves out the training scenarios whose solutions the adapter's SFT was shown, where enough others are
// there. A model that knows a solution makes the same calls in all episodes of a group, so their rewards are equal and
// teach nothing (docs/LEARNING.md). shown is the file of the SFT's conversations, "" for none.
func leaveOutShown(j *job.Job, list []scenario.Scenario, shown string) ([]scenario.Scenario, error) {
	if shown == "" {
		return list, nil
	}
	rows, _, err := dataset.Load([]string{shown}, dataset.Options{})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.Scenario] = true
	}
	known := func(s scenario.Scenario) bool { return s.Split == scenario.Train && seen[s.Hash()] }
	kept := slices.DeleteFunc(slices.Clone(list), known)
	n, all := len(scenario.OfSplit(kept, scenario.Train)), len(scenario.OfSplit(list, scenario.Train))
	switch {
	case n == all:
		return list, nil
	case n < fewestUnshown:
		j.Say("%s of %d were shown to the adapter's SFT; GRPO learns more from others: hone synth -n 1000 or more, of "+
			"which collect --gold leaves some out", fault.Count(all-n, "scenario"), all)
		return list, nil
	}
	j.Say("%s whose solutions the adapter's SFT was shown are left out: %s remain",
		fault.Count(all-n, "scenario"), fault.Count(n, "scenario"))
	return kept, nil
}
