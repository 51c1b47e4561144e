package tasks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// readToolathlon reads the folders of tasks/finalpool of github.com/eigent-ai/toolathlon_gym (commit d330298), whose
// form is Toolathlon's: task_config.json, docs/task.md, initial_workspace, groundtruth_workspace, preprocess/main.py,
// evaluation/main.py. evaluation/main.py is run by a command check with the same arguments as there. That can be done
// where it looks into the workspace alone, and where preprocess/main.py has nothing to prepare: the others need a
// PostgreSQL database or a server of pages for each episode.
func readToolathlon(r *reader) error {
	return filepath.WalkDir(r.From, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "task_config.json" {
			return err
		}
		return r.toolathlonTask(filepath.Dir(name))
	})
}

func (r *reader) toolathlonTask(dir string) error {
	id := filepath.Base(dir)
	if !r.wants(id) {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(dir, "task_config.json"))
	if err != nil {
		return err
	}
	var config struct {
		Servers  []string       `json:"needed_mcp_servers"`
		Local    []string       `json:"needed_local_tools"`
		MaxTurns *int           `json:"max_turns"`
		Meta     map[string]any `json:"meta"`
		Stop     any            `json:"stop"`
	}
	if err := r.fields("task_config.json: ", data, &config, "needed_mcp_servers", "needed_local_tools", "max_turns",
		"meta", "stop"); err != nil {
		r.refuse(filepath.Join(dir, "task_config.json"), err.Error())
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "docs", "task.md"))
	if err != nil {
		r.refuse(dir, "it has no docs/task.md")
		return nil
	}
	s := scenario.Scenario{ID: id, Task: string(text)}
	for _, server := range config.Servers {
		s.Tags = append(s.Tags, "server:"+server)
	}
	why, err := r.toolathlonCheck(dir, id, &s)
	if err != nil {
		return err
	}
	before := len(r.scenarios)
	r.take(dir, s, why)
	if len(r.scenarios) == before {
		return nil
	}
	r.need(config.Servers...)
	for what, there := range map[string]bool{
		"docs/agent_system_prompt.md": exists(dir, "docs/agent_system_prompt.md"),
		"task_config.json: max_turns": config.MaxTurns != nil, "task_config.json: meta": len(config.Meta) > 0,
		"task_config.json: stop": config.Stop != nil,
	} {
		if there {
			r.LeftOut[what]++
		}
	}
	for _, tool := range config.Local {
		r.LeftOut["task_config.json: needed_local_tools: "+tool]++
	}
	return nil
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil
}

var (
	imports = regexp.MustCompile(`(?m)^[ \t]*(?:import|from)[ \t]+([.\w]+)`)
	// prepares is what a preprocess/main.py that prepares something has in its text.
	prepares = regexp.MustCompile(`copy|extract|open\(|write|request|subprocess|Popen|connect\(|rmtree|unlink`)
)

// toolathlonCheck gives a scenario its start state and check, or says why it cannot.
func (r *reader) toolathlonCheck(dir, id string, s *scenario.Scenario) (why string, err error) {
	evaluation, err := os.ReadFile(filepath.Join(dir, "evaluation", "main.py"))
	if err != nil {
		return "it has no evaluation/main.py", nil
	}
	preprocess, err := os.ReadFile(filepath.Join(dir, "preprocess", "main.py"))
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{"evaluation/main.py", evaluation}, {"preprocess/main.py", preprocess}} {
		for _, found := range imports.FindAllSubmatch(f.text, -1) {
			switch module := string(found[1]); {
			case strings.HasPrefix(module, "psycopg2"):
				return "its " + f.name + " needs a PostgreSQL database, of which no episode has a copy of its own", nil
			case strings.HasPrefix(module, ".") || strings.HasPrefix(module, "utils"):
				return fmt.Sprintf("its %s imports %s, a module of Toolathlon's own", f.name, module), nil
			}
		}
	}
	if found := prepares.FindAllString(withoutComments(preprocess), -1); len(found) > 0 {
		slices.Sort(found)
		return "its preprocess/main.py would have to be run before each episode", nil
	}
	if exists(dir, "initial_workspace") {
		if err := r.copyOnce(filepath.Join(dir, "initial_workspace"), "tasks/"+id+"/initial_workspace"); err != nil {
			return "", err
		}
		s.Template = scenario.Templates{"": r.name + "/tasks/" + id + "/initial_workspace"}
	}
	for _, part := range []string{"evaluation", "groundtruth_workspace"} {
		if exists(dir, part) {
			if err := r.copyOnce(filepath.Join(dir, part), "tasks/"+id+"/"+part); err != nil {
				return "", err
			}
		}
	}
	if err := r.program("toolathlon.py"); err != nil {
		return "", err
	}
	s.Checks = []scenario.Check{
		{Type: scenario.CommandCheck, Command: []string{r.name + "/toolathlon.py", "tasks/" + id}, Timeout: 300},
	}
	return "", nil
}

// comment is a line of Python that says nothing, or a text in three quotes.
var comment = regexp.MustCompile(`(?m)^[ \t]*#.*$|(?s)""".*?"""`)

func withoutComments(python []byte) string { return string(comment.ReplaceAll(python, nil)) }
