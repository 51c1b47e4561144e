package folders

import (
	"strings"
	"testing"
)

// A page of those of a table who are as asked has all of them by surname, and nobody else.
func TestPageOfSome(t *testing.T) {
	for _, c := range []struct{ file, text, want, new string }{
		{"choir/singers.csv", "no,name,voice,phone,status\n1,Ana Lund,alto,555-0111,active\n" +
			"2,Bo Maes,alto,555-0122,left\n3,Cy Petit,bass,555-0133,active\n4,Di Roy,alto,555-0144,active\n" +
			"5,Ed Stern,bass,555-0155,active\n6,Flo Abt,alto,555-0166,active\n",
			"Flo Abt 555-0166;Ana Lund 555-0111;Di Roy 555-0144", "choir/phone-list-alto.md"},
		{"crew.md", "| name | boat | email | state |\n|---|---|---|---|\n" +
			"| Ana Lund | Otter | ana@x.example | active |\n" +
			"| Bo Maes | Pike | bo@x.example | active |\n| Cy Petit | Otter | cy@x.example | resting |\n" +
			"| Di Roy | Otter | di@x.example | active |\n| Ed Stern | Pike | ed@x.example | resting |\n" +
			"| Flo Abt | Otter | flo@x.example | active |\n",
			"Flo Abt flo@x.example;Ana Lund ana@x.example;Di Roy di@x.example", "email-list-otter.md"},
		{"shop/help.csv", "name,shift,mobile,membership\nAna Lund,early,0711 1,current\nBo Maes,late,0711 2,waiting\n" +
			"Cy Petit,early,0711 3,waiting\nDi Roy,early,0711 4,current\nEd Stern,late,0711 5,waiting\n" +
			"Flo Abt,late,0711 6,current\n", "Ana Lund 0711 1;Di Roy 0711 4", "shop/mobile-list-early.md"},
	} {
		rows := strings.Split(c.want, ";")
		var list, turned []string
		for _, row := range rows {
			w := strings.SplitN(row, " ", 3)
			list = append(list, "- "+w[0]+" "+w[1]+": "+w[2])
			turned = append(turned, "| "+w[1]+" | "+w[0]+" | "+w[2]+" |")
		}
		page := strings.Join(list, "\n")
		fits := func(p *Plan) bool {
			return p.Slot("name") == c.new && strings.Contains(strings.Join(newTexts(p), ""), page+"\n")
		}
		_, p := drawnBy(t, end{files: map[string]string{c.file: c.text, "b.md": "x\n"}, way: (*drawer).pageList,
			pattern: "page_list", fits: fits})
		checkEnd(t, end{files: map[string]string{c.file: c.text, "b.md": "x\n"}, way: (*drawer).pageList,
			pattern: "page_list", fits: fits, why: " - no",
			want: map[string]string{c.new: p.Ops[len(p.Ops)-1].New},
			also: map[string][]string{c.new: {page, "# Page of 2026\n\nAs of today.\n" + page,
				"| surname | name | how |\n|---|---|---|\n" + strings.Join(turned, "\n") + "\n"}},
			wrong: map[string][]string{c.new: {strings.Join(list[1:], "\n"), page + "\n- Bo Maes: 555-0122\n",
				list[1] + "\n" + list[0] + "\n" + strings.Join(list[2:], "\n"),
				strings.Replace(page, "\n", "0\n", 1)}}})
	}
}

// A table or a list that is sorted has every line, as it was.
func TestSortedWhole(t *testing.T) {
	music := "composer,title,copies\nMozart,Gloria,3\nElgar,Snow,9\nHaydn,Mass,4\nElgar,Dawn,12\nHaydn,Echo,4\n"
	sorted := "composer,title,copies\nElgar,Dawn,12\nElgar,Snow,9\nHaydn,Echo,4\nHaydn,Mass,4\nMozart,Gloria,3\n"
	tools := "# Tools\n\n| tool | rack |\n|---|---|\n| saw | 2 |\n| rake | 1 |\n| drill | 2 |\n| file | 1 |\n" +
		"| brush | 3 |\n\nEnd.\n"
	list := "# Errands\n\n- [x] pay rent\n- [ ] buy tea\n- [ ] ring Ana\n- [x] clean lamps\n- [ ] air rooms\n"
	for _, e := range []end{
		{files: map[string]string{"music.csv": music}, way: (*drawer).pageSort, pattern: "page_sort_two",
			fits: func(p *Plan) bool { return p.Slot("attr") == "composer" && p.Slot("attr2") == "title" },
			want: map[string]string{"music.csv": sorted}, why: "Elgar, Dawn\nElgar, Snow\nHaydn, Echo",
			wrong: map[string][]string{"music.csv": {strings.Replace(sorted, "Haydn,Echo,4\n", "", 1),
				strings.Replace(sorted, "Elgar,Dawn,12\nElgar,Snow,9", "Elgar,Snow,9\nElgar,Dawn,12", 1)}}},
		{files: map[string]string{"tools.md": tools}, way: (*drawer).pageSort, pattern: "page_sort",
			want: map[string]string{"tools.md": "# Tools\n\n| tool | rack |\n|---|---|\n| brush | 3 |\n| drill | 2 |" +
				"\n| file | 1 |\n| rake | 1 |\n| saw | 2 |\n\nEnd.\n"}},
		{files: map[string]string{"errands.md": list}, way: (*drawer).listSort, pattern: "list_sort",
			want: map[string]string{"errands.md": "# Errands\n\n- [ ] air rooms\n- [ ] buy tea\n- [x] clean lamps\n" +
				"- [x] pay rent\n- [ ] ring Ana\n"},
			wrong: map[string][]string{"errands.md": {"# Errands\n\n" +
				"- [ ] air rooms\n- [ ] buy tea\n- [ ] clean lamps\n" +
				"- [ ] pay rent\n- [ ] ring Ana\n"}}},
	} {
		e.files["b.md"] = "x\n"
		checkEnd(t, e)
	}
}

// A section that gets a page of its own is there whole, and a line in its place says where it is.
func TestSectionOfItsOwn(t *testing.T) {
	for _, c := range [][3]string{
		{"fair.md", "# Fair\n\nSunday\n\n## Food\n\n- tea: Ana\n- soup: Bo\n\n## The day\n- 9.00 tents\n- 10.30 open" +
			"\n\n- 17.00 end\n\n## Costs\n- hall 40.00\n", "The day"},
		{"trips/regatta.md", "# Regatta\n\n## Boats\nOtter\nPike\n\n## Crew\nAna, Bo\n\n## After\nTidy up.\nLock.\n",
			"Boats"},
		{"house.md", "# House\n\n## Keys\n- at the bar\n- at Bo's\n\n## Bins\n- Monday\n- Friday\n\n" +
			"## Heating\n- 19\n- 17 at night\n",
			"Heating"},
	} {
		file, text, head := c[0], c[1], c[2]
		_, rest, _ := strings.Cut(text, "## "+head+"\n")
		body, rest, more := strings.Cut(rest, "\n## ")
		if body = strings.TrimSpace(body); more {
			rest = "\n## " + rest
		}
		to := strings.TrimSuffix(file, base(file)) + slug(head) + ".md"
		fits := func(p *Plan) bool { return p.Slot("name") == slug(head)+".md" }
		_, p := drawnBy(t, end{files: map[string]string{file: text, "b.md": "x\n"}, way: (*drawer).pageSplit,
			pattern: "page_split", fits: fits})
		now, _ := Of(map[string]string{file: text, "b.md": "x\n"}, nil).State().Apply(p.Ops)
		first, _, _ := strings.Cut(text, "## "+head)
		checkEnd(t, end{files: map[string]string{file: text, "b.md": "x\n"}, way: (*drawer).pageSplit,
			pattern: "page_split", fits: func(o *Plan) bool {
				return fits(o) && strings.Join(newTexts(o), "") == strings.Join(newTexts(p), "")
			}, want: map[string]string{file: now[file], to: "# " + head + "\n\n" + body + "\n"},
			also: map[string][]string{to: {"## " + head + "\n" + body}, file: {first + "*" + head + ": see [it](" +
				slug(head) + ".md)*\n" + rest,
				first + "## " + head + "\n\nThis is in " + slug(head) + ".md now.\n" + rest}},
			wrong: map[string][]string{to: {"# " + head + "\n\n" +
				strings.Replace(body, strings.Split(body, "\n")[0], "", 1)},
				file: {first + "## " + head + "\n" + rest, first + "See " + slug(head) + ".md\n\n" + body + "\n" + rest,
					"See " + slug(head) + ".md\n" + rest}}})
	}
}

func base(file string) string { return file[strings.LastIndex(file, "/")+1:] }

// What is open stands below the name of who does it.
func TestActionsByPerson(t *testing.T) {
	a := "# Meeting\n\n## To do\n- [ ] Cy: signs\n- [x] Bo: paint\n- [ ] Ana: locks\n"
	b := "# Meeting\n\n## To do\n- [ ] Ana: lamps\n- [ ] Bo: hall\n- [x] Cy: keys\n"
	good := "## Ana\n- locks\n- lamps\n\n## Bo\n- hall\n\n## Cy\n- signs\n"
	for _, files := range []map[string]string{
		{"minutes/2026-01.md": a, "minutes/2026-02.md": b, "b.md": "x\n"},
		{"board/a.txt": strings.ReplaceAll(a, "# ", ""), "board/b.txt": b, "c/d.md": "x\n"},
		{"office/talks/1.md": a, "office/talks/2.md": b, "office/todo.md": "x\n"},
	} {
		checkEnd(t, end{files: files, way: (*drawer).actionsBy, pattern: "actions_by",
			fits: func(p *Plan) bool { return p.Slot("name") == "memo.md" },
			want: map[string]string{"memo.md": good}, why: "Bo: paint - done",
			also: map[string][]string{"memo.md": {"# Open\n\n**Ana**\n\n- [ ] locks\n- [ ] lamps\n\n**Bo:**\n- hall\n" +
				"\n### Cy\n1. signs"}},
			wrong: map[string][]string{"memo.md": {strings.Replace(good, "- lamps\n", "", 1),
				"Ana: locks\nAna: lamps\nBo: hall\nCy: signs\n", strings.Replace(good, "- hall", "- hall\n- paint", 1),
				strings.Replace(good, "- locks\n- lamps", "- lamps\n- locks", 1)}}})
	}
}

// Nobody sorts ranks as words.
func TestRanksAreNotSorted(t *testing.T) {
	for _, ranks := range []string{"small,medium,large", "low,High,low", "easy,hard,hard"} {
		v, text := strings.Split(ranks, ","), "no,rank,seats\n"
		for i, n := range []string{"9", "2", "7", "4", "5"} {
			text += number(i+1) + "," + v[i%3] + "," + n + "\n"
		}
		f := Of(map[string]string{"tents.csv": text, "b.md": "x\n"}, nil)
		for seed := range uint64(100) {
			if p := draw(newRand(seed), f, everything(), Organize, (*drawer).pageSort); p != nil {
				t.Errorf("%s are sorted by %s", ranks, p.Slot("attr"))
				break
			}
		}
	}
}
