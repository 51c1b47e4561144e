package job

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

// What goes on by its own command goes on with its own run alone: the episodes of another verb's are of another policy.
func TestOnlyItsOwnRunGoesOn(t *testing.T) {
	goOn := func(context.Context, Env, string, Begun, toolset.Source) error { return nil }
	t.Chdir(t.TempDir())
	e := Env{Host: fakes.QuietHost(t),
		Table: Verbs{{Name: "train", Finished: HasAdapter, Resume: goOn}, {Name: "collect", Finished: HasFinished}}}
	for _, verb := range []string{"train", "collect"} {
		j := &Job{Env: e, Verb: verb, Path: verb, Config: config.Default()}
		if err := j.BeginOrGoOn(&toolset.Set{Catalog: &mcp.Catalog{}}); err != nil {
			t.Fatal(err)
		}
		j.Close()
		again := &Job{Env: e, Verb: "collect", Path: verb}
		err := again.BeginOrGoOn(&toolset.Set{Catalog: &mcp.Catalog{}})
		again.Close()
		if refused := fault.CodeOf(err) == fault.CodeUsage &&
			strings.Contains(fmt.Sprint(err), "it already holds a run of hone train"); refused != (verb == "train") {
			t.Errorf("collect into a run of %s: %v", verb, err)
		}
	}
}

// A run keeps how its servers had answered when it began, beside their tools; both are its inputs, so that no edit of
// them goes unseen.
func TestRunKeepsItsServers(t *testing.T) {
	t.Chdir(t.TempDir())
	j := &Job{Env: Env{Host: fakes.QuietHost(t)}, Verb: "collect", Path: "out", Config: config.Default()}
	if err := os.Mkdir("out", 0o700); err != nil { // as a user made it
		t.Fatal(err)
	}
	if err := j.BeginOrGoOn(&toolset.Set{Catalog: &mcp.Catalog{}}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	for _, name := range []string{CatalogFile, toolset.SeenOfRun} {
		path := filepath.Join("out", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, ' '), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := j.GoOn(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s was edited: %v", name, err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
