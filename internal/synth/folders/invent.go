package folders

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"hone/internal/synth/programs"
)

// Invent draws a folder as a small business has one: tables of the domain with that index as files of rows, or as a
// file for each thing; lists, settings, a journal and notes.
func Invent(r *rand.Rand, index int) *Folder {
	w := programs.Invent(r, index)
	files := map[string]string{}
	top := ""
	if r.IntN(3) == 0 {
		top = pick(r, split("data|files|office|team|work"))
	}
	var names, people []string
	for _, t := range w.Tables {
		header, rows := t.Plain()
		if t.Label < 0 || len(header) < 2 {
			continue
		}
		for _, row := range rows {
			if names = append(names, row[0]); t.OfPeople() {
				people = append(people, row[0])
			}
		}
		if len(rows) >= leastOfGroup && len(header) <= 7 && r.IntN(5) < 2 {
			addNotes(r, files, path.Join(top, slug(t.Many)), header, rows[:min(len(rows), 3+r.IntN(4))])
		} else {
			files[path.Join(top, slug(t.Many)+".csv")] = rowsText(header, rows[:min(len(rows), 14)])
		}
	}
	lists := path.Join(pick(r, []string{"", "", "lists", "notes"}), "")
	for _, i := range r.Perm(len(listNames()))[:2+r.IntN(3)] {
		files[path.Join(lists, listNames()[i]+pick(r, []string{".txt", ".md"}))] = listText(r, listNames()[i])
	}
	if r.IntN(3) > 0 {
		dir := pick(r, []string{"", "config", "settings"})
		for _, name := range split("default|test|live")[:1+r.IntN(3)] {
			files[path.Join(dir, name+".json")] = settingsText(r)
		}
	}
	if r.IntN(2) == 0 {
		for day := range 1 + r.IntN(3) {
			files[path.Join("logs", fmt.Sprintf("2026-%02d-%02d.log", 1+index%12, 3+day))] = journalText(r, names)
		}
	}
	for range 1 + r.IntN(3) {
		name := pick(r, split("notes|meeting|visit|phone-calls|ideas-2026|welcome|rules|history"))
		files[path.Join(pick(r, []string{"", "", "notes", "letters"}),
			name+pick(r, []string{".md", ".txt"}))] = proseText(r, names)
	}
	addKits(r, files, top, names, people)
	if r.IntN(2) == 0 && top == "" {
		files[pick(r, split("README.md|README.md|index.md|overview.txt"))] =
			pick(r, split("# What is where|# Our files|# The papers of the office")) + "\n\n" + guideText(files)
	}
	for file, text := range files {
		if len(text) > mostText {
			delete(files, file)
		}
	}
	return Of(files, nil)
}

// slug is a name as a file has it.
func slug(name string) string {
	plain := strings.NewReplacer("ł", "l", "Ł", "L", "ø", "o", "Ø", "O", "ß", "ss", "ı", "i", "đ", "d", "Đ", "D").
		Replace(norm.NFD.String(name))
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case unicode.Is(unicode.Mn, c): // an accent that stood on a letter
			return -1
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		case c == '\'':
			return -1
		}
		return '-'
	}, strings.ToLower(plain)), "-")
}

func rowsText(header []string, rows [][]string) string {
	text := strings.Join(header, ",") + "\n"
	for _, row := range rows {
		cells := slices.Clone(row)
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], ",", "")
		}
		text += strings.Join(cells, ",") + "\n"
	}
	return text
}

// addNotes makes a file for each row.
func addNotes(r *rand.Rand, files map[string]string, dir string, header []string, rows [][]string) {
	ext, mark, title, behind := pick(r, []string{".md", ".txt", ".txt", ".yaml"}), ": ", r.IntN(2) == 0, r.IntN(3) == 0
	if ext == ".txt" && r.IntN(3) == 0 {
		mark = " = "
	}
	for _, row := range rows {
		var b strings.Builder
		if title && ext == ".md" {
			b.WriteString("# " + row[0] + "\n\n")
		} else if ext != ".yaml" {
			b.WriteString(row[0] + "\n\n")
		}
		for i := 1; i < len(header); i++ {
			if row[i] != "" {
				key := programs.Words(header[i])
				if ext != ".yaml" {
					key = strings.ToUpper(key[:1]) + key[1:]
				} else {
					key = strings.ReplaceAll(key, " ", "_")
				}
				b.WriteString(key + mark + row[i] + "\n")
			}
		}
		if behind && ext == ".md" {
			b.WriteString("\n## Notes\n")
			for range 3 {
				b.WriteString("- " + programs.Fact(r) + "\n")
			}
		}
		if name := slug(row[0]); name != "" {
			files[path.Join(dir, name+ext)] = b.String()
		}
	}
}

func listNames() []string {
	return split("shopping|packing|todo|repairs|wishlist|party|weekend|garden|camping|orders|errands|spring-cleaning")
}

// goods are things that lists have an amount of.
func goods() []string {
	return split("butter|flour|rope|screws|apples|potting soil|onions|olive oil|tea lights|paper " +
		"plates|carrots|sugar|cable|gravel|lentils|lemonade|nails|oats|paint|sandpaper|tomatoes|yarn|charcoal|" +
		"milk powder")
}

// listText is a list: bare lines, bullets, boxes, or two headings with entries below.
func listText(r *rand.Rand, name string) string {
	all := newThings()
	if slices.Contains(split("todo|repairs|errands|garden|weekend|spring-cleaning"), name) {
		all = newChores()
	}
	var items []string
	for _, i := range r.Perm(len(all))[:5+r.IntN(8)] {
		items = append(items, all[i])
	}
	if r.IntN(3) == 0 && all[0] == newThings()[0] { // with amounts
		items = nil
		for _, i := range r.Perm(len(goods()))[:4+r.IntN(6)] {
			items = append(items, pick(r, amounts())+" "+goods()[i])
		}
	}
	switch r.IntN(4) {
	case 0:
		return strings.Join(items, "\n") + "\n"
	case 1:
		return "# " + strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ") + "\n\n- " +
			strings.Join(items, "\n- ") + "\n"
	case 2:
		text := ""
		for _, item := range items {
			text += pick(r, []string{"- [ ] ", "- [ ] ", "- [x] "}) + item + "\n"
		}
		return text
	}
	two := split(pick(r, split("Urgent;Later|Indoors;Outdoors|Anna;Tom|To buy;To borrow|This week;Next week")))
	heads := strings.Split(two[0], ";")
	n := len(items) / 2
	return "## " + heads[0] + "\n- " + strings.Join(items[:n], "\n- ") + "\n\n## " + heads[1] + "\n- " +
		strings.Join(items[n:], "\n- ") + "\n"
}

func settingsText(r *rand.Rand) string {
	text, _ := json.MarshalIndent(map[string]any{ // of scalars
		"port":      pick(r, []int{8000, 8080, 3000, 5000, 9090}),
		"host":      pick(r, split("localhost|example.org|intranet.example")),
		"language":  pick(r, split("en|de|fr|es")),
		"log_level": pick(r, split("info|debug|warning")),
		"max_users": 5 + 5*r.IntN(20),
		"backup":    r.IntN(2) == 0,
		"theme":     pick(r, split("light|dark")),
		"timeout":   10 * (1 + r.IntN(9)),
	}, "", "  ")
	return string(text) + "\n"
}

func journalText(r *rand.Rand, names []string) (text string) {
	minute := 8 * 60
	for range 7 + r.IntN(8) {
		minute += 1 + r.IntN(50)
		text += fmt.Sprintf("%02d:%02d %s %s\n",
			minute/60%24, minute%60, pick(r, split("INFO|INFO|INFO|WARNING|ERROR")),
			pick(
				r, split("backup finished|disk is nearly full|login of anna|login of tom|printer not "+
					"found|report sent|mail could not be sent|update installed|connection lost|service started"),
			))
	}
	return text
}

func proseText(r *rand.Rand, names []string) (text string) {
	if r.IntN(2) == 0 {
		text = fmt.Sprintf("Date: 2026-%02d-%02d\nPresent: %s\n\n",
			1+r.IntN(12), 1+r.IntN(28), pick(r, split("Anna, Tom|Mila and Jon|Ines, Paul, Rosa")))
	}
	for range 3 + r.IntN(4) {
		who := pick(r, split("Anna|Tom|Mila|Jon|Ines|Paul|Rosa|Mr Keller|Ms Duarte|the landlord"))
		about := pick(r, split("the delivery|the budget|the summer party|the broken heating|the new shelf|the "+
			"invoice|the parking space"))
		if len(names) > 0 && r.IntN(2) == 0 {
			about = pick(r, names)
		}
		text += fmt.Sprintf(
			pick(r, split("%s asked about %s.|%s wants to talk about %s next week.|%s will take care of %s.|%s is "+
				"not happy with %s.")),
			strings.ToUpper(who[:1])+who[1:], about,
		) + "\n"
	}
	return text
}
