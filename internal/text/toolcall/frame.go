package toolcall

import (
	"strings"

	"hone/internal/chat"
)

// Frame is how a form writes a call whose arguments stand there as the JSON they are: Open NAME Middle ARGUMENTS Close. Between
// stands before a next call; it is empty where the form does not write two calls as one beside the other.
type Frame struct{ Open, Middle, Close, Between string }

// Frame asks the form for calls, and finds name and arguments in what it writes. It is false for forms that do not write arguments
// as JSON.
func (f Format) Frame() (Frame, bool) {
	const name, arguments = "honetool", `{"honekey": "honeargument"}`
	call := chat.ToolCall{ID: f.id(0, call{name: name}), Name: name, Arguments: arguments}
	text, err := f.Emit("", []chat.ToolCall{call})
	if err != nil {
		return Frame{}, false
	}
	open, rest, named := strings.Cut(text, name)
	middle, end, given := strings.Cut(rest, arguments)
	if !named || !given || strings.Contains(end, name) {
		return Frame{}, false
	}
	frame := Frame{Open: open, Middle: middle, Close: end}
	two, err := f.Emit("", []chat.ToolCall{call, call})
	if between, ok := strings.CutPrefix(two, text); err == nil && ok {
		frame.Between, ok = strings.CutSuffix(between, text)
		if !ok || frame.Between == "" {
			frame.Between = ""
		}
	}
	return frame, true
}

// Marks are what a call begins with, and a message in words does not: the pieces of the frame's beginning up to the first one without which the form
// reads no call, however much space is written. A form without a frame has none. Llama's is a brace, which words may have as well.
func (f Format) Marks() (marks []string) {
	frame, ok := f.Frame()
	if !ok {
		return nil
	}
	call := chat.ToolCall{ID: f.id(0, call{name: "honetool"}), Name: "honetool", Arguments: "{}"}
	text, err := f.Emit("honewords", []chat.ToolCall{call})
	words, after, found := strings.Cut(text, frame.Open)
	if err != nil || !found {
		return nil
	}
	for _, piece := range strings.Fields(strings.NewReplacer("[{", " [ { ", "{", " { ", ">", "> ", "]", "] ").Replace(frame.Open)) {
		if strings.Contains(words, piece) {
			continue
		}
		marks = append(marks, piece)
		if r := f.Parse(strings.ReplaceAll(frame.Open+after, piece, ""), Options{}); len(r.Calls) == 0 {
			break
		}
	}
	return marks
}
