//go:build !race

// Left out of -race, as resume_test.go says.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// Rollouts that overlap with training are of the policy one step before, each completion says of which; and a run that
// is stopped on the way goes on to the result of one that was not.
func TestOverlappingRunGoesOn(t *testing.T) {
	command, env, _ := toyRun(t, "train")
	config := strings.NewReplacer("grpo: {steps: 4", "grpo: {staleness: 1, steps: 3", "eval: {every: 3}\n",
		"").Replace(contents(t, "hone.yaml"))
	write(t, "hone.yaml", config+differing(t))
	var said bytes.Buffer
	if code := toyApp(&said, env).main(t.Context(), append(command, "whole")); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	adapters := map[string]int{}
	for line := range strings.Lines(contents(t, "whole/trajectories.jsonl")) {
		var row struct {
			Stage, Adapter string
			Step           int
			Turns          []struct {
				PolicyVersion int `json:"policy_version"`
			}
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Stage != "grpo" {
			continue
		}
		version := row.Turns[0].PolicyVersion
		if want := max(0, row.Step-1); version > want {
			t.Errorf("an episode of step %d is of the policy after %d optimiser steps, want %d at most",
				row.Step, version, want)
		}
		if was, seen := adapters[row.Adapter]; seen && was != version {
			t.Errorf("the adapter %s is of the versions %d and %d", row.Adapter, was, version)
		}
		adapters[row.Adapter] = version
	}
	if len(adapters) < 2 {
		t.Errorf("all episodes are of one adapter: %v", adapters)
	}
	ctx, stop := context.WithCancel(t.Context())
	broken := &once{line: " 1/3", do: stop}
	if code := toyApp(broken, env).main(ctx, append(command, "broken")); code != 7 {
		t.Fatalf("stopped: exit code %d, %s", code, broken)
	}
	said.Reset()
	if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./broken"}); code != 0 {
		t.Fatalf("resumed: exit code %d, %s", code, &said)
	}
	if got, want := result(t, "broken"), result(t, "whole"); got != want {
		t.Errorf("the resumed run learnt something else; metrics\n%s\nwant\n%s", metricsOf(got), metricsOf(want))
	}
}
