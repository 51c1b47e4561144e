package data

// The page on a terminal by which a person curates traces with keys: a list with filters, a trace with its turns, and
// what sft would learn of it. It holds no operation of its own: each key is one of package curate, written to the
// ledger like any other.

import (
	"context"
	"errors"
	"os"

	tea "charm.land/bubbletea/v2"

	"hone/internal/data/curate"
)

// curated is what the page curates.
type curated interface {
	Traces() []*curate.Trace
	Last(id string) (curate.Op, bool) // the last operation on a trace that is not undone
	Do(op curate.Op) (done curate.Op, findings []string, err error)
	Findings(t *curate.Trace) []string
	Preview(id string) (string, error) // the exact text that would be trained, and what of it counts
}

// showPage shows the page until the person leaves it. What was done by then is in the ledger. editor is a command that
// edits the file named last.
func showPage(ctx context.Context, d curated, editor []string, in, out *os.File, environ []string) error {
	_, err := tea.NewProgram(newPage(d, editor), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithEnvironment(environ), tea.WithoutSignalHandler()).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// view is which page is shown.
type view int

const (
	inList view = iota
	inTrace
	inText // a preview, or the keys
)

// page is what is shown. Update alone changes it.
type page struct {
	desk          curated
	editor        []string
	width, height int
	view          view
	said          string // of the last key

	rows   []row
	shown  []int // rows that the filters let through
	at     int   // of shown, under the cursor
	status string
	query  string

	typing *typing // a line that is being typed

	trace    *curate.Trace // that is open
	findings []string
	parts    []part
	part     int // under the cursor
	lines    []line
	top      int // the first line that is seen

	text []string // of inText
	back view     // where esc leads from there
}

// typing is a line that a person types, and what is done with it.
type typing struct {
	prompt, text string
	done         func(p *page, text string) tea.Cmd
	each         func(p *page, text string) // with each key; may be nil
}

func newPage(desk curated, editor []string) *page {
	p := &page{desk: desk, editor: editor, width: 80, height: 24, status: anyStatus}
	p.reread()
	return p
}

// Init asks for nothing.
func (p *page) Init() tea.Cmd { return nil }

// View is the page as text.
func (p *page) View() tea.View {
	v := tea.NewView(p.render())
	v.AltScreen = true
	return v
}

// Update takes a key, or what an editor left.
func (p *page) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = max(msg.Width, 20), max(msg.Height, 6)
		p.layout()
	case edited:
		p.take(msg)
	case tea.KeyPressMsg:
		return p, p.key(msg)
	case tea.PasteMsg:
		if p.typing != nil {
			p.typeText(p.typing.text + msg.Content)
		}
	}
	return p, nil
}

func (p *page) key(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	if p.typing != nil {
		return p.typeKey(k)
	}
	p.said = ""
	if k.String() == "?" {
		p.open(keys())
		return nil
	}
	switch p.view {
	case inList:
		return p.listKey(k.String())
	case inTrace:
		return p.traceKey(k.String())
	default:
		p.textKey(k.String())
		return nil
	}
}

func (p *page) typeKey(k tea.KeyPressMsg) tea.Cmd {
	t := p.typing
	switch k.String() {
	case "enter":
		p.typing = nil
		return t.done(p, t.text)
	case "esc":
		p.typing = nil
		if t.each != nil {
			t.each(p, "")
		}
	case "backspace":
		if r := []rune(t.text); len(r) > 0 {
			p.typeText(string(r[:len(r)-1]))
		}
	default:
		if k.Text != "" {
			p.typeText(t.text + k.Text)
		}
	}
	return nil
}

func (p *page) typeText(text string) {
	if p.typing.text = text; p.typing.each != nil {
		p.typing.each(p, text)
	}
}

// do makes an operation and shows what became of it.
func (p *page) do(op curate.Op) {
	done, _, err := p.desk.Do(op)
	if err != nil {
		p.said = oneLine(err)
		return
	}
	p.said = describe(done)
	p.reread()
}

// decide takes the keys that both the list and a trace have.
func (p *page) decide(key, id string) {
	switch key {
	case "a":
		p.do(curate.Op{Do: curate.Accept, Trace: id})
	case "x":
		p.typing = &typing{prompt: "reject, because: ", done: func(p *page, why string) tea.Cmd {
			p.do(curate.Op{Do: curate.Reject, Trace: id, Why: why})
			return nil
		}}
	case "1", "2", "3", "4", "5":
		p.do(curate.Op{Do: curate.Rate, Trace: id, Rating: int(key[0] - '0')})
	case "u":
		last, there := p.desk.Last(id)
		if !there {
			p.said = "nothing was done to it that could be undone"
			return
		}
		p.do(curate.Op{Do: curate.Undo, Of: last.Seq})
	case "p":
		text, err := p.desk.Preview(id)
		if err != nil {
			p.said = oneLine(err)
			return
		}
		p.open(text)
	}
}
