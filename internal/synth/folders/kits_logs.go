package folders

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
)

// addTurns is a table of weeks with who does what, each person in several columns.
func addTurns(r *rand.Rand, files map[string]string, top string, people []string) {
	first, second, _ := strings.Cut(pick(r, split("kitchen;plants|front desk;post|bins;stairs|opening;closing|"+
		"bar;door|phone;mail")), ";")
	who := persons(r, people, 6+r.IntN(3))
	week, shift := 2+r.IntN(40), 1+r.IntN(4)
	text := "# Turns\n\n| week | " + first + " | " + second + " |\n|---|---|---|\n"
	order := r.Perm(len(who))
	for i := range who {
		text += fmt.Sprintf("| %d | %s | %s |\n", week+i, who[order[i]], who[order[(i+shift)%len(who)]])
	}
	files[path.Join(top, pick(r, split("duty-plan|week-plan|who-does-what"))+".md")] = text +
		"\nSwaps are fine, but note them here.\n"
}

// addLending is a table of things by their codes with who has each, and a log of what went out and came back.
func addLending(r *rand.Rand, files map[string]string, top string, people []string) {
	letter, goods, _ := strings.Cut(pick(r, split("K;hall key,cellar key,van key,gate lock,yard lock,spare bell|"+
		"B;long board,short board,blue kayak,red kayak,old canoe,raft|C;field camera,studio camera,small tripod,"+
		"tall tripod,desk lamp,clip lamp|I;alto horn,tenor horn,snare drum,bass drum,silver flute,wooden flute|"+
		"M;circular saw,band saw,power drill,hand drill,belt sander,air pump")), ";")
	list, who := strings.Split(goods, ","), persons(r, people, 5)
	holder := map[int]string{}
	log, day := "", 2
	for range 6 + r.IntN(3) {
		day += 1 + r.IntN(2)
		i := r.IntN(len(list))
		code := fmt.Sprint(letter, i+1)
		if holder[i] == "" {
			holder[i] = pick(r, who)
			log += fmt.Sprintf("2026-06-%02d  %s  out   %s\n", day, code, holder[i])
		} else {
			log += fmt.Sprintf("2026-06-%02d  %s  back\n", day, code)
			delete(holder, i)
		}
	}
	dir := path.Join(top, pick(r, split("store|cupboard|lending|shelf")))
	if r.IntN(2) == 0 {
		text := "code,name,state,holder\n"
		for i, name := range list {
			text += fmt.Sprintf("%s%d,%s,%s,%s\n", letter, i+1, name, pick(r, split("good|worn|broken")), holder[i])
		}
		files[path.Join(dir, "things.csv")] = text
	} else {
		text := "[\n"
		for i, name := range list {
			with := "null"
			if holder[i] != "" {
				with = `"` + holder[i] + `"`
			}
			text += fmt.Sprintf(`  {"code": "%s%d", "name": "%s", "state": "%s", "holder": %s}`, letter, i+1, name,
				pick(r, split("good|worn|broken")), with)
			text += map[bool]string{true: ",\n", false: "\n"}[i < len(list)-1]
		}
		files[path.Join(dir, "things.json")] = text + "]\n"
	}
	files[path.Join(dir, pick(r, split("log|record|who-had-what"))+".txt")] = log
}

// addTwins is a log of what something cost, with wide gaps, and the book in which all but the last of that is entered,
// among other costs.
func addTwins(r *rand.Rand, files map[string]string, top string) {
	log, things, _ := strings.Cut(pick(r, split("boat-log;diesel 40 l,oil 2 l,rope 20 m,paint 3 l|"+
		"oven-log;gas 11 kg,flour 25 kg,yeast 2 kg,salt 5 kg|"+
		"workshop-log;screws 2 kg,glue 1 l,sandpaper 10 m,paint 5 l|"+
		"garden-log;compost 80 l,seeds 12 g,hose 15 m,gravel 40 kg")), ";")
	who, list := split(pick(r, []string{"Anna|Tom|Mila", "Jon|Ines|Paul", "Kim|Lena|Omar"})), strings.Split(things, ",")
	text, book, day := "", "date,payer,what,amount\n", 1
	n := 5 + r.IntN(2)
	for i := range n {
		day += 1 + r.IntN(3)
		date, thing, payer := fmt.Sprintf("2026-07-%02d", day), pick(r, list), pick(r, who)
		amount := fmt.Sprintf("%d.%02d", 8+r.IntN(90), 5+5*r.IntN(18))
		text += padded(padded(date+"  "+thing, 26)+amount, 35) + payer + "\n"
		if i < n-1-n%2 {
			book += date + "," + payer + "," + strings.Fields(thing)[0] + "," + amount + "\n"
		}
		if i < n-1-n%2 && r.IntN(3) == 0 { // no other cost is later than those that are missing
			book += fmt.Sprintf("2026-07-%02d,%s,%s,%d.%02d\n", day, pick(r, who),
				pick(r, split("stamps|tea|printing")), 3+r.IntN(60), 5*r.IntN(20))
		}
	}
	files[path.Join(top, log+".txt")] = text
	files[path.Join(top, pick(r, []string{"", "money"}), pick(r, split("cash-book|paid-by|purse"))+".csv")] = book
}

// addOrders is who wants how many of what, with the price of one in each row, or in a file of its own.
func addOrders(r *rand.Rand, files map[string]string, top string, people []string) {
	goods := strings.Split(pick(r, split("honey jar;rye flour;oat flakes;apple juice;dried pears|"+
		"tulip bulbs;garlic sets;lawn seed;bean seed;onion sets|copy paper;box file;marker;stapler;note pad|"+
		"score book;mute;valve oil;reed box;music stand")), ";")
	own, header := r.IntN(2) == 0, "who,item,count\n"
	prices, cost := "", map[string]string{}
	for _, thing := range goods {
		cost[thing] = fmt.Sprintf("%d.%d0", 1+r.IntN(15), r.IntN(10))
		prices += thing + ": " + cost[thing] + "\n"
	}
	if own {
		header = "who,item,count,price\n"
	}
	text := header
	for _, who := range persons(r, people, 4+r.IntN(2)) {
		for _, i := range r.Perm(len(goods))[:1+r.IntN(3)] {
			text += fmt.Sprintf("%s,%s,%d", who, goods[i], 1+r.IntN(6))
			if own {
				text += "," + cost[goods[i]]
			}
			text += "\n"
		}
	}
	files[path.Join(top, pick(r, split("joint-order|wishes|preorders"))+".csv")] = text
	if !own {
		name := pick(r, split("supplier-prices|price-sheet|prices-2026")) + pick(r, split(".txt|.yaml"))
		files[path.Join(top, name)] = prices
	}
}
