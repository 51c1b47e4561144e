package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// States go into one file of a checkpoint, and come back from it; those of a checkpoint of before are in a file each.
// What is not there is as it begins.
func TestStatesOfCheckpoints(t *testing.T) {
	list := scenarios(3)
	fresh := func() (*Pools, *Imitation, states) {
		s := begun(t, grpo().with(&Pools{SkipSolved: 1}, &Imitation{Rows: 1, Memory: 2}), list)
		kept := states{}
		for _, a := range s.Additions {
			name, state := a.State()
			kept[name] = state
		}
		return of[*Pools](s), of[*Imitation](s), kept
	}
	const pools, successes = `{"pass":2,"order":["b","a"],"done":1,"rates":{"b":1}}`,
		`[{"scenario":"b","reward":1,"value":0.5,"rows":[]}]`
	for name, files := range map[string]map[string]string{
		"one file":      {statesFile: `{"pools":` + pools + `,"imitation":` + successes + `}`},
		"of before":     {"syllabus.json": pools, "imitation.json": successes},
		"pools alone":   {"syllabus.json": pools},
		"of no such":    {},
		"of a broken":   {statesFile: `{"pools":`},
		"of broken old": {"syllabus.json": `{`},
	} {
		dir := t.TempDir()
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, m, kept := fresh()
		err := kept.Load(dir)
		if broken := strings.Contains(name, "broken"); broken != (err != nil) {
			t.Errorf("%s: %v", name, err)
		} else if broken {
			continue
		}
		if has := len(files) > 0; has != (p.at.Pass == 2 && p.at.Order[0] == "b" && p.at.Done == 1 &&
			p.at.Rates["b"] == 1) {
			t.Errorf("%s: pools are at %+v", name, p.at)
		}
		if has := len(files) > 0 && name != "pools alone"; has != (len(m.held) == 1 && m.held[0].Value == 0.5) {
			t.Errorf("%s: held are %+v", name, m.held)
		}
		again := t.TempDir()
		if err := kept.Save(again); err != nil {
			t.Fatal(err)
		}
		p2, m2, from := fresh()
		if err := from.Load(again); err != nil || p2.at.Done != p.at.Done || len(m2.held) != len(m.held) {
			t.Errorf("%s, saved and loaded: %v, %+v, %+v", name, err, p2.at, m2.held)
		}
	}
	if err := (states{}).Save(t.TempDir()); err != nil {
		t.Error(err)
	}
}
