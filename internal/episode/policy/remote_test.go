package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hone/internal/episode/policy"
	"hone/internal/fault"
)

// sound is a vLLM's completion of two tokens.
const sound = `{"model": "m", "choices": [{"finish_reason": "length", "token_ids": [5, 6], "prompt_token_ids": [0, 1], "logprobs": {"token_logprobs": [-1, -2]}}]}`

// speaking is a server that answers the n-th request for a completion, from 0; the first is Open's.
func speaking(
	t *testing.T, answer func(w http.ResponseWriter, n int64, body map[string]any),
) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"data": [{"id": "m", "max_model_len": 20}, {"id": "x", "parent": "m"}]}`)
			return
		}
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		answer(w, asked.Add(1)-1, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func request(n int) policy.Request {
	return policy.Request{Prompt: []int32{0, 1},
		Sampling: policy.Sampling{Temperature: 1, MaxTokens: n, StopIDs: []int32{7}}}
}

// What is not fit to be trained on is an error of the sampler, never a completion: what may be gone at the next attempt
// is tried again, as often as was asked for, and what would be the same is not.
func TestWhatMustNotTrain(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(sound, old, new, 1) }
	for name, c := range map[string]struct {
		status   int
		answer   string
		attempts int64
		want     string
	}{
		"sound":              {200, sound, 1, ""},
		"an error":           {500, `{"error": {"message": "no memory, key sesame"}}`, 3, "no memory, key [redacted]"},
		"overloaded":         {429, ``, 3, "429"},
		"refused":            {400, `{"message": "not so"}`, 1, "not so"},
		"no adapter":         {404, `{"error": {"message": "unknown model"}}`, 1, "unknown model"},
		"half an answer":     {200, sound[:60], 3, "no completion"},
		"no answer":          {200, ``, 3, "no completion"},
		"no ids":             {200, with(`"token_ids": [5, 6], `, ``), 1, "no token ids"},
		"no logprobs":        {200, with(`[-1, -2]`, `[]`), 1, "no logprobs"},
		"a logprob missing":  {200, with(`[-1, -2]`, `[-1]`), 1, "2 token ids with 1 logprobs"},
		"a logprob of none":  {200, with(`-1, -2`, `-1, null`), 3, "token 1 has no logprob"},
		"a probability of 3": {200, with(`-1, -2`, `-1, 1.1`), 3, "has the logprob 1.1"},
		"another's adapter":  {200, with(`"m"`, `"x"`), 1, `of "x", and "m" was asked for`},
		"another prompt":     {200, with(`[0, 1]`, `[1, 0, 1]`), 1, "not the same prompt"},
		"too many":           {200, with(`[5, 6], "p`, `[5, 6, 7, 8], "p`), 1, "4 token ids with 2"},
		"an id of nowhere":   {200, with(`[5, 6]`, `[5, 60]`), 1, "the id 60 of a vocabulary of 50"},
		"a stop that is cut": {200, with(`length`, `stop`), 1, "its last id 6 is none that stops it"},
		"a stop unasked":     {200, with(`"length"`, `"stop", "stop_reason": "NaN happened"`), 1, `stopped by "NaN happened"`},
		"an abort":           {200, with(`length`, `abort`), 3, `ended with "abort"`},
		"two":                {200, `{"model": "m", "choices": [{}, {}]}`, 3, "2 completions"},
		"text":               {200, `{"model": "m", "choices": [{"text": "hi", "finish_reason": "stop"}]}`, 1, "no token ids and no logprobs"},
	} {
		url, asked := speaking(t, func(w http.ResponseWriter, n int64, _ map[string]any) {
			if n == 0 {
				_, _ = io.WriteString(w, strings.Replace(strings.Replace(sound, "[5, 6]", "[5]", 1), "-1, -2", "-1", 1))
				return
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.answer)
		})
		gone := 0
		s, err := policy.OpenRemote(t.Context(), policy.RemoteOptions{
			URL:         url,
			Key:         "sesame",
			Temperature: 1,
			VocabSize:   50,
			Retries:     2,
			BackOff:     time.Nanosecond,
			Gone:        func(error) { gone++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Sample(t.Context(), request(2))
		if n := asked.Load() - 1; n != c.attempts {
			t.Errorf("%s: %d attempts, want %d", name, n, c.attempts)
		}
		if c.want == "" {
			if err != nil || !slices.Equal(got.IDs, []int32{5, 6}) ||
				!slices.Equal(got.SamplerLogprobs, []float32{-1, -2}) || got.FinishReason != policy.FinishLength {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Next == "" ||
			!strings.Contains(err.Error(), c.want) || gone > 0 {
			t.Errorf("%s: %v, told as gone %d times", name, err, gone)
		}
	}
}

// A body that breaks off and a server that goes away are told apart from one that is busy with others.
func TestBrokenOffAndGone(t *testing.T) {
	away := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"data": [{"id": "m"}]}`)
		case away:
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, sound)
		default:
			_, _ = io.WriteString(w, strings.Replace(strings.Replace(sound, "[5, 6]", "[5]", 1), "-1, -2", "-1", 1))
		}
	}))
	defer server.Close()
	var gone []error
	s, err := policy.OpenRemote(t.Context(), policy.RemoteOptions{URL: server.URL, Temperature: 1, Retries: 1,
		BackOff: time.Nanosecond, Gone: func(err error) { gone = append(gone, err) }})
	if err != nil {
		t.Fatal(err)
	}
	away = true
	if _, err := s.Sample(t.Context(), request(2)); err == nil || !strings.Contains(err.Error(), "broke off") ||
		len(gone) > 0 {
		t.Errorf("%v, gone: %v", err, gone)
	}
	server.Close()
	for range 2 {
		if _, err := s.Sample(t.Context(), request(2)); fault.CodeOf(err) != fault.CodeUnavailable {
			t.Errorf("a server that is gone: %v", err)
		}
	}
	if len(gone) != 1 || fault.CodeOf(gone[0]) != fault.CodeUnavailable {
		t.Errorf("told as gone: %v", gone)
	}
}

// SGLang is asked by its own names, and its lists of [logprob, id, text] are read; the adapter is asked for by its
// name.
func TestSGLang(t *testing.T) {
	var last map[string]any
	url, _ := speaking(t, func(w http.ResponseWriter, n int64, body map[string]any) {
		switch last = body; {
		case body["lora_name"] == "bad":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"success": false, "error_message": "rank 64 is too large"}`)
		case body["lora_name"] != nil:
			_, _ = io.WriteString(w, `{"success": true, "loaded_adapters": {}}`)
		case fmt.Sprint(body["input_ids"]) == "[3]":
			// as it answers a NaN: with a stop id in the place of the last token
			_, _ = io.WriteString(w, `{"text": "ab", "output_ids": [5, 7], "meta_info": {"prompt_tokens": 1, "finish_reason": {"type": "stop", "matched": "NaN happened"}, "output_token_logprobs": [[-0.5, 5, null], [-0.25, 7, null]]}}`)
		case n == 0:
			_, _ = io.WriteString(w, `{"text": "a", "meta_info": {"prompt_tokens": 2, "finish_reason": {"type": "length", "length": 1}, "output_token_logprobs": [[-0.5, 5, null]]}}`)
		default:
			_, _ = io.WriteString(w, `{"text": "ab", "output_ids": [5, 7], "meta_info": {"prompt_tokens": 2, "finish_reason": {"type": "stop", "matched": 7}, "output_token_logprobs": [[-0.5, 5, null], [-0.25, 7, null]]}}`)
		}
	})
	s, err := policy.OpenRemote(t.Context(),
		policy.RemoteOptions{URL: url + "/v1/", API: policy.SGLang, Temperature: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(t.Context(), request(2)); err != nil || last["lora_path"] != nil {
		t.Errorf("of the base: %v, %v", last, err)
	}
	if err := s.SetFolder("hone-1", "/adapters/hone-1", 1); err != nil || last["lora_path"] != "/adapters/hone-1" {
		t.Errorf("%v, %v", last, err)
	}
	c, err := s.Sample(t.Context(), request(2))
	want := policy.Completion{IDs: []int32{5, 7}, SamplerLogprobs: []float32{-0.5, -0.25},
		FinishReason: policy.FinishStop, PolicyVersion: 1}
	if err != nil || fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("%+v, %v", c, err)
	}
	asked := `map[input_ids:[0 1] lora_path:hone-1 return_logprob:true sampling_params:map[max_new_tokens:2 min_p:0 repetition_penalty:1 sampling_seed:1.896895516e+09 stop_token_ids:[7] temperature:1 top_k:-1 top_p:1]]`
	if fmt.Sprint(last) != asked {
		t.Errorf("asked %v", last)
	}
	nan := request(2)
	nan.Prompt = []int32{3}
	if c, err := s.Sample(t.Context(), nan); err == nil || !strings.Contains(err.Error(), "NaN happened") {
		t.Errorf("a NaN is a completion: %+v, %v", c, err)
	}
	if err := s.SetFolder("bad", "/adapters/bad", 2); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "rank 64 is too large") {
		t.Errorf("an adapter that does not fit: %v", err)
	}
}

// An adapter that the server loads and cannot say so, as where the answer is lost, is loaded: at the second attempt its
// name is taken. One that it does not list is not.
func TestALostAnswerToLoading(t *testing.T) {
	listed := []string{"m"}
	var lock sync.Mutex // a cut connection orders nothing between its handler and the next one
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		var q struct {
			Name string `json:"lora_name"`
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = fmt.Fprintf(w, `{"data": [{"id": "m"}`)
			for _, name := range listed[1:] {
				_, _ = fmt.Fprintf(w, `, {"id": %q, "parent": "m"}`, name)
			}
			_, _ = io.WriteString(w, `]}`)
		case !strings.HasSuffix(r.URL.Path, "/load_lora_adapter"):
			_, _ = io.WriteString(w, strings.Replace(strings.Replace(sound, "[5, 6]", "[5]", 1), "-1, -2", "-1", 1))
		case json.NewDecoder(r.Body).Decode(&q) != nil || q.Name == "large" || slices.Contains(listed, q.Name):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error": {"message": "it has been loaded, or is too large"}}`)
		default:
			listed = append(listed, q.Name)
			panic(http.ErrAbortHandler) // the connection is cut
		}
	}))
	defer server.Close()
	s, err := policy.OpenRemote(t.Context(),
		policy.RemoteOptions{URL: server.URL, Temperature: 1, Retries: 1, BackOff: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetFolder("hone-1", "/adapters/hone-1", 1); err != nil {
		t.Errorf("loaded, and its answer lost: %v", err)
	}
	if err := s.SetFolder("large", "/adapters/large", 2); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("refused: %v", err)
	}
}

// A server that cannot return ids is refused before anything is sampled, and what helps is said.
func TestAServerOfTextIsRefused(t *testing.T) {
	url, _ := speaking(t, func(w http.ResponseWriter, _ int64, _ map[string]any) {
		_, _ = io.WriteString(w, `{"model": "m", "choices": [{"text": "hi", "finish_reason": "length", "logprobs": {"token_logprobs": [-1]}}]}`)
	})
	for api, want := range map[string]string{
		policy.VLLM:   "from version 0.10.2 on",
		policy.SGLang: "sampler.api: vllm",
	} {
		if _, err := policy.OpenRemote(t.Context(),
			policy.RemoteOptions{URL: url, API: api, Temperature: 1}); fault.CodeOf(err) != fault.CodeUsage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", api, err)
		}
	}
	for _, bad := range []string{"", "localhost:8000/v1", "http://me:secret@host/v1"} {
		if _, err := policy.OpenRemote(t.Context(),
			policy.RemoteOptions{URL: bad}); fault.CodeOf(err) != fault.CodeUsage ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := policy.OpenRemote(t.Context(),
		policy.RemoteOptions{URL: url, Model: "other"}); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "sampler.model") {
		t.Errorf("another model: %v", err)
	}
}
