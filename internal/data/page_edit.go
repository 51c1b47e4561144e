package data

import (
	"errors"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hone/internal/data/curate"
)

// edited is what an editor left.
type edited struct {
	op     curate.Op // without its text
	before string
	path   string
	err    error
}

// edit opens a part in the editor. The page stands still until it ends.
func (p *page) edit(x part) tea.Cmd {
	e := edited{op: curate.Op{Do: x.do, Trace: p.trace.ID, Message: x.message, Call: x.call}, before: x.text}
	if len(p.editor) == 0 {
		p.said = "set EDITOR to the command of an editor"
		return nil
	}
	f, err := os.CreateTemp("", "hone-*.txt") // readable by this user alone
	if err == nil {
		_, err = f.WriteString(x.text)
		err = errors.Join(err, f.Close())
		e.path = f.Name()
	}
	if err != nil {
		p.said = oneLine(err)
		return nil
	}
	run := exec.Command(p.editor[0], append(p.editor[1:len(p.editor):len(p.editor)], e.path)...)
	return tea.ExecProcess(run, func(err error) tea.Msg {
		e.err = err
		return e
	})
}

// take makes the operation that an editor's text is. Editors put a line break at the end, which is not taken for a
// change.
func (p *page) take(e edited) {
	text, err := os.ReadFile(e.path)
	_ = os.Remove(e.path)
	if err = errors.Join(e.err, err); err != nil {
		p.said = "the editor failed: " + oneLine(err)
		return
	}
	after := string(text)
	if !strings.HasSuffix(e.before, "\n") {
		after = strings.TrimSuffix(strings.TrimSuffix(after, "\n"), "\r")
	}
	if after == e.before {
		p.said = "nothing was changed"
		return
	}
	e.op.Text = after
	p.do(e.op)
}
