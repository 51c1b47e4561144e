package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/curate"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// Curating says what is curated, and by whom.
type Curating struct {
	Data    string // a file or folder of conversations
	Ledger  string // "" is beside the data, DATA.curation.jsonl
	Catalog string // of rows that name no tools
	Author  string
	Look    bool // only look at them, also while another process curates them
}

// Desk is traces that are being curated.
type Desk struct {
	*curate.Curation
	x       Curating
	checker *curate.Checker
}

// Open reads the traces and what was done to them. The desk is to be closed.
func (x Curating) Open(h *host.Host) (*Desk, error) {
	rows, report, err := dataset.Load([]string{x.Data}, dataset.Options{})
	if err != nil {
		return nil, err
	}
	if report.NumRefused() > 0 {
		report.Tell(h.Say)
	}
	d := &Desk{x: x, checker: curate.NewChecker()}
	tools := job.NewCatalogs(x.Catalog)
	d.Curation, err = curate.Open(rows, cmp.Or(x.Ledger, strings.TrimRight(x.Data, "/")+dataset.Curation),
		curate.Options{ReadOnly: x.Look, Tools: tools.ToolsFor})
	return d, err
}

// Do makes an operation, and says what of the trace does not hold now.
func (d *Desk) Do(op curate.Op) (done curate.Op, findings []string, err error) {
	op.Author = cmp.Or(op.Author, d.x.Author)
	if done, err = d.Curation.Do(op); err != nil {
		return done, nil, d.withFile(err)
	}
	if t, err := d.Trace(done.Trace); err == nil { // it may have been split off by what was undone
		findings = d.checker.Findings(t)
	}
	return done, findings, nil
}

// Next is what can be done after an operation: look at its trace, or take it back.
func (d *Desk) Next(done curate.Op) string {
	return fmt.Sprintf("next: hone curate show %s %s; hone curate do %s undo --of %d takes it back",
		toolset.ShellWord(d.x.Data), toolset.ShellWord(done.Trace), toolset.ShellWord(d.x.Data), done.Seq)
}

// withFile puts the traces' file into the command that an error names.
func (d *Desk) withFile(err error) error {
	f, is := errors.AsType[*fault.Error](err)
	if !is {
		return err
	}
	out := *f
	out.Next = strings.Replace(f.Next, "hone curate show", "hone curate show "+toolset.ShellWord(d.x.Data), 1)
	return &out
}

// DoLines makes the operations that come as JSON lines, and answers each with itself as it was written down, or an
// error.
func (d *Desk) DoLines(ctx context.Context, in io.Reader, out io.Writer) error {
	_, err := host.EachLine(ctx, in, out, host.LineOptions{}, func(line []byte) (any, error) {
		op, err := curate.ParseOp(line)
		if err != nil {
			return nil, err
		}
		done, findings, err := d.Do(op)
		return struct {
			curate.Op
			Findings []string `json:"findings,omitempty"`
		}{done, findings}, err
	})
	return err
}

// Rules rejects what they refuse.
func (d *Desk) Rules(r curate.Rules) (curate.Ruled, error) {
	r.Author = cmp.Or(r.Author, d.x.Author)
	dir := d.x.Data
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	r.Wanted = wantedRefusals(records.ScenariosOf(dir))
	return d.Apply(r)
}

// wantedRefusals are, of a row's scenario, the tools of which it wants a call to be refused.
func wantedRefusals(known map[string]*scenario.Scenario) func(*dataset.Row) []string {
	return func(row *dataset.Row) (tools []string) {
		s := known[row.ScenarioID]
		if s == nil || row.Scenario != "" && row.Scenario != s.Hash() {
			return nil
		}
		for _, c := range s.Checks {
			if c.Type == scenario.CallCheck && c.Refused {
				tools = append(tools, c.Name)
			}
		}
		return tools
	}
}

// Redact puts placeholders in place of secrets and personal data, and says of which traces what then does not hold any
// more.
func (d *Desk) Redact(kinds []string) (curate.Redaction, [][]string, []string, error) {
	for _, kind := range kinds {
		if !slices.Contains(curate.RedactKinds(), kind) {
			return curate.Redaction{}, nil, nil, &fault.Error{
				Code:  fault.CodeUsage,
				What:  fmt.Sprintf("there is no kind %q", kind),
				Where: "--kind",
				Next:  "the kinds are " + strings.Join(curate.RedactKinds(), ", "),
			}
		}
	}
	before := map[string]int{}
	for _, t := range d.Traces() {
		before[t.ID] = len(d.checker.Findings(t))
	}
	done, err := d.Curation.Redact(d.x.Author, kinds)
	rows := [][]string{{"kind", "values", "times", "traces"}}
	for _, kind := range curate.RedactKinds() {
		times, traces := 0, map[string]bool{}
		for _, v := range done.Values {
			if v.Kind == kind {
				times += v.Times
				traces[v.Trace] = true
			}
		}
		if n := done.Kinds[kind]; n > 0 {
			rows = append(rows, []string{kind, strconv.Itoa(n), strconv.Itoa(times), strconv.Itoa(len(traces))})
		}
	}
	var findings []string
	for _, t := range d.Traces() {
		if found := d.checker.Findings(t); len(found) > before[t.ID] {
			findings = append(findings, t.ID+": "+found[len(found)-1])
		}
	}
	return done, rows, findings, err
}

// TellRedaction says what was redacted, and what does not hold any more; or, where it is only tried, what would be.
func (d *Desk) TellRedaction(
	say func(format string, args ...any), done curate.Redaction, findings []string, tried bool,
) {
	values, traces, hold :=
		fault.Count(len(done.Values), "value"), fault.Count(done.Traces, "trace"), "does not hold now"
	if tried {
		hold = "would not hold then"
	}
	for _, finding := range findings {
		say("%s: %s", hold, finding)
	}
	if tried {
		say("placeholders would stand for %s of %s; without --dry-run they do", values, traces)
		return
	}
	say("placeholders stand now for %s of %s; hone curate do DATA undo --of N brings those of a trace back. "+
		"DATA and its ledger still hold them all: only what hone curate export writes is clean", values, traces)
}

// AuthorOf is who makes operations, by the environment; containers and services may name nobody.
func AuthorOf(lookup func(string) (string, bool)) string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if author, _ := lookup(name); author != "" {
			return author
		}
	}
	return ""
}

// Listed is a trace in a list.
type Listed struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Why      string   `json:"why,omitempty"`
	By       string   `json:"by,omitempty"`
	Rating   int      `json:"rating,omitempty"`
	Messages int      `json:"messages"`
	Calls    int      `json:"calls"`
	Ops      []int    `json:"operations,omitempty"`
	Findings []string `json:"findings,omitempty"`
	Task     string   `json:"task"`
}

// Listed is a trace as the list has it.
func (d *Desk) Listed(t *curate.Trace) Listed {
	x := Listed{ID: t.ID, Status: cmp.Or(t.Status, "undecided"), Why: t.Why, By: t.By, Rating: t.Rating,
		Messages: len(t.Row.Messages), Ops: t.Ops, Findings: d.checker.Findings(t), Task: t.Row.Task()}
	for _, m := range t.Row.Messages {
		x.Calls += len(m.ToolCalls)
	}
	return x
}

// List tells of all traces.
func (d *Desk) List() (out []Listed, rows [][]string) {
	rows = [][]string{{"trace", "status", "rating", "messages", "calls", "operations", "findings", "task"}}
	for _, t := range d.Traces() {
		x := d.Listed(t)
		out = append(out, x)
		task := []rune(host.OneLine(x.Task))
		rows = append(rows, []string{
			x.ID, x.Status, strconv.Itoa(x.Rating), strconv.Itoa(x.Messages), strconv.Itoa(x.Calls),
			strconv.Itoa(len(x.Ops)), strconv.Itoa(len(x.Findings)), string(task[:min(len(task), 60)]),
		})
	}
	return out, rows
}

// Shown is one trace with what was done to it.
type Shown struct {
	Listed
	Conversation []chat.Message `json:"conversation"`
	Opening      int            `json:"opening"`
	Tools        []chat.Tool    `json:"tools"`
	Log          []curate.Op    `json:"log"`
}

// Show tells of one trace: its messages by number, which of them begin a user turn, what does not hold, and what was
// done.
func (d *Desk) Show(id string) (Shown, [][]string, error) {
	t, err := d.Trace(id)
	if err != nil {
		return Shown{}, nil, err
	}
	out := Shown{Listed: d.Listed(t), Conversation: t.Row.Messages, Opening: t.Row.Opening, Tools: t.Row.Tools,
		Log: []curate.Op{}}
	rows := [][]string{{"message", "turn", "role", "says"}}
	turn := 0
	for i, m := range t.Row.Messages {
		if m.Role == chat.User && (i == 0 || t.Row.Messages[i-1].Role != chat.User) {
			turn++
		}
		said := m.Content
		if m.ReasoningContent != "" {
			said = "(" + m.ReasoningContent + ") " + said
		}
		for _, c := range m.ToolCalls {
			said += " " + c.Name + "(" + c.Arguments + ")"
		}
		rows = append(rows,
			[]string{strconv.Itoa(i), strconv.Itoa(turn), m.Role, host.OneLine(strings.TrimSpace(said))})
	}
	for _, op := range d.Ops() {
		if op.Trace == id || slices.Contains(t.Ops, op.Seq) {
			out.Log = append(out.Log, op)
		}
	}
	return out, rows, nil
}

// Preview writes the rows that sft would learn of a trace, their exact text and what of it is trained.
func (d *Desk) Preview(h *host.Host, c config.Config, base, id string) error {
	out, colour := io.Writer(h.Data), h.Colour()
	if colour {
		out = h.Data.Raw() // the view shows control characters itself
	}
	show, err := d.previews(h, c, base)
	if err != nil {
		return err
	}
	return show(out, colour, id)
}

// previews opens what previews are made with.
func (d *Desk) previews(
	h *host.Host, c config.Config, base string,
) (func(out io.Writer, colour bool, id string) error, error) {
	text, err := basemodel.OpenText(h, c.Model, base)
	if err != nil {
		return nil, err
	}
	r, err := text.Renderer(c.Rollout.System)
	if err != nil {
		return nil, err
	}
	return func(out io.Writer, colour bool, id string) error {
		t, err := d.Trace(id)
		if err != nil {
			return err
		}
		rows, err := r.Sequences(t.Row.Messages, t.Row.Opening, t.Row.Tools)
		if err != nil {
			return &fault.Error{Code: fault.CodeUsage, What: "the chat template cannot write the trace", Where: id,
				Err: err, Next: "hone curate show " + d.x.Data + " " + id}
		}
		for i, row := range rows {
			if err := render.View(out, fmt.Sprintf("row %d of %d", i+1, len(rows)), row, t.Row.Messages, text.Tokenizer,
				colour); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// whyHeldBack says why a trace is not written, "" where it is.
func (d *Desk) whyHeldBack(t *curate.Trace, accepted bool) string {
	switch {
	case t.Status == curate.Rejected:
		return "rejected"
	case accepted && t.Status != curate.Accepted:
		return "not accepted, as --accepted asks"
	case len(d.checker.Misfits(t)) > 0:
		return "edited calls that their tools do not take, which hone curate show names; edit them, or accept the trace"
	}
	return ""
}

// ToExport are the rows of the traces that are not held back; those that are it counts in leftOut, by reason, where
// that is a map.
func (d *Desk) ToExport(accepted bool, leftOut map[string]int) (rows []dataset.Row) {
	for _, t := range d.Traces() {
		if why := d.whyHeldBack(t, accepted); why == "" {
			rows = append(rows, t.Row)
		} else if leftOut != nil {
			leftOut[why]++
		}
	}
	return rows
}

// Export writes the traces that are not rejected, or those that are accepted alone, as Convert would: with their tools,
// and for a trainer without those to be measured on and, unless failed, those that failed. What was written says what
// was left out even beside an error.
func (d *Desk) Export(form, out string, accepted, failed bool) (dataset.SinkFiles, error) {
	sink, err := dataset.OpenSink(dataset.SinkOptions{Form: form, Out: out,
		Card: map[string]string{"curated": fault.Count(len(d.Ops()), "operation")}})
	if err != nil {
		return dataset.SinkFiles{}, err
	}
	defer sink.Abort()
	g := newGate(form, d.x.Catalog, failed)
	for _, r := range d.ToExport(accepted, g.leftOut) {
		passes, err := g.pass(&r)
		if err == nil && passes {
			for _, row := range g.rows(dataset.Whole, r) {
				if err == nil {
					err = sink.Add(row)
				}
			}
		}
		if err != nil {
			return dataset.SinkFiles{}, err
		}
	}
	return sink.Close(g.leftOut)
}
