package policy_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/policy"
	"hone/internal/fault"
)

// What hone's sampler asks SGLang, and what it makes of the answers. NOT RECORDED: the file was written from SGLang's
// documentation and source (docs/basic_usage/sampling_params and native_api; GenerateReqInput, SamplingParams and
// LoadLoRAAdapterReqInput of python/sglang/srt, November 2026), since there is no wheel of it for a CPU.
func TestSGLangAsDocumented(t *testing.T) {
	w := &wire{t: t}
	text, err := os.ReadFile("testdata/sglang-documented.json")
	if err == nil {
		err = json.Unmarshal(text, &w.exchanges)
	}
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w)
	defer server.Close()
	s, err := policy.OpenRemote(t.Context(),
		policy.RemoteOptions{URL: server.URL, API: policy.SGLang, Temperature: 1, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	if s.Base() != "base" || s.MaxContext() != 4096 {
		t.Errorf("%s with %d ids", s.Base(), s.MaxContext())
	}
	if err := s.SetFolder("hone-1", "/adapters/hone-1", 1); err != nil {
		t.Fatal(err)
	}
	if is, err := s.Serves("hone-1"); err != nil || !is {
		t.Errorf("it lists the adapter: %v, %v", is, err)
	}
	r := policy.Request{Prompt: []int32{0, 1},
		Sampling: policy.Sampling{Temperature: 1, MaxTokens: 4, StopIDs: []int32{7, 9}}}
	c, err := s.Sample(t.Context(), r)
	if err != nil || !slices.Equal(c.IDs, []int32{5, 7}) || !slices.Equal(c.SamplerLogprobs, []float32{-0.5, -0.25}) ||
		c.FinishReason != policy.FinishStop || c.PolicyVersion != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := s.SetFolder("hone-2", "/adapters/nowhere", 2); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "sampler.adapters_there") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := s.Unload("hone-1"); err != nil {
		t.Error(err)
	}
	if is, err := s.Serves("hone-1"); err != nil || is {
		t.Errorf("it lists what it unloaded: %v", err)
	}
	if _, err := s.Sample(t.Context(), r); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "not loaded") {
		t.Errorf("an adapter that is gone: %v", err)
	}
	if w.at != len(w.exchanges) {
		t.Errorf("%d of %d requests were made", w.at, len(w.exchanges))
	}
}
