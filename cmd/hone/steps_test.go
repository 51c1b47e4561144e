//go:build !race

package main

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// --steps is how many a training takes, fewer than its epochs have or more: what a dry run says, what the run keeps,
// and what a stopped run goes on to.
func TestStepsOfTraining(t *testing.T) {
	for verb, x := range map[string]struct{ dry, end string }{
		"sft":     {"would take 3 steps over", "sft +3/3"},
		"sidecar": {"would take 3 steps of SFT and 3 steps of GRPO on", "grpo +3/3"},
	} {
		t.Run(verb, func(t *testing.T) {
			command, env, _ := toyRun(t, verb)
			rest := command[:len(command)-1]
			more := strings.ReplaceAll(x.dry, "3", "7") // two passes have 4
			if code, _, said := hone(t,
				"", slices.Concat(rest, []string{"--steps", "7", "--output-dir", "out", "--dry-run"})...); code != 0 ||
				!strings.Contains(said, more) {
				t.Errorf("exit code %d, a dry run does not say %q: %s", code, more, said)
			}
			command = slices.Concat(rest, []string{"--steps", "3", "--output-dir", "out"})
			if code, _, said := hone(t, "", append(command, "--dry-run")...); code != 0 ||
				!strings.Contains(said, x.dry) {
				t.Errorf("exit code %d, a dry run does not say %q: %s", code, x.dry, said)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var said bytes.Buffer
			if code := toyApp(&once{line: " 1/3", do: stop}, env).main(ctx, command); code != int(fault.CodeStopped) {
				t.Fatalf("exit code %d, want a run that is stopped at step 1 of 3", code)
			}
			// of sft and of grpo
			if kept := contents(t, "out/config.resolved.yaml"); strings.Count(kept, "\n  steps: 3\n") != 2 {
				t.Errorf("the run keeps another number of steps:\n%s", kept)
			}
			if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./out"}); code != 0 ||
				!regexp.MustCompile(x.end).MatchString(said.String()) ||
				regexp.MustCompile(`(sft|grpo) +\d/[^3]`).MatchString(said.String()) {
				t.Errorf("exit code %d, want an end at step 3 of 3: %s", code, &said)
			}
			if before, _, _ := strings.Cut(said.String(), "\ncalibration "); verb == "sidecar" &&
				(!strings.Contains(before, "all steps are taken; now the model revises 2 drafts of validation once") ||
					!strings.Contains(before, "right already; every 3 steps of SFT and at its end the model revises 1 "+
						"draft of the split validation, to see")) {
				t.Errorf("what comes before the calibration, and what is not looked for, is not said: %s", &said)
			}
		})
	}
	if code, _, said := hone(t, "", "sft", "--data", "say.jsonl", "--steps", "-1", "--output-dir", "new"); code != 2 ||
		!strings.Contains(said, "cannot take -1 steps") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
