package serve

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hone/internal/episode/policy"
)

// sse are the events of a stream: their names, and their data.
func sse(t *testing.T, body string) (names []string, data []map[string]any) {
	t.Helper()
	for _, event := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, text, ok := strings.Cut(event, "\ndata: ")
		var d map[string]any
		if err := json.Unmarshal([]byte(text), &d); !ok || err != nil || "event: "+fmt.Sprint(d["type"]) != name {
			t.Fatalf("no event: %q, %v", event, err)
		}
		names, data = append(names, fmt.Sprint(d["type"])), append(data, d)
	}
	return names, data
}

func object(t *testing.T, body string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return out
}

const anthropicHi = `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"hi"}]`

const says = `THINK hm SO so CALL hash {"n": 1}CALL now {}`

func TestMessages(t *testing.T) {
	s := &sampler{says: says}
	h := start(t, s, nil)
	conversation := `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"temperature":0.5,"top_k":3,"stop_sequences":["END"],"tools":[{"name":"hash","input_schema":{"type":"object"}}],"messages":[
		{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"T","signature":""},{"type":"text","text":"a"},{"type":"tool_use","id":"c1","name":"hash","input":{"b":1,"a":2}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"r"}]},{"type":"text","text":"go on"}]}]}`
	status, body := post(t, h, "/v1/messages", conversation)
	got := object(t, body)
	if want := "[hash]system:S\nuser:hi\nassistant:THINK T SO a\ntool:r\nuser:go on\n"; status != 200 ||
		text(s.asked[0].Prompt) != want {
		t.Errorf("status %d: %s; prompt %q", status, body, text(s.asked[0].Prompt))
	}
	if r := s.asked[0]; r.MaxTokens != 9 || r.Temperature != 0.5 || r.TopK != 3 ||
		!reflect.DeepEqual(r.Stop, []string{"END"}) {
		t.Errorf("asked %+v", r.Sampling)
	}
	want := object(t, `{"type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":63,"output_tokens":45},
		"content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"so "},{"type":"tool_use","id":"call_0","name":"hash","input":{"n":1}},{"type":"tool_use","id":"call_1","name":"now","input":{}}]}`)
	delete(got, "id")
	want["usage"] = map[string]any{"input_tokens": float64(len(s.asked[0].Prompt)),
		"output_tokens": float64(len(says) + 1)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, tc := range []struct {
		finish    policy.FinishReason
		more, why string
	}{
		{policy.FinishLength, "", "max_tokens"},
		{"", `,"stop_sequences":["hm"]`, "stop_sequence"},
		{"", `,"stop_sequences":["CALL now"]`, "tool_use"},
	} {
		s.finish = tc.finish
		if _, body := post(t, h, "/v1/messages", anthropicHi+tc.more+"}"); object(t, body)["stop_reason"] != tc.why {
			t.Errorf("%v %s: %s", tc.finish, tc.more, body)
		}
	}
}

// The events of a stream come in Anthropic's order, and add up to the answer that is not streamed.
func TestMessagesStream(t *testing.T) {
	s := &sampler{says: says}
	h := start(t, s, nil)
	_, body := post(t, h, "/v1/messages", anthropicHi+`,"stream":true}`)
	names, data := sse(t, body)
	if names[0] != "message_start" ||
		strings.Join(names[len(names)-3:], " ") != "content_block_stop message_delta message_stop" {
		t.Errorf("events %v", names)
	}
	open, blocks := -1, []map[string]any{}
	for _, d := range data {
		at, _ := d["index"].(float64)
		switch d["type"] {
		case "content_block_start":
			if open >= 0 || int(at) != len(blocks) {
				t.Fatalf("block %v begins while %d is open", at, open)
			}
			open = int(at)
			blocks = append(blocks, d["content_block"].(map[string]any))
		case "content_block_delta":
			if int(at) != open {
				t.Fatalf("%v while %d is open", d, open)
			}
			delta, b := d["delta"].(map[string]any), blocks[open]
			for from, to := range map[string]string{"text": "text", "thinking": "thinking", "partial_json": "json"} {
				if more, ok := delta[from].(string); ok {
					so, _ := b[to].(string)
					b[to] = so + more
				}
			}
		case "content_block_stop":
			open = -1
		}
	}
	for _, b := range blocks {
		if text, ok := b["json"].(string); ok {
			b["input"] = object(t, text)
			delete(b, "json")
		}
	}
	_, body = post(t, h, "/v1/messages", anthropicHi+"}")
	var want []map[string]any
	for _, b := range object(t, body)["content"].([]any) {
		want = append(want, b.(map[string]any))
	}
	if !reflect.DeepEqual(blocks, want) {
		t.Errorf("streamed %v\nwhole    %v", blocks, want)
	}
}

// An answer that the client begins is gone on with, and its beginning is not said again. A conversation that ends with
// a call, or with nothing of the assistant's, is answered anew.
func TestMessagesGoOn(t *testing.T) {
	s := &sampler{says: "reen."}
	h := start(t, s, nil)
	messages := func(last, more string) string {
		return `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"hi"},` + last + `]` + more + `}`
	}
	begun := `{"role":"assistant","content":"It is g"}`
	_, body := post(t, h, "/v1/messages", messages(begun, ""))
	prompt := text(s.asked[0].Prompt)
	if got := object(t, body)["content"]; prompt != "user:hi\nIt is g" ||
		!reflect.DeepEqual(got, []any{map[string]any{"type": "text", "text": "reen."}}) {
		t.Errorf("prompt %q; %s", prompt, body)
	}
	if _, body := post(t, h,
		"/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"hi"},`+begun+`]}`); object(t,
		body)["input_tokens"] != float64(len(prompt)) {
		t.Errorf("%s; the prompt has %d tokens", body, len(prompt))
	}
	for _, last := range []string{`{"role":"assistant","content":""}`, `{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"x","name":"hash","input":{}}]}`} {
		post(t, h, "/v1/messages", messages(last, ""))
		if got := text(s.asked[len(s.asked)-1].Prompt); !strings.Contains(got, "assistant:") {
			t.Errorf("%s: prompt %q", last, got)
		}
	}
	tools := `,"tools":[{"name":"hash","input_schema":{"type":"object"}}]`
	for body, want := range map[string]string{
		messages(`{"role":"assistant","content":"It is \n"}`,
			""): "trailing whitespace",
		messages(`{"role":"assistant","content":"CALL x"}`,
			""): "not read back",
		messages(begun,
			tools+`,"tool_choice":{"type":"any"}`): "held to a form",
		messages(begun,
			`,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`): "held to a form",
		`{"model":"m","max_tokens":50,"messages":[` + begun +
			`]}`: "messages is empty",
	} {
		if status, answer := post(t, h, "/v1/messages", body); status != 400 || !strings.Contains(answer, want) {
			t.Errorf("%s: status %d: %s", body, status, answer)
		}
	}
	server, _, _ := agency(t, nil, "x")
	if w := through(server.Handler(), "/v1/messages", messages(begun, "")); !strings.Contains(w.body.String(),
		"a task ends with a message of the user's") {
		t.Errorf("%s", w.body.String())
	}
}

func TestMessagesRefusals(t *testing.T) {
	s := &sampler{says: "x"}
	h := start(t, s, nil)
	ask := func(messages string) string { return `{"model":"m","max_tokens":5,"messages":` + messages + `}` }
	for body, want := range map[string]string{
		`{"model":"m","messages":[]}`:            "max_tokens is missing",
		ask(`[]`):                                "messages is empty",
		ask(`[{"role":"wizard","content":"x"}]`): "wizard",
		ask(`[{"role":"user","content":[{"type":"image","source":{}}]}]`): `"image`,
		ask(
			`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"y"}]}]`,
		): "no message before it makes",
		ask(`[{"role":"user","content":[{"type":"tool_use","id":"x","name":"y","input":{}}]}]`):         "tool_use",
		ask(`[{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"x","content":""}]}]`): "tool_result",
		anthropicHi + `,"tool_choice":{"type":"any"}}`:                                                  "no tools",
		anthropicHi + `,"tool_choice":{"type":"tool"}}`:                                                 "with a name",
		anthropicHi + `,"temperature":3}`:                                                               "temperature",
		anthropicHi +
			`,"output_config":{"format":{"type":"json_schema","schema":{}}}}`: "output_config.format",
		anthropicHi +
			`,"presence_penalty":1}`: "presence_penalty",
		`not JSON`: "not such a request",
	} {
		status, got := post(t, h, "/v1/messages", body)
		e, _ := object(t, got)["error"].(map[string]any)
		if status != 400 || object(t, got)["type"] != "error" || e["type"] != "invalid_request_error" ||
			!strings.Contains(fmt.Sprint(e["message"]), want[1:]) {
			t.Errorf("%s: status %d: %s", body, status, got)
		}
	}
	if status, got := post(t, h, "/v1/messages", strings.Replace(anthropicHi, `"m"`, `"x"`, 1)+"}"); status != 404 ||
		!strings.Contains(got, "not_found_error") {
		t.Errorf("an unknown model: status %d: %s", status, got)
	}
	locked := start(t, s, func(o *Options) { o.Keys = []string{"sk"} })
	if status, got := post(t, locked, "/v1/messages", anthropicHi+"}"); status != 401 ||
		!strings.Contains(got, "authentication_error") {
		t.Errorf("no key: status %d: %s", status, got)
	}
	if status, got := send(t, "POST", locked.URL+"/v1/messages", anthropicHi+"}", "X-Api-Key", "sk"); status != 200 {
		t.Errorf("with the key: status %d: %s", status, got)
	}
	if _, got := post(t, h, "/v1/messages/count_tokens",
		`{"model":"m","messages":[{"role":"user","content":"é"}],"tools":[{"name":"f","input_schema":{}}]}`); got !=
		`{"input_tokens":10}`+"\n" {
		t.Errorf("counted %s", got)
	}
}

const responsesHi = `{"model":"m","input":"hi"`

func TestResponses(t *testing.T) {
	s := &sampler{says: says}
	h := start(t, s, nil)
	status, body := post(t, h, "/v1/responses", `{"model":"m","instructions":"S","max_output_tokens":9,"tools":[{"type":"function","name":"hash","parameters":{"type":"object"},"strict":false}],"input":[
		{"role":"user","content":[{"type":"input_text","text":"hi"}]},
		{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"T"}]},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]},
		{"type":"function_call","call_id":"c1","name":"hash","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"hash","arguments":"{}"},
		{"type":"function_call_output","call_id":"c1","output":"r"},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"q"}]}]}`)
	if want := "[hash]system:S\nuser:hi\nassistant:THINK T SO a\ntool:r\ntool:q\n"; status != 200 ||
		text(s.asked[0].Prompt) != want || s.asked[0].MaxTokens != 9 {
		t.Fatalf("status %d: %s; prompt %q", status, body, text(s.asked[0].Prompt))
	}
	got := object(t, body)
	var kinds []string
	for _, item := range got["output"].([]any) {
		kinds = append(kinds, fmt.Sprint(item.(map[string]any)["type"]))
	}
	if strings.Join(kinds, " ") != "reasoning message function_call function_call" || got["status"] != "completed" ||
		got["object"] != "response" {
		t.Errorf("%s", body)
	}
	s.finish = policy.FinishLength
	if _, body := post(t, h, "/v1/responses", responsesHi+"}"); object(t, body)["status"] != "incomplete" ||
		!strings.Contains(body, `"reason":"max_output_tokens"`) {
		t.Errorf("cut: %s", body)
	}
}

// The events of a stream come in OpenAI's order, are numbered, and end with the response that is not streamed.
func TestResponsesStream(t *testing.T) {
	h := start(t, &sampler{says: says}, nil)
	_, body := post(t, h, "/v1/responses", responsesHi+`,"stream":true}`)
	names, data := sse(t, body)
	var order []string
	for i, name := range names {
		if data[i]["sequence_number"] != float64(i) {
			t.Errorf("event %d has number %v", i, data[i]["sequence_number"])
		}
		if n := len(order); n == 0 || order[n-1] != strings.TrimPrefix(name, "response.") {
			order = append(order, strings.TrimPrefix(name, "response."))
		}
	}
	want := "created in_progress output_item.added reasoning_text.delta reasoning_text.done output_item.done " +
		"output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done " +
		"output_item.added function_call_arguments.delta function_call_arguments.done output_item.done " +
		"output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order\n%s\nwant\n%s", got, want)
	}
	streamed := data[len(data)-1]["response"].(map[string]any)
	_, body = post(t, h, "/v1/responses", responsesHi+"}")
	whole := object(t, body)
	for _, x := range []map[string]any{streamed, whole} {
		delete(x, "id")
		delete(x, "created_at")
		for _, item := range x["output"].([]any) {
			delete(item.(map[string]any), "id")
		}
	}
	if !reflect.DeepEqual(streamed, whole) {
		t.Errorf("streamed %v\nwhole    %v", streamed, whole)
	}
}

// A request goes on from an answer that is kept, whose instructions are not carried on.
func TestResponsesGoOn(t *testing.T) {
	s := &sampler{says: "one"}
	h := start(t, s, nil)
	first := func(more string) string {
		_, body := post(t, h, "/v1/responses", responsesHi+`,"instructions":"S"`+more+"}")
		id, _ := object(t, body)["id"].(string)
		return id
	}
	id := first("")
	if _, body := post(t, h, "/v1/responses", `{"model":"m","previous_response_id":"`+id+
		`","input":"more"}`); text(s.asked[1].Prompt) != "user:hi\nassistant:one\nuser:more\n" {
		t.Errorf("prompt %q: %s", text(s.asked[1].Prompt), body)
	}
	if status, body := send(t, "GET", h.URL+"/v1/responses/"+id, ""); status != 200 || object(t, body)["id"] != id {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := send(t, "DELETE", h.URL+"/v1/responses/"+id, ""); status != 200 ||
		object(t, body)["deleted"] != true {
		t.Errorf("status %d: %s", status, body)
	}
	for _, gone := range []string{id, first(`,"store":false`)} {
		if status, body := post(t,
			h, "/v1/responses", `{"previous_response_id":"`+gone+`","input":"more"}`); status != 400 ||
			!strings.Contains(body, "previous_response_not_found") {
			t.Errorf("status %d: %s", status, body)
		}
		if status, _ := send(t, "GET", h.URL+"/v1/responses/"+gone, ""); status != 404 {
			t.Errorf("status %d", status)
		}
	}
	k := newResponses()
	for i := range maxResponses + 5 {
		k.keep(
			&exchange{id: fmt.Sprint("resp-", i),
				request: &request{extra: &responseTerms{request: &responsesRequest{}}},
				answers: []*answer{{reading: &reading{}}}}, nil,
		)
	}
	if len(k.byID) != maxResponses || k.byID["resp-4"] != nil || k.byID["resp-5"] == nil {
		t.Errorf("%d are kept", len(k.byID))
	}
}

func TestResponsesRefusals(t *testing.T) {
	h := start(t, &sampler{says: "x"}, shaped)
	for body, want := range map[string]string{
		`{"model":"m"}`:                      "input is empty",
		`{"input":[{"type":"input_image"}]}`: "input_image",
		`{"input":[{"role":"user","content":[{"type":"input_image"}]}]}`:         "input_image",
		`{"input":[{"type":"item_reference","id":"x"}]}`:                         "item_reference",
		`{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`: "no message before it makes",
		responsesHi + `,"background":true}`:                                      "background",
		responsesHi + `,"truncation":"auto"}`:                                    "truncation",
		responsesHi + `,"text":{"format":{"type":"json_schema"}}}`:               "no schema",
		responsesHi + `,"max_output_tokens":0}`:                                  "max_output_tokens",
		`{"input":7}`:                                                            "not such a request",
	} {
		status, got := post(t, h, "/v1/responses", body)
		if status != 400 || !strings.Contains(got, want) || !strings.Contains(got, `{"error":{`) {
			t.Errorf("%s: status %d: %s", body, status, got)
		}
	}
	if status, got := post(
		t, h, "/v1/responses", responsesHi+
			`,"text":{"format":{"type":"json_schema","name":"n","schema":{"const":1},"strict":true}},"reasoning":null}`,
	); status != 200 {
		t.Errorf("status %d: %s", status, got)
	}
}

// Whatever a body is, it is answered, in the form of its protocol.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		hi + "}", anthropicHi + "}", responsesHi + "}", `{"prompt":[1,2]}`,
		`{"messages":[{"content":[{}]}],"tools":[{}]}`, `{"input":[{"type":"reasoning","content":[]}]}`, "[",
		`{"n":1e9}`,
	} {
		f.Add(body)
	}
	server, err := New(Options{Models: []Model{model(&sampler{says: says, numSlots: 2})}})
	if err != nil {
		f.Fatal(err)
	}
	h := server.Handler()
	f.Fuzz(func(t *testing.T, body string) {
		for _, r := range server.routes() {
			if r.Method != "POST" {
				continue
			}
			w := serveOnce(h, r.Path, body)
			if w.Code >= 500 || w.Code >= 400 && !strings.Contains(w.Body.String(), `"error":{`) {
				t.Errorf("%s %q: status %d: %s", r.Path, body, w.Code, w.Body)
			}
		}
	})
}
