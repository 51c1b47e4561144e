package inputs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
)

// Data that was curated is not read as if it had not been, wherever what was done to it stands.
func TestUncurated(t *testing.T) {
	const ops = `{"rows":"x"}` + "\n" + `{"seq":1,"do":"reject"}` + "\n" + `{"seq":2,"do":"undo"}` + "\n"
	for _, x := range []struct{ name, data, ledger, text, of string }{
		{"beside the file", "run/rows.jsonl", "run/rows.jsonl.curation.jsonl", ops, "run/rows.jsonl"},
		{"in the folder", "run", "run/rows.jsonl.curation.jsonl", ops, "run/rows.jsonl"},
		{"in a folder of it", "run", "run/part/rows.jsonl.curation.jsonl", strings.TrimSpace(ops), "run/part/rows.jsonl"},
		{"beside the folder", "run", "run.curation.jsonl", ops, "run"},
		{"of a folder with a slash", "run/", "run.curation.jsonl", ops, "run"},
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
		err := Uncurated(x.data)
		f, is := errors.AsType[*fault.Error](err)
		if (err == nil) != (x.of == "") || is && (f.Where != x.of || !strings.Contains(f.Next, "hone curate export "+x.of+" --out ") || !strings.Contains(f.Why, "2 operations")) {
			t.Errorf("%s: %v", x.name, err)
		}
		if _, read := ReadConversations(x.data, ""); (read == nil) != (x.of == "") {
			t.Errorf("%s, as rows to learn from: %v", x.name, read)
		}
		if _, pairs := ReadPairs(nil, x.data, false); x.of != "" && (pairs == nil || !strings.Contains(pairs.Error(), "was curated")) {
			t.Errorf("%s, as pairs: %v", x.name, pairs)
		}
	}
}
