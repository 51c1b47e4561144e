package tasks

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// readMCPMark reads the folders of tasks/ of github.com/eval-sys/mcpmark (commit 89d7967): each with description.md,
// verify.py and mostly meta.json. verify.py is run by a command check, as its runner runs it: what it says by exit
// status 0 holds. That can be done for the tasks on files, whose state is a folder; those on accounts of services, on a
// browser or on PostgreSQL are refused.
//
// Its runner adds a sentence to each task, that the agent is not to ask back. This does not: rollout.system is the
// place.
func readMCPMark(r *reader) error {
	return filepath.WalkDir(r.From, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "description.md" {
			return err
		}
		dir := filepath.Dir(name)
		within, err := filepath.Rel(r.From, dir)
		if err != nil {
			return err
		}
		return r.mcpMarkTask(dir, filepath.ToSlash(within))
	})
}

func (r *reader) mcpMarkTask(dir, within string) error {
	text, err := os.ReadFile(filepath.Join(dir, "description.md"))
	if err != nil {
		return err
	}
	var meta struct {
		Task       string   `json:"task_id"`
		Category   string   `json:"category_id"`
		Difficulty string   `json:"difficulty"`
		Tags       []string `json:"tags"`
		Services   []string `json:"mcp"`
		State      struct {
			URL string `json:"stateUrl"`
		} `json:"meta_data"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err == nil {
		err = r.fields("meta.json: ", data, &meta, "task_id", "task_name", "category_id", "category_name",
			"description", "author", "created_at", "difficulty", "tags", "mcp", "meta_data", "meta_data.stateType",
			"meta_data.stateContent", "meta_data.stateUrl", "meta_data.stateOriginalUrl")
		if err != nil {
			r.refuse(filepath.Join(dir, "meta.json"), err.Error())
			return nil
		}
	} else if !os.IsNotExist(err) {
		return err
	}
	if meta.Category == "" {
		meta.Category = path.Base(path.Dir(within))
	}
	if len(meta.Services) == 0 { // tasks/SERVICE/SUITE/CATEGORY/TASK
		if parts := strings.Split(within, "/"); len(parts) == 4 {
			meta.Services = parts[:1]
		}
	}
	id := within
	if within == "." {
		id = meta.Category + "/" + meta.Task
	}
	if !r.wants(id) {
		return nil
	}
	s := scenario.Scenario{ID: id, Task: string(text), Difficulty: meta.Difficulty,
		Tags: slices.Concat([]string{"category:" + meta.Category}, meta.Tags)}
	why, err := r.mcpMarkCheck(dir, id, meta.Services, meta.Category, meta.State.URL, &s)
	if err != nil {
		return err
	}
	before := len(r.scenarios)
	r.take(dir, s, why)
	if len(r.scenarios) > before {
		r.need(meta.Services...)
	}
	return nil
}

// mcpMarkCheck gives a scenario its start state and check, or says why it cannot.
func (r *reader) mcpMarkCheck(
	dir, id string, services []string, category, url string, s *scenario.Scenario,
) (why string, err error) {
	if _, err := os.Stat(filepath.Join(dir, "verify.py")); err != nil {
		return "there is no verify.py beside its description.md", nil
	}
	if !slices.Equal(services, []string{"filesystem"}) {
		return fmt.Sprintf("its verify.py looks into the service %s, of which no episode has a copy of its own; "+
			"only filesystem is a folder", strings.Join(services, ", ")), nil
	}
	if _, err := os.Stat(filepath.Join(dir, "prepare_environment.py")); err == nil {
		return "its prepare_environment.py would have to be run before each episode", nil
	}
	state := filepath.Join(r.States, category)
	if info, err := os.Stat(state); r.States == "" || err != nil || !info.IsDir() {
		if url == "" {
			url = "the archive of its category"
		}
		return fmt.Sprintf("its start state is not here: unpack %s, and give --states the folder that has %s",
			url, category), nil
	}
	if err := r.copyOnce(state, path.Join("states", category)); err != nil {
		return "", err
	}
	if err := r.copyOnce(dir, path.Join("tasks", id)); err != nil {
		return "", err
	}
	if err := r.program("mcpmark.py"); err != nil {
		return "", err
	}
	s.Template = scenario.Templates{"": r.name + "/states/" + category}
	s.Checks = []scenario.Check{
		{Type: scenario.CommandCheck, Command: []string{r.name + "/mcpmark.py", "tasks/" + id}, Timeout: 300},
	}
	return "", nil
}
