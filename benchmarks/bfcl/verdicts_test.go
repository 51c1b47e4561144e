package bfcl_test

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"os"
	"strings"
	"testing"

	"hone/benchmarks/bfcl"
	"hone/internal/chat"
)

// verdicts are lines of testdata/verdicts.jsonl.bz2, of which make_verdicts.py says what they are.
func verdicts(tb testing.TB) [][]byte {
	tb.Helper()
	file, err := os.Open("testdata/verdicts.jsonl.bz2")
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	s := bufio.NewScanner(bzip2.NewReader(file))
	s.Buffer(nil, 1<<20)
	var lines [][]byte
	for s.Scan() {
		lines = append(lines, bytes.Clone(s.Bytes()))
	}
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	return lines
}

// question reads one of the lines.
func question(tb testing.TB, line []byte) (q bfcl.Question, output, want any) {
	tb.Helper()
	v, err := bfcl.Loads(string(line))
	if err != nil {
		tb.Fatal(err)
	}
	get := func(key string) any { v, _ := v.(*chat.Object).Get(key); return v }
	for _, t := range get("tools").([]any) {
		tool, err := bfcl.NewTool(t)
		if err != nil {
			tb.Fatal(err)
		}
		q.Tools = append(q.Tools, tool)
	}
	q.Gold, _ = get("gold").([]any)
	q.Underscores, _ = get("underscore_to_dot").(bool)
	q.Language = bfcl.Language(get("language").(string))
	name, _, _ := strings.Cut(strings.TrimPrefix(get("category").(string), "live_"), "_")
	q.Category = bfcl.Category(name)
	return q, get("output"), get("want")
}

// Each verdict is BFCL's, and where its checker ends with an error that is said.
func TestVerdictsAreBFCLs(t *testing.T) {
	var valid, invalid, stopped int
	for i, line := range verdicts(t) {
		q, output, want := question(t, line)
		got := q.Judge(output)
		_, stops := want.(string)
		if got.Stopped != stops || got.Valid != (want == true) || got.Valid == (len(got.Errors) > 0) {
			t.Errorf("line %d: %+v, BFCL's is %v\n%s", i+1, got, want, line)
		}
		// An answer that cannot be decoded is no call to BFCL, so it may be right where none is.
		if got.Param && !got.Tool || got.Valid && !got.Param && q.Category != bfcl.Irrelevance {
			t.Errorf("line %d: tool, param and ast are not each within the one before: %+v\n%s", i+1, got, line)
		}
		switch {
		case stops:
			stopped++
		case got.Valid:
			valid++
		default:
			invalid++
		}
	}
	if valid < 1000 || invalid < 1000 || stopped < 50 {
		t.Errorf("only %d valid, %d invalid, %d stopped", valid, invalid, stopped)
	}
}

func BenchmarkJudge(b *testing.B) {
	lines := verdicts(b)
	n := 0
	for b.Loop() {
		for _, line := range lines {
			q, output, _ := question(b, line)
			q.Judge(output)
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "verdicts/s")
}
