package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job/records"
	"hone/internal/run"
)

// TasksOf are those of a run of this size: what an earlier attempt made, else drafts of all splits, executed on the
// live server and kept.
func TasksOf(
	ctx context.Context, h *host.Host, dir *run.Dir, c config.Config, size Size, tools environment.Tools,
) (Tasks, error) {
	t, ok, err := LoadTasks(dir, size)
	if ok || err != nil {
		return t, err
	}
	if t, err = execute(ctx, h, c, size, tools); err != nil {
		return t, err
	}
	return t, KeepTasks(dir, t)
}

// LoadTasks are the tasks that an earlier attempt executed, if one did.
func LoadTasks(dir *run.Dir, size Size) (t Tasks, ok bool, err error) {
	path := filepath.Join(dir.Path, records.TasksFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return t, false, err
	}
	if t.Size != size {
		return t, false, &fault.Error{Code: fault.CodeUsage, What: "the run was begun with other tasks", Where: path,
			Why: fmt.Sprintf("it holds %s, asked for are %s",
				t.Size, size), Next: "give the flags it was begun with, or another --output-dir"}
	}
	if slices.ContainsFunc(t.Demonstrations, func(s scenario.Solved) bool { return s.Scenario.ID == "" }) {
		return t, false, &fault.Error{Code: fault.CodeUsage, What: "the run cannot go on", Where: path,
			Why:  "the hone that began it did not keep of which scenarios its demonstrations are",
			Next: "begin it again, with another --output-dir"}
	}
	return t, true, dir.AddInput(run.Input{Name: records.TasksFile, Data: text}) // a kill may have come before its sum
}

// KeepTasks keeps tasks for a run that goes on.
func KeepTasks(dir *run.Dir, t Tasks) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return dir.AddInput(run.Input{Name: records.TasksFile, Data: text})
}

// execute makes the tasks of all splits on the live server.
func execute(
	ctx context.Context, h *host.Host, c config.Config, size Size, tools environment.Tools,
) (t Tasks, err error) {
	session, err := tools.Open(ctx, "gold")
	if err != nil {
		return t, err
	}
	defer func() { _ = session.Close() }() // only reads were made
	call := func(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
		return session.Call(ctx, []chat.ToolCall{c})[0]
	}
	dropped := 0
	t, err = Execute(ctx, c.Seed, size, call, func(task string, err error) {
		dropped++
		h.Say("dropped %q: %v", task, err)
	})
	if err != nil {
		return t, err
	}
	h.Say("executed on the live server: %d demonstrations, %d training and %d %s scenarios; %d dropped",
		len(t.Demonstrations), len(t.Train), len(t.Test), size.EvalSplit(), dropped)
	if len(t.Demonstrations) == 0 || len(t.Train) == 0 || len(t.Test) == 0 {
		return t, &fault.Error{Code: fault.CodeFailures, What: "no scenario could be executed", Where: c.MCP.Config,
			Next: "hone doctor"}
	}
	return t, nil
}
