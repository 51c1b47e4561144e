package terminal

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// page is what is drawn. Update alone changes it.
type page struct {
	read          func() State
	state         State
	width, height int
	top           int // the first line that is seen
}

// look is a state that was read; it is read again a while later.
type look State

// again is when it is time to read.
type again struct{}

// Init waits for the first change.
func (p *page) Init() tea.Cmd { return p.wait() }

func (p *page) wait() tea.Cmd {
	return tea.Tick(p.state.rest(), func(time.Time) tea.Msg { return again{} })
}

// Update takes a key, the size of the terminal, or what was read. Reading goes on beside, so that keys are answered.
func (p *page) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = max(msg.Width, 20), max(msg.Height, 4)
	case again:
		return p, func() tea.Msg { return look(p.read()) }
	case look:
		if s := State(msg); s.Err != nil {
			p.state.Err = s.Err // the numbers stay as they were
		} else {
			p.state = s
		}
		return p, p.wait()
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "esc", "ctrl+c":
			return p, tea.Quit
		case "down", "j":
			p.top++
		case "up", "k":
			p.top--
		case "pgdown", "space":
			p.top += p.body()
		case "pgup":
			p.top -= p.body()
		case "home", "g":
			p.top = 0
		}
	}
	p.top = max(0, min(p.top, len(p.state.lines(p.width))-p.body()))
	return p, nil
}

// body is how many lines there are above the foot.
func (p *page) body() int { return p.height - 1 }

// View is the page as text.
func (p *page) View() tea.View {
	lines := p.state.lines(p.width)
	var b strings.Builder
	for i := range p.body() {
		if at := p.top + i; at < len(lines) {
			b.WriteString(styles[lines[at].kind] + cut(lines[at].text, p.width) + plain)
		}
		b.WriteByte('\n')
	}
	foot := "q leave"
	if len(lines) > p.body() {
		foot += "  up, down, pgup, pgdn: move"
	}
	b.WriteString(styles[note] + cut(foot, p.width) + plain)
	v := tea.NewView(b.String())
	v.AltScreen = true
	return v
}

// styles draw the kinds of lines, by SGR (ECMA-48): without colour, so that a terminal of any ground shows them.
var styles = map[kind]string{text: "", heading: "\x1b[1m", alarm: "\x1b[1m", note: "\x1b[2m"}

const plain = "\x1b[0m"

// cut is as much of a text as fits.
func cut(text string, columns int) string { return ansi.Truncate(text, columns, "") }
