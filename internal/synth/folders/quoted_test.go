package folders

import (
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// Cells that stand in quotes are read without them; a table of which one has a mark or a quote within is left alone.
func TestQuotedCells(t *testing.T) {
	const plain = "no,item,pieces\n101,dowels,40\n102,oil,3\n103,discs,20\n"
	quoted := `"` + strings.NewReplacer(",", `","`, "\n", "\"\n\"").Replace(strings.TrimSpace(plain)) + `"`
	for text, want := range map[string]string{quoted: "dowels", strings.Replace(plain, "oil", `"oil"`, 1): "dowels",
		strings.Replace(plain, "oil", `"oil, raw"`, 1): "", strings.Replace(plain, "oil", `"5"" pipe"`, 1): ""} {
		got := ""
		if table := Read("orders.csv", text).Table; table != nil {
			got = programs.Show(table.Rows[0][1])
		}
		if got != want {
			t.Errorf("%s has %q, not %q", text, got, want)
		}
	}
}
