package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hone/internal/host"
)

var update = flag.Bool("update", false, "rewrite testdata/flags.golden and docs/reference.md")

func TestMain(m *testing.M) {
	if os.Getenv("XDG_STATE_HOME") == "" { // a test's runs are not the user's
		state := filepath.Join(os.TempDir(), fmt.Sprintf("hone-test-state-%d", os.Getpid()))
		_ = os.RemoveAll(state) // what an earlier process of this number left
		_ = os.Setenv("XDG_STATE_HOME", state)
	}
	testscript.Main(m, map[string]func(){"hone": main})
}

// Each script in testdata/script drives the command as a user would: arguments in; exit code, stdout and stderr out.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
			servers, err := filepath.Abs("testdata/servers/node_modules")
			e.Setenv("SERVERS", servers)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"waitfor": waitFor,
		},
	})
}

// exits CODE hone ARGS... runs hone and wants that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// waitfor FILE returns when the file is there; go test's own deadline ends a wait in vain.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	for {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// The flags are an interface: a change to them shows in a diff.
func TestFlagsAreFrozen(t *testing.T) {
	got := flagList(newRoot(&app{Host: &host.Host{}}))
	if *update {
		if err := os.WriteFile("testdata/flags.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/flags.golden")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the flags differ from testdata/flags.golden; go test ./cmd/hone -run Flags -update rewrites it, "+
			"and CHANGELOG.md tells users\ngot:\n%swant:\n%s", got, want)
	}
}

func TestFlagListSeesANewFlag(t *testing.T) {
	root := newRoot(&app{Host: &host.Host{}})
	before := flagList(root)
	root.Commands()[0].Flags().Bool("planted", false, "")
	if after := flagList(root); after == before || !strings.Contains(after, "--planted bool") {
		t.Errorf("a planted flag does not show:\n%s", after)
	}
}

func flagList(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.CommandPath())
	seen := func(f *pflag.Flag) {
		short := ""
		if f.Shorthand != "" {
			short = " -" + f.Shorthand
		}
		fmt.Fprintf(&b, "  --%s%s %s %q\n", f.Name, short, f.Value.Type(), f.DefValue)
	}
	if c.HasParent() {
		c.LocalFlags().VisitAll(seen)
	} else {
		c.PersistentFlags().VisitAll(seen)
	}
	for _, sub := range c.Commands() {
		b.WriteString(flagList(sub))
	}
	return b.String()
}

// Every verb that does something says what, and shows how.
func TestEveryVerbHasHelpAndExample(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no description", c.CommandPath())
		}
		if !c.HasSubCommands() && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app{Host: &host.Host{}}))
}

// honeCommand is this test binary under the name of the command, which TestMain makes it be.
func honeCommand(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hone")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
