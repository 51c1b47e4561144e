package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestPackageOf(t *testing.T) {
	for line, want := range map[string]slow{
		"ok  \thone/internal/mcp\t12.345s\n":                         {"hone/internal/mcp", 12.345},
		"ok  \thone/internal/run\t0.012s [no tests to run]\n":        {"hone/internal/run", 0.012},
		"FAIL\thone/cmd/hone\t3.100s\n":                              {"hone/cmd/hone", 3.1},
		"ok  \thone/internal/mcp\t(cached)\n":                        {},
		"?   \thone/internal/x\t[no test files]\n":                   {},
		"    ok  \thone/internal/mcp\t12.345s printed by a test\n":   {},
		"FAIL\thone/internal/y [build failed]\n":                     {},
		"--- FAIL: TestX (2.00s)\n":                                  {},
		"ok  \thone/internal/z\t1.5s\tcoverage: 95.0% of statements": {"hone/internal/z", 1.5},
	} {
		if got, ok := packageOf(line); got != want || ok != (want.name != "") {
			t.Errorf("%q: %v, %v; want %v", line, got, ok, want)
		}
	}
}

// A part that fails ends the run with its exit code; those before it are in the table, those behind are not run.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	code := run([]string{`one=printf 'ok  \ta/b\t1.500s\nok  \ta/c\t2.500s\n'`, "two=exit 3", "three=echo never"},
		time.Nanosecond, &out)
	text := out.String()
	if code != 3 || strings.Contains(text, "never") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for _, want := range []string{
		"\none ", "\ntwo ", "\nall ", "of 2 that were not cached:\n     2.5  a/c\n     1.5  a/b\n", "notice: this took",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if out.Reset(); run([]string{"one=true"}, time.Hour, &out) != 0 || strings.Contains(out.String(), "notice") {
		t.Error(out.String())
	}
	if out.Reset(); run([]string{"true"}, 0, &out) != 2 {
		t.Error(out.String())
	}
}

// The processor time of what a part's command starts is counted.
func TestCPU(t *testing.T) {
	p := part{name: "busy", command: "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'"}
	if _, err := p.run(&bytes.Buffer{}); err != nil || p.cpu <= 0 || p.wall <= 0 {
		t.Errorf("%v: wall %v, cpu %v", err, p.wall, p.cpu)
	}
}
