package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/testing/fakes"
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
	d, err := ReadConversations(fakes.QuietHost(t), path, "", false)
	if err != nil {
		t.Fatal(err)
	}
	h, said := fakes.HostWithOutput(t)
	rows, err := d.Demonstrations(h, config.Default())
	want := fmt.Sprintf("left out 5 rows: outcome limit (cut by rollout.max_turns or another limit; "+
		"hone collect names the key to raise): %s:3, %[1]s:4, %[1]s:5 and 2 more\n"+
		"left out %[1]s:1: outcome policy_error\n", path)
	if err != nil || len(rows) != 1 || said.String() != want {
		t.Errorf("%d rows, %v, %q, want %q", len(rows), err, said, want)
	}
}

// Data that was curated is not read as if it had not been, wherever what was done to it stands.
func TestUncurated(t *testing.T) {
	const ops = `{"rows":"x"}` + "\n" + `{"seq":1,"do":"reject"}` + "\n" + `{"seq":2,"do":"undo"}` + "\n"
	for _, x := range []struct{ name, data, ledger, text, of string }{
		{"beside the file", "run/rows.jsonl", "run/rows.jsonl.curation.jsonl", ops, "run/rows.jsonl"},
		{"in the folder", "run", "run/rows.jsonl.curation.jsonl", ops, "run/rows.jsonl"},
		{"in a folder of it", "run", "run/part/rows.jsonl.curation.jsonl", strings.TrimSpace(ops), "run/part/rows.jsonl"},
		{"beside the folder", "run", "run.curation.jsonl", ops, "run"},
		{"of a folder with a slash", "run/", "run.curation.jsonl", ops, "run"},
		{"beside what a link leads to", "link.jsonl", "run/rows.jsonl.curation.jsonl", ops, "run/rows.jsonl"},
		{"of another file", "run/rows.jsonl", "run/others.jsonl.curation.jsonl", ops, ""},
		{"without an operation", "run/rows.jsonl", "run/rows.jsonl.curation.jsonl", `{"rows":"x"}` + "\n", ""},
		{"empty", "run/rows.jsonl", "run/rows.jsonl.curation.jsonl", " \n", ""},
		{"none", "run/rows.jsonl", "run/notes.txt", "{}\n", ""},
	} {
		t.Chdir(t.TempDir())
		if err := os.MkdirAll("run/part", 0o755); err != nil {
			t.Fatal(err)
		}
		const row = `{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}` + "\n"
		for path, text := range map[string]string{"run/rows.jsonl": row, x.ledger: x.text} {
			if err := os.WriteFile(filepath.FromSlash(path), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("run/rows.jsonl", "link.jsonl"); err != nil {
			t.Fatal(err)
		}
		err := RefuseCurated(x.data)
		f, is := errors.AsType[*fault.Error](err)
		if (err == nil) != (x.of == "") ||
			is && (f.Where != x.of || !strings.Contains(f.Next, "hone curate export "+x.of+" --out ") ||
				!strings.Contains(f.Why, "2 operations")) {
			t.Errorf("%s: %v", x.name, err)
		}
		if _, read := ReadConversations(fakes.QuietHost(t), x.data, "", false); (read == nil) != (x.of == "") {
			t.Errorf("%s, as rows to learn from: %v", x.name, read)
		}
		if _, pairs := ReadPairs(nil, x.data, false); x.of != "" &&
			(pairs == nil || !strings.Contains(pairs.Error(), "was curated")) {
			t.Errorf("%s, as pairs: %v", x.name, pairs)
		}
	}
}

// Rows are read with the catalog that lies in their folder, beside their file, or beside what a link to it leads to.
func TestCatalogBeside(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("run", 0o755); err != nil {
		t.Fatal(err)
	}
	const row = `{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}` + "\n"
	if err := os.WriteFile("run/rows.jsonl", []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	tool := mcp.Tool{Name: "rain", ModelName: "rain", InputSchema: json.RawMessage(`{"type":"object"}`)}
	tool.SHA256 = blob.Parts(tool.Name, "", string(tool.InputSchema), "", "").String()
	of := &mcp.Catalog{Servers: []mcp.ServerTools{{Name: "s", Tools: []mcp.Tool{tool}}}}
	of.Hash = blob.Parts("s", "1", tool.ModelName, tool.SHA256).String()
	if err := of.Save("run/catalog.json"); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.jsonl": "run/rows.jsonl", "twice.jsonl": "link.jsonl", "runs": "run",
		"gone.jsonl": "run/none.jsonl"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("alone.jsonl", []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"run/rows.jsonl": true, "run": true, "link.jsonl": true,
		"twice.jsonl": true, "runs": true, "runs/rows.jsonl": true, "alone.jsonl": false, "gone.jsonl": false} {
		if got := catalogBeside(path); (got != "") != want {
			t.Errorf("beside %s lies %q", path, got)
		}
		if path == "gone.jsonl" {
			continue
		}
		d, err := ReadConversations(fakes.QuietHost(t), path, "", false)
		if err != nil || (d.Catalog != nil) != want {
			t.Errorf("the rows of %s have the catalog %v, %v", path, d.Catalog, err)
		}
		tools := NewCatalogs("")
		for i := range d.Rows {
			if err := tools.ToolsFor(&d.Rows[i]); err != nil || (len(d.Rows[i].Tools) == 1) != want {
				t.Errorf("a row of %s has the tools %v, %v", path, d.Rows[i].Tools, err)
			}
		}
	}
}
