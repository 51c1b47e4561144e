package generate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// Report says what became of the candidates.
type Report struct {
	Stages  []Stage        `json:"stages"`
	Tools   []ToolRow      `json:"tools"`
	Kinds   map[string]int `json:"kinds"`
	Own     []OwnRow       `json:"own,omitempty"` // kinds of the user's file
	Splits  map[string]int `json:"splits"`
	Calling map[string]int `json:"calling"` // scenarios with a call, by split
	Checks  map[string]int `json:"checks"`  // scenarios by the types of their checks
	Played  int            `json:"played"`  // sessions or calls that this command played
	Kept    int            `json:"kept"`    // plays that an earlier command left
	Several float64        `json:"several"` // share of scenarios with several calls
	Abstain float64        `json:"abstain"` // share of those to be answered without a call
	Gap     Distance       `json:"gap"`     // of the held-out tasks to the training tasks
	Words   float64        `json:"words"`   // mean length of a task
	Lies    []string       `json:"lies,omitempty"`
	// tools whose errors are not marked as such, with the pattern for them
	Unmarked []string       `json:"unmarked,omitempty"`
	Quality  float64        `json:"quality,omitempty"` // mean of the judge's scores
	Asked    []Asked        `json:"asked,omitempty"`   // what models were asked
	Levels   map[string]int `json:"difficulties"`      // scenarios by difficulty
	// scenarios by how many of the reference's runs passed, as 3/4
	PassRates map[string]int `json:"pass_rates,omitempty"`
	Untouched []string       `json:"untouched,omitempty"` // tools that were not called, since a call might do harm
	// tools that no program calls, by the reason: their tasks say the values of the call, or they have none
	Outside map[string][]string `json:"outside,omitempty"`

	Demands map[string]Demands `json:"demands"` // what the tasks ask, by split
	Probe   Probe              `json:"probe"`   // whether words alone tell what is to be refused
}

// Stage is one step: how many candidates it got, how many it handed on, and why the others fell.
type Stage struct {
	Name    string         `json:"name"`
	In      int            `json:"in"`
	Out     int            `json:"out"`
	Reasons map[string]int `json:"reasons,omitempty"`
}

// ToolRow is what became of a tool.
type ToolRow struct {
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Tried     int    `json:"tried"`    // calls of the exploration
	Answered  int    `json:"answered"` // of them, without error
	Changes   bool   `json:"changes"`  // a call of it changed something
	Scenarios int    `json:"scenarios"`
	Programs  int    `json:"programs"`      // of them programs
	Several   int    `json:"several"`       // of them with several calls
	Why       string `json:"why,omitempty"` // it is not usable: what it answers
}

// stage counts what a stage did; one that is there already did more.
func (r *Report) stage(name string, in, out int, reasons map[string]int) {
	for i := range r.Stages {
		if s := &r.Stages[i]; s.Name == name {
			s.In, s.Out = s.In+in, s.Out+out
			for why, n := range reasons {
				s.Reasons[why] += n
			}
			return
		}
	}
	r.Stages = append(r.Stages, Stage{name, in, out, reasons})
}

// finish counts what the scenarios are.
func (r *Report) finish(m *maker, list []scenario.Scenario) {
	r.Calling, r.Outside = map[string]int{}, map[string][]string{}
	r.Kinds, r.Splits, r.Checks, r.Levels, r.PassRates =
		map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	r.Asked = m.asking.all()
	rows := map[string]*ToolRow{}
	for _, s := range m.tools {
		if !s.mayTry() {
			r.Untouched = append(r.Untouched, s.Server+"/"+s.Name)
		}
		row := m.row(s)
		if advice := s.unmarkedAdvice(); advice != "" {
			r.Unmarked = append(r.Unmarked, fmt.Sprintf("%s/%s: %s", s.Server, s.Name, advice))
		}
		if s.lies != "" {
			r.Lies = append(r.Lies,
				fmt.Sprintf("%s/%s says that it changes nothing, and changed %s", s.Server, s.Name, s.lies))
		}
		rows[s.Name] = row
		r.Tools = append(r.Tools, ToolRow{})
	}
	several, without, length := 0, 0, 0
	for _, s := range list {
		r.Kinds[s.Provenance.Kind]++
		r.Levels[s.Difficulty]++
		r.Quality += s.Provenance.Quality / float64(len(list))
		if tried := s.Provenance.Reference; tried != nil {
			r.PassRates[fmt.Sprintf("%d/%d", tried.Passed, tried.Runs)]++
		}
		r.Splits[s.Split]++
		r.Checks[describe(s.Checks)]++
		length += len(strings.Fields(s.Task))
		if len(s.Gold) > 1 {
			several++
		}
		if len(s.Gold) == 0 {
			without++
		} else {
			r.Calling[s.Split]++
		}
		counted := map[string]bool{}
		for _, g := range s.Gold {
			if !counted[g.Name] {
				counted[g.Name] = true
				rows[g.Name].Scenarios++
				if !slices.Contains([]string{single, chain, readBack, pair, recovery}, s.Provenance.Kind) {
					rows[g.Name].Programs++
				}
				if len(s.Gold) > 1 {
					rows[g.Name].Several++
				}
			}
		}
	}
	for i, s := range m.tools {
		r.Tools[i] = *rows[s.Name]
		row := &r.Tools[i]
		if row.Scenarios == 0 && row.Why == "" && s.usable() {
			row.Why = m.unused(s)
		}
		if row.Programs == 0 && s.mayTry() && len(list) > 0 {
			why := m.outside(s)
			r.Outside[why] = append(r.Outside[why], s.Server+"/"+s.Name)
		}
	}
	if n := float64(len(list)); n > 0 {
		r.Several, r.Abstain, r.Words = float64(several)/n, float64(without)/n, float64(length)/n
	}
	r.Gap = GapOf(list, (*scenario.Scenario).Asks)
	r.Demands, r.Probe = map[string]Demands{}, ProbeOf(list)
	for _, split := range splits() {
		r.Demands[split] = m.demandsOf(list, split)
	}
	r.Kept = m.ledger.NumEarlier()
	r.Played = m.ledger.fresh()
}

// noProgram is why a tool of a server of whose tables or files programs are made is in no task.
const noProgram = "no task of programs over what its server holds calls it"

// unused says why a tool whose calls were answered is in no task.
func (m *maker) unused(s *subject) string {
	switch {
	case s.later != "":
		return "refused when it was called again: " + s.later
	case m.asks[s.Server][s.Name]:
		return noProgram
	}
	return "no task of its calls passed all stages"
}

// untried says why a tool was not called.
func (m *maker) untried(s *subject) string {
	switch {
	case m.asks[s.Server][s.Name]:
		return noProgram
	case !m.explored:
		return "it was not tried: programs over tables made all tasks"
	}
	return cmp.Or(s.missingObjects(), "no arguments were found that fit its schema")
}

// Why no program calls a tool.
const (
	callsRefused = "their calls are refused"
	onlyReads    = "they show nothing that the lists do not"
	notListed    = "they are about something else than the listed things"
	noProperty   = "they need values that no property of the listed things has"
	noDraw       = "by chance: more tasks may call them"
	notSeen      = "nothing that the lists show was seen to change by them"
)

// outside says why no program calls a tool.
func (m *maker) outside(s *subject) string {
	boards := m.boarded[s.Server]
	any := func(is func(b *boarding) bool) bool { return slices.ContainsFunc(boards, is) }
	reads := s.ReadOnly || s.pure || s.hasVerb("get", "list", "show", "view", "read", "search", "find", "count",
		"check", "export", "preview", "overview", "summary", "status", "stat", "why", "history")
	switch {
	case any(func(b *boarding) bool { return b.uses(s) }):
		return noDraw
	case s.tried > 0 && !s.usable():
		return callsRefused
	case len(boards) > 0 && !any(func(b *boarding) bool { return sharesNoun(s, b.list) }):
		return notListed
	case reads:
		return onlyReads
	case len(boards) == 0 && m.asks[s.Server] != nil:
		return noProgram
	case len(boards) == 0:
		return notSeen
	}
	return noProperty
}

// uses reports whether a tool has a part in the programs of a board.
func (b *boarding) uses(s *subject) bool {
	parts := []*subject{b.list, b.view, b.create, b.archive, b.search}
	return slices.Contains(slices.Concat(parts, b.editors, b.acts), s)
}

// Unasked says in one line which tools no program calls, and why; "" where there are none.
func (r *Report) Unasked() string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(r.Outside)) {
		parts = append(parts, strings.Join(r.Outside[why], ", ")+" ("+why+")")
	}
	return strings.Join(parts, "; ")
}

// row says of a tool how it was tried, and why no calls of it were made where that is known.
func (m *maker) row(s *subject) *ToolRow {
	row := &ToolRow{Server: s.Server, Tool: s.Name, Tried: s.tried, Answered: s.answered, Changes: s.writes}
	switch {
	case !s.mayTry():
	case !s.usable():
		row.Why = cmp.Or(s.why, m.untried(s))
		if advice := s.unmarkedAdvice(); advice != "" {
			row.Why = advice + "; it answers: " + row.Why
		}
		if s.senseless != "" {
			row.Why = fmt.Sprintf("its answers have no sense (%s): %s", s.senseless, row.Why)
		}
	case s.senseless != "":
		row.Why = fmt.Sprintf("not the calls whose answer has no sense (%s)", s.senseless)
	}
	return row
}

// FewTasks is the number of tasks below which a rate says little: one more right is ten points.
const FewTasks = 10

// Few names the splits with fewer tasks that need a call than a rate can be read from, each with their number; "" where
// all have enough.
func (r *Report) Few() string {
	var few []string
	for _, split := range splits() {
		if n := r.Calling[split]; n < FewTasks {
			few = append(few, fmt.Sprintf("%s %d", split, n))
		}
	}
	return strings.Join(few, ", ")
}

// Rows are the stages as a table, each with its reasons, the most frequent first.
func (r *Report) Rows() [][]string {
	rows := [][]string{{"STAGE", "IN", "OUT", "REASON", "FELL"}}
	for _, s := range r.Stages {
		rows = append(rows, []string{s.Name, fmt.Sprint(s.In), fmt.Sprint(s.Out), "", ""})
		for _, why := range slices.SortedFunc(maps.Keys(s.Reasons), func(a, b string) int {
			return cmp.Or(cmp.Compare(s.Reasons[b], s.Reasons[a]), cmp.Compare(a, b))
		}) {
			rows = append(rows, []string{"", "", "", why, fmt.Sprint(s.Reasons[why])})
		}
	}
	return rows
}

// Tables are the stages, what models were asked, the tools, and how far held-out tasks are from training tasks, with an
// empty row between them.
func (r *Report) Tables() (tables [][][]string) {
	all := [][][]string{r.Rows(), r.PromptRows(), r.OwnRows(), r.ToolRows()}
	if len(r.Splits) > 0 { // of no scenarios there is nothing to compare
		all = append(all, r.DemandRows(), r.Probe.Rows(), r.Gap.Rows())
	}
	for _, rows := range all {
		if len(rows) > 0 && len(tables) > 0 {
			tables = append(tables, [][]string{{}})
		}
		tables = append(tables, rows)
	}
	return tables
}

// PromptRows are what models were asked, as a table; none where nobody was.
func (r *Report) PromptRows() [][]string {
	if len(r.Asked) == 0 {
		return nil
	}
	rows := [][]string{
		{"PROMPT", "MODEL", "ASKED", "PAID BEFORE", "NONSENSE", "REFUSED", "NOT ASKED", "TOKENS SENT", "RECEIVED"},
	}
	for _, a := range r.Asked {
		rows = append(rows, []string{a.Prompt, a.Model, fmt.Sprint(a.Asked), fmt.Sprint(a.Kept), fmt.Sprint(a.Nonsense),
			fmt.Sprint(a.Refused), fmt.Sprint(a.Unasked), fmt.Sprint(a.Prompted), fmt.Sprint(a.Completion)})
	}
	return rows
}

// ToolRows are the tools as a table.
func (r *Report) ToolRows() [][]string {
	rows := [][]string{{"SERVER", "TOOL", "TRIED", "ANSWERED", "SCENARIOS", "OF SEVERAL CALLS", "WHY NOT"}}
	for _, t := range r.Tools {
		rows = append(rows, []string{t.Server, t.Tool, fmt.Sprint(t.Tried), fmt.Sprint(t.Answered),
			fmt.Sprint(t.Scenarios), fmt.Sprint(t.Several), inOneLine(t.Why)})
	}
	return rows
}

// mostWhy bounds a reason in the table of tools, in characters.
const mostWhy = 160

// inOneLine is a reason as a row of a table has it: what a server writes may be many lines of JSON.
func inOneLine(text string) string {
	text = strings.NewReplacer(`\n`, " ", `\t`, " ").Replace(text)
	if all := []rune(oneSpace(text)); len(all) > mostWhy {
		return string(all[:mostWhy/2]) + " ... " + string(all[len(all)-mostWhy/2:])
	}
	return oneSpace(text)
}

// BudgetSpent reports whether something was not asked for want of budget.
func (r *Report) BudgetSpent() bool {
	return slices.ContainsFunc(r.Asked, func(a Asked) bool { return a.Unasked > 0 })
}

// Invented reports whether nearly all tasks are over invented data, more than nine in ten: the servers begin with none.
// The others need none.
func (r *Result) Invented() bool {
	own := 0
	for i := range r.Scenarios {
		if len(r.Scenarios[i].Setup) == 0 {
			own++
		}
	}
	return 10*own < len(r.Scenarios)
}
