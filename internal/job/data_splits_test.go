package job

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/testing/fakes"
)

// A row without a split is not learnt from where its scenario is one to measure on, as the rows beside it or the
// scenarios of the run say, by hash or by id; it is named. Others without a split are learnt from as ever.
func TestRowsWithoutSplitAreHeldOut(t *testing.T) {
	held := []scenario.Scenario{
		{ID: "t", Task: "Which?", Split: "test"},
		{ID: "v", Task: "When?", Split: "validation"},
		{ID: "l", Task: "Who?", Split: "train"},
	}
	hash := held[0].Hash()
	row := func(members string) string {
		return `{` + members + `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`
	}
	learnt, plain := row(`"scenario_id":"l","split":"train",`), row("")
	tested := row(`"scenario_id":"t","scenario_hash":"` + hash + `","split":"test",`)
	for name, tc := range map[string]struct {
		rows   []string
		run    bool // the scenarios lie beside the file, as those of a run
		own    bool // they are the learning run's
		learns int
		says   string // of line 1; "" for nothing
	}{
		"id beside":                  {[]string{row(`"scenario_id":"t",`), tested, learnt}, false, false, 1, "split test"},
		"id and hash beside":         {[]string{row(`"scenario_id":"t","scenario_hash":"` + hash + `",`), tested, learnt}, false, false, 1, "split test"},
		"hash beside, of other id":   {[]string{row(`"scenario_id":"x","scenario_hash":"` + hash + `",`), tested, learnt}, false, false, 1, "split test"},
		"hash alone beside":          {[]string{row(`"scenario_hash":"` + hash + `",`), tested, learnt}, false, false, 1, "split test"},
		"id beside, of other hash":   {[]string{row(`"scenario_id":"t","scenario_hash":"00",`), tested, learnt}, false, false, 1, "split test"},
		"an empty split":             {[]string{row(`"scenario_id":"t","split":"",`), tested, learnt}, false, false, 1, "split test"},
		"no text for a split":        {[]string{row(`"scenario_id":"t","split":null,`), tested, learnt}, false, false, 1, "split test"},
		"held out by one of two":     {[]string{row(`"scenario_id":"t",`), row(`"scenario_id":"t","split":"train",`), tested}, false, false, 1, "split test"},
		"validation beside":          {[]string{row(`"scenario_id":"w",`), row(`"scenario_id":"w","split":"validation",`), learnt}, false, false, 1, "split validation"},
		"by the run's scenarios":     {[]string{row(`"scenario_id":"t",`), learnt}, true, false, 1, "split test"},
		"by their hash":              {[]string{row(`"scenario_hash":"` + hash + `",`), learnt}, true, false, 1, "split test"},
		"of their validation":        {[]string{row(`"scenario_id":"v",`), learnt}, true, false, 1, "split validation"},
		"none of the rows has one":   {[]string{row(`"scenario_id":"t",`), row(`"scenario_id":"l",`)}, true, false, 1, "split test"},
		"by the learning run's":      {[]string{row(`"scenario_id":"t",`), learnt}, false, true, 1, "split test"},
		"of a scenario to learn":     {[]string{row(`"scenario_id":"l",`), learnt, tested}, true, false, 2, ""},
		"of a scenario of elsewhere": {[]string{row(`"scenario_id":"z","scenario_hash":"11",`), learnt, tested}, true, false, 2, ""},
		"of no scenario":             {[]string{plain, learnt, tested}, true, false, 2, ""},
		"nothing is known":           {[]string{row(`"scenario_id":"t",`), plain}, false, false, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "trajectories.jsonl")
			if err := os.WriteFile(path, []byte(strings.Join(tc.rows, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if tc.run {
				text, err := scenario.Encode(held, false)
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, ScenariosFile), text, 0o600)
				}
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, "version.json"), []byte("{}"), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var list []scenario.Scenario
			if tc.own {
				list = held
			}
			d, err := ReadConversations(fakes.QuietHost(t), path, "", false)
			if err != nil {
				t.Fatal(err)
			}
			h, said := fakes.HostWithOutput(t)
			d.HoldOut(h, list)
			rows, err := d.Demonstrations(h, config.Default())
			if err != nil || len(rows) != tc.learns {
				t.Errorf("%d rows, %v", len(rows), err)
			}
			if told := strings.Contains(said.String(), "note: 1 row without a split, of scenarios of the "+tc.says) &&
				strings.Contains(said.String(),
					fmt.Sprintf("the first is %s:1, of scenario ", path)); told != (tc.says != "") {
				t.Errorf("told: %s", said)
			}
			// What the run keeps says it, so that a run that goes on learns from the same.
			text, err := d.Lines()
			if err != nil {
				t.Fatal(err)
			}
			kept := filepath.Join(t.TempDir(), "rows.jsonl")
			if err := os.WriteFile(kept, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if d, err = ReadConversations(fakes.QuietHost(t), kept, "", false); err != nil {
				t.Fatal(err)
			}
			again, err := d.Demonstrations(h, config.Default())
			if err != nil || len(again) != tc.learns {
				t.Errorf("gone on with: %d rows, %v", len(again), err)
			}
		})
	}
}

// The same of pairs, of which one split is said for both sides.
func TestPairsWithoutSplitAreHeldOut(t *testing.T) {
	const pair = `{"prompt":"q","chosen":"a","rejected":"b","scenario_id":%q%s}` + "\n"
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	text := fmt.Sprintf(pair, "t", "") + fmt.Sprintf(pair, "t", `,"split":"test"`) + fmt.Sprintf(pair, "l", "") +
		fmt.Sprintf(pair, "w", "") + fmt.Sprintf(pair, "w", `,"split":"validation"`)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, said := fakes.HostWithOutput(t)
	p, err := ReadPairs(h, path, false)
	ids := []string{}
	for _, x := range p.List {
		ids = append(ids, x.Chosen.ScenarioID)
	}
	if err != nil || !slices.Equal(ids, []string{"l"}) || len(p.Validation) != 2 ||
		!strings.Contains(said.String(), "of scenario t;") {
		t.Errorf("%q and %d to measure on, %v: %s", ids, len(p.Validation), err, said)
	}
}
