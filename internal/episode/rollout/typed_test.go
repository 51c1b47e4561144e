package rollout_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
	"hone/internal/text/toolcall"
)

// coder reads calls in a form that writes all values as text.
type coder struct {
	fakes.Renderer
	form toolcall.Format
}

func (c coder) Parse(completion []int32, tools []chat.Tool) (chat.Message, string) {
	r := c.form.Parse(strings.TrimSuffix(fakes.Text(completion), "\x00"), toolcall.Options{Tools: tools})
	return chat.Message{Role: chat.Assistant, Content: r.Content, ToolCalls: r.Calls}, r.Err
}

// The values of a sampled call are typed by the schema of the tool that it calls, whichever of the list that is.
func TestSampledCallsAreTypedByTheTools(t *testing.T) {
	schema := func(properties string) json.RawMessage {
		return json.RawMessage(`{"type": "object", "properties": ` + properties + `}`)
	}
	list := []chat.Tool{
		{Name: "name", InputSchema: schema(`{"n": {"type": "string"}}`)},
		{Name: "count", InputSchema: schema(
			`{"n": {"type": "integer"}, "zip": {"type": "string"}, "meta": {"type": "object"}}`)},
	}
	form, err := toolcall.ByName("qwen3_coder")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ tool, parameter, value, want string }{
		{"name", "n", "7", `{"n": "7"}`},
		{"count", "n", "7", `{"n": 7}`},
		{"count", "zip", "10115", `{"zip": "10115"}`},
		{"count", "meta", "{'a': True}", `{"meta": {"a": true}}`},
	} {
		call := "<tool_call>\n<function=" + x.tool + ">\n<parameter=" + x.parameter + ">\n" + x.value +
			"\n</parameter>\n</function>\n</tool_call>"
		got, _ := newRunner(options{Tools: &tools{}, ToolList: list, Renderer: coder{form: form},
			Sampler: &fakes.Sampler{Reply: script(call, "done")}}).
			Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
		if calls := got.Calls(); got.Outcome != trajectory.OK || len(calls) != 1 || calls[0].Call.Arguments != x.want {
			t.Errorf("%s of %s = %s: want %s: %+v", x.parameter, x.tool, x.value, x.want, calls)
		}
	}
}
