package folders

import (
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// upkeep are lists of what is to be done in three forms, with a log and what things cost.
func upkeep() []map[string]string {
	return []map[string]string{{
		"to-do.md": "# To do\n\n## Soon\n- [ ] gate squeaks (Rui)\n- [ ] paint the shed\n\n## Done\n" +
			"- [x] 2026-05-02 mend the roof\n",
		"log.md": "# Log\n\n- 2026-05-01: mend the tap, Rui, 20.\n- 2026-05-02: mend the roof, Rui, 80.\n" +
			"- 2026-05-04: sweep, Ida.\n",
		"costs.csv": "date,what,to,amount,paid_by\n2026-05-01,mend the tap,Rui Pinto,20.00,Ida\n" +
			"2026-05-02,mend the roof,Rui Pinto,80.00,Bo\n2026-05-03,nails,Rui Pinto,4.00,Ida\n",
		"README.md": "# How\n\n- Done: down to Done in to-do, a line in the log, and in costs if it cost something.\n",
	}, {
		"jobs.md":   "- [ ] oil the door\n- [x] fix a lamp (2 May 2026)\n- [ ] wash the van\n",
		"diary.txt": "4 May 2026 sweep, Ida\n3 May 2026 dig, Bo\n2 May 2026 fix a lamp, Bo, 9\n",
		"outlay.md": "| day | job | firm | cost |\n|---|---|---|---|\n| 2 May 2026 | fix a lamp | Bo | 9 |\n" +
			"| 3 May 2026 | soil | Bo | 30 |\n| 4 May 2026 | sand | Bo | 8 |\n",
	}, {
		"boat.txt": "Open:\n- scrub the hull\n- grease a winch\n\nDone:\n- renew the rope\n",
		"log.txt":  "- 01.05.2026, renew the rope, Ida\n- 02.05.2026, bail, Bo\n- 03.05.2026, sail, Bo\n",
		"crew.txt": "Ida\nBo\n",
	}}
}

// What somebody did is done in the list and stands in the log and in the costs, each in the form that is there; what a
// line of the log says besides is free, its day and amount are not.
func TestFinished(t *testing.T) {
	house, van, boat := upkeep()[0], upkeep()[1], upkeep()[2]
	event{house, (*drawer).finishedTold, func(p *Plan) bool {
		return p.Slot("item") == "gate squeaks" && p.Slot("v") == "45, paid by Bo" && p.Slot("time") == "2026-05-06"
	}, func(*Plan) map[string]string {
		return map[string]string{
			"to-do.md": changed(house, "to-do.md", "- [ ] gate squeaks (Rui)\n", "",
				"mend the roof\n", "mend the roof\n- [x] 2026-05-06 gate squeaks\n"),
			"log.md":    house["log.md"] + "- 2026-05-06: gate squeaks, Rui Pinto, 45.\n",
			"costs.csv": house["costs.csv"] + "2026-05-06,gate squeaks,Rui Pinto,45.00,Bo\n"}
	}, func(*Plan) map[string]string {
		return map[string]string{
			"to-do.md": changed(house, "to-do.md", "- [ ] gate squeaks", "- [x] 2026-05-06 gate squeaks"),
			"log.md":   house["log.md"] + "- 2026-05-05: gate squeaks, Rui Pinto, 45.\n", "README.md": "x",
			"costs.csv": house["costs.csv"] + "2026-05-06,gate squeaks,Rui Pinto,45.00,Ida\n"}
	}, "The rule, README.md: - Done: down to Done"}.check(t, "by a rule")
	event{van, (*drawer).finishedTold, func(p *Plan) bool {
		return p.Pattern() == "done_free_where" && p.Slot("item") == "oil the door" && p.Slot("time") == "5 May 2026"
	}, func(*Plan) map[string]string {
		return map[string]string{
			"jobs.md":   changed(van, "jobs.md", "[ ] oil the door", "[x] oil the door (5 May 2026)"),
			"diary.txt": "5 May 2026 oil the door, Bo\n" + van["diary.txt"]}
	}, func(*Plan) map[string]string {
		return map[string]string{"jobs.md": changed(van, "jobs.md", "[ ] oil", "[x] oil"),
			"diary.txt": van["diary.txt"] + "5 May 2026 oil the door, Bo\n"}
	}, "The newest stands on top in diary.txt."}.check(t, "ticked, newest first")
	event{boat, (*drawer).finishedTold, func(p *Plan) bool {
		return p.Slot("item") == "scrub the hull" && p.Slot("y") == "Olga" && p.Slot("time") == "04.05.2026"
	}, func(*Plan) map[string]string {
		return map[string]string{"boat.txt": "Open:\n- grease a winch\n\nDone:\n- renew the rope\n- scrub the hull\n",
			"log.txt": boat["log.txt"] + "- 04.05.2026, scrub the hull, Olga\n"}
	}, func(*Plan) map[string]string {
		return map[string]string{"log.txt": boat["log.txt"] + "- 04.05.2026, grease, Olga\n"}
	}, "Done is: - renew the rope"}.check(t, "in a section without boxes")
	event{van, (*drawer).finishThenOtherwise, func(p *Plan) bool {
		return p.Slot("item") == "wash the van" && p.Then().Slot("v") == "15" && p.Slot("time") == "5 May 2026"
	}, func(p *Plan) map[string]string {
		return map[string]string{
			"jobs.md":   changed(van, "jobs.md", "[ ] wash the van", "[x] wash the van (5 May 2026)"),
			"diary.txt": "5 May 2026 wash the van, Bo, 15\n" + van["diary.txt"],
			"outlay.md": van["outlay.md"] + "| 5 May 2026 | wash the van | Bo | 15 |\n"}
	}, func(p *Plan) map[string]string {
		return map[string]string{"diary.txt": "5 May 2026 wash the van, Bo, " + p.Then().Slot("old") + "\n" +
			van["diary.txt"]}
	}, "it is 15 in both"}.check(t, "in two messages")
}

// What somebody words otherwise in a log still says what, when and how much.
func TestLogIsWordedFreely(t *testing.T) {
	is := freely("- 2026-05-06: ", "squeaks", "45")
	for text, fits := range map[string]bool{
		"- 2026-05-06: Rui, the gate squeaks no more, 45.": true, "- 2026-05-06: paid 45 for the gate that Squeaks": true,
		"- 2026-05-06: gate squeaks": false, "- 2026-05-07: gate squeaks, 45": false, "2026-05-06: squeaks 45": false,
	} {
		if matches(`\A`+is+`\z`, text) != fits {
			t.Errorf("%q fits: %v", text, !fits)
		}
	}
	if strings.Contains(freely("a", "b"), "|") {
		t.Error("one word has one place")
	}
}

// What an amount is put right to is demanded wherever it stands in the line, and the old one is refused.
func TestCorrectedCostIsDemanded(t *testing.T) {
	house := upkeep()[0]
	f, n := Of(house, nil), 0
	for seed := range uint64(600) {
		p := draw(newRand(seed), f, everything(), programs.Several, (*drawer).finishThenOtherwise)
		if p == nil || p.Slot("item") != "gate squeaks" {
			continue
		}
		n++
		v, old := p.Then().Slot("v"), p.Then().Slot("old")
		after, _ := f.State().Apply(p.Ops)
		added := strings.TrimPrefix(after["log.md"], house["log.md"])
		day, _, _ := strings.Cut(added, ": ")
		for said, is := range map[string]bool{v + " for the gate that squeaks": true, "squeaks, " + v: true,
			old + " for the gate that squeaks": false, "squeaks, " + v + "0": false} {
			for _, want := range p.Texts(f, "log.md", after["log.md"]) {
				if matches(want, house["log.md"]+day+": "+said+"\n") != is {
					t.Errorf("of %s, not %s: %q is taken: %v", v, old, said, !is)
				}
			}
		}
		for _, want := range p.Texts(f, "costs.csv", after["costs.csv"]) {
			if !matches(want, after["costs.csv"]) {
				t.Errorf("%q is demanded of the costs", want)
			}
		}
	}
	if n == 0 || matches(`\A`+freely("a", "60")+`\z`, "a 600") {
		t.Errorf("%d are drawn, or 600 is 60", n)
	}
}
