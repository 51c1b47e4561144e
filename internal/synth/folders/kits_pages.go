package folders

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

// pageKits are groups of files of which something is moved, merged, sorted or put right.
func pageKits() []func(r *rand.Rand, files map[string]string, top string) {
	return []func(*rand.Rand, map[string]string, string){addPurses, addRoll, addCatalogue, addEventPage, addDealings,
		addTicksOfAll, addMisspelt, addFiled, addTwice, addDecided}
}

// pageKitsOf is how many of them a folder has.
const pageKitsOf = 2

// putTable writes a table in one of two forms, under the name of its file.
func putTable(r *rand.Rand, files map[string]string, file string, header []string, rows [][]string) {
	table(r, files, file, capital(strings.ReplaceAll(path.Base(file), "-", " ")), header, rows)
}

// parted is one of some kinds, in its parts.
func parted(r *rand.Rand, kinds string) (parts []string, lists [][]string) {
	parts = strings.Split(pick(r, split(strings.ReplaceAll(kinds, "\n", ""))), ";")
	for _, part := range parts {
		lists = append(lists, strings.Split(part, ","))
	}
	return parts, lists
}

// addPurses is a ledger of two or three purses in one table, with a transfer between them.
func addPurses(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `account;current account,reserve;subs,raffle,ticket sales,sponsor;hall rent,music hire,
insurance,stamps;accounts|purse;bank,cash box;plot rents,plant sale,water money;compost,hose,lock,skip;allotment-money|
pot;household pot,holiday pot,repair pot;Mila pays in,Jon pays in,deposit back;groceries,electricity,plumber,
broom;pots|fund;class fund,trip fund;parents,cake sale,concert;books,bus,museum,paint;funds|
account;house account,touring account;box office,bar,grant;costumes,lights,van hire,scripts;theatre-ledger|
jar;kitchen jar,garden jar;from Ines,from Paul,from Rosa;seeds,spices,pots,flour;jars|
kitty;boat kitty,engine fund;crew shares,prize money,charter;diesel,mooring,rope,antifouling;kitty|
wallet;float,safe;takings,gift cards,catering;milk,napkins,repairs,window cleaner;till-book`)
	purses := list[1]
	ins := pick(r, split("in;out|received;spent|income;expense|amount"))
	two := strings.Contains(ins, ";")
	layout, refs := pick(r, []string{time.DateOnly, time.DateOnly, "02/01/2006"}), r.IntN(2) == 0
	day := time.Date(2026, time.Month(1+r.IntN(8)), 1+r.IntN(9), 0, 0, 0, 0, time.UTC)
	var rows [][]string
	add := func(what, purse string, amount int) {
		row := []string{day.Format(layout), what, purse}
		switch {
		case !two:
			row = append(row, minus(amount))
		case amount > 0:
			row = append(row, money(amount), "")
		default:
			row = append(row, "", money(-amount))
		}
		if refs {
			row = append([]string{fmt.Sprint(len(rows) + 1)}, row...)
		}
		rows = append(rows, row)
	}
	held := map[string]int{}
	for _, purse := range purses {
		held[purse] = 100*(150+r.IntN(1200)) + 10*r.IntN(10)
		add("brought forward", purse, held[purse])
	}
	words := pick(r, split("transfer to *;transfer from *|transfer;transfer|to *;from *"))
	moved := 2 + r.IntN(4)
	for i := range 7 + r.IntN(3) {
		day = day.AddDate(0, 0, r.IntN(5)+1)
		if i == moved {
			amount, from, to := 1000*(1+r.IntN(9)), purses[0], purses[1]
			out, in, _ := strings.Cut(words, ";")
			add(strings.ReplaceAll(out, "*", to), from, -amount)
			add(strings.ReplaceAll(in, "*", from), to, amount)
			held[from], held[to] = held[from]-amount, held[to]+amount
			continue
		}
		purse := pick(r, append(purses, purses[0]))
		amount, what := 100*(5+r.IntN(180))+50*r.IntN(2), pick(r, list[2])
		if r.IntN(2) == 0 && amount < held[purse] {
			amount, what = -amount, pick(r, list[3])
		}
		held[purse] += amount
		add(what, purse, amount)
	}
	header := append([]string{pick(r, split("date|day|when")), pick(r, split("what|for|text")), kind[0]},
		strings.Split(ins, ";")...)
	if refs {
		header = append([]string{pick(r, split("ref|no|nr"))}, header...)
	}
	putTable(r, files, path.Join(top, pick(r, []string{"", "money"}), kind[4]), header, rows)
}

// addRoll is who belongs to what, how each is reached and how they stand.
func addRoll(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `section;alto,bass,tenor,soprano;active;left,on leave;singers;status|team;Red,Blue,Green;
current;retired,paused;players;state|boat;Heron,Otter,Pike;active;former,resting;rowers;status|class;Clay,Print,
Weaving;enrolled;finished,withdrawn;students;state|district;North,South,Harbour;active;moved,pausing;visitors;status|
shift;early,late,night;available;away,gone;volunteers;status|group;Badgers,Foxes,Owls;current;left,waiting;scouts;
membership|desk;loans,returns,children;active;trainee,stopped;library-helpers;status`)
	reach := pick(r, split("phone|phone|mobile|email"))
	header := []string{"name", kind[0], reach, kind[5]}
	refs := r.IntN(2) == 0
	if refs {
		header = append([]string{"no"}, header...)
	}
	var rows [][]string
	who := persons(r, nil, 10+r.IntN(4))
	r.Shuffle(len(who), func(i, k int) { who[i], who[k] = who[k], who[i] })
	for i, name := range who {
		at := fmt.Sprintf("555-%04d", 1000+r.IntN(9000))
		if reach == "email" {
			at = strings.ReplaceAll(slug(name), "-", ".") + "@post.example"
		}
		state := kind[2]
		if r.IntN(3) == 0 {
			state = pick(r, list[3])
		}
		row := []string{name, pick(r, list[1]), at, state}
		if refs {
			row = append([]string{fmt.Sprint(i + 3)}, row...)
		}
		rows = append(rows, row)
	}
	putTable(r, files, path.Join(top, pick(r, split(kind[4]+"|"+kind[4]+"|roll")), kind[4]), header, rows)
}

// addCatalogue is what somebody has, in no order.
func addCatalogue(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `composer,title,copies;Haydn,Mozart,Purcell,Elgar,Rutter;Missa brevis,Evening song,
Lullaby,Winter,Morning,Gloria,Echo,Sanctus;sheet-music|author,title,shelf;Brook,Hale,Quirk,Adams,Lund;Tides,Letters,
Orchard,Ashes,Island,Signals,Nightfall,Maps;bookshelf|plant,variety,packets;bean,tomato,carrot,pea,kale;Early Bird,
Purple King,Golden Egg,Long Red,Sweet Snow,Old Blue,Giant,Dwarf;seed-box|kind,game,players;cards,board,dice,word;
Harvest,Canals,Owls,Comets,Bridges,Market,Towers,Foxes;games|region,wine,year;Rioja,Mosel,Alsace,Douro;Riesling,Crianza,
Silvaner,Reserva,Tinto,Auslese,Blanc,Vintage;cellar-book|category,tool,number;garden,metal,wood,paint;saw,rake,file,
brush,clamp,roller,spade,drill;tool-wall|director,film,minutes;Okoye,Varda,Ozu,Wilder;Ferry,Snowfall,Umbrella,Lanterns,
Balcony,Rooftops,Cuckoo,Dawn;film-club|artist,record,speed;Monk,Parker,Baker,Vaughan;Blue,Live,Duets,Sessions,
Encore,Midnight,
Solo,Strings;records`)
	var rows [][]string
	seen := map[string]bool{}
	for range 11 {
		a, b := pick(r, list[1]), pick(r, list[2])
		if !seen[a+b] {
			seen[a+b] = true
			rows = append(rows, []string{a, b, fmt.Sprint(2 + r.IntN(60)), pick(r, split("good|worn|new"))})
		}
	}
	putTable(r, files, path.Join(top, kind[3]), append(list[0], pick(r, split("state|condition"))), rows)
}

// addEventPage is a page with several sections about one day.
func addEventPage(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `Spring concert;chairs out,choir arrives,doors open,first half,second half,clear up;
concerts|Summer fair;tents up,stalls open,tombola,prize giving,dance,tents down;events|Camp weekend;bus leaves,supper,
night walk,breakfast,raft building,bus home;camps|Open day;gates open,guided walk,talk in the barn,tea,plant sale,gates
 shut;events|Quiz night;doors open,round one,round two,break,final round,prizes;evenings|Regatta;boats in,briefing,first
 race,lunch,finals,cups;regattas|Street party;road closed,tables out,cake contest,band plays,tables in,road open;
parties|Jumble sale;boxes in,sorting,sale opens,half price,sweep,boxes out;sales`)
	hour, text := 8+r.IntN(7), ""
	for _, what := range list[1] {
		text += fmt.Sprintf("- %d.%d0 %s\n", hour, 3*r.IntN(2), what)
		hour++
	}
	who, foods := persons(r, nil, 5), split("bread|soup|apple cake|lemonade|salads|cheese|tea urn|biscuits")
	parts := map[string]string{pick(r, split("The day|Timetable|Running order")): text}
	text = ""
	for i, k := range r.Perm(len(foods))[:4] {
		text += "- " + foods[k] + ": " + who[i] + "\n"
	}
	parts[pick(r, split("Food|Who brings what|Kitchen"))] = text
	parts[pick(r, split("Costs|Money|Budget"))] = fmt.Sprintf("- hall %d.00\n- printing %d.50\n- flowers %d.00\n",
		40+r.IntN(90), 8+r.IntN(20), 10+r.IntN(20))
	parts[pick(r, split("Still open|Open questions"))] = "- [ ] " + pick(r, newItems()) + "\n- [ ] who has the key\n"
	order := slices.Sorted(maps.Keys(parts))
	r.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	day := time.Date(2026, time.Month(3+r.IntN(7)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
	text = "# " + kind[0] + "\n\n" + day.Format("Monday 2 January 2006") + "\n"
	for _, head := range order {
		text += "\n## " + head + "\n\n" + parts[head]
	}
	files[path.Join(top, kind[2], slug(kind[0])+".md")] = text
}

// addDealings is what was had from whom with costs and states, the book in which payments are, and a list of things to
// do.
func addDealings(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `venue-hire;hall;Lakeside Hall,Old Mill,Guild Room;rehearsal,concert,meeting;booked;paid;
cancelled|van-hire;firm;Kestrel Vans,Bluebird Cars,Hill Garage;tour,delivery,moving day;ordered;paid;called off|
lessons;teacher;Ms Okafor,Mr Lindt,Ms Varga;cello,flute,theory;given;paid;dropped|cleaning;firm;Sparkle,Nora Quist,
Brightway;stairs,windows,carpets;done;paid;not done|print-jobs;printer;Fox Press,Redleaf,Copy Corner;posters,flyers,
labels;open;settled;withdrawn|catering;kitchen;Green Spoon,The Larder,Bakery Holm;lunch,cakes,buffet;ordered;settled;
cancelled|boat-trips;skipper;Jory Penn,Ada Moss,Kit Vale;seals,islands,sunset;booked;paid;called off`)
	day := time.Date(2026, time.Month(1+r.IntN(7)), 2+r.IntN(5), 0, 0, 0, 0, time.UTC)
	layout := pick(r, []string{time.DateOnly, time.DateOnly, "02/01/2006"})
	first := day.Month()
	var rows, paid [][]string
	prices := map[string]int{}
	for _, what := range list[3] {
		prices[what] = 100 * (18 + r.IntN(70))
	}
	for i := range 13 {
		who, what := pick(r, append(list[2], list[2][0])), pick(r, list[3])
		state := kind[4]
		switch {
		case day.Month() == first && r.IntN(4) > 0:
			state = kind[5]
		case r.IntN(4) == 0:
			state = kind[6]
		}
		rows = append(rows, []string{day.Format(layout), who, what, money(prices[what]), state})
		if state == kind[5] || i < 3 {
			paid = append(paid, []string{day.AddDate(0, 0, 3).Format(layout), pick(r, list[2]) + " " + first.String(),
				money(prices[what])})
		}
		day = day.AddDate(0, 0, 3+r.IntN(8))
	}
	header := []string{pick(r, split("date|day")), kind[1], pick(r, split("what|for")),
		pick(r, split("cost|price|fee")), pick(r, split("status|state"))}
	putTable(r, files, path.Join(top, pick(r, split("|"+kind[0])), kind[0]), header, rows)
	header = []string{"date", pick(r, split("what|for|to")), pick(r, split("amount|out|paid"))}
	if r.IntN(2) == 0 {
		header = append([]string{"ref"}, header...)
		for i := range paid {
			paid[i] = append([]string{fmt.Sprint(i + 1)}, paid[i]...)
		}
	}
	putTable(r, files, path.Join(top, "money", pick(r, split("accounts|cash-book|payments-2026|ledger|expenses"))),
		header, paid)
	text := "# To do\n\n"
	for _, i := range r.Perm(len(newChores()))[:5] {
		text += pick(r, split("- [ ] |- [ ] |- [x] ")) + newChores()[i] + "\n"
	}
	files[path.Join(top, pick(r, split("to-do|actions|office-jobs"))+".md")] = text
}

// addTicksOfAll is what several persons are to do, by name: above the boxes, in front of them, behind them or in a
// column. Some have the same to do.
func addTicksOfAll(r *rand.Rand, files map[string]string, top string) {
	all := split(pick(r, []string{
		"sweep the yard|lock the shed|oil the mower|empty the bins|water the beds|mend the hose",
		"book the bus|print the tickets|thank the sponsors|order the buns|hang the posters|find a piper",
		"air the tents|count the pegs|wash the pots|patch the groundsheet|check the stoves|pack the ropes",
		"wax the hull|charge the lamps|mend the net|stow the sails|grease the winch|log the fuel",
		"tune the harp|copy the parts|move the chairs|test the lights|sew the curtain|paint the door",
		"label the jars|clean the scales|sharpen the slicer|price the honey|stack the crates|defrost the freezer"}))
	var who []string
	for _, name := range persons(r, nil, 7) {
		if first := strings.Fields(name)[0]; isPlain(first) && !slices.Contains(who, first) && len(who) < 4 {
			who = append(who, first)
		}
	}
	type job struct{ who, what, box string }
	var jobs []job
	for i, name := range who {
		for _, k := range r.Perm(len(all))[:2+r.IntN(3)] {
			jobs = append(jobs, job{name, all[(k+i)%len(all)], pick(r, split("[ ]|[ ]|[x]"))})
		}
	}
	form, text := r.IntN(4), ""
	if form > 0 {
		r.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	}
	last := ""
	var rows [][]string
	for _, j := range jobs {
		switch form {
		case 0:
			if j.who != last {
				text += "\n## " + j.who + "\n"
			}
			text, last = text+"- "+j.box+" "+j.what+"\n", j.who
		case 1:
			text += "- " + j.box + " " + j.who + ": " + j.what + "\n"
		case 2:
			text += "- " + j.box + " " + j.what + " (" + j.who + ")\n"
		}
		rows = append(rows, []string{j.what, j.who, map[bool]string{true: "no", false: "yes"}[j.box == "[ ]"]})
	}
	file := path.Join(top, pick(r, split("|tasks|committee")), pick(r, split("who-does-what|jobs-by-name|actions-list|"+
		"shared-tasks|helpers-jobs|to-do-together")))
	if form == 3 {
		putTable(r, files, file, []string{pick(r, split("what|task|job")), pick(r, split("who|name")), "done"}, rows)
		return
	}
	files[file+".md"] = "# " + pick(r, split("Who does what|Jobs|Actions|To do")) + "\n" +
		strings.TrimPrefix("\n"+text, "\n\n")
}

// misspelt is a name with another surname that is near it; "" where none comes to mind.
func misspelt(name string) string {
	last := surname(name)
	for _, way := range split("y;i|ei;ie|ie;ei|nn;n|ss;s|tt;t|ll;l|sen;son|ck;k|ph;f|v;w|z;s|er;ar|a;e|o;u") {
		old, with, _ := strings.Cut(way, ";")
		if at := strings.LastIndex(last, old); at > 0 && len(last) > 4 {
			return strings.TrimSuffix(name, last) + last[:at] + with + last[at+len(old):]
		}
	}
	return ""
}

// addMisspelt is a list of persons, and texts of which some, and the minutes, have one of them in wrong letters.
func addMisspelt(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `subscribers;seat;seating,programme-notes,thanks|growers;plot;water-rota,seed-swap,
show-entries|patrons;tier;donor-wall,invitations,speeches|pupils;instrument;recital,practice-rooms,prizes|
drivers;route;week-ahead,bus-notes,holiday-cover|lodgers;room;door-signs,bins,parcels`)
	var wrong, right string
	who := persons(r, nil, 7)
	for _, i := range r.Perm(len(who)) {
		if wrong = misspelt(who[i]); wrong != "" {
			right = who[i]
			break
		}
	}
	if right == "" {
		return
	}
	var rows [][]string
	for i, name := range who {
		rows = append(rows, []string{name, fmt.Sprint(i + 2), fmt.Sprintf("555-%04d", 1000+r.IntN(9000))})
	}
	putTable(r, files, path.Join(top, kind[0]), []string{"name", kind[1], "phone"}, rows)
	texts := split("- * comes on Friday|- * has two|- * and guest|- * (late)|- first *|- ask * again|" +
		"- * brings a friend")
	n := 1 + r.IntN(3)
	for i, stem := range list[2] {
		text := "# " + strings.ToUpper(stem[:1]) + strings.ReplaceAll(stem[1:], "-", " ") + "\n\n"
		for k, name := range who[:5] {
			if name == right && i < n {
				name = wrong
			}
			text += strings.ReplaceAll(texts[(i+k)%len(texts)], "*", name) + "\n"
		}
		if i < n && !strings.Contains(text, wrong) {
			text += "- " + wrong + "\n"
		}
		files[path.Join(top, stem+pick(r, split(".md|.txt")))] = text
	}
	kept := pick(r, split("minutes/2026-02-*|minutes/2026-03-*|letters/2026-04-*-invitation"))
	day := fmt.Sprintf("%02d", 1+r.IntN(28))
	kept = strings.ReplaceAll(kept, "*", day)
	text := "Meeting\n\nPresent: Anna, Tom, " + wrong + ".\nThe hall is free in May.\n"
	if strings.HasPrefix(kept, "letters") {
		text = "Dear " + wrong + ",\n\nwe would be glad to see you in May.\n\nThe office\n"
	}
	files[path.Join(top, kept+".md")] = text
	title := pick(r, split("How we file|Rules|Please note"))
	rule := pick(r, split("Minutes and letters are not altered afterwards, even if something is wrong in them.|"+
		"Minutes stay as they were signed, and letters as they went out.|"+
		"Never change minutes, nor letters that were sent: minutes and letters stay as they are."))
	files[path.Join(top, pick(r, split("rules|conventions|filing-rules"))+".md")] = "# " + title + "\n\n- " + rule +
		"\n- The list of " + kind[0] + " is right where two files disagree.\n"
}

// addFiled are texts with a day, most of them named by it.
func addFiled(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `reports;boiler,roof,lift,drains,garden wall,fire doors;Inspection of the *|visits;school,mill,
bakery,lighthouse,archive,quarry;Visit to the *|talks;bees,comets,bread,canals,owls,clocks;A talk about *|
statements;bank,card,savings,loan,fund,till;Statement: *|tastings;cider,cheese,honey,tea,olives,rye bread;Tasting of *|
walks;river,ridge,harbour,forest,heath,canal;Walk along the *|
complaints;noise,parking,dogs,bins,music,smoke;About the *`)
	day := time.Date(2026, time.Month(1+r.IntN(5)), 1+r.IntN(20), 0, 0, 0, 0, time.UTC)
	bad := 1 + r.IntN(2)
	for i, k := range r.Perm(len(list[1]))[:5] {
		what := list[1][k]
		day = day.AddDate(0, 0, 5+r.IntN(20))
		text := strings.ReplaceAll(kind[2], "*", what) + "\n\n" + day.Format(pick(r, dayForms()[1:])) + "\n\n" +
			pick(r, split("All in order.|We were five.|More next time.|It took two hours.|Nobody was late.")) + "\n"
		name := day.Format(time.DateOnly) + "-" + slug(what)
		if i < bad {
			name = pick(r, []string{strings.ToUpper(what[:1]) + what[1:], what, what + " new", "the " + what})
		}
		files[path.Join(top, kind[0], name+".txt")] = text
	}
}

// addTwice is a list with numbers in which somebody stands twice.
func addTwice(r *rand.Rand, files map[string]string, top string) {
	kind, _ := parted(r, `cardholders;no;M;shelf,till,desk|donors;nr;D-;cash,bank,goods|tenants;id;T;flat,garage,shop|
skippers;no;;sail,motor,row|choir-friends;no;;post,mail,none|beekeepers;hive;H-;north,south,east|
first-aiders;id;FA;day,night,weekend`)
	who := persons(r, nil, 8)
	r.Shuffle(len(who), func(i, k int) { who[i], who[k] = who[k], who[i] })
	a := r.IntN(4)
	again := who[a]
	if r.IntN(2) == 0 {
		again = again[:1] + ". " + surname(again)
	}
	who[a+2+r.IntN(2)] = again
	var rows [][]string
	for i, name := range who {
		rows = append(rows, []string{fmt.Sprintf("%s%d", kind[2], 11+i), name,
			fmt.Sprintf("555-%04d", 1000+r.IntN(9000)),
			strings.ReplaceAll(strings.ReplaceAll(slug(name), "--", "-"), "-", ".") + "@post.example",
			pick(r, strings.Split(kind[3], ",")),
			fmt.Sprintf("2026-%02d-%02d", 1+i, 1+r.IntN(28))})
	}
	putTable(r, files, path.Join(top, kind[0]), []string{kind[1], "name", pick(r, split("phone|mobile")), "email",
		pick(r, split("kind|type|group")), pick(r, split("since|joined|from"))}, rows)
}

// addDecided are minutes of which two decided on the same, who is to do what by them, and files that say what it is.
func addDecided(r *rand.Rand, files map[string]string, top string) {
	kind, list := parted(r, `meetings;entry fee,yearly fee,guest fee,key deposit;prices,leaflet|board;rent per day,heating
 share,cleaning fee,late fee;terms,notice-board|crew-talks;mooring fee,fuel share,sail fund share,winter fee;charges,
handbook-of-the-boat|house-meetings;kitty share,internet share,cleaning share,parking fee;shares,door-notice|
parents;lunch money,trip money,craft money,book money;fees-this-year,letter-template|society;ticket price,
programme price,raffle price,coffee price;price-board,website-text`)
	chores := newChores()
	var keys []string
	for _, i := range r.Perm(4)[:3] {
		keys = append(keys, list[1][i])
	}
	was, now := fmt.Sprintf("%d.00", 5+r.IntN(40)), fmt.Sprintf("%d.50", 46+r.IntN(30))
	who := split("Anna|Tom|Mila|Jon|Ines|Paul|Rosa")
	said := [][]string{split("The * is # from now on.|We agreed on # as the *.|* fixed at #."),
		split("The * goes up to #.|From now on the * is #.|* raised to #, all in favour.")}
	month := 1 + r.IntN(6)
	at := r.Perm(3)[:2]
	slices.Sort(at)
	for k := range 3 {
		text := fmt.Sprintf("# Meeting of 2026-%02d-%02d\n\n## Decided\n\n- %s\n", month+k, 3+k, pick(r, split("The "+
			"sign stays.|No dogs inside.|We meet on Mondays.|The hedge is cut in autumn.")))
		if i := slices.Index(at, k); i >= 0 {
			line := strings.NewReplacer("*", keys[0], "#", []string{was, now}[i]).Replace(pick(r, said[i]))
			text += "- " + strings.ToUpper(line[:1]) + line[1:] + "\n"
		}
		text += "\n## To do\n\n"
		for _, i := range r.Perm(len(chores))[:2+r.IntN(2)] {
			text += pick(r, split("- [ ] |- [ ] |- [x] ")) + pick(r, who) + ": " + chores[i] + "\n"
		}
		files[path.Join(top, kind[0], fmt.Sprintf("2026-%02d-%02d.md", month+k, 3+k))] = text
	}
	for i, stem := range list[2] {
		text := ""
		for k, key := range keys {
			v := was
			if k > 0 {
				v = fmt.Sprintf("%d.00", 3+k*7)
			} else if i == 1 && r.IntN(3) == 0 {
				v = now
			}
			text += strings.ToUpper(key[:1]) + key[1:] + ": " + v + "\n"
		}
		files[path.Join(top, stem+pick(r, split(".txt|.md")))] = text
	}
}
