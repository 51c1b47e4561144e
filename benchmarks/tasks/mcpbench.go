package tasks

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/episode/scenario"
)

// referenceFile has what a judge of MCP-Bench's tasks is told and the agent is not: a line for each scenario.
const referenceFile = "reference.jsonl"

// reference is a line of it.
type reference struct {
	ID           string   `json:"id"`
	Task         string   `json:"task"`                // with all values, where the agent was given a vaguer wording
	Dependencies string   `json:"dependency_analysis"` // which calls need which
	Servers      []string `json:"servers"`
	Distractions []string `json:"distraction_servers"`
}

// readMCPBench reads tasks/*_runner_format.json of github.com/Accenture/mcp-bench (commit 09e5233): one such file, or a
// folder of them. The agent is given the vague wording, as its runner does by default; the exact one, the analysis of
// dependencies and the servers go into reference.jsonl. The form has no gold calls and no checks, so what its tasks are
// done by is for a judge.
func readMCPBench(r *reader) error {
	files := []string{r.From}
	if info, err := os.Stat(r.From); err != nil {
		return err
	} else if info.IsDir() {
		if files, err = fs.Glob(os.DirFS(r.From), "*.json"); err != nil {
			return err
		}
		for i := range files {
			files[i] = filepath.Join(r.From, files[i])
		}
	}
	var lines []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := r.mcpBenchFile(file, data, &lines); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(r.staging, referenceFile), lines, 0o644)
}

func (r *reader) mcpBenchFile(file string, data []byte, lines *[]byte) error {
	var all struct {
		ServerTasks []json.RawMessage `json:"server_tasks"`
	}
	if err := r.fields("", data, &all, "generation_info", "generation_info.status", "server_tasks",
		"total_tasks"); err != nil {
		return err
	}
	for i, raw := range all.ServerTasks {
		var group struct {
			Server      string            `json:"server_name"`
			Servers     []string          `json:"servers"`
			Combination string            `json:"combination_type"`
			Tasks       []json.RawMessage `json:"tasks"`
		}
		if err := r.fields("server_tasks.", raw, &group, "server_name", "servers", "combination_name",
			"combination_type", "tasks"); err != nil {
			return fmt.Errorf("server_tasks[%d]: %w", i, err)
		}
		if len(group.Servers) == 0 { // older files
			group.Servers = strings.Split(group.Server, "+")
		}
		for k, raw := range group.Tasks {
			where := fmt.Sprintf("%s: server_tasks[%d].tasks[%d]", file, i, k)
			var task struct {
				ID           string   `json:"task_id"`
				Exact        string   `json:"task_description"`
				Vague        string   `json:"fuzzy_description"`
				Dependencies string   `json:"dependency_analysis"`
				Distractions []string `json:"distraction_servers"`
			}
			err := r.fields("server_tasks.tasks.", raw, &task, "task_id", "task_description", "fuzzy_description",
				"dependency_analysis", "distraction_servers")
			if err != nil {
				r.refuse(where, err.Error())
				continue
			}
			if task.ID == "" {
				r.refuse(where, `it has no "task_id"`)
				continue
			}
			if !r.wants(task.ID) {
				continue
			}
			s := scenario.Scenario{ID: task.ID, Task: task.Vague, Difficulty: group.Combination}
			if strings.TrimSpace(s.Task) == "" {
				s.Task = task.Exact
			}
			for _, server := range group.Servers {
				s.Tags = append(s.Tags, "server:"+server)
			}
			before := len(r.scenarios)
			r.take(where+" ("+task.ID+")", s, "")
			if len(r.scenarios) == before {
				continue
			}
			r.need(group.Servers...)
			line, err := json.Marshal(reference{task.ID, task.Exact, task.Dependencies, group.Servers,
				task.Distractions})
			if err != nil {
				return err
			}
			*lines = append(append(*lines, line...), '\n')
		}
	}
	return nil
}
