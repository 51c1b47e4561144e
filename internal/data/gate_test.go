package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/blob"
	"hone/internal/data/dataset"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
)

// saveCatalog writes a catalog of one tool, and returns its hash.
func saveCatalog(t *testing.T, path, name string) string {
	t.Helper()
	tool := mcp.Tool{Name: name, ModelName: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
	tool.SHA256 = blob.Parts(tool.Name, "", string(tool.InputSchema), "", "").String()
	c := &mcp.Catalog{Servers: []mcp.ServerTools{{Name: "s", Tools: []mcp.Tool{tool}}}}
	c.Hash = blob.Parts("s", "1", tool.ModelName, tool.SHA256).String()
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	return c.Hash
}

// What a trainer reads holds no row of a test split and, but for pairs, no failed trace, whichever command wrote it;
// and each row has its tools.
func TestTrainerFilesHoldWhatIsToBeLearnt(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "traces.jsonl")
	var rows strings.Builder
	for _, split := range []string{"train", "test"} {
		for _, score := range []string{"1", "0"} {
			rows.WriteString(`{"id":"` + split + score + `","scenario_id":"` + split + `","split":"` + split +
				`","outcome":"ok","terms":[{"name":"checks","score":` + score +
				`}],"messages":[{"role":"user","content":"of ` + split + `"},{"role":"assistant","content":"scored ` +
				score + `"}]}` + "\n")
		}
	}
	if err := os.WriteFile(data, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	saveCatalog(t, filepath.Join(dir, job.CatalogFile), "weather")
	h := &host.Host{}
	commands := map[string]func(form, out string) (map[string]int, error){
		"convert": func(form, out string) (map[string]int, error) {
			got, err := Conversion{From: []string{data}, To: form, Out: out,
				Unroll: dataset.Schemes()[0]}.Convert(t.Context(), h)
			return got.LeftOut, err
		},
		"export": func(form, out string) (map[string]int, error) {
			d, err := Curating{Data: data, Author: "ann"}.Open(h)
			if err != nil {
				return nil, err
			}
			defer d.Close()
			got, err := d.Export(form, out, false, false)
			return got.LeftOut, err
		},
	}
	for name, run := range commands {
		for _, form := range []string{"trl", "axolotl", "pairs"} {
			out := filepath.Join(dir, name+form)
			leftOut, err := run(form, out)
			text, _ := os.ReadFile(out)
			if got := string(text); err != nil || strings.Count(got, "\n") != 1 || strings.Contains(got, "of test") ||
				!strings.Contains(got, "scored 1") || strings.Contains(got, "scored 0") != (form == "pairs") ||
				!strings.Contains(got, "weather") {
				t.Errorf("%s to %s: %v\n%s", name, form, err, got)
			}
			if leftOut["of the split test, which is to be measured on"] != 2 {
				t.Errorf("%s to %s left out %v", name, form, leftOut)
			}
		}
	}
}
