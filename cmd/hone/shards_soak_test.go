//go:build soak

package main

import (
	"regexp"
	"slices"
	"testing"

	"hone/internal/testing/learntest"
)

// SFT over weights that two devices share ends with the losses of two that each hold all.
func TestSoakSFTOverSharedWeights(t *testing.T) {
	plugin := learntest.Plugin()
	if plugin == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	write(t, "row.jsonl", oneRow+oneRow+oneRow)
	var want []string
	for _, shard := range []string{"off", "on"} {
		code, _, said := invoked(t, "seed: 3\nengine: {plugin: "+plugin+", devices: 2, shard_weights: "+shard+
			"}\nsft: {batch_size: 2, epochs: 2}\n", "",
			"sft", "--data", "row.jsonl", "--base-model", "toy.gguf", "--output-dir", "out-"+shard)
		losses := regexp.MustCompile(`loss \d\S+`).FindAllString(said, -1)
		if want == nil {
			want = losses
		}
		if shares := regexp.MustCompile("2 devices, which share the weights").MatchString(said); code != 0 ||
			len(losses) < 2 || !slices.Equal(losses, want) || shares != (shard == "on") {
			t.Errorf("%s: exit code %d, losses %v, want %v: %s", shard, code, losses, want, said)
		}
	}
}
