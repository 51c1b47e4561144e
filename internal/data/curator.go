package data

import (
	"context"
	"io"
	"strings"

	"hone/internal/config"
	"hone/internal/data/curate"
	"hone/internal/fault"
	"hone/internal/host"
)

// onPage is a desk as the page on a terminal wants it.
type onPage struct {
	*Desk
	open func() (func(out io.Writer, colour bool, id string) error, error)
	show func(out io.Writer, colour bool, id string) error
}

// Findings are what of a trace does not hold.
func (p *onPage) Findings(t *curate.Trace) []string { return p.checker.Findings(t) }

// Preview is the text of the rows that sft would learn; the model's tokenizer is opened with the first.
func (p *onPage) Preview(id string) (string, error) {
	if p.show == nil {
		show, err := p.open()
		if err != nil {
			return "", err
		}
		p.show = show
	}
	var b strings.Builder
	err := p.show(&b, false, id)
	return b.String(), err
}

// Page lets a person curate by keys on the terminal, until they leave.
func (d *Desk) Page(ctx context.Context, h *host.Host, c config.Config, base string) error {
	typed, seen := h.TerminalIn(), h.Data.Terminal()
	if typed == nil || seen == nil {
		return &fault.Error{Code: fault.CodeUsage, What: "hone curate DATA is a page on a terminal, and this is none",
			Where: d.x.Data, Next: "hone curate show, do, rules, redact and export need none"}
	}
	editor, _ := h.LookupEnv("VISUAL")
	if editor == "" {
		editor, _ = h.LookupEnv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	quiet := *h // what is said would stand in the page
	quiet.Quiet = true
	p := &onPage{Desk: d, open: func() (func(out io.Writer, colour bool, id string) error, error) {
		return d.previews(&quiet, c, base)
	}}
	return showPage(ctx, p, strings.Fields(editor), typed, seen, h.Environ)
}
