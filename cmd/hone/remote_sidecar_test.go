//go:build !race

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"hone/internal/recipe"
)

// A sidecar learns from what hone serve samples, by SFT's probes and by GRPO: each version of the policy is handed over
// under a name of its own, and is taken back in the end; GRPO asks before its episodes whether the server computes with
// it.
func TestSidecarByARemoteSampler(t *testing.T) {
	workFolder(t, map[string]string{})
	toyModel(t, "toy.gguf")
	revisions(t)
	s := sampler(t, "toy.gguf")
	write(t, "hone.yaml", strings.Replace(toyConfig, "steps: 4", "steps: 2", 1)+newArbiter(t).provider()+
		"judge: {cap: 0, samples: 1}\nsampler: {url: \""+s.url+"\", key_env: SERVE_KEY, max_mismatch: 1.0e-6}\n")
	var said bytes.Buffer
	a := toyApp(&said, map[string]string{"SERVE_KEY": "sesame"})
	var bounds []float64
	a.Opening = func(x any) {
		if g, ok := x.(recipe.GRPO); ok {
			bounds = append(bounds, g.MaxMismatch)
		}
	}
	code := a.main(t.Context(),
		[]string{"sidecar", "train", "--data", "revisions", "--probe-every", "2", "--judge-model", "court/m", "--cache",
			"cache", "--output-dir", "out", "--base-model", "toy.gguf"})
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	if !slices.Equal(bounds, []float64{1e-6}) { // not that of a sampler in this process
		t.Errorf("bounds of the mismatch: %g", bounds)
	}
	var names, forgotten []string
	for _, x := range s.to("/load_lora_adapter") {
		if slices.Contains(names, x["lora_name"].(string)) {
			t.Errorf("loaded again: %v", x)
		}
		names = append(names, x["lora_name"].(string))
	}
	for _, x := range s.to("/unload_lora_adapter") {
		forgotten = append(forgotten, x["lora_name"].(string))
	}
	// after two steps of SFT and after four, which GRPO begins with, and after each of its two steps
	if len(names) != 4 || !slices.Equal(names, forgotten) {
		t.Errorf("loaded %q, unloaded %q, %s", names, forgotten, &said)
	}
	asked := map[string]bool{}
	for _, q := range s.to("/completions")[1:] { // after the one that looks what the server can do
		asked[q["model"].(string)] = true
	}
	if len(asked) != len(names) {
		t.Errorf("asked of %v, which were handed: %q", asked, names)
	}
	metrics := contents(t, "out/metrics.jsonl")
	if probes, copies := strings.Count(metrics, `"sampling/probe_kl"`),
		strings.Count(metrics, `"stage":"copies"`); probes != 2 || copies != 2 {
		t.Errorf("%d probes, %d looks for copies: %s", probes, copies, metrics)
	}
}
