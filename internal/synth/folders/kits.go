package folders

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// addKits puts some groups of files into a folder that belong together, as people have them. Of those whose files have
// to be read together there are more: who has what and what was paid, what was sold and at which prices, who takes
// what, a log and the book of it, orders, places with their states and chores, stays with the rule by which they are
// charged, and a letter to be filled in. The others
// are a list of names and numbers, a programme, minutes, expenses, notes with spaces in their names, hires and turns.
// Mostly there is what a house has to know.
func addKits(r *rand.Rand, files map[string]string, top string, names, people []string) {
	linked := []func(){
		func() { addSales(r, files, top) },
		func() { addDues(r, files, top, people) },
		func() { addLending(r, files, top, people) },
		func() { addTwins(r, files, top) },
		func() { addOrders(r, files, top, people) },
		func() { addPlaces(r, files, top) },
		func() { addStays(r, files, top) },
	}
	others := []func(){
		func() { addContacts(r, files, top, people) },
		func() { addProgramme(r, files, top) },
		func() { addMinutes(r, files, top, names) },
		func() { addExpenses(r, files, top) },
		func() { addSpaced(r, files, top, names) },
		func() { addHires(r, files, top, people) },
		func() { addTurns(r, files, top, people) },
	}
	if r.IntN(4) > 0 {
		addHouse(r, files, top)
	}
	for _, i := range r.Perm(len(linked))[:4] {
		linked[i]()
	}
	for _, i := range r.Perm(len(others))[:2] {
		others[i]()
	}
	if r.IntN(2) == 0 {
		addLetter(r, files, top)
	}
}

// addPlaces are two tables of the same places, how they are and who looks after them, and a list of chores there.
func addPlaces(r *rand.Rand, files map[string]string, top string) {
	kind := strings.Split(pick(r, split("room;North Hall,Garden Room,Long Attic,Music Cellar,Back Kitchen,Red Salon;"+
		"air,sweep,repaint|boat;Sea Otter,Grey Heron,Wild Duck,Old Pike,Little Tern,Blue Swan;scrub,varnish,pump out|"+
		"hut;Pine Hut,Ridge Hut,Lake Hut,Fern Hut,Miller Hut,Upper Hut;heat,sweep,restock|"+
		"van;White Maria,Big Otto,Green Olga,Slow Hugo,Little Emma,Lucky Karl;wash,refuel,vacuum")), ";")
	all, does := strings.Split(kind[1], ","), strings.Split(kind[2], ",")
	states, keepers := kind[0]+",state,places\n", kind[0]+",keeper,day\n"
	who := persons(r, nil, 3)
	chores := "# Chores\n\n"
	for _, i := range r.Perm(len(all)) {
		states += fmt.Sprintf("%s,%s,%d\n", all[i], pick(r, split("ready|closed|let|in repair")), 4+r.IntN(30))
		keepers += all[i] + "," + pick(r, who) + "," + pick(r, split("Monday|Wednesday|Friday|Saturday")) + "\n"
		if r.IntN(3) > 0 {
			chores += pick(r, split("- [ ] |- [ ] |- [x] ")) + pick(r, does) + " " + all[i] + "\n"
		}
	}
	chores += "- [ ] " + pick(r, newItems()) + "\n"
	_, many := programs.Nouns(kind[0])
	files[path.Join(top, many+".csv")] = states
	files[path.Join(top, pick(r, split("keepers|care|looked-after"))+".csv")] = keepers
	files[path.Join(top, pick(r, split("chores|jobs|to-do"))+".md")] = chores
}

// addStays is who has something for how long, what was paid for it, and elsewhere what it costs and by which rule.
func addStays(r *rand.Rand, files map[string]string, top string) {
	kind := strings.Split(pick(r, split("stays;guest;night;dog;A stay|pitches;camper;night;caravan;A pitch|"+
		"canoe-trips;paddler;day;transfer;A trip|workspaces;tenant;month;parking;A desk|"+
		"courses;student;lesson;exam;A course|hall-bookings;group leader;evening;kitchen;A booking")), ";")
	one, flag := kind[2], kind[3]
	text := strings.ReplaceAll(kind[1], " ", "_") + "," + one + "s," + flag + ",paid\n"
	each := 500 + 50*r.IntN(60)
	for _, who := range persons(r, nil, 5+r.IntN(3)) {
		n := 2 + r.IntN(9)
		text += fmt.Sprintf("%s,%d,%s,%d.00\n", who, n, pick(r, split("yes|no")), pick(r, []int{0, n * each / 300,
			10 * (1 + r.IntN(n*each/2000+1))}))
	}
	files[path.Join(top, kind[0]+".csv")] = text
	files[path.Join(top, pick(r, split("price-list|charges|our-prices"))+pick(r, split(".txt|.yaml")))] = fmt.Sprintf(
		"price per %s: %s\n%s fee: %d.%d0\nlost card: 9.00\n", one, money(each), flag, 3+r.IntN(30), 5*r.IntN(2))
	files[path.Join(top, pick(r, split("how-we-charge|billing|charging"))+pick(r, split(".txt|.md")))] = fmt.Sprintf(
		pick(r, split("How we charge\n\n%s costs its %ss times the price per %s, plus the %s fee once if %s is yes, "+
			"less what was paid.|What is to pay\n\n%s: %ss times price per %s; where %s is yes the %s fee comes on "+
			"top, once; what is paid already is taken off.")), kind[4], one, one, flag, flag) +
		"\nReceipts are sent out on Fridays.\n"
}

// addHires is who has something for how many hours or days, and elsewhere what one of them costs.
func addHires(r *rand.Rand, files map[string]string, top string, people []string) {
	one := pick(r, split("hour|day|week|night"))
	text := "customer,gear," + one + "s,paid\n"
	goods := split("cargo bike|big tent|sound system|beamer|canoe|party tent|trailer|floor sander|hall")
	for i, who := range persons(r, people, 5+r.IntN(4)) {
		text += fmt.Sprintf("%s,%s,%d,%s\n", who, goods[(i+r.IntN(3))%len(goods)], 2+r.IntN(9),
			pick(r, split("yes|no")))
	}
	files[path.Join(top, pick(r, split("hires|loans|rentals"))+".csv")] = text
	prices := fmt.Sprintf("price per %s: %d.%d0\ncleaning fee: %d.00\nopening hours: %d to 18\n", one, 4+r.IntN(40),
		5*r.IntN(2), 5+r.IntN(20), 8+r.IntN(3))
	files[path.Join(top, pick(r, split("tariff|terms|conditions"))+pick(r, []string{".txt", ".yaml"}))] = prices
}

// addDues is who has which of some numbered things, what was paid for them by their numbers, and what one of each size
// costs.
func addDues(r *rand.Rand, files map[string]string, top string, people []string) {
	one := pick(r, split("locker|berth|desk|studio|stall|parking bay"))
	key := strings.ReplaceAll(one, " ", "_")
	_, many := programs.Nouns(one)
	things, dues, rates := key+",holder,size,since\n", "date,"+key+",amount,how\n", "per year, in euros\n\n"
	cost := map[string]int{}
	last := 15
	for _, size := range split("small|medium|large") {
		last += 5 + 5*r.IntN(6)
		cost[size] = last
		rates += fmt.Sprintf("%s: %d.00\n", size, last)
	}
	all := persons(r, people, 6+r.IntN(4))
	var has []string
	for i, who := range all {
		has = append(has, pick(r, split("small|medium|large")))
		things += fmt.Sprintf("%d,%s,%s,%d\n", i+1, who, has[i], 2012+r.IntN(13))
	}
	day := 2
	for _, i := range r.Perm(len(all))[:len(all)-1-r.IntN(2)] {
		parts := []int{cost[has[i]]}
		if part := 5 * (1 + r.IntN(cost[has[i]]/5-1)); r.IntN(3) == 0 {
			parts = [][]int{{part}, {part, cost[has[i]] - part}}[r.IntN(2)]
		}
		for _, part := range parts {
			day += r.IntN(3)
			dues += fmt.Sprintf("2026-03-%02d,%d,%d.00,%s\n", day, i+1, part, pick(r, split("bank|cash|card")))
		}
	}
	files[path.Join(top, slug(many)+".csv")] = things
	files[path.Join(top, pick(r, split("dues|payments|income"))+".csv")] = dues
	files[path.Join(top, pick(r, split("rates|yearly-rates|what-it-costs"))+".txt")] = rates
}

// addHouse is what has to be known in a house: codes, fees, hours and who is asked, in one file, or in parts below
// headings. Other files of a folder have words of it, which are about something else.
func addHouse(r *rand.Rand, files map[string]string, top string) {
	facts := split("door code=4417|door code=B-2095|alarm code=7731|wifi password=blue-kettle-9|wifi name=Attic 2|" +
		"opening hours=9:00 to 17:30|late fee=12.50|late fee=8.00|yearly fee=36.00|deposit=25.00|" +
		"emergency number=555-0909|bin day=Thursday|fuse box=behind the coats|spare key=with the neighbours|" +
		"parking permit=P-3381|insurance number=HV 20-771|bank account=NL00 BANK 0123|caretaker=Mr Haas|" +
		"meeting place=back room|closing date=2026-11-30|heating contract=K-5520|guest limit=14|" +
		"discount for members=15 percent|price per hour=22.00|price per day=95.00")
	name := pick(r, split("info|settings|handbook|facts|basics|good-to-know"))
	yaml := name == "settings" || r.IntN(4) == 0
	var lines []string
	used, remarks := map[string]bool{}, ""
	for _, i := range r.Perm(len(facts))[:7+r.IntN(6)] {
		key, value, _ := strings.Cut(facts[i], "=")
		if used[key] {
			continue
		}
		used[key] = true
		if word := pick(r, strings.Fields(key)); len(word) > 3 && r.IntN(2) == 0 {
			remarks += strings.ReplaceAll(pick(r, split("Anna asked about the *.|The * is on the agenda in May.|"+
				"Tom takes care of the *.|Nobody is happy with the new *.|Who pays for the *?")), "*", word) + "\n"
		}
		if yaml {
			key = "  " + strings.ReplaceAll(key, " ", "_")
		} else {
			key = strings.ToUpper(key[:1]) + key[1:]
		}
		lines = append(lines, key+": "+value)
	}
	if remarks != "" {
		files[path.Join(top, pick(r, split("remarks|messages|open-questions|talk"))+".txt")] = remarks
	}
	half := len(lines) / 2
	first, second := strings.Join(lines[:half], "\n")+"\n", strings.Join(lines[half:], "\n")+"\n"
	if yaml {
		files[path.Join(top, name+".yaml")] = "house:\n" + first + "office:\n" + second
		return
	}
	files[path.Join(top, name+pick(r, []string{".md", ".txt"}))] = first + "\n" + second
}

// persons are some of the persons of a folder, and else new ones.
func persons(r *rand.Rand, people []string, n int) (list []string) {
	for _, i := range r.Perm(len(people)) {
		if len(list) < n && fullName.MatchString(people[i]) && !slices.Contains(list, people[i]) {
			list = append(list, people[i])
		}
	}
	for len(list) < n {
		if name, _ := programs.NameOf(r, "person"); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// addContacts is a list with wide gaps: names and how they are reached, or since when they wait.
func addContacts(r *rand.Rand, files map[string]string, top string, people []string) {
	waiting := r.IntN(3) == 0
	name := pick(r, split("phone-list|people|addresses|helpers|volunteers"))
	if waiting {
		name = pick(r, split("requests|applications|reservations|sign-ups"))
	}
	text := ""
	day := 1 + r.IntN(9)
	for _, who := range persons(r, people, 5+r.IntN(4)) {
		line := ""
		if waiting {
			line = fmt.Sprintf("2026-0%d-%02d  ", 1+day/28, 1+day%28)
			day += 2 + r.IntN(7)
		}
		line = padded(line+who, 20+len(line))
		if waiting {
			line += pick(r, split("two places|one place|from May on|weekends only|any time|asks for a discount"))
		} else {
			mail := strings.ReplaceAll(slug(who), "-", ".") + "@post.example"
			line += fmt.Sprintf("555-%04d   ", r.IntN(10000)) + mail
			if r.IntN(4) == 0 {
				line += "   " + pick(r, split("keys|treasurer|first aid|drives the van|evenings only"))
			}
		}
		text += line + "\n"
	}
	files[path.Join(top, name+".txt")] = text
}

// addSales is what was sold, what each costs and how many there were.
func addSales(r *rand.Rand, files map[string]string, top string) {
	goods := strings.Split(pick(r, split("rye loaf;seed roll;plum cake;oat biscuit;cheese stick;apple pie|"+
		"wall calendar;gift card;ink bottle;sketch book;glue stick;paper star|"+
		"basil pot;mint pot;clay pot;seed bag;plant label;watering can|"+
		"coffee;tea;lemonade;waffle;soup;sandwich|bike bell;inner tube;chain oil;pump;patch kit;rear light")), ";")
	dir := path.Join(top, pick(r, split("stall|shop|market|sales")))
	yaml := r.IntN(2) == 0
	prices, sold, stock := "", "", "item,count\n"
	if yaml {
		prices = "currency: EUR\n"
	} else {
		prices = "item,price\n"
	}
	some := 3 + r.IntN(2)
	for i, thing := range goods {
		price := fmt.Sprintf("%d.%02d", 1+r.IntN(14), 10*r.IntN(10))
		if yaml {
			prices += thing + ": " + price + "\n"
		} else {
			prices += thing + "," + price + "\n"
		}
		if i < some {
			sold += fmt.Sprintf("%d x %s\n", 1+r.IntN(7), thing)
		}
		stock += fmt.Sprintf("%s,%d\n", thing, 8+r.IntN(40))
	}
	files[path.Join(dir, "prices"+map[bool]string{true: ".yaml", false: ".csv"}[yaml])] = prices
	files[path.Join(dir, fmt.Sprintf("%s-2026-0%d-%02d.txt", pick(r, split("sold|sold|order|delivered")), 1+r.IntN(9),
		1+r.IntN(28)))] = sold
	files[path.Join(dir, "stock.csv")] = stock
}

// addProgramme is a table with how long each thing takes, and a list of some of them.
func addProgramme(r *rand.Rand, files map[string]string, top string) {
	name := pick(r, split("talks|videos|pieces|episodes|lessons"))
	text, first := "title,speaker,length,room\n", r.IntN(12)
	titles := split("Bees in Town|Mending Chairs|The Quiet Valley|Rivers at Night|A Small Harbour|Bread for All|" +
		"Walking North|The Red Lamp|Maps and Weather|Glass and Sand|Seven Gardens|Old Wells")
	list := ""
	n := 6 + r.IntN(3)
	for i := range n {
		title := titles[(first+i)%len(titles)]
		who, _ := programs.NameOf(r, "person") // persons have names
		text += fmt.Sprintf("%s,%s,%d:%02d,%s\n", title, who, 3+r.IntN(25), r.IntN(60), pick(r, split("A1|A2|Hall")))
		if i%2 == first%2 || i == n-1 {
			list += fmt.Sprintf("%d. %s\n", 1+strings.Count(list, "\n"), title)
		}
	}
	files[path.Join(top, name+".csv")] = text
	files[path.Join(top, pick(r, split("programme|friday|evening|selection-a|opening"))+".txt")] = list
}

// addMinutes are minutes of meetings, each with what was decided and what is to be done.
func addMinutes(r *rand.Rand, files map[string]string, top string, names []string) {
	who := split("Anna|Tom|Mila|Jon|Ines|Paul|Rosa")
	month := 1 + r.IntN(8)
	chores := newItems()
	for k := range 2 + r.IntN(2) {
		day := fmt.Sprintf("2026-%02d-%02d", month+k, 2+r.IntN(26))
		text := "# Meeting of " + day + "\n\nPresent: " + strings.Join(who[r.IntN(3):4+r.IntN(3)], ", ") +
			"\n\n## Decided\n\n- " + pick(r, split("The hall is painted in spring.|No smoking near the door.|"+
			"Guests pay half.|The old sign stays.")) + "\n- " + pick(r, split("We buy two benches.|Keys go back "+
			"by Friday.|The newsletter comes out each month.")) + "\n\n## To do\n\n"
		for range 2 + r.IntN(3) {
			chore := chores[r.IntN(len(chores))]
			if len(names) > 0 && r.IntN(3) == 0 {
				chore = pick(r, split("write to |call |thank ")) + pick(r, names)
			}
			text += pick(r, split("- [ ] |- [ ] |- [x] ")) + pick(r, who) + ": " + chore + "\n"
		}
		files[path.Join(top, "minutes", day+".md")] = text
	}
}

// addLetter is a letter with blanks, which the columns of a file of rows fill.
func addLetter(r *rand.Rand, files map[string]string, top string) {
	coded := func(file string) int { // whose rows have a number or a code, by which a letter for each is called
		if _, rows, _ := strings.Cut(files[file], "\n"); hasDigit.MatchString(strings.SplitN(rows, ",", 2)[0]) {
			return 0
		}
		return 1
	}
	list := slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(files))),
		func(a, b string) int { return coded(a) - coded(b) })
	for _, file := range list {
		text := files[file]
		header := strings.Split(strings.SplitN(text, "\n", 2)[0], ",")
		if path.Ext(file) != ".csv" || len(header) < 3 {
			continue
		}
		open, shut := "{", "}"
		if r.IntN(3) == 0 {
			open, shut = "[", "]"
		}
		to := "About: " + open + header[0] + shut
		if cells := strings.SplitN(strings.SplitN(text, "\n", 3)[1], ",", 2); fullName.MatchString(cells[0]) {
			to = "Dear " + open + header[0] + shut + ","
		}
		letter := to + "\n\n" + pick(r, split("this is what we have noted|our list "+
			"says|here is what we know")) + ":\n"
		for _, i := range r.Perm(len(header) - 1)[:1+r.IntN(min(2, len(header)-1))] {
			words := programs.Words(header[1+i])
			letter += strings.ToUpper(words[:1]) + words[1:] + ": " + open + header[1+i] + shut + "\n"
		}
		letter += "\n" + pick(r, split("Please tell us if that is wrong.|Is that right?|Thank you!")) + "\n\n" +
			pick(r, split("The office|Your team|Ines, reception")) + "\n"
		files[path.Join(top, "letters", pick(r, split("check|form-letter|confirmation|standard"))+".txt")] = letter
		return
	}
}

// addExpenses is who paid what.
func addExpenses(r *rand.Rand, files map[string]string, top string) {
	who := split(pick(r, []string{"Anna|Tom|Mila", "Jon|Ines|Paul|Rosa", "Kim|Lena|Omar"}))
	text, day := "date,payer,what,amount\n", 1
	things := split("fuel|stamps|paint|flowers|printer ink|coffee|rent of the hall|cables|biscuits|tickets")
	for _, i := range r.Perm(len(things))[:6+r.IntN(4)] {
		day += r.IntN(3)
		text += fmt.Sprintf("2026-05-%02d,%s,%s,%d.%02d\n", day, pick(r, who), things[i], 3+r.IntN(120), 5*r.IntN(20))
	}
	dir := path.Join(top, pick(r, []string{"", "money", "accounts"}))
	files[path.Join(dir, pick(r, split("spending|costs|receipts"))+".csv")] = text
}

// addSpaced are notes whose names have spaces.
func addSpaced(r *rand.Rand, files map[string]string, top string, names []string) {
	dir := path.Join(top, pick(r, split("texts|drafts|papers")))
	for _, i := range r.Perm(4)[:2+r.IntN(2)] {
		name := split("summer fair|house rules|open letter|first draft")[i]
		files[path.Join(dir, name+".txt")] = proseText(r, names)
	}
}
