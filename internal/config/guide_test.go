package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The guide shows defaults: its block says nothing that a configuration without it would not have.
func TestGuideShowsTheDefaults(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(guide), "\n## The adapter and the optimiser\n")
	_, block, _ := strings.Cut(section, "```\n")
	block, _, found := strings.Cut(block, "```\n")
	if !found || !strings.Contains(block, "# the defaults") {
		t.Fatalf("no block of defaults in\n%.300s", section)
	}
	got, err := Parse("guide.md", []byte(block))
	if err != nil {
		t.Fatal(err)
	}
	if want := Default(); !reflect.DeepEqual(got.LoRA, want.LoRA) || !reflect.DeepEqual(got.SFT, want.SFT) ||
		!reflect.DeepEqual(got.Engine, want.Engine) {
		t.Errorf("the guide has\n%+v\n%+v\n%+v\nthe defaults are\n%+v\n%+v\n%+v",
			got.LoRA, got.SFT, got.Engine, want.LoRA, want.SFT, want.Engine)
	}
	for _, key := range []string{
		"rank:", "alpha:", "dropout:", "target_modules:", "learning_rate:", "schedule:", "warmup:", "moments:",
	} {
		if !strings.Contains(block, key) {
			t.Errorf("the block has no %s", key)
		}
	}
	if c := Default(); c.MCP.Distractors != 0 ||
		!strings.Contains(string(guide), "0, the default, is a quarter; -1 is none") {
		t.Errorf("the guide says nothing of mcp.distractors: %d", c.MCP.Distractors)
	}
}
