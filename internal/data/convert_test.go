package data

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
)

// A trainer of TRL's form learns the whole completion: what a mask leaves out is in no completion, and what is to be
// learnt is in one.
func TestTRLLearnsNoMaskedMessage(t *testing.T) {
	dir := t.TempDir()
	data, out := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "trl.jsonl")
	row := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"good"},{"role":"user","content":"q"},{"role":"assistant","content":"BAD","weight":0},{"role":"user","content":"q"},{"role":"assistant","content":"better"}]}`
	if err := os.WriteFile(data, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Conversion{From: []string{data}, To: "trl", Out: out, Unroll: dataset.Whole}).Convert(t.Context(),
		&host.Host{}); err != nil {
		t.Fatal(err)
	}
	rows, _, err := dataset.Load([]string{out}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	learnt := map[string]int{}
	for _, r := range rows {
		for i, m := range r.Messages {
			if i >= r.Opening && m.Role == chat.Assistant { // TRL knows no weight
				learnt[m.Content]++
			}
		}
	}
	if learnt["good"] != 1 || learnt["better"] != 1 || learnt["BAD"] != 0 {
		t.Errorf("learnt: %v", learnt)
	}
}

// Pairs that were written for hone dpo are known as such, with the rows among them that are none.
func TestValidatePairs(t *testing.T) {
	dir := t.TempDir()
	traces, pairs := filepath.Join(dir, "traces.jsonl"), filepath.Join(dir, "pairs.jsonl")
	row := `{"id":"%s","scenario_id":"s","outcome":"ok","terms":[{"name":"checks","score":%d}],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"%s"}]}` + "\n"
	if err := os.WriteFile(traces, fmt.Appendf(fmt.Appendf(nil, row, "good", 1, "yes"), row, "bad", 0, "no"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Conversion{From: []string{traces}, To: "pairs", Out: pairs,
		Unroll: dataset.Whole}).Convert(t.Context(), &host.Host{}); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	h := &host.Host{Talk: sanitize.New(&said)}
	report, err := ValidateData(h, []string{pairs}, "")
	if err != nil || report.Kept != 1 || report.Formats["preference"] != 1 ||
		!strings.Contains(said.String(), "hone dpo --data "+pairs) {
		t.Errorf("%+v, %v: %s", report, err, &said)
	}
	text, err := os.ReadFile(pairs)
	if err == nil {
		err = os.WriteFile(pairs, append(text, `{"prompt":"q","chosen":"a"}`+"\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if report, err = ValidateData(h, []string{pairs}, ""); err == nil || !strings.Contains(err.Error(),
		"1 of 2 rows are no pair") || !strings.Contains(err.Error(), "hone dpo leaves them out") || report.Kept != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A file that ends without its bracket is damaged, though each of its rows can be read; one in Latin-1 says how it
// becomes UTF-8.
func TestValidateDamagedFiles(t *testing.T) {
	row := `{"messages":[{"role":"user","content":"é"},{"role":"assistant","content":"a"}]}`
	for text, want := range map[string]string{
		"[" + row + ",\n" + row:                           "the file is damaged",
		row + "\n" + strings.ReplaceAll(row, "é", "\xe9"): "iconv -f LATIN1",
		row: "",
	} {
		path := filepath.Join(t.TempDir(), "rows.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ValidateData(&host.Host{}, []string{path}, "")
		if (err != nil) != (want != "") ||
			err != nil && (!strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.CodeUsage) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
