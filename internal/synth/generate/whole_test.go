package generate

import (
	"path/filepath"
	"testing"
)

// A list that holds things back is asked for all of them, also where it is filtered. A switch that shows no more of
// them and one of another meaning stay off.
func TestListsAreWhole(t *testing.T) {
	const schema = `{"type":"object","properties":{"include_sold":{"type":"boolean"},"show_prices":{"type":"boolean"},
		"recursive":{"type":"boolean"},"include_text":{"type":"string"}}}`
	for _, x := range []struct{ schema, bare, filtered string }{
		{schema, `{"include_sold":true}`, `{"include_sold":true,"name":"lamp"}`},
		{`{"type":"object","properties":{"show_prices":{"type":"boolean"}}}`, `{}`, `{"name":"lamp"}`},
		{`{"type":"object","properties":{"status":{"type":"string"},"limit":{"type":"integer","maximum":50}}}`,
			`{"status":"all"}`, `{"status":"all","name":"lamp"}`},
		{`{"type":"object","properties":{"limit":{"type":"integer","maximum":50}}}`, `{"limit":50}`,
			`{"limit":50,"name":"lamp"}`},
		{none, `{}`, `{"name":"lamp"}`},
	} {
		s := newShop(t)
		s.tools["list_items"] = func(s *stock, args map[string]any) (string, error) {
			if args["include_sold"] == true || args["recursive"] == true || args["status"] == "all" ||
				args["limit"] == 50.0 {
				return asJSON(s.items)
			}
			return asJSON(s.items[:2])
		}
		m := newMaker(s, []Tool{tool("list_items", "Lists items.", x.schema)},
			ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(s))
		if err := m.wholes(t.Context()); err != nil {
			t.Fatal(err)
		}
		list := m.byName["list_items"]
		if got := string(list.bare().Arguments); got != x.bare {
			t.Errorf("%s: %s", x.schema, got)
		}
		if got := string(list.filtered(member{"name", quote("lamp")}).Arguments); got != x.filtered {
			t.Errorf("%s: %s", x.schema, got)
		}
		m.player.close()
		if x.schema == none && s.opens > 0 {
			t.Error("a session is opened for a server that has no such list")
		}
	}
}
