package folders

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

// Kits of files that somebody keeps in step when something happens. Each returns the rules by which that is done, for a
// README; none where the files alone show it.

// events are these kits.
func events() []func(r *rand.Rand, files map[string]string, top string) (rules []string) {
	return []func(*rand.Rand, map[string]string, string) []string{addBookings, addChores, addSubscribers, addInventory,
		addShared, addBudget}
}

// eventKits is how many of them a folder has.
const eventKits = 2

// addRules writes rules into a README, or into a file of their own where that would be long.
func addRules(r *rand.Rand, files map[string]string, rules []string) {
	if len(rules) == 0 {
		return
	}
	r.Shuffle(len(rules), func(i, k int) { rules[i], rules[k] = rules[k], rules[i] })
	text := "- " + strings.Join(rules, "\n- ") + "\n"
	if was := files["README.md"]; was != "" && len(was)+len(text) < mostText {
		files["README.md"] = was + "\n## How we do it\n\n" + text
		return
	}
	file := "README.md"
	if files[file] != "" {
		file = "how-we-do-it.md"
	}
	files[file] = pick(r, split("# How we keep things|# How we do it here|# Please read before you change anything")) +
		"\n\n" + text
}

// table is a table in one of two forms: with commas, or between bars below a heading.
func table(r *rand.Rand, files map[string]string, file, title string, header []string, rows [][]string) {
	bars := r.IntN(3) == 0
	files[file+tableExt(bars)] = tableText(bars, title, "", header, rows)
}

// capital is a text that begins with a capital.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// familyNames are what people are called who book.
func familyNames(r *rand.Rand, n int) (list []string) {
	all := split("Aldous|Brandt|Cabrera|Duval|Eriksen|Fontaine|Grabowski|Hartley|Ilić|Jansen|Kovač|Laurent|Mancini|" +
		"Novotny|Ortega|Pereira|Quist|Rossi|Sandoval|Tanaka|Ueda|Varga|Whelan|Yilmaz|Zeller")
	for _, i := range r.Perm(len(all))[:n] {
		list = append(list, all[i])
	}
	return list
}

// bookingKinds are the words of each kind of bookings: files, columns and values.
func bookingKinds() []string {
	return split(
		"bookings;guest;BK-;room;Sea Room,Tower,Loft,Mill;status;confirmed,asked;cancelled;deposit_paid;deposits;" +
			"changeovers;cleaner;no changeover|" +
			"orders;customer;O-1;cake;Sacher,Linzer,Opera,Marble;state;open,baking;cancelled;prepaid;prepayments;" +
			"deliveries;driver;no trip|" +
			"registrations;family;R;class;Clay,Violin,Circus,Chess;status;in,waiting;withdrawn;fee_paid;fees-in;" +
			"arrivals;host;not coming|" +
			"stalls;trader;S-2;pitch;A1,B4,C2,D7;state;firm,asked;called off;pitch_fee_paid;stall-money;" +
			"set-up;helper;not needed|" +
			"lessons;student;L;instrument;cello,flute,oboe,harp;status;running,new;cancelled;paid;lesson-money;" +
			"timetable;teacher;free slot|" +
			"jobs;client;J-4;item;clock,radio,lamp,organ;status;accepted,asked;dropped;advance_paid;advances;" +
			"bench-plan;mender;bench free|" +
			"tours;group leader;T26-;boat;Heron,Otter,Pike,Swan;state;fixed,provisional;cancelled;down_payment;" +
			"down-payments;crew-plan;skipper;no crew")
}

// leastPaid is how many of some bookings are paid at least.
const leastPaid = 3

// addBookings are things that people booked, ordered or signed up for, with states, what came in for them, and mostly a
// plan with a line for each.
func addBookings(r *rand.Rand, files map[string]string, top string) (rules []string) {
	kind := strings.Split(pick(r, bookingKinds()), ";")
	names, n := familyNames(r, 9), 7+r.IntN(3)
	who := persons(r, nil, 3)
	for i := range who {
		who[i] = strings.Fields(who[i])[0]
	}
	day := time.Date(2026, time.Month(3+r.IntN(5)), 1+r.IntN(20), 0, 0, 0, 0, time.UTC)
	paid, offs := map[int]bool{}, map[int]bool{r.IntN(n): true}
	for range 1 + r.IntN(2) {
		offs[r.IntN(n)] = true
	}
	if len(offs) == n {
		return nil
	}
	var rows, money, plan [][]string
	amount := pick(r, split("50|80.00|120|150.00|40|25.00"))
	hows := strings.Split(pick(r, split("bank;cash;card|transfer;cash|bank;cheque;cash")), ";")
	whose, how := r.IntN(2) == 0, r.IntN(4) > 0
	came := day.AddDate(0, -1, 0)
	form := pick(r, []string{time.DateOnly, time.DateOnly, time.DateOnly, "2 Jan 2006"})
	open := 0
	for i := range n {
		day = day.AddDate(0, 0, 2+r.IntN(6))
		state := pick(r, strings.Split(kind[6], ","))
		if offs[i] {
			state = kind[7]
		}
		paid[i] = !offs[i] && (len(money) < leastPaid || r.IntN(4) > 0) && (open > 1 || i < n-2)
		if !paid[i] && !offs[i] {
			open++
		}
		flag := map[bool]string{true: "yes", false: "no"}[paid[i]]
		code := fmt.Sprintf("%s%02d", kind[2], i+1)
		rows = append(rows, []string{code, day.Format(time.DateOnly), names[i],
			pick(r, strings.Split(kind[4], ",")), state, flag})
		turn := pick(r, who)
		if offs[i] {
			turn = kind[12]
		}
		plan = append(plan, []string{day.Format(time.DateOnly), names[i], turn})
		if !paid[i] {
			continue
		}
		came = came.AddDate(0, 0, r.IntN(4))
		row := []string{code}
		if whose {
			row = append(row, names[i])
		}
		row = append(row, amount, came.Format(form))
		if how {
			row = append(row, pick(r, hows))
		}
		money = append(money, append(row, ""))
	}
	if len(money) < leastPaid {
		return nil
	}
	header := []string{"code"}
	if whose {
		header = append(header, kind[1])
	}
	header = append(header, "amount", "date")
	if how {
		header = append(header, "how")
	}
	dir := path.Join(top, pick(r, []string{"", kind[0], "desk"}))
	file := kind[0] + pick(r, []string{"", "", "-2026"})
	table(r, files, path.Join(dir, file), capital(kind[0]), []string{"code", "day", kind[1], kind[3], kind[5], kind[8]},
		rows)
	table(r, files, path.Join(top, pick(r, []string{"", "money"}), kind[9]), capital(kind[9]), append(header, "remark"),
		money)
	planned := addBookingPlan(r, files, top, kind, plan)
	if r.IntN(3) == 0 {
		return nil
	}
	return bookingRules(r, kind, file, planned)
}

// addBookingPlan is mostly a plan with a line for each, and what its line says of somebody who drops out.
func addBookingPlan(r *rand.Rand, files map[string]string, top string, kind []string, plan [][]string) string {
	if r.IntN(4) == 0 {
		return ""
	}
	table(r, files, path.Join(top, kind[10]), capital(kind[10]), []string{"date", kind[1], kind[11]}, plan)
	return fmt.Sprintf(pick(r, split(" In %s put \"%s\" under %s then.| If %s has a line for them, it says "+
		"\"%s\" under %s.| Their line in %s gets \"%s\" as %s.")), kind[10], kind[12], kind[11])
}

// bookingRules are how money that comes in and somebody who drops out are entered, also in the plan where there is one.
func bookingRules(r *rand.Rand, kind []string, file, planned string) []string {
	paid := fmt.Sprintf(pick(r, split("Money came in: a line in %[1]s and %[2]s is yes in %[3]s.|"+
		"What is paid goes into two files: %[2]s in %[3]s becomes yes, and %[1]s gets a row with the code.|"+
		"When somebody pays: put yes under %[2]s (%[3]s), and enter it in %[1]s, by the code.|"+
		"Each payment is a row in %[1]s. The %[2]s of that line in %[3]s is then yes.")), kind[9], kind[8], file)
	out := fmt.Sprintf(pick(r, split("If somebody drops out the line stays in %[1]s, its %[2]s is "+
		"\"%[3]s\".|Nobody is taken off %[1]s: the %[2]s becomes %[3]s.|"+
		"Not coming after all: %[2]s %[3]s in %[1]s, never delete the line.")), file, kind[5], kind[7])
	return []string{paid, out + planned}
}

// choreKinds are what each list of chores is called, and what is on it.
func choreKinds() []string {
	return split(
		"repairs;kitchen tap drips,loose tile in the porch,gutter at the back leaks,bell has no sound,cracked window " +
			"in the loft,cellar door sticks,stair rail wobbles,boiler needs bleeding,lamp over the sink flickers|" +
			"garden-jobs;prune the old pear,mend the north fence,turn the compost,sharpen the mower,replace the " +
			"water butt,clear the long ditch,oil the big gate,re-lay the slab path|" +
			"boat-work;scrub the hull,splice the main sheet,change the impeller,varnish the tiller,patch the spray " +
			"hood,grease the winches,renew the anchor light,check the bilge pump|" +
			"hall-to-do;repaint the stage edge,fix the fire exit sign,unblock the bar sink,new rope for the curtain," +
			"seal the skylight,rewire the side lamps,mend two chairs,service the alarm|" +
			"bench;re-string the cello,new head for the drum,mend the accordion strap,tune the small piano,glue " +
			"the guitar bridge,clean the clarinets,replace a trumpet valve|" +
			"office-fixes;toner for the upstairs printer,squeaky meeting room door,broken blind in room two,slow " +
			"lift button,wobbly front desk,dead socket at reception,leaking tea urn|" +
			"van-list;new wipers for the blue van,bent tow bar,worn front tyres,dent in the side door,heater " +
			"fan rattles,missing jack handle,cracked tail light")
}

// addChores are a list of what is to be done, with what is done in a section or ticked, a log of what was done, and
// what it cost.
func addChores(r *rand.Rand, files map[string]string, top string) (rules []string) {
	kind := strings.Split(pick(r, choreKinds()), ";")
	all := strings.Split(kind[1], ",")
	order := r.Perm(len(all))
	who := strings.Split(pick(r, split("Otto Bauer;Meg Tully;Rui Pinto|Stan Kuhn;Ada Frost;Lou Marsh|"+
		"Ivo Petrov;Jo Quinn;Ben Sharp")), ";")
	payers := strings.Split(pick(r, split("Anna;Tom;Mila|Jon;Ines;Paul|Kim;Lena;Omar")), ";")
	nDone := 2 + r.IntN(2)
	day := time.Date(2026, time.Month(2+r.IntN(6)), 1+r.IntN(20), 0, 0, 0, 0, time.UTC)
	form := pick(r, []string{time.DateOnly, time.DateOnly, "02.01.2006", "2 January 2006"})
	logForm := pick(r, []string{"- %s: %s.", "- %s: %s", "%s %s", "%s: %s.", "- %s, %s"})
	payer := r.IntN(3) > 0
	var log, done []string
	var rows [][]string
	old := split("chimney swept|drain cleared|locks oiled|shelf put up|roof checked|floor sanded")
	front := r.IntN(3)
	for i := range nDone + 2 {
		day = day.AddDate(0, 0, 1+r.IntN(6))
		thing := old[(i+order[0])%len(old)]
		if i < nDone {
			thing = all[order[i]]
			done = append(done, []string{day.Format(form) + " " + thing, thing + " (" + day.Format(form) + ")",
				thing}[front])
		}
		worker, amount := pick(r, who), 5+5*r.IntN(30)
		said := thing + ", " + strings.Fields(worker)[0]
		if i%2 == 0 || r.IntN(2) == 0 {
			said += fmt.Sprint(", ", amount)
			row := []string{day.Format(time.DateOnly), thing, worker, fmt.Sprintf("%d.00", amount)}
			if payer {
				row = append(row, pick(r, payers))
			}
			rows = append(rows, row)
		}
		log = append(log, fmt.Sprintf(logForm, day.Format(form), said))
	}
	for len(rows) < 3 {
		day = day.AddDate(0, 0, 1)
		row := []string{day.Format(time.DateOnly), "small parts", pick(r, who), "12.00"}
		if payer {
			row = append(row, pick(r, payers))
		}
		rows = append(rows, row)
	}
	newest := r.IntN(4) == 0
	if newest {
		slices.Reverse(log)
	}
	text, sections := choreList(r, kind[0], all, order[nDone:], done, who)
	logName, costs := pick(r, split("logbook|diary|log-2026|what-was-done")),
		pick(r, split("outlay|paid-out|work-costs"))
	dir := path.Join(top, pick(r, []string{"", kind[0], "upkeep"}))
	files[path.Join(dir, kind[0]+".md")] = text
	if head := "# Log\n\n"; r.IntN(2) == 0 {
		files[path.Join(dir, logName+".md")] = head + strings.Join(log, "\n") + "\n"
	} else {
		files[path.Join(dir, logName+".txt")] = strings.Join(log, "\n") + "\n"
	}
	header := []string{"date", "what", "to", "amount"}
	if payer {
		header = append(header, "paid_by")
	}
	table(r, files, path.Join(top, pick(r, []string{"", "money"}), costs), "Costs", header, rows)
	if r.IntN(3) == 0 {
		return nil
	}
	how := "ticked in " + kind[0]
	if sections {
		how = "moved down to the done ones in " + kind[0]
	}
	return []string{fmt.Sprintf(pick(r, split("Something is done: it is %[1]s, it gets a line in %[2]s, and a row in "+
		"%[3]s if it cost money.|Done means three things: %[1]s, written up in %[2]s, and entered in %[3]s where "+
		"somebody paid for it.|Whatever was done is %[1]s with the day as the others, and put into %[2]s. What it "+
		"cost goes to %[3]s.")), how, logName, costs)}
}

// choreList is the list of what is open and what is done, in sections or not.
func choreList(r *rand.Rand, title string, all []string, open []int, done, who []string) (text string, sections bool) {
	text = "# " + capital(strings.ReplaceAll(title, "-", " ")) + "\n\n"
	sections = r.IntN(3) > 0
	boxes := r.IntN(2) == 0
	box := func(ticked bool) string {
		if !boxes && sections {
			return "- "
		}
		return map[bool]string{true: "- [x] ", false: "- [ ] "}[ticked]
	}
	heads := strings.Split(pick(r, split("Urgent;Later|Soon;Some day|Inside;Outside|To do;Waiting")), ";")
	for i, at := range open {
		if sections && (i == 0 || i == len(open)/2) {
			text += "## " + heads[min(i, 1)] + "\n"
		}
		thing := all[at]
		if r.IntN(3) == 0 {
			thing += " (" + strings.Fields(pick(r, who))[0] + ")"
		}
		if text += box(false) + thing + "\n"; sections && (i == len(open)/2-1 || i == len(open)-1) {
			text += "\n"
		}
	}
	if sections {
		text += "## " + pick(r, split("Done|Done|Finished")) + "\n"
	}
	for _, thing := range done {
		text += box(true) + thing + "\n"
	}
	return text, sections
}

// addSubscribers are persons with what each has to pay and when that was paid: two with the same first name have not,
// and some have nothing to pay.
func addSubscribers(r *rand.Rand, files map[string]string, top string) (rules []string) {
	kind := strings.Split(pick(r, split("members;kind;full,concession;junior;fee;paid_2026|"+
		"singers;voice;alto,tenor;guest;subs;paid|sponsors;box;weekly,monthly;trial;amount;paid|"+
		"plots;size;half,full;shared;fee;fee_paid|pupils;group;red,blue;sibling;fee;paid_spring|"+
		"friends;level;silver,gold;honorary;subscription;paid|players;team;first,second;youth;due;dues_paid|"+
		"course-list;course;clay,weaving;helper;fee;paid_on")), ";")
	none := pick(r, split("n/a|n/a|free|-"))
	form := pick(r, []string{time.DateOnly, time.DateOnly, "2 Jan 2006", "02.01.2006"})
	day := time.Date(2026, time.Month(1+r.IntN(4)), 1+r.IntN(25), 0, 0, 0, 0, time.UTC)
	names := persons(r, nil, 7+r.IntN(3))
	r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	for i := range names { // of the others each has a first name of its own
		if first, _, _ := strings.Cut(names[i], " "); i > 1 && strings.HasPrefix(names[0], first+" ") {
			return nil
		}
	}
	first, _, _ := strings.Cut(names[0], " ")
	names[1] = first + names[1][strings.Index(names[1], " "):]
	fees := strings.Split(pick(r, split("30;18|24.00;12.00|45;30|60.00;40.00")), ";")
	var rows [][]string
	open := 2 + r.IntN(2)
	for i, name := range names {
		which := r.IntN(2)
		row := []string{name, strings.ReplaceAll(slug(name), "-", ".") + "@mail.example",
			strings.Split(kind[2], ",")[which], fees[which]}
		switch day = day.AddDate(0, 0, 1+r.IntN(6)); {
		case i < open:
			row = append(row, "")
		case i == open:
			row[2], row[3] = kind[3], "0"
			row = append(row, none)
		default:
			row = append(row, day.Format(form))
		}
		rows = append(rows, row)
	}
	if names[1] == names[0] {
		return nil
	}
	r.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	header := []string{"name", "mail", kind[1], kind[4], kind[5]}
	if r.IntN(2) == 0 {
		header = append(header, "remark")
		for i := range rows {
			rows[i] = append(rows[i], pick(r, split("||has a key|since May|")))
		}
	}
	table(r, files, path.Join(top, pick(r, []string{"", "club", "lists"}), kind[0]), capital(kind[0]), header, rows)
	return nil
}

// addInventory are things with how many there are of each, mostly by where they are: some are in several places.
func addInventory(r *rand.Rand, files map[string]string, top string) (rules []string) {
	kind := strings.Split(pick(r, split("inventory;room;kitchen,attic,porch;soup plates,mugs,wine glasses,sharp "+
		"knives,trays,oven dishes,tea towels|equipment;place;hall,cellar,van;music stands,folding chairs,spot lights,"+
		"extension leads,drum stools,tripods|camp-gear;box;blue box,red box,trailer;tin plates,lanterns,tent pegs,"+
		"camp beds,water cans,axes|classroom;cupboard;left one,right one,hallway;atlases,scissors,glue guns,magnets,"+
		"compasses,calculators|tools;shelf;top shelf,bench,rack;chisels,clamps,files,mallets,drill bits,hand saws|"+
		"sports-kit;area;gym,shed,boat house;footballs,cones,bibs,hurdles,skipping ropes,paddles|"+
		"linen;room;sea room,tower,loft;pillows,duvets,bath towels,bed sheets,blankets,bath mats")), ";")
	places, all := strings.Split(kind[2], ","), strings.Split(kind[3], ",")
	flat := r.IntN(4) == 0
	var rows [][]string
	for p, place := range places {
		for _, i := range r.Perm(len(all))[:5-p%2-r.IntN(2)*(p%2)] {
			note := pick(r, split("|||old ones|from the sale|check in spring"))
			row := []string{place, all[i], fmt.Sprint(2 + r.IntN(14)), fmt.Sprint(2012 + r.IntN(13)), note}
			if flat {
				row = row[1:]
			}
			rows = append(rows, row)
		}
		if flat {
			break
		}
	}
	header := []string{kind[1], "item", "count", "since", "note"}
	if flat {
		header = header[1:]
	}
	table(r, files, path.Join(top, pick(r, []string{"", "things", "store"}), kind[0]), capital(kind[0]), header, rows)
	if r.IntN(2) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(pick(r, split("Broken or gone: lower the count in %s and say why under note.|"+
		"In %s the count is what is there now. Why there are fewer stands under note.")), kind[0])}
}

// addShared are texts that say a code, a number or a name of the same thing, and letters and minutes that said it once.
func addShared(r *rand.Rand, files map[string]string, top string) (rules []string) {
	what, value, _ := strings.Cut(pick(r, split("key safe code;#|back gate code;#|guest password;mole-#|"+
		"plumber's number;0555 #|emergency line;0555 0#|caretaker on call;?|contact at the bank;?|first aider;?|"+
		"locker code;L-#")), ";")
	who := persons(r, nil, 2)
	v := strings.NewReplacer("#", fmt.Sprint(2000+r.IntN(7000)), "?", who[0]).Replace(value)
	key := strings.NewReplacer("'s", "", " ", "_").Replace(what)
	facts := fmt.Sprintf(pick(r, split("[house]~%s = %s~changed_by = Ida~|house:~  %s: %s~  floor: 2~|%s: %s~post "+
		"day: Tuesday~")), key, v)
	ext := map[byte]string{'[': ".ini", 'h': ".yaml"}[facts[0]]
	if ext == "" {
		ext = ".txt"
	}
	br := func(text string) string { return strings.ReplaceAll(text, "~", "\n") }
	files[path.Join(top, pick(r, split("know-how|desk-facts|front-door"))+ext)] = br(facts)
	said := strings.ReplaceAll(key, "_", " ")
	sheets := split("closing-sheet;# Closing~~- lights off, windows shut~- %s: %s~- bins out on Mondays~|" +
		"welcome-sheet;# Welcome~~Tea is in the tin. The %s is %s, please write it down.~|" +
		"new-helpers;Hello and thank you!~~Before your first turn note this: %s %s.~Ask if anything is unclear.~|" +
		"standard-reply;Dear all,~~we look forward to your visit. You will need this, %s: %s~~The team~")
	for _, i := range r.Perm(len(sheets))[:1+r.IntN(2)] {
		name, text, _ := strings.Cut(sheets[i], ";")
		files[path.Join(top, pick(r, []string{"", "sheets"}), name+pick(r, split(".md|.txt")))] =
			br(fmt.Sprintf(text, said, v))
	}
	day := fmt.Sprintf("2026-0%d-%02d", 1+r.IntN(5), 1+r.IntN(27))
	letters, minutes := pick(r, split("letters|sent")), ""
	files[path.Join(top, letters, day+"-"+slug(strings.Fields(who[1])[1])+".md")] = br(fmt.Sprintf("Dear %s,~~it was "+
		"good to hear from you. The %s is %s.~~Best wishes~Ida~", strings.Fields(who[1])[0], said, v))
	if r.IntN(2) == 0 {
		minutes = " and minutes"
		files[path.Join(top, "minutes", day+".txt")] = br(fmt.Sprintf("Present: Ida, Bo~~The %s is now %s, Ida tells "+
			"everybody.~", said, v))
	}
	if r.IntN(3) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(pick(r, split("What went out or is over stays as it is: %[1]s%[2]s.|Old %[1]s%[2]s "+
		"are left alone, whatever changes.|No edits in %[1]s%[2]s, they are kept as they were.")),
		strings.Replace(letters, "sent", "sent letters", 1), minutes)}
}

// addBudget is what is planned under some headings, what was spent under them, and mostly what was moved between them.
func addBudget(r *rand.Rand, files map[string]string, top string) (rules []string) {
	heads := strings.Split(pick(r, split("garden;windows;kitchen;paint|costumes;lights;props;music|"+
		"food;transport;tents;prizes|books;chairs;posters;snacks|boats;oars;trailer;jetty|seeds;tools;compost;water|"+
		"hall;speakers;printing;flowers")), ";")
	plan := map[string]int{}
	total := 0
	for _, head := range heads {
		plan[head] = 100 + 10*r.IntN(60)
		total += plan[head]
	}
	var rows [][]string
	day := time.Date(2026, time.Month(1+r.IntN(4)), 1+r.IntN(20), 0, 0, 0, 0, time.UTC)
	for range 7 + r.IntN(3) {
		head := pick(r, heads)
		day = day.AddDate(0, 0, 1+r.IntN(6))
		amount := 5 + r.IntN(plan[head]/4)
		cost := fmt.Sprintf("%d.00", amount)
		if r.IntN(5) == 0 {
			cost = fmt.Sprintf("%d.50", amount)
		}
		rows = append(rows, []string{day.Format(time.DateOnly), head, pick(r, split("first part|small things|from the "+
			"market|delivery|second hand|repairs")), cost})
	}
	moved := day.AddDate(0, 0, 2)
	n := 10 * (1 + r.IntN(6))
	record := fmt.Sprintf(pick(r, split("%s: %s -%d to %s +%d|%s, %s -%d, %s +%d")), moved.Format(pick(r,
		[]string{time.DateOnly, "2 January 2006"})), heads[0], n, heads[1], n)
	text, ext := "", ".yaml"
	switch kept := r.IntN(3) > 0; r.IntN(3) {
	case 0:
		text = "year: 2026\nplanned:\n"
		for _, head := range heads {
			text += fmt.Sprintf("  %s: %d\n", head, plan[head])
		}
		if text += fmt.Sprintf("total: %d\n", total); kept {
			text += "moves:\n  - " + record + "\n"
		}
	case 1:
		ext, text = ".md", "# Budget 2026\n\n| for | planned |\n|---|---|\n"
		for _, head := range heads {
			text += fmt.Sprintf("| %s | %d |\n", head, plan[head])
		}
		if kept {
			text += "\n## Moved\n- " + record + "\n"
		}
	default:
		ext, text = ".txt", "Budget\n\n"
		for _, head := range heads {
			text += fmt.Sprintf("%s: %d\n", capital(head), plan[head])
		}
		if kept {
			text += "\nMoved:\n" + record + "\n"
		}
	}
	dir := path.Join(top, pick(r, []string{"", "money", "plans"}))
	files[path.Join(dir, pick(r, split("budget|budget-2026|what-we-planned"))+ext)] = text
	table(r, files, path.Join(dir, pick(r, split("spent|spent-2026|bills"))), "Spent",
		[]string{"date", "for", "what", "amount"}, rows)
	return nil
}
