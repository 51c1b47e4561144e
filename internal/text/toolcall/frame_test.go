package toolcall

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
)

// frameOf finds name and arguments in what the vendor of a form writes. It is false for forms that do not write
// arguments as JSON.
func frameOf(f Format) (Frame, bool) {
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

// marksOf are the pieces of a frame's beginning up to the first one without which the form reads no call.
func marksOf(f Format) (marks []string) {
	frame, ok := frameOf(f)
	if !ok {
		return nil
	}
	call := chat.ToolCall{ID: f.id(0, call{name: "honetool"}), Name: "honetool", Arguments: "{}"}
	text, err := f.Emit("honewords", []chat.ToolCall{call})
	words, after, found := strings.Cut(text, frame.Open)
	if err != nil || !found {
		return nil
	}
	for _, piece := range strings.Fields(strings.NewReplacer("[{", " [ { ", "{", " { ", ">", "> ", "]",
		"] ").Replace(frame.Open)) {
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

// Frames are what the vendors write around calls. Marks are no more of that than need be, and no words have them.
func TestMarks(t *testing.T) {
	for _, f := range All() {
		frame, framed := f.Frame()
		if want, has := frameOf(f); frame != want || framed != has {
			t.Errorf("%s: frame %+v, the vendor writes %+v", f.Name(), frame, want)
		}
		if want := marksOf(f); !slices.Equal(f.Marks(), want) || framed != (want != nil) {
			t.Errorf("%s: marks %q, the vendor writes %q", f.Name(), f.Marks(), want)
		}
	}
}

// What a frame writes is read back as the call; two of them, where something stands between, as two.
func TestFrameIsReadBack(t *testing.T) {
	framed := map[string]bool{}
	for _, f := range All() {
		frame, ok := f.Frame()
		if !ok {
			continue
		}
		framed[f.Name()] = true
		call := func(arguments string) string { return frame.Open + "now" + frame.Middle + arguments + frame.Close }
		text, want := call(`{"zone": "UTC"}`), []string{`{"zone": "UTC"}`}
		if frame.Between != "" {
			text, want = text+frame.Between+call(`{}`), append(want, `{}`)
		}
		r := f.Parse(text, Options{Tools: []chat.Tool{{Name: "now"}}})
		if len(r.Calls) != len(want) || r.Err != "" || r.Content != "" {
			t.Errorf("%s: %q is read as %+v", f.Name(), text, r)
			continue
		}
		for i, c := range r.Calls {
			if c.Name != "now" || c.Arguments != want[i] {
				t.Errorf("%s: call %d of %q is %+v", f.Name(), i, text, c)
			}
		}
	}
	for _, name := range []string{"hermes", "llama3_json", "mistral", "phi4_mini", "deepseek_v31"} {
		if !framed[name] {
			t.Errorf("%s writes arguments as JSON, and has no frame", name)
		}
	}
	t.Log(framed)
}
