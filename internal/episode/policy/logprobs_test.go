package policy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/episode/policy"
)

// What servers tell of a given text is read for each of its ids but the first. One that tells nothing, or does not know
// what it is asked for, tells none; logprobs of another text, of another model or of nothing are errors.
func TestGiven(t *testing.T) {
	const first = `{"text": "a", "output_ids": [5], "meta_info": {"finish_reason": {"type": "length"}, "output_token_logprobs": [[-1, 5, null]]}}`
	vllm := func(places string) string {
		return `{"model": "m", "choices": [{"finish_reason": "length", "token_ids": [9], "prompt_logprobs": ` + places +
			`, "logprobs": {"token_logprobs": [-1]}}]}`
	}
	sglang := func(places string) string {
		return `{"text": "a", "meta_info": {"finish_reason": {"type": "length"}, "input_token_logprobs": ` + places +
			`, "output_token_logprobs": [[-1, 5, null]]}}`
	}
	told := vllm(`[null, {"5": {"logprob": -0.5, "rank": 1, "decoded_token": "a"}}, {"7": {"logprob": -0.25, "rank": 1}, "6": {"logprob": -9999, "rank": 3}}]`)
	for name, c := range map[string]struct {
		api    string
		status int
		answer string
		want   []float32
		fails  string
	}{
		"vLLM":                        {policy.VLLM, 200, told, []float32{-0.5, -9999}, ""},
		"vLLM, none":                  {policy.VLLM, 200, vllm("null"), nil, ""},
		"vLLM, another model":         {policy.VLLM, 200, strings.Replace(told, `"m"`, `"x"`, 1), nil, `of "x", and "m" was asked for`},
		"vLLM, another text":          {policy.VLLM, 200, strings.Replace(told, `"5"`, `"8"`, 1), nil, "the prompt's id 5 has no logprob"},
		"vLLM, a shorter text":        {policy.VLLM, 200, vllm(`[null]`), nil, "a prompt of 3 ids has 1 logprobs"},
		"vLLM, a probability above 1": {policy.VLLM, 200, strings.Replace(told, "-9999", "0.75", 1), nil, "token 2 of a given text has the logprob 0.75"},
		"a server that refuses":       {policy.VLLM, 400, `{"error": {"message": "prompt_logprobs is not supported"}}`, nil, ""},
		"an adapter that is gone":     {policy.VLLM, 404, `{}`, nil, "does not tell the logprobs of a text"},
		"SGLang":                      {policy.SGLang, 200, sglang(`[[null, 3, null], [-0.5, 5, null], [-1.5, 6, null]]`), []float32{-0.5, -1.5}, ""},
		"SGLang, none":                {policy.SGLang, 200, sglang(`[]`), nil, ""},
		"SGLang, another text":        {policy.SGLang, 200, sglang(`[[null, 3, null], [-0.5, 5, null], [-1.5, 7, null]]`), nil, "the prompt's id 6 has no logprob"},
		"SGLang, a shorter text":      {policy.SGLang, 200, sglang(`[[-0.5, 5, null], [-1.5, 6, null]]`), nil, "a prompt of 3 ids has 2 logprobs"},
	} {
		var asked string
		n := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch n++; {
			case n == 1: // the list of models
				_, _ = io.WriteString(w, `{"data": [{"id": "m", "max_model_len": 4}]}`)
			case n == 2 && c.api == policy.VLLM:
				_, _ = io.WriteString(w, strings.Replace(strings.Replace(sound, "[5, 6]", "[5]", 1), "-1, -2", "-1", 1))
			case n == 2:
				_, _ = io.WriteString(w, first)
			default:
				asked = string(body)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			}
		}))
		x, err := policy.OpenRemote(t.Context(),
			policy.RemoteOptions{URL: s.URL, API: c.api, Temperature: 1, Retries: -1, BackOff: time.Nanosecond})
		if err != nil {
			t.Fatal(name, err)
		}
		// of four ids there is room for three and one that is sampled
		got, err := x.PromptLogprobs(t.Context(), []int32{3, 5, 6, 8, 9})
		if !slices.Equal(got, c.want) && c.fails == "" || (err != nil) != (c.fails != "") ||
			c.fails != "" && !strings.Contains(fmt.Sprint(err), c.fails) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		for _, part := range map[string][]string{
			policy.VLLM:   {`"prompt":[3,5,6]`, `"prompt_logprobs":1`, `"max_tokens":1`, `"temperature":1`},
			policy.SGLang: {`"input_ids":[3,5,6]`, `"logprob_start_len":0`, `"return_logprob":true`},
		}[c.api] {
			if !strings.Contains(asked, part) {
				t.Errorf("%s: %s lacks %s", name, asked, part)
			}
		}
		s.Close()
	}
}
