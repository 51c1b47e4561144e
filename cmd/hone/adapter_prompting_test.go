//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/train"
	"hone/internal/serve/local"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

// An adapter that sft writes is served, evaluated, trained further and merged under what it was trained under, id for
// id, whatever hone.yaml says by then.
func TestAdaptersArePromptedAsTrained(t *testing.T) {
	const row = `{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}` + "\n"
	const ownRow = `{"messages": [{"role": "system", "content": "Of the data."}, {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}` + "\n"
	template := "{{ 'think: ' ~ think ~ '\\n' }}" + withTools
	for _, tc := range []struct{ name, data, yaml, want string }{
		{"hone's own form", row, "rollout: {system: \"Use tools.\"}\n", "Use tools."},
		{"without a system message", row, "", "hi"},
		{
			"a template with a variable", row,
			"rollout: {system: \"Use tools.\"}\nmodel: {chat_template: t.jinja, template_variables: {think: false}}\n",
			"think: False\n<|im_start|>system\nUse tools.",
		},
		{"the data's system message", ownRow, "model: {chat_template: t.jinja, template_variables: {think: 3}}\n",
			"think: 3\n<|im_start|>system\nOf the data."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			toyModel(t, "toy.gguf")
			write := func(name, text string) {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("hone.yaml", tc.yaml+"lora: {rank: 1}\nsft: {checkpoint_every: 1}\nengine: {backend: go}\n")
			write("rows.jsonl", tc.data)
			write("t.jinja", template)
			if code, _, said := hone(t, "", "sft", "--data", "rows.jsonl", "--base-model", "toy.gguf", "--output-dir",
				"out"); code != 0 {
				t.Fatal(said)
			}
			if code, _, said := hone(t, "", "merge", "--adapter", "out/final", "--output-dir", "merged"); code != 0 {
				t.Fatal(said)
			}
			trained := trainedPrompt(t)
			write("hone.yaml",
				"rollout: {system: another}\nmodel: {chat_template: other.jinja}\nengine: {backend: go}\n")
			write("other.jinja", "other"+withTools)
			checkpoints, err := filepath.Glob("out/checkpoints/*/adapter")
			if err != nil || len(checkpoints) == 0 {
				t.Fatal(checkpoints, err)
			}
			user := []chat.Message{{Role: chat.User, Content: "hi"}}
			for _, folder := range []string{"out/final", checkpoints[0]} {
				var said bytes.Buffer
				a := quietApp(&said)
				c, err := a.config()
				if err != nil {
					t.Fatal(err)
				}
				prompting, _, own, err := local.Prompting(a.Host, c, folder)
				if err != nil {
					t.Fatal(err)
				}
				m, err := basemodel.Find(a.Host, own, "toy.gguf", prompting)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				checkPrompt(t, "serve", m, user, trained)
				if !strings.Contains(m.Text.Tokenizer.Decode(trained), tc.want) {
					t.Errorf("trained behind %q", m.Text.Tokenizer.Decode(trained))
				}
				if !strings.Contains(said.String(),
					"model.chat_template: "+folder+" was trained under another, which is used") {
					t.Errorf("said %q", said.String())
				}
				l := &episodes.Episodes{Set: &toolset.Set{}}
				measured := c
				measured.Model.Base = "toy.gguf"
				p, err := l.Resolve(a.Host, measured,
					episodes.Wanted{Adapter: folder, Scenarios: []scenario.Scenario{{ID: "x", Task: "hi"}}})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Model.Close()
				checkPrompt(t, "eval", p.Model, p.Openings([]scenario.Scenario{{Task: "hi"}})[0], trained)
			}
			os.Remove("hone.yaml")
			again := &episodes.Episodes{Set: &toolset.Set{}}
			a := quietApp(&bytes.Buffer{})
			c := config.Default()
			c.Engine.Backend, c.Model.Base = "go", "toy.gguf"
			p, err := again.Resolve(a.Host, c, episodes.Wanted{Adapter: "out/final",
				Scenarios: []scenario.Scenario{{ID: "x", Task: "hi"}}, Trains: true})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Model.Close()
			checkPrompt(t, "train --adapter", p.Model, p.Openings([]scenario.Scenario{{Task: "hi"}})[0], trained)
			merged, err := basemodel.Find(a.Host, c, "merged", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer merged.Close()
			checkPrompt(t, "the merged model", merged, user, trained)
		})
	}
}

// quietApp is an app whose verbs' parts can be called without a command line.
func quietApp(said *bytes.Buffer) *app {
	a := toyApp(said, nil)
	a.seedIsPresent = func() bool { return false }
	return a
}

// trainedPrompt is what stands before the completion in the first row that sft trains on in the present folder.
func trainedPrompt(t *testing.T) []int32 {
	t.Helper()
	a := quietApp(&bytes.Buffer{})
	c, err := a.config()
	if err != nil {
		t.Fatal(err)
	}
	c.Model.Base = "toy.gguf"
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		t.Fatal(err)
	}
	d, err := job.ReadConversations(fakes.QuietHost(t), "rows.jsonl", "", false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Demonstrations(a.Host, config.Default())
	if err != nil {
		t.Fatal(err)
	}
	l, err := train.ResolveSFT((&job.Job{Env: a.jobs(c), Config: c}), d, rows)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := l.Sequences[0]
	return s.IDs[:slices.Index(s.Trained, true)]
}

func checkPrompt(t *testing.T, who string, m *basemodel.Model, messages []chat.Message, want []int32) {
	t.Helper()
	got, err := m.Renderer.Prompt(messages, nil)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: prompted with %q (%v), trained behind %q",
			who, m.Text.Tokenizer.Decode(got), err, m.Text.Tokenizer.Decode(want))
	}
}
