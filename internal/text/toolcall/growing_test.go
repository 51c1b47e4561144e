package toolcall

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

// gather adds deltas up.
func gather(deltas []chat.Delta) (content string, calls [][2]string) {
	for _, d := range deltas {
		content += d.Content
		if d.Call != nil {
			calls = append(calls, [2]string{d.Call.Name, d.Call.Arguments})
		}
		if d.Arguments != "" {
			calls[len(calls)-1][1] += d.Arguments
		}
	}
	return content, calls
}

// What is told of a growing call adds up to what the format's own parser reads of the whole, however it is cut. Of a
// text that ends early it is a beginning of that.
func TestFramedEqualsParse(t *testing.T) {
	arguments := rapid.SampledFrom([]string{`{}`, `{"zone": "UTC"}`, `{"a":{"b":[1,{"c":"}"}]}}`,
		`{"s": "q\"}\\", "n": -1.5e3}`, `{"é": "世 </tool_call>"}`, `{"x": ["[", null, true]}`})
	name := rapid.SampledFrom([]string{"now", "read_file", "a-b"})
	frames := 0
	for _, f := range All() {
		frame, ok := f.Frame()
		if !ok {
			continue
		}
		frames++
		t.Run(f.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				most := 1
				if frame.Between != "" {
					most = 3
				}
				var text []string
				for range rapid.IntRange(1, most).Draw(t, "calls") {
					text = append(text,
						frame.Open+name.Draw(t, "name")+frame.Middle+arguments.Draw(t, "arguments")+frame.Close)
				}
				all := strings.Join(text, frame.Between)
				var want [][2]string
				for _, c := range f.Parse(all, Options{}).Calls {
					want = append(want, [2]string{c.Name, c.Arguments})
				}
				part := all[:rapid.IntRange(0, len(all)).Draw(t, "part")]
				r, early := frame.Reader(), frame.Reader()
				var deltas []chat.Delta
				for rest := part; rest != ""; {
					n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "n")
					deltas, rest = append(deltas, r.Feed(rest[:n])...), rest[n:]
				}
				content, calls := gather(append(deltas, r.Close()...))
				at, once := gather(append(early.Feed(part), early.Close()...))
				if content != at || !reflect.DeepEqual(calls, once) {
					t.Fatalf("%q in parts is %q %q, at once %q %q", part, content, calls, at, once)
				}
				if part == all && (content != "" || !reflect.DeepEqual(calls, want)) {
					t.Fatalf("%q is told as %q %q, want %q", all, content, calls, want)
				}
				for i, c := range calls {
					if c[0] != want[i][0] || !strings.HasPrefix(want[i][1], c[1]) || i < len(calls)-1 && c != want[i] {
						t.Fatalf("%q is told as %q, want a beginning of %q", part, calls, want)
					}
				}
			})
		})
	}
	if frames < 5 {
		t.Errorf("%d forms have a frame", frames)
	}
}

// A call is told of before it has ended: its name as soon as arguments begin, and they as they come.
func TestFramedTellsEarly(t *testing.T) {
	frame, _ := Hermes().Frame()
	r := frame.Reader()
	var told []string
	for _, text := range []string{
		"<tool_call>\n{\"na", `me": "no`, `w", "arguments": `, `{"zone"`, `: "U`, `TC"}`, "}\n</tool", "_call>",
		"\n<tool_call>\n", `{"name": "later", "arguments": {`,
	} {
		content, calls := gather(append([]chat.Delta{{Call: &chat.ToolCall{}}}, r.Feed(text)...))
		if content != "" {
			t.Errorf("%q is content", content)
		}
		said := ""
		for _, c := range calls {
			said += c[0] + c[1]
		}
		told = append(told, said)
	}
	if want := []string{"", "", "", `now{"zone"`, `: "U`, `TC"}`, "", "", "",
		"later{"}; !reflect.DeepEqual(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if rest := r.Close(); rest != nil {
		t.Errorf("the end is %+v", rest)
	}
}

// A text of another form is content, and so is a block that is no call or has only begun.
func TestFramedLosesNothing(t *testing.T) {
	frame, _ := Hermes().Frame()
	call := frame.Open + "now" + frame.Middle + "{}" + frame.Close
	for text, want := range map[string]string{
		"hello": "hello", "<tool_cat>": "<tool_cat>", frame.Open + "no": frame.Open + "no",
		frame.Open + "now" + frame.Middle: frame.Open + "now" + frame.Middle,
		frame.Open + "now" + frame.Middle + "[1]" + frame.Close: frame.Open + "now" + frame.Middle + "[1]" +
			frame.Close,
		call + " and": " and", call + "\n<tool": "\n<tool", call + frame.Between + frame.Open +
			"x": frame.Between + frame.Open + "x", call + "\n": "", call[:len(call)-3]: "",
	} {
		for _, chunks := range [][]string{{text}, strings.Split(text, "")} {
			r := frame.Reader()
			var deltas []chat.Delta
			for _, c := range chunks {
				deltas = append(deltas, r.Feed(c)...)
			}
			if content, _ := gather(append(deltas, r.Close()...)); content != want {
				t.Errorf("%q: the content is %q, want %q", text, content, want)
			}
		}
	}
}
