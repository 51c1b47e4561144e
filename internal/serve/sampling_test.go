package serve

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hone/internal/episode/policy"
)

func TestSamplingParameters(t *testing.T) {
	s := &sampler{says: "x"}
	h := start(t, s, nil)
	for _, tc := range []struct {
		more   string
		want   policy.Sampling
		banned policy.Constraint
	}{
		{"", policy.Sampling{Temperature: 1}, nil},
		{`,"top_p":0.9,"top_k":40,"min_p":0.05`, policy.Sampling{Temperature: 1, TopP: 0.9, TopK: 40, MinP: 0.05}, nil},
		{`,"top_p":1,"top_k":-1,"min_p":0,"logit_bias":{},"stop":[],"top_logprobs":0`, policy.Sampling{Temperature: 1, TopP: 1}, nil},
		{`,"top_p":null,"top_k":0,"logit_bias":null,"stop":null,"min_tokens":null`, policy.Sampling{Temperature: 1}, nil},
		{`,"stop":"END"`, policy.Sampling{Temperature: 1, Stop: []string{"END"}}, nil},
		{`,"stop":""`, policy.Sampling{Temperature: 1}, nil},
		{`,"stop":["a","b","c","\n"]`, policy.Sampling{Temperature: 1, Stop: []string{"a", "b", "c", "\n"}}, nil},
		{`,"logprobs":true,"top_logprobs":20`, policy.Sampling{Temperature: 1, TopLogprobs: 20}, nil},
		{`,"logit_bias":{"70":-100,"5":-100,"6":0}`, policy.Sampling{Temperature: 1}, policy.Banned{5, 70}},
		{`,"parallel_tool_calls":true,"user":"me","store":false,"metadata":{"a":"b"}`, policy.Sampling{Temperature: 1}, nil},
	} {
		s.asked = nil
		ask(t, h, tc.more)
		tc.want.MaxTokens, tc.want.StopIDs = 1024, []int32{stopID}
		got := s.asked[0]
		if len(got.Stop) == 0 {
			got.Stop = nil
		}
		if !reflect.DeepEqual(got.Sampling, tc.want) || !reflect.DeepEqual(got.Constraint, tc.banned) {
			t.Errorf("%s: asked %+v %v", tc.more, got.Sampling, got.Constraint)
		}
	}
}

func TestSamplingRefusals(t *testing.T) {
	h := start(t, &sampler{says: "x"}, nil)
	for more, want := range map[string][2]string{
		`,"top_p":0`:                         {"top_p", "invalid_value"},
		`,"top_p":1.1`:                       {"top_p", "invalid_value"},
		`,"top_k":-2`:                        {"top_k", "invalid_value"},
		`,"min_p":2`:                         {"min_p", "invalid_value"},
		`,"stop":["a","b","c","d","e"]`:      {"stop", "invalid_value"},
		`,"stop":["a",""]`:                   {"stop", "invalid_value"},
		`,"top_logprobs":3`:                  {"top_logprobs", "invalid_value"},
		`,"logprobs":true,"top_logprobs":21`: {"top_logprobs", "invalid_value"},
		`,"logit_bias":{"x":-100}`:           {"logit_bias", "invalid_value"},
		`,"logit_bias":{"-1":-100}`:          {"logit_bias", "invalid_value"},
		`,"logit_bias":{"1114112":-100}`:     {"logit_bias", "invalid_value"},
		`,"logit_bias":{"1":5}`:              {"logit_bias", "unsupported_value"},
		`,"parallel_tool_calls":false,"tools":[{"type":"function","function":{"name":"a"}}]`: {"parallel_tool_calls", "unsupported_value"},
		`,"repetition_penalty":1.1`:              {"repetition_penalty", "unsupported_parameter"},
		`,"guided_json":{"type":"object"}`:       {"guided_json", "unsupported_parameter"},
		`,"max_tokens":0`:                        {"max_tokens", "invalid_value"},
		`,"echo":true,"max_completion_tokens":0`: {"echo", "unsupported_parameter"},
	} {
		status, body := send(t, "POST", h.URL+"/v1/chat/completions", hi+more+"}")
		if status != 400 || !strings.Contains(body, `"param":"`+want[0]+`"`) ||
			!strings.Contains(body, `"code":"`+want[1]+`"`) || !strings.Contains(body, `"message":"`) {
			t.Errorf("%s: status %d: %s", more, status, body)
		}
	}
	none := start(t, &sampler{err: &policy.ConstraintError{}}, nil)
	if status, body := send(t, "POST", none.URL+"/v1/chat/completions", hi+"}"); status != 400 ||
		!strings.Contains(body, `"param":"logit_bias"`) {
		t.Errorf("nothing is allowed: status %d: %s", status, body)
	}
}

// The text ends before the stop text, in streams too; the tokens are kept.
func TestStopTexts(t *testing.T) {
	s := &sampler{says: "one two, three CALL hash {}"}
	h := start(t, s, nil)
	for _, tc := range []struct{ stop, content, calls string }{
		{", ", "one two", ""}, {"o, t", "one tw", ""}, {"one", "", ""}, {"CALL", "one two, three ", ""},
		{"{", "one two, three ", "hash"},
	} {
		stop, err := json.Marshal(tc.stop)
		if err != nil {
			t.Fatal(err)
		}
		more := `,"return_token_ids":true,"logprobs":true,"stop":` + string(stop)
		c := ask(t, h, more)
		got := c.Choices[0]
		before, _, _ := strings.Cut(s.says, tc.stop)
		kept := ids(before + tc.stop + "~")
		names := ""
		for _, call := range got.Message.ToolCalls {
			names += call.Name
		}
		if got.Message.Content != tc.content || names != tc.calls || *got.FinishReason == "length" {
			t.Errorf("stop %q: content %q, calls %q, finish %s", tc.stop, got.Message.Content, names, *got.FinishReason)
		}
		if !reflect.DeepEqual(got.TokenIDs, kept) || c.Usage.CompletionTokens != len(kept) ||
			len(got.Logprobs.Content) != len(kept) {
			t.Errorf("stop %q: %d tokens and %d logprobs are told of %d",
				tc.stop, len(got.TokenIDs), len(got.Logprobs.Content), len(kept))
		}
		_, body := send(t, "POST", h.URL+"/v1/chat/completions", hi+more+`,"stream":true}`)
		if joined, _ := join(t, body); joined.Choices[0].Message.Content != tc.content {
			t.Errorf("stop %q: streamed %q", tc.stop, joined.Choices[0].Message.Content)
		}
	}
}

func TestTopLogprobs(t *testing.T) {
	h := start(t, &sampler{says: "é"}, nil)
	c := ask(t, h, `,"logprobs":true,"top_logprobs":2`)
	first := c.Choices[0].Logprobs.Content[0]
	want := []likelyToken{{"é", 0, []int{0xc3, 0xa9}}, {"z", -9, []int{'z'}}}
	if !reflect.DeepEqual(first.TopLogprobs, want) || !reflect.DeepEqual(first.likelyToken, want[0]) {
		t.Errorf("logprobs = %+v", first)
	}
	if c := ask(t, h, `,"logprobs":true`); c.Choices[0].Logprobs.Content[0].TopLogprobs == nil {
		t.Error("top_logprobs is null where none were asked for; clients expect a list")
	}
}
