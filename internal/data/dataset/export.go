package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
)

// SinkOptions say what is written.
type SinkOptions struct {
	Form string // one of Forms
	Out  string // a file, or a folder where the form is one; it must not be there yet
	// Card is what the data set's card says of how it was made, as "unroll": "turns".
	Card map[string]string
}

// SinkFiles is what was written.
type SinkFiles struct {
	Path   string         `json:"path"`
	Rows   int            `json:"rows"`
	Splits map[string]int `json:"splits,omitempty"` // of a data set folder
	// rows that were not added, or that the form has no place for, by reason
	LeftOut map[string]int `json:"left_out,omitempty"`
}

type form struct {
	name, says string
	folder     bool
	open       func(o SinkOptions, staging string) (writer, error)
}

// writer is a form's part of a sink: it writes into a staging file or folder.
type writer interface {
	add(r *Row) error
	// finish writes what is left. w already says the path.
	finish(w *SinkFiles) error
}

func forms() []form {
	return []form{
		{"hone", "one JSON line for each conversation, as hone sft reads it", false, lineWriter(rowLine)},
		{"hf", "a data set folder of the Hub: parquet, and a README with its configs", true, openHub(parquetTable)},
		{"hf-jsonl", "the same with JSON lines", true, openHub(jsonTable)},
		{"sts", "session traces of the Hub, a file for each conversation", true, openSTS},
		{"trl", "JSON lines of prompt, completion and tools for TRL's SFTTrainer", false, lineWriter(trlLine)},
		{"axolotl", "JSON lines of messages for Axolotl's chat_template, each with whether it is trained", false,
			lineWriter(axolotlLine)},
		{"pairs", "JSON lines of prompt, chosen and rejected: passed and failed traces of one scenario",
			false, openPairs},
	}
}

// SinkForms are the names of all.
func SinkForms() []string {
	var names []string
	for _, f := range forms() {
		names = append(names, f.name)
	}
	return names
}

// DescribeForms is a text with a line for each form.
func DescribeForms() string {
	var b strings.Builder
	for _, f := range forms() {
		fmt.Fprintf(&b, "  %-9s %s\n", f.name, f.says)
	}
	return b.String()
}

// Sink takes rows, and puts what its writer made of them into place when it is closed. Until then that is staged beside
// its place.
type Sink struct {
	o       SinkOptions
	w       writer
	staging string
	rows    int
}

// OpenSink begins to write. Its errors are *fault.Error: no such form, or a place that is taken or cannot be written.
func OpenSink(o SinkOptions) (*Sink, error) {
	i := slices.IndexFunc(forms(), func(f form) bool { return f.name == o.Form })
	if i < 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no form %q", o.Form),
			Next: "the forms are " + strings.Join(SinkForms(), ", ")}
	}
	if o.Out == "" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no place to write to", Next: "name one with --out"}
	}
	if _, err := os.Lstat(o.Out); !errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "there is something already", Where: o.Out, Err: err,
			Next: "remove it, or give --out another name"}
	}
	staging, err := os.MkdirTemp(filepath.Dir(o.Out), ".hone-export-*")
	if err != nil {
		return nil, cannot(o.Out, err)
	}
	s := &Sink{o: o, staging: staging}
	place := staging
	if !forms()[i].folder {
		place = s.file()
	}
	if s.w, err = forms()[i].open(o, place); err != nil {
		s.Abort()
		return nil, cannot(o.Out, err)
	}
	return s, nil
}

func cannot(path string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return &fault.Error{Code: fault.CodeError, What: "cannot write the conversations", Where: path, Err: err,
		Next: "name a place that can be written with --out"}
}

func (s *Sink) file() string { return filepath.Join(s.staging, "rows") }

// Add takes a row.
func (s *Sink) Add(r Row) error {
	if err := s.w.add(&r); err != nil {
		return cannot(s.o.Out, err)
	}
	s.rows++
	return nil
}

// Close publishes, and says what was written and what was not: leftOut are rows that were not added, by reason.
func (s *Sink) Close(leftOut map[string]int) (SinkFiles, error) {
	w := SinkFiles{Path: s.o.Out, Rows: s.rows, LeftOut: map[string]int{}}
	err := s.w.finish(&w)
	maps.Copy(w.LeftOut, leftOut)
	if err == nil && w.Rows == 0 {
		s.Abort()
		return w, &fault.Error{Code: fault.CodeUsage, What: "there is nothing to write", Where: s.o.Out, Why: w.why(),
			Next: "give it other conversations"}
	}
	if err == nil {
		from := s.staging
		if _, e := os.Lstat(s.file()); e == nil {
			from = s.file()
		} else {
			err = os.Chmod(s.staging, 0o755)
		}
		if err == nil {
			err = os.Rename(from, s.o.Out)
		}
	}
	if err != nil {
		err = cannot(s.o.Out, err)
	}
	s.Abort()
	return w, err
}

func (w SinkFiles) why() string {
	var out []string
	for reason, n := range w.LeftOut {
		out = append(out, fmt.Sprintf("%s: %s", fault.Count(n, "row"), reason))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// Abort leaves nothing behind. It does nothing after Close.
func (s *Sink) Abort() { _ = os.RemoveAll(s.staging) }

// lines writes a text for each row.
type lines struct {
	f    *os.File
	out  *bufio.Writer
	line func(dst []byte, r *Row) ([]byte, error)
	buf  []byte
}

func lineWriter(line func([]byte, *Row) ([]byte, error)) func(SinkOptions, string) (writer, error) {
	return func(_ SinkOptions, path string) (writer, error) { return newLines(path, line) }
}

func newLines(path string, line func([]byte, *Row) ([]byte, error)) (*lines, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &lines{f: f, out: bufio.NewWriterSize(f, 1<<20), line: line}, nil
}

func (l *lines) add(r *Row) (err error) {
	if l.buf, err = l.line(l.buf[:0], r); err != nil {
		return err
	}
	l.buf = append(l.buf, '\n')
	_, err = l.out.Write(l.buf)
	return err
}

func (l *lines) finish(*SinkFiles) error {
	return errors.Join(l.out.Flush(), l.f.Sync(), l.f.Close())
}

func rowLine(dst []byte, r *Row) ([]byte, error) { return r.AppendJSON(dst) }

// firstTarget is the first assistant message that is to be learnt: what stands before it is the prompt.
func firstTarget(r *Row) int {
	for i := r.Opening; i < len(r.Messages); i++ {
		if r.Messages[i].Role == chat.Assistant {
			return i
		}
	}
	return len(r.Messages)
}
