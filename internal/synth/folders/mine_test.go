package folders

import (
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// sharedLists are the same tasks of several persons in four forms, and what stands before and behind a task of one.
func sharedLists() map[string]string {
	return map[string]string{
		"jobs.md": "# Jobs\n\n## Ana\n- [ ] sweep the yard\n- [x] lock up\n- [ ] feed the hens\n\n## Omar\n" +
			"- [ ] sweep the yard\n- [ ] lock up\n",
		"who/what.md": "- [ ] Ana: sweep the yard\n- [ ] Omar: sweep the yard\n- [x] Ana: lock up\n- [ ] Omar: lock up\n" +
			"- [ ] Ana: feed the hens\n",
		"actions.txt": "- [ ] sweep the yard (Omar)\n- [ ] sweep the yard (Ana)\n- [ ] feed the hens (Ana)\n" +
			"- [x] lock up (Ana)\n- [ ] lock up (Omar)\n",
		"jobs.csv": "what,who,done\nsweep the yard,Ana,no\nsweep the yard,Omar,no\nlock up,Ana,yes\nlock up,Omar,no\n" +
			"feed the hens,Ana,no\n",
	}
}

// Whoever signs has their own things ticked and listed, and nobody else's.
func TestTicksOfTheOneWhoWrites(t *testing.T) {
	for file, text := range sharedLists() {
		files := map[string]string{file: text, "b.md": "x\n"}
		var mine, others string
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "sweep the yard") && strings.Contains(line, "Ana") {
				mine = line
			} else if strings.Contains(line, "sweep the yard") && strings.Contains(line, "Omar") {
				others = line
			}
		}
		tick := func(line string) string {
			return strings.NewReplacer("[ ]", "[x]", ",no", ",yes").Replace(line)
		}
		first := strings.Replace(text, mine, tick(mine), 1)
		wrong := strings.Replace(text, others, tick(others), 1)
		if file == "jobs.md" { // the first is Ana's, the last Omar's
			first = strings.Replace(text, "- [ ] sweep", "- [x] sweep", 1)
			wrong = text[:len(text)/2] + strings.Replace(text[len(text)/2:], "- [ ] sweep", "- [x] sweep", 1)
		}
		by := func(item string) func(*Plan) bool {
			return func(p *Plan) bool { return p.Slot("sign") == "Ana" && (item == "" || p.Slot("item") == item) }
		}
		checkEnd(t, end{files: files, way: (*drawer).tickMine, pattern: "mine_tick", fits: by("sweep the yard"),
			want: map[string]string{file: first}, wrong: map[string][]string{file: {wrong}}, why: "lock up - done"})
		checkEnd(t, end{files: files, way: (*drawer).leftForMe, pattern: "mine_left", fits: by(""),
			answer: "sweep the yard", why: "feed the hens - open"})
		f, p := drawnBy(t, end{files: files, way: (*drawer).leftThenTick, pattern: "mine_left", fits: by("")})
		if p.Later() == 0 || p.Then() == nil || len(p.Answer.Values) != 2 {
			t.Errorf("%s: no second message behind %q", file, p.Answer.Values)
		}
		if after, ok := f.State().Apply(p.Ops); !ok || after[file] == text || after[file] == wrong {
			t.Errorf("%s becomes %q", file, after[file])
		}
		if w := p.Word(newRand(3), "train"); strings.Count(w.Task, "Ana") != 1 ||
			strings.Index(w.Task, "Ana") > strings.Index(w.Task, programs.NextMessage) {
			t.Errorf("%q is signed in the wrong place", w.Task)
		}
		_, p = drawnBy(t, end{files: files, way: (*drawer).tickThenLeft, pattern: "mine_tick",
			fits: by("sweep the yard")})
		if left := p.Then().Answer.Values; len(left) != 1 || left[0] != "feed the hens" {
			t.Errorf("%s: %q is left", file, left)
		}
		if w := p.Word(newRand(3), "train"); !strings.HasSuffix(w.Task, "Ana") {
			t.Errorf("%q is not signed", w.Task)
		}
	}
	for _, text := range []string{"- [ ] Ana: a b\n- [ ] c d\n- [ ] Bo: e f\n- [ ] Bo: g\n- [ ] Cy: h\n",
		"## Indoors out\n- [ ] a\n- [ ] b\n## Outdoors\n- [ ] c\n- [ ] d\n- [ ] e\n"} {
		if list := Read("a.md", text).tasks(); list != nil {
			t.Errorf("%q has tasks of %v", text, list)
		}
	}
}
