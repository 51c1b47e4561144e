package job

import (
	"slices"
	"testing"

	"hone/internal/config"
	"hone/internal/testing/fakes"
)

// A deny rule that is added while a run is stopped holds once it goes on.
func TestTodaysRulesDenyToo(t *testing.T) {
	t.Chdir(t.TempDir())
	begun, today := config.Default(), config.Default()
	begun.MCP.Approval.Deny, today.MCP.Approval.Deny = []string{"b/c", "d"}, []string{"a", "b/c"}
	e := Env{Host: fakes.QuietHost(t), Today: today}
	dir, err := e.Create("out", begun, Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	j := &Job{Env: e, Path: "out"}
	if err := j.GoOn(); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if want := []string{"b/c", "d", "a"}; !slices.Equal(j.Config.MCP.Approval.Deny, want) ||
		j.Config.MCP.Approval.Mode != "default" {
		t.Errorf("%+v, want %q", j.Config.MCP.Approval, want)
	}
}
