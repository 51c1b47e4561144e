package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/job/train"
	"hone/internal/run"
	"hone/internal/run/report"
	"hone/internal/testing/fakes"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// To go on with a run that has ended tells its end with the same exit code, and needs no server for it. One that lacks
// its last file, or whose files were edited, goes on.
func TestResumeOfARunThatHasEnded(t *testing.T) {
	const nothing, ended = "nothing was learnt", "the run has ended"
	for name, c := range map[string]struct {
		verb, metrics, without string
		edited                 bool
		code                   fault.Code
		says                   string
	}{
		"train":                {"train", `{"reward_spread":0.5}`, "", false, fault.CodeOK, "adapter: out/final\nnext: hone eval --model out/final"},
		"nothing was learnt":   {"train", `{"reward_spread":0}`, "", false, fault.CodeFailures, nothing},
		"no report yet":        {"train", `{"reward_spread":0.5}`, report.ResultsFile, false, fault.CodeUsage, "cannot read the scenarios"},
		"no adapter yet":       {"train", `{"reward_spread":0.5}`, "final/" + render.TemplateFile, false, fault.CodeUsage, "cannot read the scenarios"},
		"more steps are meant": {"train", `{"reward_spread":0.5}`, "", true, fault.CodeUsage, "cannot read the scenarios"},
		"sft":                  {"sft", `{"loss":1}`, "", false, fault.CodeOK, "adapter: out/final\nnext: hone serve --model out/final"},
		"dpo":                  {"dpo", `{"loss":1}`, "", false, fault.CodeOK, "adapter: out/final\nnext: hone eval --model out/final --compare-base"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			h, said := fakes.HostWithOutput(t)
			e := job.Env{Host: h, Table: job.Verbs{
				{Name: "train", Finished: job.HasAdapter, Resume: train.ResumeGRPO},
				{Name: "sft", Finished: job.HasAdapter, Resume: train.ResumeSFT},
				{Name: "dpo", Finished: job.HasAdapter, Resume: train.ResumeDPO},
			}}
			stage := map[string]string{"train": job.GRPOStage, "sft": job.SFTStage,
				"dpo": job.DPOStage}[c.verb]
			j := &job.Job{Env: e, Verb: c.verb, Path: "out", Config: config.Default(), Kept: job.Kept{MCPGiven: true}}
			if err := j.Begin(); err != nil {
				t.Fatal(err)
			}
			if err := j.Dir.PutMetric(stage, 0, []byte(c.metrics)); err != nil {
				t.Fatal(err)
			}
			if err := (records.Journal{Dir: j.Dir}).Finish(stage); err != nil {
				t.Fatal(err)
			}
			j.Close()
			if err := os.Mkdir("out/final", 0o755); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"final/" + render.TemplateFile, report.ResultsFile} {
				if file == c.without {
					continue
				}
				if err := os.WriteFile(filepath.Join("out", file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.edited {
				settings, err := j.Config.YAML()
				if err == nil {
					err = os.WriteFile("out/"+run.ConfigFile, append(settings, "# edited\n"...), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				d, err := run.Open("out", run.OpenOptions{AcceptEdits: true})
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
			err := e.Resume(t.Context(), "out", toolset.Source{})
			all := said.String()
			if err != nil {
				all += err.Error()
			}
			if fault.CodeOf(err) != c.code || !strings.Contains(all, c.says) ||
				strings.Contains(all, ended) != (c.code == fault.CodeOK || c.says == nothing) {
				t.Errorf("exit code %d, %s", fault.CodeOf(err), all)
			}
		})
	}
}
