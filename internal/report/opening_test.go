package report_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/report"
)

// outcomes is a page of systems with an episode of each scenario: p passes, f fails, l is lost, - was not run.
func outcomes(of map[string]string, order ...string) report.Page {
	r := rand.New(rand.NewPCG(2, 2))
	p := report.Page{Title: "x", Verb: "hone eval", Show: "hone runs show x --episode"}
	p.NumResamples = 200
	for i, name := range order {
		s := stats.System{Name: name, Excluded: map[trajectory.Outcome]int{}}
		for k, end := range of[name] {
			if end == '-' {
				continue
			}
			id := fmt.Sprintf("task-%02d", k)
			t := episode(id, "words", end == 'p', i, r)
			t.Messages[1].Content = fmt.Sprintf("Ask number %d.", k)
			if end == 'l' {
				t.Outcome = trajectory.EnvironmentError
				s.Excluded[t.Outcome]++
				s.Lost = append(s.Lost, stats.Row{ScenarioID: id, NumGold: 1})
			} else {
				s.Rows = append(s.Rows, stats.Row{ScenarioID: id, NumGold: 1, Episode: end == 'p'})
			}
			s.Episodes = append(s.Episodes, stats.Example{Title: "eval_" + name + "/" + t.ID, Trajectory: t})
		}
		p.Systems = append(p.Systems, s)
	}
	return p
}

func part(page, from, to string) string {
	_, after, found := strings.Cut(page, from)
	if !found {
		return ""
	}
	before, _, _ := strings.Cut(after, to)
	return before
}

// The page begins with one task as the base and the model did it: the one that tells most.
func TestExample(t *testing.T) {
	for _, c := range []struct {
		name      string
		of        map[string]string
		order     []string
		task, say string // "" where there is no example
	}{
		{"a gain", map[string]string{"base": "fpff", "model": "fpfp"}, []string{"base", "model"}, "Ask number 3.", "only model does it"},
		{"a gain before a loss", map[string]string{"base": "pf", "model": "fp"}, []string{"base", "model"}, "Ask number 1.", "only model does it"},
		{"a loss alone", map[string]string{"base": "pp", "model": "pf"}, []string{"base", "model"}, "Ask number 1.", "only base does it"},
		{"both pass", map[string]string{"base": "fp", "model": "fp"}, []string{"base", "model"}, "Ask number 1.", "both do it"},
		{"neither", map[string]string{"base": "ff", "model": "ff"}, []string{"base", "model"}, "Ask number 0.", "neither does it"},
		{"what was lost tells nothing", map[string]string{"base": "lf", "model": "pf"}, []string{"base", "model"}, "Ask number 1.", "neither does it"},
		{"all lost", map[string]string{"base": "ll", "model": "pp"}, []string{"base", "model"}, "", ""},
		{"no task in common", map[string]string{"base": "p-", "model": "-p"}, []string{"base", "model"}, "", ""},
		{"the first against the last of three", map[string]string{"base": "ff", "sft": "pp", "grpo": "fp"},
			[]string{"base", "sft", "grpo"}, "Ask number 1.", "only grpo does it"},
		{"one system", map[string]string{"model": "pf"}, []string{"model"}, "", ""},
	} {
		page := html(t, outcomes(c.of, c.order...))
		at := part(page, `<div id="example">`, `<div id="next">`)
		if (at != "") != (c.task != "") {
			t.Errorf("%s: example %q", c.name, at)
			continue
		}
		if c.task == "" {
			continue
		}
		if strings.Count(at, `<article class="episode`) != 2 || !strings.Contains(at, c.task+"</a> <b>"+c.say) {
			t.Errorf("%s: %d episodes, %.300s", c.name, strings.Count(at, "<article"), at)
		}
		if first, last := strings.Index(at, `<b class="who">`+c.order[0]),
			strings.Index(at, `<b class="who">`+c.order[len(c.order)-1]); first < 0 || last < first {
			t.Errorf("%s: the base is not on the left", c.name)
		}
		if strings.Index(page, `<div id="example">`) > strings.Index(page, `<h2>Success`) {
			t.Errorf("%s: the example is not on top", c.name)
		}
	}
}

// A scenario that is named is named by what it asks, as a link to its case, whatever its id is.
func TestTasksAreLinks(t *testing.T) {
	for _, id := range []string{
		"plain", "with space", "a:b", "a/b#c?d", "50%", "%41", `quo"te's`, "ключ", "<b>", "javascript:x",
		"a&amp;b", "+",
	} {
		p := outcomes(map[string]string{"base": "fl", "model": "fl"}, "base", "model")
		p.TrainedOn = []string{id, "elsewhere"}
		for i := range p.Systems {
			p.Systems[i].Rows[0].ScenarioID = id
			p.Systems[i].Episodes[0].Trajectory.ScenarioID = id
		}
		page := html(t, p)
		list, _, err := elements(page)
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, e := range list {
			if at := e.attrs["id"]; at != "" {
				if ids[at] {
					t.Errorf("%q: two elements are called %q", id, at)
				}
				ids[at] = true
			}
		}
		links := 0
		for _, e := range list {
			to, err := url.PathUnescape(strings.TrimPrefix(e.attrs["href"], "#"))
			if err != nil || e.attrs["href"] != "" && !ids[to] {
				t.Errorf("%q: the link %q leads nowhere", id, e.attrs["href"])
			}
			if to == "case-"+id {
				links++
			}
		}
		if links < 4 { // example, next, trained on, done by none
			t.Errorf("%q: %d links to its case", id, links)
		}
		if strings.Count(page, ">Ask number 0.</a>") < 3 || strings.Count(page, ">Ask number 1.</a>") < 1 ||
			!strings.Contains(page, "<code>elsewhere</code>") {
			t.Errorf("%q: tasks are not named by what they ask", id)
		}
	}
}

// The page ends its head with what to do next, by what was measured.
func TestNextSteps(t *testing.T) {
	both := []string{"base", "model"}
	for _, c := range []struct {
		name      string
		of        map[string]string
		order     []string
		has, lack []string
	}{
		{
			"better", map[string]string{"base": strings.Repeat("f", 20), "model": strings.Repeat("p", 20)},
			both, []string{"<code>hone serve --model &#39;my runs/final&#39;</code>"}, []string{"less often",
				"No clear difference"},
		},
		{
			"worse", map[string]string{"base": strings.Repeat("p", 20), "model": strings.Repeat("f", 20)},
			both, []string{`href="#worse"`, "hone collect --gold --yes --dataset tasks.json"}, []string{"hone serve",
				"No clear"},
		},
		{"no difference", map[string]string{"base": "fpfpfpfpfpfp", "model": "pfpfpfpfpfpf"}, both,
			[]string{"No clear difference", `href="#worse"`}, []string{"hone serve"}},
		{"none does one", map[string]string{"base": "fp", "model": "fp"}, both,
			[]string{`href="#case-task-00"`, "1 scenario that no system does"}, []string{"hone serve"}},
		{"half are lost", map[string]string{"base": "pp", "model": "pl"}, both, []string{"<code>hone runs rollouts x</code>"}, []string{"hone serve"}},
		{"one system that does nothing", map[string]string{"model": "fff"}, []string{"model"}, []string{"hone collect --gold"}, []string{"hone serve"}},
	} {
		p := outcomes(c.of, c.order...)
		p.Facts = []report.Fact{{Name: "dataset", Value: "tasks.json"}}
		p.Systems[len(p.Systems)-1].Model = stats.Model{Base: "b", Adapter: "my runs/final"}
		at := part(html(t, p), `<div id="next">`, `</ul>`)
		for _, want := range c.has {
			if !strings.Contains(at, want) {
				t.Errorf("%s: the steps lack %q: %s", c.name, want, at)
			}
		}
		for _, not := range c.lack {
			if at == "" || strings.Contains(at, not) {
				t.Errorf("%s: the steps have %q: %s", c.name, not, at)
			}
		}
	}
}
