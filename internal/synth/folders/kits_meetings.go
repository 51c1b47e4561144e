package folders

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// addStayList is a table of who has a place or a thing from when to when.
func addStayList(r *rand.Rand, files map[string]string, top string) {
	thing := pick(r, split("hut|boathouse|guest-room|camper-van|barn|cabin|studio|holiday-flat|party-tent|lodge"))
	heads := strings.Split(pick(r, split("from,to,guest,people|arrival,departure,name,persons|begins,ends,group,heads|"+
		"first day,last day,booked by,beds|in,out,family,persons")), ",")
	form := dayForm(r)
	names := persons(r, nil, 9)
	if r.IntN(2) == 0 {
		names = split("Choir|Kellers|Rowers|Scouts|Marshes|Class 4b|Readers|Ortegas|Year 9")
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	status := r.IntN(3) > 0
	if status {
		heads = append(heads, pick(r, split("status|state")))
	}
	var rows [][]string
	day := someDay(r, 2, 6)
	for i := range 6 + r.IntN(3) {
		end := day.AddDate(0, 0, 2+r.IntN(7))
		row := []string{day.Format(form), end.Format(form), names[i], fmt.Sprint(1 + r.IntN(9))}
		if status {
			row = append(row, pick(r, split("fixed|fixed|fixed|asked|cancelled")))
		}
		rows = append(rows, row)
		if day = end; r.IntN(3) > 0 {
			day = end.AddDate(0, 0, 1+r.IntN(9))
		}
	}
	bars := r.IntN(2) == 0
	files[path.Join(top, pick(r, []string{"", "", "bookings"}), thing+pick(r, split("-bookings|-calendar|-2026"))+
		tableExt(bars))] = tableText(bars, strings.ReplaceAll(strings.ToUpper(thing[:1])+thing[1:], "-", " "),
		pick(r, []string{"", "Bring your own sheets.", "The key is at the bakery."}), heads, rows)
}

// addMeetings are minutes, a list of what is open and what was decided, and the rule that minutes are not changed.
func addMeetings(r *rand.Rand, files map[string]string, top string) {
	dir := path.Join(top, pick(r, split("meetings|board|committee|council")))
	who, form := callNames(r, 5), dayForm(r)
	topics := split("colour of the door|new oven|opening on Sundays|price of a ticket|bench by the pond|name of " +
		"the boat|" +
		"date of the fair|fence or hedge|heating in the hall|who keeps the books|second key|lamps for the path")
	order := r.Perm(len(topics))
	first := someDay(r, 1, 5)
	decided := split("agreed, as proposed.|yes, with one vote against.|settled, we take the cheaper one.|no, by " +
		"five votes.|" +
		"agreed after some talk.|yes, from next month on.")
	open := split("put off, nobody was sure.|left open until there are figures.|no decision yet.|postponed.")
	list, done := "", ""
	for i, at := range order[:6] {
		if i < 2 {
			done += "- [x] " + topics[at] + " (" + first.Format(form) + ")\n"
		} else {
			list += "- [ ] " + topics[at] + "\n"
		}
	}
	files[path.Join(dir, pick(r, split("open-questions|open-points|questions"))+".md")] = "# " +
		pick(r, split("Our questions|What we have to decide")) + "\n\n## " + pick(r,
		split("Open|Open questions|To be decided")) +
		"\n" + list + "\n## " + pick(r, split("Decided|Settled")) + "\n" + done
	for k := range 2 {
		day := first.AddDate(0, k, 3*k)
		text := "# Minutes of " + day.Format("2 January 2006") + "\n\nChair: " + who[k] + "\nSecretary: " + who[k+1] +
			"\nStart: " + pick(r, split("18:30|19:00|19:30|20:15")) + "\nPlace: " + pick(r,
			split("Mill|Library|Townhall")) + "\n\n"
		points := []string{"Letters: " + who[3] + " writes to the town."}
		for i, at := range order[:6] {
			topic := strings.ToUpper(topics[at][:1]) + topics[at][1:]
			switch {
			case k == 0 && i < 2, k == 1 && (i == 2 || i == 3 && r.IntN(2) == 0):
				points = append(points, topic+": "+pick(r, decided))
			case k == 1 && i == 4 || k == 0 && i == 3:
				points = append(points, topic+": "+pick(r, open))
			}
		}
		r.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		for i, point := range points {
			text += fmt.Sprintf("%d. %s\n", i+1, point)
		}
		files[path.Join(dir, day.Format("2006-01-02")+pick(r, split("-minutes.md|-minutes.md|.md")))] = text
	}
	rules := []string{pick(r, split("- Minutes are not changed afterwards. What is wrong gets a line at their "+
		"very end: "+
		"Correction (DAY): ...|- Nobody edits minutes once they are out; at the end comes Correction (DAY): and "+
		"what is right.|"+
		"- The minutes stay as they are. Mistakes: \"Correction (DAY): ...\" as the last line, at the end.")),
		"- Letters are answered within a week.", "- The list of questions is kept by " + who[4] + "."}
	slices.Sort(rules[1:])
	files[path.Join(dir, pick(r, split("README.md|how-we-work.md|ways.txt")))] = strings.ReplaceAll(
		strings.Join(rules, "\n"), "DAY", someDay(r, 1, 3).Format(form)) + "\n"
}

// addJournal is a log with the newest entry on top.
func addJournal(r *rand.Rand, files map[string]string, top string) {
	kind := strings.Split(pick(r, split("fishing-log;Fishing;mill pond,old "+
		"canal,weir;water,bait,catch;clear,muddy,high;"+
		"worms,bread,flies;3 trout,nothing,two perch|"+
		"bird-counts;Birds;reed belt,quarry,harbour;weather,glasses,seen;dry,light rain,fog;8x42,scope,none;"+
		"2 herons,14 coots,one osprey|"+
		"walks;Walks;north ridge,river path,moor;weather,hours,way;sunny,windy,rain;3,4.5,2;dry,muddy,icy|"+
		"bee-diary;Bees;hive A,hive B,hive C;mood,honey,done;calm,restless,busy;4 kg,none,11 kg;new "+
		"frames,fed,nothing|"+
		"kiln-log;Kiln;small kiln,big kiln,raku kiln;top,hours,result;1240 degrees,1060 degrees,980 degrees;9,11,7;"+
		"good,two cracked,dull glaze|"+
		"sailing;Sailing;west bay,lock,lighthouse;wind,sails,miles;4 from west,2 from south,5 gusty;main and jib,"+
		"main only,reefed;12,7,21|"+
		"rehearsals;Rehearsals;chapel,school hall,barn;piano,work,note;Edda,none,Theo;first part,finale,both songs;"+
		"slow,good,too loud")), ";")
	form, mark, and := dayForm(r), pick(r, split(", | - |; ")), pick(r, split(" + | & | and |/"))
	if r.IntN(4) == 0 {
		mark = " | "
	}
	who, day := callNames(r, 4), someDay(r, 5, 5)
	places, keys := strings.Split(kind[2], ","), strings.Split(kind[3], ",")
	text := "# " + kind[1] + "\n\n" + pick(r, split("Newest on top.|The last one comes first.|New entries go on "+
		"top, in "+
		"the same form.")) + "\n"
	for range 3 + r.IntN(3) {
		i := r.IntN(3)
		text += "\n## " + strings.Join([]string{day.Format(form), pick(r, places), who[i] + and + who[i+1]}, mark) +
			"\n"
		for k, key := range keys {
			text += "- " + key + ": " + pick(r, strings.Split(kind[4+k], ",")) + "\n"
		}
		day = day.AddDate(0, 0, -3-r.IntN(20))
	}
	files[path.Join(top, pick(r, []string{"", "", "logs"}), kind[0]+".md")] = text
}
