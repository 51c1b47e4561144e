package serve

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/episode/policy"
	"hone/internal/text/toolcall"
)

// growing is a model whose calls have a frame, and are told of while they are written.
func growing(o *Options) {
	shaped(o)
	o.Models[0].Shape.Read = func([]int32) Reader {
		return toolcall.Frame{Open: "CALL ", Middle: " ", Between: "\n"}.Reader()
	}
}

// required asks each dialect for a call of one of two tools.
func required(dialect, more string) (path, body string) {
	const schema = `{"type":"object"}`
	switch dialect {
	case "chat":
		return "/v1/chat/completions", hi + strings.Replace(twoTools, "STRICT", "false", 1) +
			`,"tool_choice":"required"` + more + `}`
	case "messages":
		return "/v1/messages", anthropicHi + `,"tools":[{"name":"hash","input_schema":` + schema +
			`},{"name":"now","input_schema":` + schema + `}],"tool_choice":{"type":"any"}` + more + `}`
	}
	return "/v1/responses", `{"model":"m","input":"hi","tools":[{"type":"function","name":"hash","parameters":` +
		schema + `},{"type":"function","name":"now","parameters":` + schema +
		`}],"tool_choice":"required"` + more + `}`
}

// grown are the calls of a stream, how many pieces their arguments came in, and the pieces' calls that were named in
// time: before them.
func grown(t *testing.T, dialect, body string) (calls [][2]string, pieces int) {
	t.Helper()
	begin := func(name string) { calls = append(calls, [2]string{name, ""}) }
	more := func(text string) {
		if len(calls) == 0 {
			t.Fatalf("arguments before a name: %s", body)
		}
		if calls[len(calls)-1][1] += text; text != "" {
			pieces++
		}
	}
	for line := range strings.Lines(body) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || text == "[DONE]" {
			continue
		}
		var e struct {
			Type    string
			Choices []struct{ Delta delta }
			Delta   json.RawMessage
			Item    struct{ Type, Name, Arguments string }
			Block   struct{ Type, Name string } `json:"content_block"`
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err, text)
		}
		switch {
		case dialect == "chat":
			for _, c := range e.Choices {
				for _, d := range c.Delta.ToolCalls {
					if d.Index == len(calls) && d.ID != "" && d.Type == "function" {
						begin(d.Function.Name)
					} else if d.Index != len(calls)-1 || d.ID+d.Type+d.Function.Name != "" {
						t.Errorf("a piece of no call: %s", text)
					}
					more(d.Function.Arguments)
				}
			}
		case e.Type == "content_block_start" && e.Block.Type == "tool_use":
			begin(e.Block.Name)
		case e.Type == "content_block_delta":
			var d struct {
				JSON string `json:"partial_json"`
			}
			if err := json.Unmarshal(e.Delta, &d); err != nil {
				t.Fatal(err)
			}
			more(d.JSON)
		case e.Type == "response.output_item.added" && e.Item.Type == "function_call":
			if begin(e.Item.Name); e.Item.Arguments != "" {
				t.Errorf("arguments before their deltas: %s", text)
			}
		case e.Type == "response.function_call_arguments.delta":
			var d string
			if err := json.Unmarshal(e.Delta, &d); err != nil {
				t.Fatal(err)
			}
			more(d)
		}
	}
	return calls, pieces
}

// wholeCalls are the calls of an answer that is not streamed, and why it ended.
func wholeCalls(t *testing.T, dialect, body string) (calls [][2]string, ended string) {
	t.Helper()
	var out struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		StopReason string `json:"stop_reason"`
		Content    []struct {
			Name  string
			Input json.RawMessage
		}
		Status string
		Output []struct{ Name, Arguments, Status string }
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err, body)
	}
	for _, c := range out.Choices {
		ended = c.FinishReason
		for _, call := range c.Message.ToolCalls {
			calls = append(calls, [2]string{call.Function.Name, call.Function.Arguments})
		}
	}
	for _, b := range out.Content {
		calls = append(calls, [2]string{b.Name, string(b.Input)})
	}
	for _, o := range out.Output {
		calls, ended = append(calls, [2]string{o.Name, o.Arguments}), o.Status
	}
	return calls, ended + out.StopReason
}

// A call that is required is told of while it is written, in each protocol: its name first, then its arguments in
// pieces, which add up to the answer that is not streamed.
func TestRequiredCallsGrow(t *testing.T) {
	s := &sampler{says: `CALL hash {"n":1}` + "\n" + `CALL now {}`}
	h := start(t, s, growing)
	for _, dialect := range []string{"chat", "messages", "responses"} {
		path, body := required(dialect, `,"stream":true`)
		status, streamed := post(t, h, path, body)
		calls, pieces := grown(t, dialect, streamed)
		if want := [][2]string{{"hash", `{"n":1}`}, {"now", `{}`}}; status != 200 || len(calls) != 2 ||
			calls[0] != want[0] || calls[1] != want[1] || pieces != len(`{"n":1}{}`) {
			t.Errorf("%s: %q in %d pieces: %s", dialect, calls, pieces, streamed)
		}
		path, body = required(dialect, "")
		_, answer := post(t, h, path, body)
		if whole, ended := wholeCalls(t, dialect, answer); len(whole) != 2 || whole[0] != calls[0] ||
			whole[1] != calls[1] || !strings.Contains("tool_calls tool_use completed", ended) {
			t.Errorf("%s: whole %q, streamed %q: %s", dialect, whole, calls, answer)
		}
	}
	// A stop text may end a call anywhere: it is a call only once it is whole.
	path, body := required("chat", `,"stream":true,"stop":["never"]`)
	if _, streamed := post(t, h, path, body); strings.Contains(streamed, `"arguments":"{"`) {
		t.Errorf("a call that may be stopped is told of early: %s", streamed)
	}
}

// An answer that ends for want of room within a required call has the call as far as it came, streamed or not, and says
// that it is not whole.
func TestRequiredCallsAreCut(t *testing.T) {
	s := &sampler{says: `CALL hash {"n"`, finish: policy.FinishLength}
	h := start(t, s, growing)
	for dialect, want := range map[string]struct{ arguments, ended string }{
		"chat":      {`{"n"`, "length"},
		"messages":  {`{}`, "max_tokens"},
		"responses": {`{"n"`, "incomplete"},
	} {
		path, body := required(dialect, "")
		status, answer := post(t, h, path, body)
		if calls, ended := wholeCalls(t, dialect, answer); status != 200 || len(calls) != 1 ||
			calls[0] != [2]string{"hash", want.arguments} || ended != want.ended {
			t.Errorf("%s: status %d, %q, ended by %q: %s", dialect, status, calls, ended, answer)
		}
		path, body = required(dialect, `,"stream":true`)
		_, streamed := post(t, h, path, body)
		if calls, _ := grown(t, dialect, streamed); len(calls) != 1 || calls[0] != [2]string{"hash", `{"n"`} ||
			!strings.Contains(streamed, want.ended) {
			t.Errorf("%s: %q: %s", dialect, calls, streamed)
		}
	}
}
