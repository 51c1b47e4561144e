package folders

import (
	"strings"
	"testing"
)

// stores are inventories: by rooms, of one place, and between bars.
func stores() []map[string]string {
	return []map[string]string{{
		"house.csv": "room,item,count,since,note\nkitchen,mugs,11,2019,\nkitchen,plates,10,2019,old\n" +
			"kitchen,forks,8,2020,\nkitchen,pans,3,2021,\nattic,mugs,4,2012,\nattic,beds,2,2012,\n" +
			"attic,lamps,2,2012,\n",
		"a.txt": "x\n", "b.txt": "y\n",
	}, {
		"gear.md": "| item | qty | remark |\n|---|---|---|\n| tents | 6 |  |\n| axes | 6 | sharp |\n| lanterns | 9 |  |\n" +
			"| pegs | 30 |  |\n", "a.txt": "x\n", "b.txt": "y\n",
	}, {
		"shed/tools.csv": "what,shelf,pieces,notes\nhammer,top,3,\nhammer,low,5,\nfile,top,2,\nsaw,low,4,\n",
		"a.txt":          "x\n", "b.txt": "y\n",
	}}
}

// Of what somebody counted only what differs changes, and of what is lost there is one less where it was, with a note.
func TestInventories(t *testing.T) {
	house, gear, shed := stores()[0], stores()[1], stores()[2]
	event{house, (*drawer).recount, func(p *Plan) bool {
		given := p.Slot("given")
		return p.Slot("head") == "kitchen" && strings.Contains(given, "mugs 9 (two broken)") &&
			strings.Contains(given, "plates 10") && strings.Contains(given, "forks 8") &&
			strings.Contains(given, "pans 3")
	}, func(*Plan) map[string]string {
		return map[string]string{"house.csv": changed(house, "house.csv", "mugs,11,2019,", "mugs,9,2019,two broken")}
	}, func(*Plan) map[string]string {
		return map[string]string{"house.csv": changed(house, "house.csv", "mugs,11,2019,", "mugs,9,2019,")}
	}, "plates: 10 there, 10 told - stays"}.check(t, "counted in a room")
	event{gear, (*drawer).recount, func(p *Plan) bool {
		return strings.Contains(p.Slot("given"), "tents 8") &&
			strings.Contains(p.Slot("given"), "axes 6") && strings.Contains(p.Slot("given"), "lanterns 9") &&
			strings.Contains(p.Slot("given"), "pegs 30")
	}, func(*Plan) map[string]string {
		return map[string]string{"gear.md": changed(gear, "gear.md", "tents | 6", "tents | 8")}
	}, func(*Plan) map[string]string {
		return map[string]string{"gear.md": changed(gear, "gear.md", "| 6 |", "| 8 |")}
	}, "tents: 6 there, 8 told - changes"}.check(t, "counted")
	event{shed, (*drawer).lostOne, func(p *Plan) bool {
		return p.Slot("x") == "one hammer" && p.Slot("head") == "low" && p.Slot("v") == "got lost"
	}, func(*Plan) map[string]string {
		return map[string]string{"shed/tools.csv": changed(shed, "shed/tools.csv", "low,5,", "low,4,one lost")}
	}, func(*Plan) map[string]string {
		return map[string]string{"shed/tools.csv": changed(shed, "shed/tools.csv", "top,3,", "top,2,one lost")}
	}, "5 - 1 = 4, and notes says why. Those in top stay."}.check(t, "lost")
	// the note is in words of one's own, and says why
	f := Of(shed, nil)
	for seed := range uint64(400) {
		p := draw(newRand(seed), f, everything(), "adjust", (*drawer).lostOne)
		if p == nil || p.Slot("v") != "broke" || p.Slot("x") != "one saw" {
			continue
		}
		after, _ := f.State().Apply(p.Ops)
		is := p.Texts(f, "shed/tools.csv", after["shed/tools.csv"])[0]
		for note, fits := range map[string]bool{"One broke in May": true, "broken": true, "lost": false, "": false} {
			if matches(is, strings.Replace(after["shed/tools.csv"], "one broken", note, 1)) != fits {
				t.Errorf("%q fits: %v", note, !fits)
			}
		}
		return
	}
	t.Error("no saw broke")
}

// Of what is sold nothing is taken off an inventory, in which a note would have to say why.
func TestInventoriesAreNoStock(t *testing.T) {
	f := Of(map[string]string{"sold-monday.txt": "3 x loaf\n4 x roll\n1 x bun\n",
		"stock.csv": "item,count,note\nloaf,12,\nroll,40,\nbun,9,\npie,30,old\n"}, nil)
	for seed := range uint64(300) {
		if p := draw(newRand(seed), f, everything(), "several", (*drawer).soldMore); p != nil {
			t.Fatalf("%+v is drawn", p.Ops)
		}
	}
}
