package folders

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// addNumbered is a list of numbered rules with the day of the last change, in some kits with the same in short
// elsewhere and a line that both are kept in step; or an agenda.
func addNumbered(r *rand.Rand, files map[string]string, top string) {
	if r.IntN(3) == 0 {
		addAgenda(r, files, top)
		return
	}
	kind := strings.Split(pick(r, split("hut;Keys;hang behind the bar|hut;Keys;hang behind the bar|"+
		"studio;Kiln;fired by two people|boathouse;Oars;back on the rack|workshop;Machines;only after the course|"+
		"library;Books;four at a time|garden;Hoses;rolled up by evening|kitchen;Knives;washed by hand|"+
		"gym;Mats;wiped down after use")), ";")
	rules := [][3]string{{kind[1], kind[2], strings.ToLower(kind[1]) + " " + kind[2]},
		{"Guests", "two for each member", "two guests at most"}, {"Dogs", "on a lead, never inside", "no dogs inside"},
		{"Smoking", "outside, by the bench", "smoke outside"}, {"Damage", "is told the same day",
			"tell us what breaks"},
		{"Shoes", "off at the door", "shoes off"}, {"Fridge", "write your name on it", "names on food"},
		{"Windows", "shut before you leave", "shut the windows"}, {"Fees", "are due in March", "pay in March"}}
	heads, mark := r.IntN(2) == 0, pick(r, split(".|.|)"))
	day := someDay(r, 1, 10)
	form := dayForm(r)
	title := strings.ToUpper(kind[0][:1]) + kind[0][1:]
	text := "# Rules of the " + kind[0] + "\n\n"
	if pick := r.IntN(4); pick > 0 {
		text += split("|Last changed: |Last change: |Updated on ")[pick] + day.Format(form) + "\n\n"
	}
	short := "# Welcome\n\nGood to have you here. In short:\n\n"
	order := append([]int{0}, r.Perm(len(rules) - 1)[:4+r.IntN(4)]...)
	for i, at := range order {
		if i > 0 {
			at++
		}
		if rule := rules[at]; heads {
			text += fmt.Sprintf("%d%s %s: %s\n", i+1, mark, rule[0], rule[1])
		} else {
			text += fmt.Sprintf("%d%s %s %s.\n", i+1, mark, rule[0], strings.NewReplacer("write your name on it",
				"goods have a name on them", "on a lead", "are on a lead", "two for", "number two for", "off at",
				"come off at", "outside,", "is outside,", "shut before", "are shut before").Replace(rule[1]))
		}
		if i%3 < 2 {
			short += "- " + rules[at][2] + "\n"
		}
	}
	long := pick(r, split("rules|house-rules|ground-rules")) + pick(r, split(".md|.md|.txt"))
	dir := path.Join(top, pick(r, []string{"", kind[0], "house"}))
	files[path.Join(dir, long)] = text + pick(r, []string{"", "\nQuestions? Ask at the desk.\n"})
	if r.IntN(3) == 0 {
		return
	}
	sheet := pick(r, split("welcome.md|leaflet.md|notice-board.txt"))
	files[path.Join(dir, sheet)] = short + "\nEnjoy your time in the " + title + "!\n"
	files[path.Join(dir, pick(r, split("how-we-do-it.md|conventions.txt|office-ways.md")))] = fmt.Sprintf(pick(r,
		split("- %s is the long form of the rules, %s has the short form. Keep both in step, new "+
			"lines in the short one go to its end.\n|"+
			"- Whatever changes in %s also gets a line at the end of %s, the two go together.\n|"+
			"- The rules stand in %s, and in short in %s: both are changed alike, in short at the end.\n")), long,
		sheet) +
		"- The day at the top is that of the last change.\n- Letters are kept for two years.\n"
}

// addAgenda is an agenda of numbered points.
func addAgenda(r *rand.Rand, files map[string]string, top string) {
	day := someDay(r, 1, 12)
	points := split("Welcome|Letter of the town|Accounts|Summer party|Repair of the roof|New members|Insurance|" +
		"Dates for next year|Rent of the hall|Any other business")
	text := "# Agenda, " + day.Format("2 January 2006") + "\n\n"
	n := 0
	for i, point := range points {
		if i == 0 || i == len(points)-1 || r.IntN(4) > 0 {
			n++
			text += fmt.Sprintf("%d. %s\n", n, point)
		}
	}
	files[path.Join(top, pick(r, []string{"", "meetings"}), "agenda-"+day.Format("2006-01-02")+
		pick(r, split(".md|.txt")))] = text + pick(r, []string{"", "\nSend more points to the office.\n"})
}
