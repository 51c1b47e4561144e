package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/fault"
)

// Options of Read. The zero value tells each row's format from its columns.
type Options struct {
	Format   string // one of Names, or "" to tell it
	MaxBytes int    // of one row, see source.Options
}

// batch is how many bytes of rows one worker takes at once, about; or so many rows.
const (
	batchBytes = 1 << 20
	batchRows  = 256
)

// mostSession bounds a trace that stands in many rows, in bytes.
const mostSession = 64 << 20

// item is a row on its way: what was read, then what was made of it.
type item struct {
	Record
	rest    [][]byte
	row     Row
	format  string
	aside   []string // see record
	unknown string   // of a row that is kept, see unknownOf
}

type work struct {
	items []item
	done  chan struct{}
}

// errStopped ends reading where the rows are not wanted any more.
var errStopped = errors.New("stopped")

// Read yields the rows of files and folders in order, and reports on all of them: what is kept, and what is refused,
// where and why. Rows are read on all cores, and at most some MiB of them are held. It stops with yield's error. Its
// own are *fault.Error: no such file, no such format, a file that is no data, or no row that is kept.
func Read(paths []string, o Options, yield func(Row) error) (Report, error) {
	report := Report{Formats: map[string]int{}, Refused: map[string]*Refused{}}
	form, err := formatByName(o.Format)
	if err != nil {
		return report, err
	}
	workers := runtime.GOMAXPROCS(0)
	todo, inOrder := make(chan *work, workers), make(chan *work, 2*workers)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for w := range todo {
				for i := range w.items {
					w.items[i].make(form)
				}
				close(w.done)
			}
		})
	}
	var sourceErr error
	running.Go(func() {
		defer close(inOrder)
		defer close(todo)
		g := &gatherer{send: func(items []item) error {
			w := &work{items, make(chan struct{})}
			select {
			case inOrder <- w:
			case <-stop:
				return errStopped
			}
			todo <- w
			return nil
		}}
		sourceErr = EachRecord(paths, SourceOptions{MaxBytes: o.MaxBytes}, g.add)
		if sourceErr == nil {
			sourceErr = g.end()
		}
	})
	for w := range inOrder {
		<-w.done
		for i := range w.items {
			if err == nil {
				err = w.items[i].tell(&report, yield)
			}
			w.items[i] = item{}
		}
		if err != nil && stop != nil {
			close(stop)
			stop = nil
		}
	}
	running.Wait()
	if err == nil && !errors.Is(sourceErr, errStopped) {
		err = sourceErr
	}
	if err == nil && report.Kept == 0 {
		err = report.nothing(paths)
	}
	return report, err
}

// tell counts a row and yields it.
func (x *item) tell(report *Report, yield func(Row) error) error {
	if !report.count(x) {
		return nil
	}
	return yield(x.row)
}

// make reads a row.
func (x *item) make(form *format) {
	if x.Reason != "" {
		return
	}
	data := x.JSON
	x.JSON = nil
	r := &record{rest: x.rest}
	x.rest = nil
	var err error
	switch {
	case len(data) > 0 && data[0] == '[': // a row that is a list of messages
		if !jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true)) {
			err = errors.New("not a list")
		}
		r.Trajectory = data
	default:
		err = decode(data, &r.columns)
	}
	if err != nil {
		if x.Reason, x.Detail = Flaw(data); x.Reason == "" {
			x.Reason, x.Detail = badShape, "it is not an object, but begins with "+fmt.Sprintf("%.20q", data)
		}
		return
	}
	x.row, x.format, err = r.read(form)
	x.aside = r.aside
	if err == nil {
		x.unknown = unknownOf(&x.row)
	}
	if why, ok := errors.AsType[*refusal](err); ok {
		x.Reason, x.Detail = why.reason, why.detail
	} else if err != nil {
		x.Reason, x.Detail = badShape, err.Error()
	}
	x.row.File, x.row.Line = x.File, x.Line
	if x.row.Split == "" {
		x.row.Split = x.Split
	}
}

// gatherer makes rows of records, of which some formats have one trace in many, and hands them on in batches.
type gatherer struct {
	send    func([]item) error
	items   []item
	bytes   int
	session bool   // the last item is a session that further lines may belong to
	said    []byte // a file of messages alone is one trace: what was read of it, a list not yet closed
	saidAt  Record
	file    string
}

func (g *gatherer) add(r Record) error {
	if r.File != g.file {
		if err := g.close(); err != nil {
			return err
		}
		g.file, g.session = r.File, false
		if r.Reason == "" && isMessage(r.JSON) {
			g.said, g.saidAt = []byte{'['}, r
		}
	}
	if g.said != nil {
		return g.say(r)
	}
	if r.Reason == "" && isSession(r.JSON) {
		if err := g.flush(); err != nil {
			return err
		}
		g.session = true
		g.items = append(g.items, item{Record: r, rest: [][]byte{}})
		return nil
	}
	if g.session && len(g.items) > 0 {
		last := &g.items[len(g.items)-1]
		if r.Reason != "" && last.Reason == "" {
			last.Reason, last.Detail = r.Reason, fmt.Sprintf("line %d of the file: %s", r.Line, r.Detail)
		}
		if last.Reason == "" {
			last.rest = append(last.rest, r.JSON)
			if g.bytes += len(r.JSON); g.bytes > mostSession {
				last.Reason, last.rest = TooLong, nil
			}
		}
		return nil
	}
	g.items, g.bytes = append(g.items, item{Record: r}), g.bytes+len(r.JSON)
	if g.bytes >= batchBytes || len(g.items) >= batchRows {
		return g.flush()
	}
	return nil
}

// flush hands on what was gathered.
func (g *gatherer) flush() error {
	items := g.items
	g.items, g.bytes = nil, 0
	if len(items) == 0 {
		return nil
	}
	return g.send(items)
}

// say adds a message to the trace that a file of messages is.
func (g *gatherer) say(r Record) error {
	switch at := &g.saidAt; {
	case at.Reason != "":
	case r.Reason != "":
		at.Reason, at.Detail = r.Reason, fmt.Sprintf("line %d of the file: %s", r.Line, r.Detail)
	case len(g.said)+len(r.JSON) > mostSession:
		at.Reason = TooLong
	default:
		if len(g.said) > 1 {
			g.said = append(g.said, ',')
		}
		g.said = append(g.said, r.JSON...)
	}
	return nil
}

// close ends the trace that a file of messages is.
func (g *gatherer) close() error {
	if g.said == nil {
		return nil
	}
	r := g.saidAt
	r.JSON = append(g.said, ']')
	g.said = nil
	g.items = append(g.items, item{Record: r})
	return g.flush()
}

// end hands on what is left.
func (g *gatherer) end() error {
	if err := g.close(); err != nil {
		return err
	}
	return g.flush()
}

// isMessage reports whether a row is one message of a conversation, not a conversation: it has a role that one has,
// something said or called, and nothing by which a format is told.
func isMessage(row []byte) bool {
	var m message
	r := record{}
	if len(row) == 0 || row[0] != '{' || !bytes.Contains(row, []byte(`"role"`)) || decode(row, &m) != nil ||
		roleOf(&m) == "" || decode(row, &r.columns) != nil {
		return false
	}
	says := m.Content != nil || m.ToolCalls != nil || m.STSToolCalls != nil || m.FunctionCall != nil
	return says && !slices.ContainsFunc(table(), func(f format) bool { return f.fits(&r) })
}

// isSession reports whether a line is the header of an STS session.
func isSession(line []byte) bool {
	if len(line) > 64<<10 && !bytes.Contains(line[:64<<10], []byte(`"session"`)) ||
		!bytes.Contains(line, []byte(`"session"`)) {
		return false
	}
	var head struct {
		Type    jsontext.Value `json:"type"`
		Harness jsontext.Value `json:"harness"`
	}
	return decode(line, &head) == nil && text(head.Type) == "session" && head.Harness != nil
}

// Load reads all rows into memory.
func Load(paths []string, o Options) ([]Row, Report, error) {
	var rows []Row
	report, err := Read(paths, o, func(r Row) error {
		rows = append(rows, r)
		return nil
	})
	return rows, report, err
}

func (r *Report) nothing(paths []string) error {
	e := &fault.Error{Code: fault.CodeUsage, What: "there is no conversation", Where: strings.Join(paths, ", "),
		Next: `add at least one line: {"messages": [...]}`}
	e.Why = strings.Join(r.Lines(), "\n")
	if r.Read > 0 {
		e.What = "no row of " + fault.Count(r.Read, "row") + " is a conversation that can be read"
		e.Next = `each line is one JSON object: {"messages": [{"role": "user", "content": "..."}, ...]}; hone data validate --help lists the formats`
	}
	e.Next = cmp.Or(r.Next(), e.Next)
	return e
}
