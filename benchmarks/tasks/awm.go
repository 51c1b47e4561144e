package tasks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"hone/internal/episode/scenario"
)

// Files of Agent World Model (arXiv 2602.10090) as its pipeline writes them,
// github.com/Snowflake-Labs/agent-world-model at commit 91a9578: JSON lines, one for each environment, or of verifiers
// one for each task.
const (
	awmTasks     = "gen_tasks.jsonl"
	awmSchemas   = "gen_db.jsonl"
	awmSamples   = "gen_sample.jsonl"
	awmVerifiers = "gen_verifier.pure_code.jsonl"
	awmServers   = "gen_envs.jsonl"
)

// environment is one of them, by its name in one form.
type awmEnvironment struct {
	tasks     []string
	tables    []table
	inserts   []string
	verifiers map[int]awmVerifier
	server    string // the program
}

type awmVerifier struct{ task, code string }

// table is SQL that makes one.
type table struct {
	Name     string   `json:"name"`
	DDL      string   `json:"ddl"`
	Indexes  []string `json:"indexes"`
	Examples []string `json:"examples"`
}

// readAWM reads a folder with these files. The database of an environment becomes the start state of its scenarios, as
// NAME.db in the episode's folder, made by the same statements in the same order. The verifier that is code is run by a
// command check, on that state, the episode's and the last answer; one that only gathers what a judge is to look at is
// none.
func readAWM(r *reader) error {
	all, order := map[string]*awmEnvironment{}, []string{}
	if err := r.awmTasks(all, &order); err != nil {
		return err
	}
	for file, read := range map[string]func(map[string]*awmEnvironment, []byte) error{
		awmSchemas: r.awmSchema, awmSamples: r.awmSample, awmVerifiers: r.awmVerifier, awmServers: r.awmServer} {
		err := r.lines(file, func(line []byte) error { return read(all, line) })
		// what is missing keeps tasks from being scenarios, each with its reason
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range order {
		if err := r.awmScenarios(name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

// awmName is an environment's name as its files are found by: lower case, anything but letters and digits one _.
func awmName(name string) string {
	return strings.Trim(notWord.ReplaceAllString(strings.ToLower(name), "_"), "_")
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// lines calls f with each line of a file; a line that it refuses is named and left out.
func (r *reader) lines(file string, f func([]byte) error) error {
	in, err := os.Open(filepath.Join(r.From, file))
	if err != nil {
		return err
	}
	defer in.Close()
	lines := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := f(line); err != nil {
				r.refuse(fmt.Sprintf("%s:%d", filepath.Join(r.From, file), n), err.Error())
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// awmTasks reads the environments that are asked for, in the file's order.
func (r *reader) awmTasks(all map[string]*awmEnvironment, order *[]string) error {
	return r.lines(awmTasks, func(line []byte) error {
		var row struct {
			Scenario string   `json:"scenario"`
			Tasks    []string `json:"tasks"`
		}
		if err := r.fields(awmTasks+": ", line, &row, "scenario", "tasks"); err != nil {
			return err
		}
		name := awmName(row.Scenario)
		if name == "" {
			return errors.New(`it has no "scenario"`)
		}
		if all[name] != nil {
			return fmt.Errorf("the environment %s is there already", name)
		}
		e := &awmEnvironment{tasks: row.Tasks, verifiers: map[int]awmVerifier{}}
		wanted := false
		for i := range e.tasks {
			wanted = r.wants(awmID(name, i)) || wanted
		}
		if wanted {
			all[name] = e
			*order = append(*order, name)
		}
		return nil
	})
}

func awmID(name string, i int) string { return fmt.Sprintf("%s/%d", name, i) }

func (r *reader) awmSchema(all map[string]*awmEnvironment, line []byte) error {
	var row struct {
		Scenario string `json:"scenario"`
		Schema   struct {
			Tables []json.RawMessage `json:"tables"`
		} `json:"db_schema"`
	}
	if err := r.fields(awmSchemas+": ", line, &row, "scenario", "db_schema", "db_schema.tables",
		"db_path"); err != nil {
		return err
	}
	e := all[awmName(row.Scenario)]
	if e == nil || e.tables != nil {
		return nil
	}
	for _, raw := range row.Schema.Tables {
		var t table
		if err := r.fields(awmSchemas+": db_schema.tables.", raw, &t, "name", "ddl", "indexes",
			"examples"); err != nil {
			return err
		}
		e.tables = append(e.tables, t)
	}
	return nil
}

func (r *reader) awmSample(all map[string]*awmEnvironment, line []byte) error {
	var row struct {
		Scenario string `json:"scenario"`
		Data     struct {
			Tables []json.RawMessage `json:"tables"`
		} `json:"sample_data"`
	}
	if err := r.fields(awmSamples+": ", line, &row, "scenario", "tables_count", "inserts_count", "sample_data",
		"sample_data.tables"); err != nil {
		return err
	}
	e := all[awmName(row.Scenario)]
	if e == nil || e.inserts != nil {
		return nil
	}
	for _, raw := range row.Data.Tables {
		var t struct {
			Inserts []string `json:"insert_statements"`
		}
		if err := r.fields(awmSamples+": sample_data.tables.", raw, &t, "table_name", "reasoning",
			"insert_statements"); err != nil {
			return err
		}
		e.inserts = append(e.inserts, t.Inserts...)
	}
	return nil
}

func (r *reader) awmVerifier(all map[string]*awmEnvironment, line []byte) error {
	var row struct {
		Scenario     string `json:"scenario"`
		Index        *int   `json:"task_idx"`
		Task         string `json:"task"`
		Verification struct {
			Code *string `json:"code"`
		} `json:"verification"`
	}
	if err := r.fields(awmVerifiers+": ", line, &row, "scenario", "task_idx", "task", "verification",
		"verification.code", "verification.raw_response"); err != nil {
		return err
	}
	e := all[awmName(row.Scenario)]
	switch {
	case e == nil || row.Verification.Code == nil:
		return nil
	case row.Index == nil:
		return errors.New(`it has no "task_idx"`)
	}
	if _, there := e.verifiers[*row.Index]; !there { // the first is taken there too
		e.verifiers[*row.Index] = awmVerifier{row.Task, *row.Verification.Code}
	}
	return nil
}

func (r *reader) awmServer(all map[string]*awmEnvironment, line []byte) error {
	var row struct {
		Scenario string `json:"scenario"`
		Code     string `json:"full_code"`
	}
	if err := r.fields(awmServers+": ", line, &row, "scenario", "db_path", "full_code"); err != nil {
		return err
	}
	if e := all[awmName(row.Scenario)]; e != nil && e.server == "" {
		e.server = row.Code
	}
	return nil
}

// definition finds the function of a verifier.
var definition = regexp.MustCompile(`(?m)^[ \t]*def (verify_\w*)[ \t]*\(`)

// awmScenarios makes the scenarios of one environment.
func (r *reader) awmScenarios(name string, e *awmEnvironment) error {
	folder := filepath.Join(r.staging, name)
	if err := os.MkdirAll(filepath.Join(folder, "state"), 0o755); err != nil {
		return err
	}
	why := ""
	switch {
	case len(e.tables) == 0:
		why = awmSchemas + " has no tables of its environment"
	case e.inserts == nil:
		why = awmSamples + " has no rows of its environment"
	default:
		refused, err := makeDatabase(filepath.Join(folder, "state", name+".db"), e.tables, e.inserts)
		if err != nil {
			return fmt.Errorf("the database of %s: %w", name, err)
		}
		if refused > 0 {
			r.LeftOut["statements that SQLite refuses"] += refused
		}
	}
	if e.server != "" {
		if err := os.WriteFile(filepath.Join(folder, "server.py"), []byte(e.server), 0o644); err != nil {
			return err
		}
	}
	for i, task := range e.tasks {
		id := awmID(name, i)
		if !r.selects(id) {
			continue
		}
		s := scenario.Scenario{ID: id, Task: task, Tags: []string{"server:" + name}}
		if why == "" {
			s.Template = scenario.Templates{"": r.name + "/" + name + "/state"}
		}
		not, err := r.awmCheck(name, i, task, e, &s)
		if err != nil {
			return err
		}
		if why != "" {
			not = why
		}
		before := len(r.scenarios)
		r.take(filepath.Join(r.From, awmTasks)+": "+id, s, not)
		if len(r.scenarios) > before {
			r.need(name)
		}
	}
	return nil
}

// awmCheck gives a scenario its verifier, or says why it cannot.
func (r *reader) awmCheck(
	name string, i int, task string, e *awmEnvironment, s *scenario.Scenario,
) (why string, err error) {
	v, there := e.verifiers[i]
	found := definition.FindStringSubmatch(v.code)
	switch {
	case !there:
		return awmVerifiers + " has no code for it", nil
	case strings.TrimSpace(v.task) != strings.TrimSpace(task):
		return awmVerifiers + " has code for another task in its place", nil
	case found == nil:
		return "its verifier has no function verify_...", nil
	}
	if err := r.program("awm.py"); err != nil {
		return "", err
	}
	file := fmt.Sprintf("%s/verify_%d.py", name, i)
	if err := os.WriteFile(filepath.Join(r.staging, filepath.FromSlash(file)), []byte(v.code), 0o644); err != nil {
		return "", err
	}
	s.Checks = []scenario.Check{
		{Type: scenario.CommandCheck,
			Command: []string{r.name + "/awm.py", file, found[1], name + "/state/" + name + ".db"}},
	}
	return "", nil
}
