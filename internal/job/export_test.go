package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/data/curate"
	"hone/internal/host"
)

// Traces that are accepted and edited badly since are held back, with --accepted as without; the dry run counts the same.
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
	for _, op := range []curate.Op{{Do: curate.Accept, Trace: "a"}, {Do: curate.Accept, Trace: "b"}, {Do: curate.EditArguments, Trace: "a", Message: 1, Text: `{"town":3}`}} {
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
