package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/data/curate"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/host"
)

// Traces that are accepted and edited badly since are held back, with --accepted as without; the dry run counts the
// same.
func TestAcceptedAndEditedSince(t *testing.T) {
	data := filepath.Join(t.TempDir(), "traces.jsonl")
	var rows strings.Builder
	for _, id := range []string{"a", "b", "c"} {
		rows.WriteString(`{"id":"` + id + `","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"1","content":"y"},{"role":"assistant","content":"z"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","additionalProperties":false}}}]}` + "\n")
	}
	if err := os.WriteFile(data, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Curating{Data: data, Author: "ann"}.Open(&host.Host{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, op := range []curate.Op{
		{Do: curate.Accept, Trace: "a"},
		{Do: curate.Accept, Trace: "b"},
		{Do: curate.EditArguments, Trace: "a", Message: 1, Text: `{"town":3}`},
	} {
		if _, _, err := d.Do(op); err != nil {
			t.Fatal(err)
		}
	}
	for accepted, want := range map[bool]string{false: "b c", true: "b"} {
		leftOut, got := map[string]int{}, []string{}
		for _, r := range d.ToExport(accepted, leftOut) {
			got = append(got, r.ID)
		}
		written, err := d.Export("hone", filepath.Join(t.TempDir(), "out.jsonl"), accepted, false)
		if err != nil || strings.Join(got, " ") != want || written.Rows != len(got) {
			t.Errorf("accepted %v: %q, %+v, %v; want %s", accepted, got, written, err, want)
		}
		misfits := 0
		for why, n := range written.LeftOut {
			if strings.HasPrefix(why, "edited calls") {
				misfits += n
			}
		}
		if misfits != 1 {
			t.Errorf("accepted %v: left out %v", accepted, written.LeftOut)
		}
	}
}

// Errors that a scenario wants are told by its checks, of the same scenario alone.
func TestWantedRefusals(t *testing.T) {
	s := scenario.Scenario{ID: "s", Task: "Try.", Checks: []scenario.Check{
		{Type: scenario.CallCheck, Name: "f", Refused: true},
		{Type: scenario.CallCheck, Name: "g"},
	}}
	wanted := wantedRefusals(map[string]*scenario.Scenario{"s": &s})
	for row, want := range map[*dataset.Row]string{
		{ScenarioID: "s", Scenario: s.Hash()}: "[f]", {ScenarioID: "s"}: "[f]", {ScenarioID: "s",
			Scenario: "another"}: "[]", {ScenarioID: "x"}: "[]", {}: "[]",
	} {
		if got := fmt.Sprint(wanted(row)); got != want {
			t.Errorf("%+v: %s, want %s", row, got, want)
		}
	}
}

// What is only tried is told of as such, and who made an operation where that is known.
func TestRedactionIsTold(t *testing.T) {
	for _, tried := range []bool{true, false} {
		var said strings.Builder
		(&Desk{}).TellRedaction(func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) },
			curate.Redaction{Traces: 1, Values: make([]curate.Redacted, 2)}, []string{"x"}, tried)
		if would := strings.Contains(said.String(), "would stand for 2 values of 1 trace") &&
			strings.Contains(said.String(), "would not hold then: x"); would != tried ||
			strings.Contains(said.String(), "stand now") == tried {
			t.Errorf("tried %v: %s", tried, said.String())
		}
	}
	for env, want := range map[string]string{
		"USER=ann LOGNAME=x": "ann", "LOGNAME=bo": "bo", "USERNAME=cy": "cy", "USER= LOGNAME=bo": "bo", "HOME=/": "",
	} {
		author := AuthorOf(func(name string) (string, bool) {
			for _, pair := range strings.Fields(env) {
				if value, is := strings.CutPrefix(pair, name+"="); is {
					return value, true
				}
			}
			return "", false
		})
		if author != want {
			t.Errorf("%s: %q", env, author)
		}
	}
	if a, b := fmt.Sprint(curate.Op{Seq: 3, Do: "reject", Author: "ann", Why: "dull"}),
		fmt.Sprint(curate.Op{Seq: 3, Do: "reject"}); a != "operation 3 by ann: reject dull" ||
		b != "operation 3: reject" {
		t.Errorf("%q, %q", a, b)
	}
}
