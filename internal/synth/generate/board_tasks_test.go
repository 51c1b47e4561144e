package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

// job is a thing of a small tracker, which keeps all in the folder of its session.
type job struct {
	ID, Title, Status, Priority, Due, Phase string
	Assignee, Labels, Comments              []string
	Steps                                   []step
	Plan, Gone, Part                        string
	Waits                                   []string
}

type step struct {
	Text string
	Done bool
}

func jobs() (list []job) {
	titles := strings.Split("Paint the fence|Oil the hinges|Sweep the yard|Fix the lamp|Order gravel|Count "+
		"the ladders|Label the shelves|Empty the skip|Test the alarm|Trim the hedge", "|")
	for i, title := range titles {
		j := job{ID: fmt.Sprint("JOB-", i+1), Title: title, Status: []string{"Open", "Running", "Closed"}[i%3],
			Priority: []string{"High", "Low"}[i%2], Labels: []string{[]string{"garden", "house", "store"}[i%3]}}
		if i%4 > 0 {
			j.Assignee = []string{[]string{"vera", "otto"}[i%2]}
		}
		if i%3 > 0 {
			j.Due = fmt.Sprintf("2026-0%d-1%d", 1+i%8, i%9)
		}
		if i%5 > 0 {
			j.Phase = fmt.Sprint("p-", i%2)
		}
		list = append(list, j)
	}
	return list
}

// phaseNames are the phases at the beginning.
func phaseNames() map[string]string {
	return map[string]string{"p-0": "Spring work", "p-1": "Autumn work"}
}

// more changes what a view alone shows.
func more(j *job, args map[string]any) {
	at := func(name string, do func(i int)) {
		numbers, _ := args[name].([]any)
		for _, n := range slices.Backward(numbers) {
			if i := int(n.(float64)) - 1; i >= 0 && i < len(j.Steps) {
				do(i)
			}
		}
	}
	added, _ := args["addSteps"].([]any)
	for _, text := range added {
		j.Steps = append(j.Steps, step{Text: fmt.Sprint(text)})
	}
	at("checkSteps", func(i int) { j.Steps[i].Done = true })
	at("uncheckSteps", func(i int) { j.Steps[i].Done = false })
	at("removeSteps", func(i int) { j.Steps = slices.Delete(j.Steps, i, i+1) })
	if plan, given := args["plan"].(string); given {
		j.Plan = plan
	}
	if line, given := args["planAppend"].(string); given {
		j.Plan = strings.TrimSpace(j.Plan + "\n" + line)
	}
	if args["planClear"] == true {
		j.Plan = ""
	}
	if part, given := args["partOf"].(string); given {
		j.Part = part
	}
	if waits, given := args["waitsFor"].([]any); given {
		j.Waits = nil
		for _, id := range waits {
			j.Waits = append(j.Waits, fmt.Sprint(id))
		}
	}
}

// moreOf is what a view shows below headings.
func moreOf(j job, all []job) string {
	text := "Steps:\n"
	for i, p := range j.Steps {
		text += fmt.Sprintf("- [%s] #%d %s\n", map[bool]string{true: "x", false: " "}[p.Done], i+1, p.Text)
	}
	text += "\nPlan:\n-----\n" + j.Plan + "\n\nWaits for:\n"
	for _, id := range j.Waits {
		for _, o := range all {
			if o.ID == id {
				text += "- " + o.ID + " - " + o.Title + "\n"
			}
		}
	}
	for _, o := range all {
		if o.ID == j.Part {
			text += "\nPart of:\n- " + o.ID + " - " + o.Title + "\n"
		}
	}
	return text
}

// boardTools are tools over jobs.
func boardTools(s *shop) []Tool {
	file := func(s *stock) string { return filepath.Join(s.dir, "jobs.json") }
	load := func(s *stock) (list []job) {
		text, err := os.ReadFile(file(s))
		if err != nil { // at the beginning
			text, _ = json.Marshal(jobs())
			_ = os.WriteFile(file(s), text, 0o600)
		}
		_ = json.Unmarshal(text, &list)
		return list
	}
	texts := func(v any) (list []string) {
		all, _ := v.([]any)
		for _, one := range all {
			list = append(list, fmt.Sprint(one))
		}
		return list
	}
	set := func(j *job, args map[string]any) {
		for name, into := range map[string]*string{"title": &j.Title, "status": &j.Status, "priority": &j.Priority,
			"dueDate": &j.Due, "phase": &j.Phase} {
			if v, given := args[name]; given {
				*into, _ = v.(string)
			}
		}
		for name, into := range map[string]*[]string{"assignee": &j.Assignee, "labels": &j.Labels} {
			if v, given := args[name]; given {
				*into = texts(v)
			}
		}
		j.Comments = append(j.Comments, texts(args["commentsAppend"])...)
		more(j, args)
	}
	change := func(s *stock, id any, do func(list []job, at int) []job) (string, error) {
		list := load(s)
		at := slices.IndexFunc(list, func(j job) bool { return j.ID == id })
		if id != nil && at < 0 {
			return "", errors.New("no such job")
		}
		text, _ := json.Marshal(do(list, at)) // of texts
		return "done", os.WriteFile(file(s), text, 0o600)
	}
	s.tools = map[string]func(*stock, map[string]any) (string, error){
		"job_list": func(s *stock, args map[string]any) (string, error) {
			text := ""
			for _, status := range []string{"Open", "Running", "Closed"} {
				lines := ""
				for _, j := range load(s) {
					if j.Status == status && (args["status"] == nil || args["status"] == status) &&
						(args["assignee"] == nil || slices.Contains(j.Assignee, args["assignee"].(string))) &&
						(args["unassigned"] != true || len(j.Assignee) == 0) &&
						(args["phase"] == nil || args["phase"] == phaseNames()[j.Phase]) &&
						!slices.ContainsFunc(texts(args["labels"]),
							func(l string) bool { return !slices.Contains(j.Labels, l) }) {
						lines += "  [" + strings.ToUpper(j.Priority) + "] " + j.ID + " - " + j.Title
						if j.Due != "" {
							lines += " (due " + j.Due + ")"
						}
						lines += "\n"
					}
				}
				if lines != "" {
					text += status + ":\n" + lines
				}
			}
			return text, nil
		},
		"job_view": func(s *stock, args map[string]any) (string, error) {
			for _, j := range load(s) {
				if j.ID == args["id"] {
					return fmt.Sprintf("%s - %s\n\nStatus: * %s\nPriority: %s\nDue: %s\nAssignee: %s\nLabels: %s\n"+
						"Phase: %s\n\n%s\n%s", j.ID,
						j.Title, j.Status, j.Priority, j.Due, strings.Join(j.Assignee, ", "), strings.Join(j.Labels,
							", "), j.Phase,
						strings.Join(j.Comments, "\n"), moreOf(j, load(s))), nil
				}
			}
			return "", errors.New("no such job")
		},
		"job_edit": func(s *stock, args map[string]any) (string, error) {
			return change(s, args["id"], func(list []job, at int) []job {
				set(&list[at], args)
				return list
			})
		},
		"job_create": func(s *stock, args map[string]any) (string, error) {
			return change(s, nil, func(list []job, _ int) []job {
				j := job{ID: fmt.Sprint("JOB-", len(list)+30), Status: "Open", Priority: "Low"}
				set(&j, args)
				return append(list, j)
			})
		},
		"job_archive": func(s *stock, args map[string]any) (string, error) {
			return change(s, args["id"], func(list []job, at int) []job { return slices.Delete(list, at, at+1) })
		},
		"phase_list": func(*stock, map[string]any) (string, error) {
			return "Phases:\n  - p-0: Spring work (due 2026-05-01)\n  - p-1: Autumn work (due 2026-10-01)\n", nil
		},
	}
	one := `"title":{"type":"string"},"status":{"type":"string","enum":["Open","Running","Closed"]},` +
		`"priority":{"type":"string","enum":["High","Low"]},"dueDate":{"type":"string"},"phase":{"type":"string"},` +
		`"assignee":{"type":"array","items":{"type":"string"}},"labels":{"type":"array","items":{"type":"string"}}`
	key := `"id":{"type":"string"}`
	more := `"commentsAppend":{"type":"array","items":{"type":"string"}}`
	return []Tool{
		tool("job_list",
			"List jobs.", `{"type":"object","properties":{"status":{"type":"string"},"assignee":{"type":"string"},`+
				`"unassigned":{"type":"boolean"},"labels":{"type":"array","items":{"type":"string"}}}}`),
		tool("job_view", "View a job.", `{"type":"object","properties":{`+key+`},"required":["id"]}`),
		tool("job_edit", "Edit a job.", `{"type":"object","properties":{`+key+`,`+one+`,`+more+`},"required":["id"]}`),
		tool("job_create", "Create a job.", `{"type":"object","properties":{`+one+`},"required":["title"]}`),
		tool("job_archive", "Archive a job.", `{"type":"object","properties":{`+key+`},"required":["id"]}`),
		tool("phase_list", "List phases.", none),
	}
}

// Over a tracker all tasks are of programs: what the list does not show is found by its filters or in a view, and each
// task passes its own checks.
func TestProgramsOverABoard(t *testing.T) {
	s := newShop(t)
	tools := boardTools(s)
	o := optionsOf(s)
	o.N, o.Asked = 100, 0.8
	made := run(t, s, tools, o)
	if n := len(made.Scenarios); n < 88 {
		t.Fatalf("%d scenarios, of 100 wanted\n%v", n, made.Report.Rows())
	}
	kinds, used, several, filtered, shown := map[string]bool{}, map[string]bool{}, 0, 0, map[string]int{}
	trial := checktest.Trial{Tools: s}
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		kinds[x.Tags[0]] = true
		for _, g := range x.Gold {
			if used[g.Name] = true; g.Name == "job_list" && string(g.Arguments) != "{}" {
				filtered++
			}
		}
		if len(x.Gold) > 1 {
			several++
		}
		if last := len(x.Gold) - 1; last >= 0 && x.Gold[last].Name == "job_create" {
			for _, property := range []string{"assignee", "labels", "phase"} {
				with := strings.Contains(string(x.Gold[last].Arguments), `"`+property+`"`)
				if with && !slices.ContainsFunc(x.Checks, func(c scenario.Check) bool { return c.Name == "job_view" }) {
					t.Errorf("%s (%s): no check looks at the %s of what is made", x.ID, x.Task, property)
				}
				if with {
					shown[property]++
				}
			}
		}
		found, err := trial.Row(t.Context(), x)
		if err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.ID, x.Task, found, err)
		}
	}
	if len(shown) < 2 {
		t.Errorf("new things have %v of what a view alone shows", shown)
	}
	if len(kinds) < 12 || len(used) != len(tools) || several < 30 || filtered < 10 {
		t.Errorf("%d kinds, %d of %d tools, %d of several calls, %d lists with a filter",
			len(kinds), len(used), len(tools), several, filtered)
	}
}

// What goes with the time is no part of a check of a view.
func TestSteadyText(t *testing.T) {
	got := steadyText("Updated: 2026-11-29 18:24 (UTC)\nDue: 2026-11-30\n", func(string) bool { return false })
	if got != `\A[^\n]*`+"\nDue: 2026-11-30\n"+`\z` {
		t.Errorf("%q", got)
	}
}
