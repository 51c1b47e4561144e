package records

import (
	"encoding/json"
	"os"
	"path/filepath"

	"hone/internal/episode/scenario"
)

// TasksFile holds the tasks that a run made for itself, as a demo does.
const TasksFile = "tasks.json"

// ownTasks are what every such file holds.
type ownTasks struct {
	Demonstrations []scenario.Solved
	Train, Test    []scenario.Scenario
}

// ownTasksOf are those of the run in path.
func ownTasksOf(path string) (t ownTasks, err error) {
	text, err := os.ReadFile(filepath.Join(path, TasksFile))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}
