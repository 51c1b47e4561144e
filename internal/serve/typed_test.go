package serve

import (
	"fmt"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// formReader reads calls in a form that writes all values as text.
type formReader struct{ *toolcall.Parser }

func (r formReader) Feed(text string) []chat.Delta { return deltasOf(r.Parser.Feed(text)) }

func (r formReader) Close() []chat.Delta {
	events, _ := r.Parser.Close()
	return deltasOf(events)
}

func deltasOf(events []toolcall.Event) (out []chat.Delta) {
	for _, e := range events {
		out = append(out, chat.Delta{Content: e.Content, Call: e.Call})
	}
	return out
}

// The values of a served call are typed by the schema of the tool that it calls, whichever of the list that is, in each
// protocol, streamed or not.
func TestServedCallsAreTypedByTheTools(t *testing.T) {
	form, err := toolcall.ByName("glm45")
	if err != nil {
		t.Fatal(err)
	}
	s := &sampler{}
	h := start(t, s, func(o *Options) {
		o.Models[0].Read = func(_ []int32, tools []chat.Tool) Reader {
			return formReader{form.Parser(toolcall.Options{Tools: tools})}
		}
	})
	const first = `{"type":"object","properties":{"n":{"type":"string"}}}`
	const second = `{"type":"object","properties":{"n":{"type":"integer"},"zip":{"type":"string"},` +
		`"meta":{"type":"object"}}}`
	chatTool := `{"type":"function","function":{"name":"%s","parameters":%s}}`
	requests := map[string][2]string{
		"chat": {"/v1/chat/completions", hi + `,"tools":[` + fmt.Sprintf(chatTool, "name", first) + `,` +
			fmt.Sprintf(chatTool, "count", second) + `]`},
		"messages": {"/v1/messages", anthropicHi + `,"tools":[{"name":"name","input_schema":` + first +
			`},{"name":"count","input_schema":` + second + `}]`},
		"responses": {"/v1/responses", `{"model":"m","input":"hi","tools":[{"type":"function","name":"name",` +
			`"parameters":` + first + `},{"type":"function","name":"count","parameters":` + second + `}]`},
	}
	for _, x := range []struct{ tool, parameter, value, want string }{
		{"name", "n", "7", `{"n": "7"}`},
		{"count", "n", "7", `{"n": 7}`},
		{"count", "zip", "10115", `{"zip": "10115"}`},
		{"count", "meta", "{'a': True}", `{"meta": {"a": true}}`},
	} {
		s.says = "<tool_call>" + x.tool + "\n<arg_key>" + x.parameter + "</arg_key>\n<arg_value>" + x.value +
			"</arg_value>\n</tool_call>"
		want := [2]string{x.tool, strings.ReplaceAll(x.want, " ", "")}
		for dialect, r := range requests {
			_, answer := post(t, h, r[0], r[1]+"}")
			whole, _ := wholeCalls(t, dialect, answer)
			_, streamed := post(t, h, r[0], r[1]+`,"stream":true}`)
			grew, _ := grown(t, dialect, streamed)
			for _, calls := range [][][2]string{whole, grew} {
				if len(calls) != 1 || [2]string{calls[0][0], strings.ReplaceAll(calls[0][1], " ", "")} != want {
					t.Errorf("%s: %s = %s: %q, want %q: %s", dialect, x.parameter, x.value, calls, want, answer)
				}
			}
		}
	}
}
