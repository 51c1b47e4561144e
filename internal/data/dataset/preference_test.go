package dataset

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLoadPairs(t *testing.T) {
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"weather","arguments":{"city":"Bern"}}}]}`
	lines := []string{
		`{"prompt":[{"role":"user","content":"Rain?"}],"chosen":[` + call +
			`,{"role":"tool","tool_call_id":"1","content":"dry"},{"role":"assistant","content":"No."}],"rejected":[` +
			call + `],"tools":[` + weather + `],"chosen_id":"a","rejected_id":"b"}`,
		`{"chosen":[{"role":"user","content":"Rain?"},{"role":"assistant","content":"No."}],"rejected":[{"role":"user","content":"Rain?"},{"role":"assistant","content":"Yes."}]}`,
		`{"prompt":"Rain?","chosen":"<think>dry</think>No.","rejected":"Yes.","split":"test"}`,
		`{"prompt":"Rain?","chosen":"No."}`,
		`{"prompt":"Rain?","chosen":"No.","rejected":7}`,
		`{"chosen":[{"role":"assistant","content":"No."}],"rejected":[{"role":"assistant","content":"No."}]}`,
		`{"prompt":`,
	}
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pairs, report, err := LoadPairs([]string{path})
	if err != nil || len(pairs) != 3 || report.Read != 7 || report.Kept != 3 || report.NumRefused() != 4 {
		t.Fatalf("%d pairs, %+v, %v", len(pairs), report, err)
	}
	if p := pairs[0]; p.Chosen.Opening != 1 || len(p.Chosen.Messages) != 4 || len(p.Rejected.Messages) != 2 ||
		len(p.Rejected.Tools) != 1 || p.Chosen.Messages[1].ToolCalls[0].Arguments != `{"city":"Bern"}` ||
		p.Chosen.ID != "a" || p.Rejected.ID != "b" || p.Rejected.Line != 1 {
		t.Errorf("%+v", p)
	}
	if p := pairs[1]; p.Chosen.Opening != 1 || p.Rejected.Opening != 1 || p.Rejected.Messages[1].Content != "Yes." {
		t.Errorf("two whole conversations: %+v", p)
	}
	if p := pairs[2]; p.Chosen.Opening != 1 || p.Chosen.Messages[0].Content != "Rain?" ||
		p.Rejected.Messages[1].Content != "Yes." || p.Chosen.ToLearnFrom() ||
		p.Chosen.Messages[1].ReasoningContent != "dry" || p.Chosen.Messages[1].Content != "No." {
		t.Errorf("texts: %+v", p)
	}
	again := filepath.Join(t.TempDir(), "again.jsonl")
	if err := os.WriteFile(again, EncodePairs(pairs), 0o644); err != nil {
		t.Fatal(err)
	}
	read, _, err := LoadPairs([]string{again})
	if err != nil || len(read) != 3 {
		t.Fatal(err)
	}
	for i := range read {
		for _, rows := range [][2]*Row{
			{&read[i].Chosen, &pairs[i].Chosen},
			{&read[i].Rejected, &pairs[i].Rejected},
		} {
			rows[0].File, rows[0].Line = rows[1].File, rows[1].Line
			if !reflect.DeepEqual(rows[0], rows[1]) {
				t.Errorf("pair %d is read again as %+v, was %+v", i, rows[0], rows[1])
			}
		}
	}
	for reason, of := range report.Refused {
		for _, p := range of.Places {
			if !strings.Contains(p.Where, "pairs.jsonl:") {
				t.Errorf("%s: %+v", reason, p)
			}
		}
	}
}
