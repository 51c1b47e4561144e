package folders

import "testing"

// desks are a value in several files: a code, a number to call, a name.
func desks() []map[string]string {
	return []map[string]string{{
		"keys.ini": "[safe]\ncode = 4418\n[shed]\nlock = 12\n", "check.md": "# Check\n\n- safe: 4418\n- bins\n",
		"reply.md":               "Dear all,\n\nthe code is 4418.\n",
		"letters/2026-05-02.md":  "Dear Ann,\n\nthe code is 4418.\n",
		"minutes/2026-05-09.txt": "Code is 4418 now.\n",
		"README.md":              "# Rules\n\n- Letters and minutes are left alone.\n",
	}, {
		"facts.yaml": "plumber: 0555 2100\nfloor: 2\n", "new.txt": "Ring 0555 2100, day and night.\n",
		"log/2026.txt": "2026-05-01 rang 0555 2100\n2026-05-02 nothing\n", "a.txt": "x\n",
	}, {
		"info.txt": "Contact: Ann Reed\nDay: Monday\n", "sheet.md": "Ask Ann Reed.\n\nAnn Reed is in on Mondays.\n",
		"sent/may.md": "Ann Reed will help you.\n", "a.txt": "x\n",
	}}
}

// A value becomes another one wherever it holds, and not in what is over.
func TestNewValue(t *testing.T) {
	house, plumber, contact := desks()[0], desks()[1], desks()[2]
	event{house, (*drawer).newValue, func(p *Plan) bool {
		return p.Pattern() == "value_new"
	}, func(p *Plan) map[string]string {
		v := p.Slot("v")
		return map[string]string{"keys.ini": changed(house, "keys.ini", "4418", v),
			"check.md": changed(house, "check.md", "4418", v), "reply.md": changed(house, "reply.md", "4418", v)}
	}, func(p *Plan) map[string]string {
		return map[string]string{"reply.md": house["reply.md"],
			"letters/2026-05-02.md": changed(house, "letters/2026-05-02.md", "4418", p.Slot("v"))}
	}, "The rule, README.md: - Letters and minutes"}.check(t, "a code")
	event{plumber, (*drawer).newValue, func(p *Plan) bool {
		return p.Pattern() == "value_new_but_old" && p.Slot("given") == "the log"
	}, func(p *Plan) map[string]string {
		v := p.Slot("v")
		return map[string]string{"facts.yaml": changed(plumber, "facts.yaml", "0555 2100", v),
			"new.txt": changed(plumber, "new.txt", "0555 2100", v)}
	}, func(p *Plan) map[string]string {
		return map[string]string{"log/2026.txt": changed(plumber, "log/2026.txt", "0555 2100", p.Slot("v"))}
	}, "also in 2026.txt. What is over stays"}.check(t, "a number")
	event{contact, (*drawer).newValue, func(p *Plan) bool { return p.Slot("given") == "what was sent" },
		func(p *Plan) map[string]string {
			v := p.Slot("v")
			return map[string]string{"info.txt": changed(contact, "info.txt", "Ann Reed", v),
				"sheet.md": changed(contact, "sheet.md", "Ann Reed", v)}
		}, func(p *Plan) map[string]string {
			return map[string]string{"sheet.md": "Ask " + p.Slot("v") + ".\n\nAnn Reed is in on Mondays.\n"}
		}, ""}.check(t, "a name")
	for _, can := range []Can{{Tree: true, Show: true, ShowAll: true, Edit: true},
		{List: true, Show: true, Write: true}, {List: true, Show: true, Search: true, Edit: true}} {
		p := draw(newRand(1), Of(contact, nil), can, "act_on_all", (*drawer).newValue)
		if p == nil {
			t.Errorf("no name is changed where only %v can be done", can)
		} else {
			checkWay(t, Of(contact, nil), can, p, p.Word(newRand(1), "train").Task)
		}
	}
}

// An amount goes from one heading to another, as far as the first has it left.
func TestMoveBudget(t *testing.T) {
	spent := "date,for,what,amount\n2026-05-01,garden,seed,58.50\n2026-05-02,garden,soil,31.50\n" +
		"2026-05-03,paint,red,20.00\n"
	yaml := map[string]string{"spent.csv": spent, "a.txt": "x\n",
		"budget.yaml": "year: 2026\nplanned:\n  garden: 300\n  windows: 600\n  paint: 90\ntotal: 990\nchanges:\n" +
			"  - 2026-04-02: paint -30 to windows +30\n"}
	table := map[string]string{"spent.csv": spent, "a.txt": "x\n",
		"plan.md": "| for | planned |\n|---|---|\n| garden | 300 |\n| windows | 600 |\n| paint | 90 |\n"}
	text := map[string]string{"costs.md": "| day | head | amount |\n|---|---|---|\n| 1 | Boats | 20 |\n" +
		"| 2 | Oars | 30 |\n| 3 | Oars | 5 |\n", "a.txt": "x\n", "budget.txt": "Boats: 100\nOars: 50\nJetty: 70\n"}
	move := func(v, x, y string) func(*Plan) bool {
		return func(p *Plan) bool { return p.Slot("v") == v && p.Slot("x") == x && p.Slot("y") == y }
	}
	event{yaml, (*drawer).moveBudget, func(p *Plan) bool {
		return move("250", "garden", "windows")(p) && p.Slot("time") == "2026-04-09"
	}, func(*Plan) map[string]string {
		return map[string]string{"budget.yaml": changed(yaml, "budget.yaml", "300", "90", "600", "810") +
			"  - 2026-04-09: garden -210 to windows +210\n"}
	}, func(*Plan) map[string]string {
		return map[string]string{"budget.yaml": changed(yaml, "budget.yaml", "300", "50", "600", "850") +
			"  - 2026-04-09: garden -250 to windows +250\n"}
	}, "58.50 + 31.50 = 90\n300 - 90 = 210 are left\nThat is less than 250, so only 210 go to windows."}.
		check(t, "too much")
	event{table, (*drawer).moveBudget, move("100", "garden", "paint"), func(*Plan) map[string]string {
		return map[string]string{"plan.md": changed(table, "plan.md", "300", "200", "90", "190")}
	}, func(*Plan) map[string]string {
		return map[string]string{"plan.md": changed(table, "plan.md", "300", "90", "90", "300")}
	}, "That is enough"}.check(t, "enough")
	event{text, (*drawer).moveBudget, move("20", "oars", "jetty"), func(*Plan) map[string]string {
		return map[string]string{"budget.txt": "Boats: 100\nOars: 35\nJetty: 85\n"}
	}, func(*Plan) map[string]string {
		return map[string]string{"budget.txt": "Boats: 100\nOars: 30\nJetty: 90\n"}
	}, "30 + 5 = 35\n50 - 35 = 15 are left"}.check(t, "in a text")
}

// Of a heading with less than ten nothing is moved.
func TestLittleIsNotMoved(t *testing.T) {
	f := Of(map[string]string{"costs.csv": "day,head,amount\n1,Boats,1\n2,Oars,2\n3,Oars,1\n",
		"budget.txt": "Boats: 9\nOars: 8\nJetty: 70\n"}, nil)
	if len(f.budgets) != 1 {
		t.Fatalf("there are %d budgets", len(f.budgets))
	}
	for seed := range uint64(100) {
		if p := draw(newRand(seed), f, everything(), "set", (*drawer).moveBudget); p != nil {
			t.Fatalf("%s moves from %s", p.Pattern(), p.Slot("x"))
		}
	}
}
