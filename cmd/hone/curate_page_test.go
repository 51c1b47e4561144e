package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
)

// hone curate DATA is a page on a terminal: its keys are operations in the ledger, an editor edits, and elsewhere it is
// refused.
func TestCurateByKeys(t *testing.T) {
	workFolder(t, map[string]string{
		"traces.jsonl": `{"id": "a", "messages": [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "No."}]}` +
			"\n" +
			`{"id": "b", "messages": [{"role": "user", "content": "Snow?"}, {"role": "assistant", "content": "Yes."}]}` +
			"\n",
		"edit.sh": "#!/bin/sh\nprintf 'Sun?' > \"$1\"\n",
	})
	if err := os.Chmod("edit.sh", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", "./edit.sh")
	t.Setenv("USER", "ann")
	t.Setenv("TERM", "xterm-256color")
	person, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close(); person.Close() })
	if err := pty.Setsize(person, &pty.Winsize{Rows: 24, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	a := &app{Host: &host.Host{Stdin: theirs, Data: sanitize.New(theirs), Talk: sanitize.New(&stderr),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}}
	done := make(chan int, 1)
	go func() { done <- a.main(t.Context(), []string{"curate", "traces.jsonl"}) }()
	var seen strings.Builder
	read := func(what string, done func() bool) {
		t.Helper()
		buffer := make([]byte, 4096)
		for !done() {
			n, err := person.Read(buffer)
			if err != nil {
				t.Fatalf("%s did not come: %v\n%s\n%s", what, err, seen.String(), stderr.String())
			}
			seen.Write(buffer[:n])
		}
		seen.Reset()
	}
	until := func(text string) {
		t.Helper()
		read(text, func() bool { return strings.Contains(seen.String(), text) })
	}
	typed := func(keys string) {
		t.Helper()
		if _, err := person.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	until("2 of 2 traces")
	typed("a")
	until("operation 1: accept a")
	typed("jx")
	until("because")
	typed("guessed\r")
	until("2: reject b")
	typed("\r")
	until("0 user")
	typed("e")
	// The page writes only the cells that change, and "edit text" shares one with "reject": the ledger tells, before
	// the page is drawn.
	read("the edit", func() bool {
		ledger, err := os.ReadFile("traces.jsonl.curation.jsonl")
		return err == nil && strings.Contains(string(ledger), "edit_text")
	})
	typed("\x03")
	go func() { // what is written while it ends
		for buffer := make([]byte, 4096); ; {
			if _, err := person.Read(buffer); err != nil {
				return
			}
		}
	}()
	if code := <-done; code != int(fault.CodeOK) {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	ledger, err := os.ReadFile("traces.jsonl.curation.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(ledger)), "\n")
	if len(lines) != 4 || !strings.Contains(lines[1], `"author":"ann","do":"accept","trace":"a"`) ||
		!strings.Contains(lines[2], `"why":"guessed"`) ||
		!strings.Contains(lines[3], `"do":"edit_text","trace":"b","text":"Sun?"`) {
		t.Errorf("%s", ledger)
	}
	var out bytes.Buffer
	a = &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(&out), Talk: sanitize.New(&stderr),
		LookupEnv: os.LookupEnv}}
	if code := a.main(t.Context(), []string{"curate", "traces.jsonl"}); code != int(fault.CodeUsage) ||
		!strings.Contains(stderr.String(), "page on a terminal") {
		t.Errorf("%d %s", code, stderr.String())
	}
}
