package inputs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hone/internal/config"
	"hone/internal/testing/hosttest"
)

// Rows that are left out for one reason are told in one line; one alone with its place, as an editor opens it.
func TestRowsLeftOutAreCounted(t *testing.T) {
	row := `{"outcome":"%s","terms":[{"name":"checks","score":1}],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}` + "\n"
	text := fmt.Appendf(fmt.Appendf(nil, row, "policy_error"), row, "ok")
	for range 5 {
		text = fmt.Appendf(text, row, "limit")
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ReadConversations(path, "")
	if err != nil {
		t.Fatal(err)
	}
	h, said := hosttest.Heard(t)
	rows, err := d.Demonstrations(h, config.Default())
	want := fmt.Sprintf("left out 5 rows: outcome limit (cut by rollout.max_turns or another limit; hone collect names the key to raise): %s:3, %[1]s:4, %[1]s:5 and 2 more\n"+
		"left out %[1]s:1: outcome policy_error\n", path)
	if err != nil || len(rows) != 1 || said.String() != want {
		t.Errorf("%d rows, %v, %q, want %q", len(rows), err, said, want)
	}
}
