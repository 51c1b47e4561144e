package synth

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/synth/generate"
	"hone/internal/toolset"
)

// Refreshing says what hone refresh is to bring up to date.
type Refreshing struct {
	Dataset string // the scenarios
	Out     string // those that hold now
	// of the servers as they were, for scenarios that do not say what they were made with; "" without one
	Catalog string
	Work    string // what the servers answered hone synth then; "" is beside Dataset
	CallAll bool
	Workers int

	AllowFindings scan.Allowed
}

// What became of a scenario.
const (
	Untouched = "untouched" // no tool of it changed
	Unknown   = "unknown"   // nothing says what it was made with, so it was tried
	Holds     = "holds"
	NotLooked = "not looked at" // nothing says where its answer stood, and it stands nowhere now: it stays as it is
	Mended    = "mended"        // its checks want other values now
	Replaced  = "replaced"      // by another scenario for the same tool
	Dropped   = "dropped"
)

// RefreshedRow is what became of one scenario.
type RefreshedRow struct {
	ID      string   `json:"id"`
	Outcome string   `json:"outcome"`
	Touched []string `json:"touched,omitempty"` // what changed of what it uses
	Why     []string `json:"why,omitempty"`     // it no longer held
	By      string   `json:"by,omitempty"`      // the scenario in its place
}

// Refreshed is what became of all.
type Refreshed struct {
	Changes []mcp.Change   `json:"changes"` // since the earlier catalog, where one was given
	Counts  map[string]int `json:"counts"`
	Rows    []RefreshedRow `json:"rows"`
	// file of the scenarios that hold again, each of its own split; "" where there are none
	Affected string `json:"affected,omitempty"`
	// of them that an adapter is evaluated on: test, or where none is affected validation, else train
	Split string `json:"split,omitempty"`
}

// refresher is a refreshing under way.
type refresher struct {
	Refreshing
	host   *host.Host
	config config.Config
	l      *episodes.Episodes
	now    Now
	trial  checktest.Trial
	tools  []generate.Tool
	old    map[string]string // last results by the names of plays
}

// Refresh finds the scenarios that a change of their servers touches, tries them, and mends, replaces or drops those
// that no longer hold. The others stay as they are. With --dry-run it only says which are touched.
func Refresh(
	ctx context.Context, h *host.Host, c config.Config, from toolset.Source, x Refreshing,
) (*Refreshed, error) {
	list, err := scenario.Load(x.Dataset)
	if err != nil {
		return nil, err
	}
	if c, err = basemodel.SettleLengths(h, c); err != nil {
		return nil, err
	}
	servers, err := toolset.LoadServers(h, c, from)
	if err != nil {
		return nil, err
	}
	out := &Refreshed{Changes: []mcp.Change{}, Counts: map[string]int{}}
	l, err := episodes.Open(ctx, h, c, servers, "")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := toolset.RefuseFindings(h, c.MCP, l.Catalog.LintTools(), x.AllowFindings); err != nil {
		return nil, err
	}
	var before map[string]string
	if x.Catalog != "" {
		old, err := mcp.Load(x.Catalog)
		if err != nil {
			return nil, err
		}
		out.Changes, before = append(out.Changes, mcp.Diff(old, l.Catalog)...), nowOf(old, nil).Tools
	}
	if x.Work == "" {
		x.Work = WorkBeside(x.Dataset)
	}
	r := &refresher{Refreshing: x, host: h, config: c, l: l, now: nowOf(l.Catalog, l.Versions()),
		old: lastResults(x.Work), tools: subjects(c, l, x.CallAll), trial: checktest.Trial{Tools: l.Tools,
			Defaults: l.Scorer.Defaults, Programs: toolset.Programs(h, c), Refusal: mcp.RefusalPattern}}
	kept, again, lost, err := r.each(ctx, list, before, out)
	if err != nil || h.DryRun {
		return out, err
	}
	made, err := r.replace(ctx, list, lost, out)
	if err != nil {
		return out, err
	}
	return out, r.save(append(kept, made...), append(again, made...), out)
}

// WorkBeside is the file beside scenarios that keeps what the servers answered when these were made.
func WorkBeside(scenarios string) string {
	return strings.TrimSuffix(strings.TrimSuffix(scenarios, ".jsonl"), ".json") + ".synth.jsonl"
}

func nowOf(catalog *mcp.Catalog, versions map[string]string) Now {
	n := Now{Tools: map[string]string{}, Server: map[string]string{}, Version: versions}
	for _, s := range catalog.Servers {
		for _, t := range s.Tools {
			n.Tools[t.ModelName], n.Server[t.ModelName] = t.SHA256, s.Name
		}
	}
	return n
}

// each looks at every scenario: kept are those that hold, again those of them that were tried anew; lost are the rows
// of those that do not.
func (r *refresher) each(
	ctx context.Context, list []scenario.Scenario, before map[string]string, out *Refreshed,
) (kept, again []scenario.Scenario, lost []int, err error) {
	progress := r.host.Progress(1)
	for i, s := range list {
		touched := Touch(s, before, r.now)
		row := RefreshedRow{ID: s.ID, Outcome: Untouched, Touched: touched.Why()}
		tried := touched.Any()
		if why := generate.StillAbstains(s, r.tools); why != "" {
			row.Touched, tried = append(row.Touched, why), true
			touched.Gone = append(touched.Gone, why)
		}
		switch known := HasProvenance(s, before); {
		case !known && !tried:
			row.Outcome, tried = Unknown, true
		case r.host.DryRun && tried:
			row.Outcome = "touched"
		}
		if tried && !r.host.DryRun {
			if row.Outcome, row.Why, err = r.one(ctx, &s, touched); err != nil {
				return nil, nil, nil, err
			}
		}
		switch {
		case row.Outcome == Dropped:
			lost = append(lost, i)
		case tried:
			again = append(again, s)
			fallthrough
		default:
			kept = append(kept, s)
		}
		out.Rows = append(out.Rows, row)
		out.Counts[row.Outcome]++
		progress("refresh", i+1, len(list), "")
	}
	return kept, again, lost, nil
}

// one tries a scenario, and mends it where it no longer holds.
func (r *refresher) one(
	ctx context.Context, s *scenario.Scenario, touched Touched,
) (outcome string, why []string, err error) {
	if len(touched.Gone) > 0 {
		return Dropped, nil, nil
	}
	why, looked, err := r.holds(ctx, s)
	switch {
	case err != nil:
		return "", nil, err
	case !looked:
		return NotLooked, []string{"nothing says where its answer stood, and it is not in what the call answers"}, nil
	case len(why) == 0:
		Stamp(s, r.now)
		return Holds, nil, nil
	}
	mended, last, not, err := Mend(ctx, r.l.Tools, *s, r.result(s))
	if err != nil {
		return "", nil, err
	}
	if not != "" {
		return Dropped, append(why, not), nil
	}
	if left, _, err := r.holds(ctx, &mended); err != nil || len(left) > 0 {
		return Dropped, append(why, left...), err
	}
	*s = mended
	if s.Provenance != nil && len(s.Provenance.Proof) > 0 {
		r.old[s.Provenance.Proof[0]] = last
	}
	Stamp(s, r.now)
	return Mended, why, nil
}

// holds is what hone scenarios validate finds wrong with a scenario, and what a gold answer that moved gives away.
// looked is false where its answer could not be held against anything.
func (r *refresher) holds(ctx context.Context, s *scenario.Scenario) (found []string, looked bool, err error) {
	found = checktest.Alone(s)
	if len(found) == 0 && checktest.Looks(s) {
		if found, err = r.trial.Row(ctx, s); err != nil {
			return nil, true, err
		}
	}
	if ctx.Err() != nil {
		return nil, true, ctx.Err()
	}
	if len(found) > 0 {
		return found, true, nil
	}
	why, looked, err := Answers(ctx, r.l.Tools, *s, r.result(s))
	if why != "" {
		found = []string{why}
	}
	return found, looked || err != nil, err
}

// result is the last result of a scenario's gold calls as hone synth saw it, "" where that is not known.
func (r *refresher) result(s *scenario.Scenario) string {
	if s.Provenance == nil || len(s.Provenance.Proof) == 0 {
		return ""
	}
	return r.old[s.Provenance.Proof[0]]
}

// lastResults reads what the servers answered hone synth: the last result of each play. A file that is not there, or
// another one, has none.
func lastResults(path string) map[string]string {
	out := map[string]string{}
	f, err := os.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		var row struct {
			Play string
			Got  *generate.Played
		}
		if json.Unmarshal(line, &row) == nil && row.Got != nil && len(row.Got.Results) > 0 {
			out[strings.TrimPrefix(row.Play, earlier)] = row.Got.Results[len(row.Got.Results)-1].Text
		}
		if err != nil {
			return out
		}
	}
}

// draftsFor is how many scenarios are made so that one fits the place of each that is lost.
const draftsFor = 6

// replace makes scenarios for the tools of those that are lost and still there, and puts one in the place of each: one
// that calls such a tool, or none where that one called none, of the same split, and far from the scenarios of other
// splits.
func (r *refresher) replace(
	ctx context.Context, list []scenario.Scenario, lost []int, out *Refreshed,
) (made []scenario.Scenario, err error) {
	wanted := map[string]bool{} // servers
	for _, i := range lost {
		if len(list[i].Gold) == 0 && list[i].Provenance != nil {
			for _, server := range r.now.Server {
				wanted[server] = true
			}
		}
		for _, g := range list[i].Gold {
			if server, there := r.now.Server[g.Name]; there {
				wanted[server] = true
			}
		}
	}
	tools := slices.DeleteFunc(slices.Clone(r.tools), func(t generate.Tool) bool { return !wanted[t.Server] })
	if len(tools) == 0 {
		return nil, nil
	}
	of, err := json.Marshal([]any{r.l.Catalog.Hash, r.l.Housing.Servers.Servers, r.config.Rollout.MaxResult})
	if err != nil {
		return nil, err
	}
	ledger, err := generate.OpenLedger(WorkBeside(r.Out), blob.Of(of).String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = ledger.Close() }() // each line is written
	result, err := generate.Run(ctx, r.l.Tools, tools, ledger, generate.Options{
		N:             max(40, draftsFor*len(lost)),
		Seed:          r.config.Seed,
		SplitBy:       generate.ByTask,
		Workers:       r.Workers,
		MaxResult:     r.config.Rollout.MaxResult,
		Version:       host.ReadBuild().Version,
		ReferenceRuns: 1,
		Progress:      r.host.Progress(1),
		Trial:         r.trial,
	})
	if err != nil {
		return nil, err
	}
	stampServers(r.l, result.Scenarios)
	stay := make([]scenario.Scenario, 0, len(list)+len(lost))
	for i, s := range list {
		if !slices.Contains(lost, i) {
			stay = append(stay, s)
		}
	}
	taken := map[string]bool{}
	for _, s := range list {
		taken[s.ID], taken[s.Task] = true, true
	}
	for _, i := range lost {
		at := slices.IndexFunc(result.Scenarios, func(s scenario.Scenario) bool {
			return s.Split == list[i].Split && !taken[s.ID] && !taken[s.Task] && alike(s, list[i]) &&
				Apart(s, stay)
		})
		if at < 0 {
			continue
		}
		s := result.Scenarios[at]
		taken[s.ID], taken[s.Task] = true, true
		made, stay = append(made, s), append(stay, s)
		out.Rows[i].Outcome, out.Rows[i].By = Replaced, s.ID
		out.Counts[Dropped]--
		out.Counts[Replaced]++
	}
	return made, nil
}

// alike reports whether a scenario teaches what another did: it calls a tool of that one, or like it none.
func alike(s, was scenario.Scenario) bool {
	if len(was.Gold) == 0 && was.Provenance != nil {
		return len(s.Gold) == 0 && s.Provenance.Kind == was.Provenance.Kind
	}
	return slices.ContainsFunc(s.Gold, func(g scenario.Gold) bool {
		return slices.ContainsFunc(was.Gold, func(w scenario.Gold) bool { return w.Name == g.Name })
	})
}

// save writes the scenarios that hold, and beside them those that were tried anew.
func (r *refresher) save(list, again []scenario.Scenario, out *Refreshed) error {
	if len(list) == 0 {
		return &fault.Error{Code: fault.CodeFailures, What: "no scenario holds any more", Where: r.Dataset,
			Next: "hone synth makes new ones"}
	}
	if err := r.l.Runnable(r.config, list); err != nil {
		return err
	}
	if err := r.keepResults(list); err != nil {
		return err
	}
	if err := scenario.Save(r.Out, list); err != nil || len(again) == 0 {
		return err
	}
	sizes, _ := scenario.SplitSizes(again)
	for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
		if sizes[split] > 0 {
			out.Split = split
		}
	}
	if out.Split == scenario.Train {
		r.host.Say("warning: all scenarios that were made again are trained on: an adapter's rate on them is not one " +
			"of new tasks")
	}
	out.Affected = strings.TrimSuffix(strings.TrimSuffix(r.Out, ".jsonl"), ".json") + ".affected.json"
	return scenario.Save(out.Affected, again)
}

// earlier begins the names of results that were carried over: they are of another version of the servers, and no play
// to go on with.
const earlier = "earlier "

// keepResults carries the last results that are known into the work file beside the scenarios, for the next refresh.
func (r *refresher) keepResults(list []scenario.Scenario) error {
	var b bytes.Buffer
	for i := range list {
		if text := r.result(&list[i]); text != "" {
			line, err := json.Marshal(map[string]any{"play": earlier + list[i].Provenance.Proof[0],
				"got": map[string]any{"results": []map[string]string{{"text": text}}}})
			if err != nil {
				return err
			}
			b.Write(append(line, '\n'))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	cannot := func(err error) error {
		return &fault.Error{Code: fault.CodeExhausted, What: "cannot keep what the servers answered",
			Where: WorkBeside(r.Out), Err: err, Next: "give --out another name"}
	}
	// answers of servers may be private
	f, err := os.OpenFile(WorkBeside(r.Out), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return cannot(err)
	}
	if info, e := f.Stat(); e == nil && info.Size() == 0 {
		_, err = f.WriteString("{\"of\":\"earlier servers\"}\n") // of no catalog, so a ledger moves it aside
	}
	if err == nil {
		_, err = f.Write(b.Bytes())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return cannot(err)
	}
	return nil
}

// Table is what became of the scenarios that a change touches, and how many there are of each kind.
func (r Refreshed) Table() [][]string {
	rows := [][]string{{"SCENARIO", "OUTCOME", "TOUCHED BY", "WHY", "BY"}}
	for _, x := range r.Rows {
		if x.Outcome != Untouched {
			rows = append(rows,
				[]string{x.ID, x.Outcome, strings.Join(x.Touched, "; "), host.OneLine(strings.Join(x.Why, "; ")), x.By})
		}
	}
	if len(rows) == 1 {
		rows = nil // no scenario is touched: a header alone would read as one that is cut off
	} else {
		rows = append(rows, []string{})
	}
	rows = append(rows, []string{"OUTCOME", "SCENARIOS"})
	for _, name := range []string{Untouched, Unknown, "touched", Holds, NotLooked, Mended, Replaced, Dropped} {
		if n := r.Counts[name]; n > 0 {
			rows = append(rows, []string{name, fmt.Sprint(n)})
		}
	}
	return rows
}
