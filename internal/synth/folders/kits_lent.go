package folders

import (
	"math/rand/v2"
	"path"
	"strings"
)

// addLoans is a table of things with who has each and until when, how long things are lent, and who waits for which:
// all in one file, or in three.
func addLoans(r *rand.Rand, files map[string]string, top string) {
	kind := strings.Split(pick(r, split("tools-out;Tools that are out;tool;hedge trimmer,cement mixer,long ladder,"+
		"tile cutter,pressure washer,wheelbarrow|"+
		"toy-library;Toy library;toy;train set,puppet stage,pair of stilts,marble run,balance board|"+
		"school-boxes;Boxes for schools;box;Stone Age box,Roman box,bee box,river box,weather box|"+
		"games-lent;Games;game;Dragon Coast,Night Train,Harvest Moon,Six Lanterns,Old Fort,Ludo XL|"+
		"baby-things;Things for babies;thing;cradle,sling,high chair,baby bath,travel cot|"+
		"costumes-on-loan;Costumes;costume;wolf costume,king's robe,miller's coat,two angel wings,pirate set|"+
		"photo-gear;Gear of the photo group;item;macro lens,ring flash,slide scanner,big tripod,light tent|"+
		"camping-gear;Camping gear;what;group tent,gas stove,water filter,tarp,bear can")), ";")
	heads := strings.Split(pick(r, split("with,since,back by|who has it,from,until|lent to,out since,due|"+
		"borrower,from,return by")), ",")
	form, in := dayForm(r), pick(r, split("in|in|here|at home|"))
	weeks := 1 + r.IntN(4)
	who := persons(r, nil, 6)
	things := strings.Split(kind[3], ",")
	var rows [][]string
	var out []string
	for i, at := range r.Perm(len(things)) {
		row := []string{things[at], in, "", ""}
		if i < 3 || i > 3 && r.IntN(2) == 0 {
			day := someDay(r, 4, 2)
			row = []string{things[at], who[i], day.Format(form), day.AddDate(0, 0, 7*weeks).Format(form)}
			out = append(out, things[at])
		}
		rows = append(rows, row)
	}
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	wait := ""
	like := pick(r, split("- THING: WHO\n|- WHO: THING\n|- WHO (THING)\n"))
	for i, thing := range out[:1+r.IntN(2)] {
		wait += strings.NewReplacer("THING", thing, "WHO", who[4+i]).Replace(like)
	}
	many := strings.Fields("one two three four")[weeks-1]
	rule := strings.NewReplacer("N", many, "weeks", map[bool]string{true: "week", false: "weeks"}[weeks == 1]).Replace(
		pick(r, split("We lend for N weeks, longer if nobody waits.|Things are lent for N weeks.|"+
			"Out for N weeks at most.|A loan is for N weeks.")))
	bars := r.IntN(3) > 0
	text := tableText(bars, kind[1], "", append([]string{kind[2]}, heads...), rows)
	dir := path.Join(top, pick(r, []string{"", "lending", "club"}))
	if bars && r.IntN(3) > 0 {
		title, rest, _ := strings.Cut(text, "\n\n")
		text = title + "\n\n" + rule + "\n\n" + rest + "\n## " + pick(r, split("Waiting|Waiting list|Queue")) + "\n" +
			wait +
			"\n## Notes\n" + pick(r, split("- Late ones get a friendly call.\n|- Clean before it goes back.\n|"+
			"- The key to the cupboard hangs behind the door.\n"))
		files[path.Join(dir, kind[0]+".md")] = text
		return
	}
	files[path.Join(dir, kind[0]+tableExt(bars))] = text
	files[path.Join(dir, pick(r, split("waiting-list|queue"))+".md")] = "# " + pick(r, split("Waiting list|Queue")) +
		"\n\n" + wait
	files[path.Join(dir, pick(r, split("how-we-lend|lending-rules|about-loans"))+pick(r, split(".md|.txt")))] =
		"How we lend\n\n" + rule + "\nWhat is out can be put on the waiting list, at its end.\n" +
			pick(r, split("Nothing goes out without a name.|Whoever breaks something says so.")) + "\n"
}
