package job

import (
	"cmp"
	"context"
	"io"
	"os"

	"hone/internal/eval/calls"
	"hone/internal/fault"
	"hone/internal/host"
)

// StoredCalls say which calls are graded, and by what.
type StoredCalls struct {
	File        string // JSON lines; "" is stdin
	Seen        string // file with what training had; "" where nobody says
	Underscores bool   // tools with a dot in their name were shown with underscores
}

// GradeCalls grades stored calls by BFCL's rules: a verdict a line on stdout, totals on stderr.
func GradeCalls(ctx context.Context, h *host.Host, s StoredCalls) error {
	o := calls.Options{Name: s.File, Underscores: s.Underscores}
	if s.Seen != "" {
		err := reading(s.Seen, func(in io.Reader) (err error) { o.Seen, err = calls.ReadSeen(in); return err })
		if fault.CodeOf(err) == fault.CodeError {
			return &fault.Error{Code: fault.CodeUsage, What: "cannot read what training had", Where: s.Seen, Err: err,
				Next: "give a catalog, scenarios, training rows or trajectories, as JSON or JSON lines"}
		} else if err != nil {
			return err
		}
	}
	grade := func(in io.Reader) error {
		t, err := calls.Grade(ctx, in, h.Data, o)
		if t.Lines > 0 {
			return cmp.Or(err, tellCalls(h, t))
		}
		return err
	}
	if s.File == "" {
		return grade(h.Stdin)
	}
	return reading(s.File, grade)
}

// reading gives an open file to read.
func reading(path string, read func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot open the file", Where: path, Err: err, Next: "name a file that is there"}
	}
	defer file.Close()
	return read(file)
}

// tellCalls says the totals: as JSON, or as a table with what its numbers are.
func tellCalls(h *host.Host, t calls.Totals) error {
	if !h.JSON {
		h.Say("tool: the names of the calls are those of the gold calls, each as often")
		h.Say("param: tool, and each call has the arguments that its gold call has, but for those that may be left out")
		h.Say("ast: BFCL's verdict, types and values too; intervals: Wilson's 95%%, lines with one id being one observation")
	}
	if err := h.SayData(t, t.Table()); err != nil || h.JSON {
		return err
	}
	for _, note := range t.Notes() {
		h.Say("%s", note)
	}
	return nil
}
