package folders

import (
	"maps"
	"strings"
	"testing"
)

// booked are bookings with money and a plan, in one of three forms.
func booked() []map[string]string {
	return []map[string]string{{
		"tours.csv": "code,day,guest,boat,state,deposit_paid\nT-01,2026-05-02,Moss,Otter,fixed,yes\n" +
			"T-02,2026-05-09,Reed,Pike,fixed,no\nT-03,2026-05-16,Fern,Otter,cancelled,no\n" +
			"T-04,2026-05-23,Lund,Pike,asked,yes\nT-05,2026-05-30,Hill,Swan,asked,yes\n",
		"money/deposits.csv": "code,guest,amount,date,how,remark\nT-01,Moss,80.00,2026-04-01,bank,\n" +
			"T-04,Lund,80.00,2026-04-03,cash,\nT-05,Hill,80.00,2026-04-08,bank,late\n",
		"crew.md": "# Crew\n\n| date | guest | skipper |\n|---|---|---|\n| 2026-05-02 | Moss | Ida |\n" +
			"| 2026-05-09 | Reed | Bo |\n| 2026-05-16 | Fern | no trip |\n| 2026-05-23 | Lund | Ida |\n",
		"README.md": "# How\n\n- Money: a line in deposits and yes under deposit_paid.\n" +
			"- Off: the state is cancelled, crew says \"no trip\".\n",
	}, {
		"orders.md": "| no | customer | cake | paid | status |\n|---|---|---|---|---|\n" +
			"| O-1 | Moss | Opera | no | open |\n| O-2 | Reed | Linzer | yes | open |\n" +
			"| O-3 | Fern | Opera | yes | withdrawn |\n| O-4 | Lund | Opera | yes | baking |\n",
		"till.csv": "date,no,amount\n2 May 2026,O-2,45\n5 May 2026,O-3,30\n6 May 2026,O-4,45\n",
		"plan.csv": "day,customer\n1,Moss\n",
	}}
}

// Money that comes in is a yes in one file and a row in the other, and what is said to be otherwise then is.
func TestMoneyIn(t *testing.T) {
	tours, orders := booked()[0], booked()[1]
	event{tours, (*drawer).moneyIn, func(p *Plan) bool {
		return p.Pattern() == "money_in" && p.Slot("given") == "80, bank, 2026-04-09"
	}, func(*Plan) map[string]string {
		return map[string]string{"tours.csv": changed(tours, "tours.csv", "Pike,fixed,no", "Pike,fixed,yes"),
			"money/deposits.csv": tours["money/deposits.csv"] + "T-02,Reed,80.00,2026-04-09,bank,\n"}
	}, func(*Plan) map[string]string {
		return map[string]string{"tours.csv": tours["tours.csv"],
			"money/deposits.csv": tours["money/deposits.csv"] + "T-02,Reed,80.00,2026-04-09,bank,new\n"}
	}, "The rule, README.md: - Money: a line in deposits"}.check(t, "by a rule")
	event{orders, (*drawer).moneyIn, func(p *Plan) bool {
		return p.Slot("attr") == "paid" && p.Slot("given") == "30 on 7 May 2026"
	}, func(*Plan) map[string]string {
		return map[string]string{"orders.md": changed(orders, "orders.md", "| no | open", "| yes | open"),
			"till.csv": orders["till.csv"] + "7 May 2026,O-1,30\n"}
	}, func(*Plan) map[string]string {
		return map[string]string{"till.csv": orders["till.csv"] + "2026-05-07,O-1,30\n"}
	}, "so the row is 7 May 2026, O-1, 30."}.check(t, "as the request says")
	event{tours, (*drawer).moneyThenOtherwise, func(p *Plan) bool {
		return p.Slot("given") == "80, bank, 2026-04-09" && p.Then().Slot("v") == "60" && p.Later() == 1
	}, func(*Plan) map[string]string {
		return map[string]string{"tours.csv": changed(tours, "tours.csv", "Pike,fixed,no", "Pike,fixed,yes"),
			"money/deposits.csv": tours["money/deposits.csv"] + "T-02,Reed,60.00,2026-04-09,bank,\n"}
	}, func(*Plan) map[string]string {
		return map[string]string{"money/deposits.csv": tours["money/deposits.csv"] +
			"T-02,Reed,80.00,2026-04-09,bank,\nT-02,Reed,60.00,2026-04-09,bank,\n"}
	}, "the amount is 60"}.check(t, "in two messages")
}

// Who cancels stays in the list, and has what those have who did; the other one is as before.
func TestCallOff(t *testing.T) {
	tours, orders := booked()[0], booked()[1]
	x := func(name string) func(*Plan) bool { return func(p *Plan) bool { return p.Slot("x") == name } }
	event{tours, (*drawer).calledOff, x("Reed"), func(*Plan) map[string]string {
		return map[string]string{"tours.csv": changed(tours, "tours.csv", "Pike,fixed", "Pike,cancelled"),
			"crew.md": changed(tours, "crew.md", "Reed | Bo", "Reed | no trip")}
	}, func(*Plan) map[string]string {
		return map[string]string{"tours.csv": changed(tours, "tours.csv", "T-02,2026-05-09,Reed,Pike,fixed,no\n", ""),
			"crew.md": changed(tours, "crew.md", "Reed | Bo", "Reed | cancelled")}
	}, "crew.md has no trip."}.check(t, "with a plan")
	event{orders, (*drawer).calledOff, x("Lund"), func(*Plan) map[string]string {
		return map[string]string{"orders.md": changed(orders, "orders.md", "baking", "withdrawn")}
	}, func(*Plan) map[string]string {
		return map[string]string{"orders.md": changed(orders, "orders.md", "baking", "cancelled")}
	}, "has withdrawn there"}.check(t, "without one")
	event{tours, (*drawer).callOffOther, func(p *Plan) bool {
		return p.Slot("x") == "Reed" && p.Then().Slot("y") == "Lund" && p.Later() == 4
	}, func(*Plan) map[string]string {
		return map[string]string{"tours.csv": changed(tours, "tours.csv", "asked,yes\nT-05", "cancelled,yes\nT-05"),
			"crew.md": changed(tours, "crew.md", "Lund | Ida", "Lund | no trip")}
	}, func(*Plan) map[string]string {
		return map[string]string{"crew.md": changed(tours, "crew.md", "Lund | Ida", "Lund | no trip", "Bo", "no trip")}
	}, "Lund is off"}.check(t, "of two")
	odd := maps.Clone(tours)
	odd["calls.csv"] = "who,day\nReed,Monday\nMoss,Friday\nHill,Sunday\n"
	d := &drawer{f: Of(odd, nil), can: everything(), seen: map[string]bool{}, call: map[*Doc]string{}}
	for seed := range uint64(60) {
		d.r = newRand(seed)
		if p := d.calledOff(); p != nil && p.Slot("x") == "Reed" {
			t.Fatal("a third table has Reed, of which nothing says what becomes of it")
		}
	}
}

// What is yes or no is the payment only where the column says so.
func TestPaidIsSaid(t *testing.T) {
	for column, is := range map[string]bool{"deposit_paid": true, "payment": true, "fee received": true,
		"vegetarian": false, "member": false} {
		text := strings.Replace(booked()[0]["tours.csv"], "deposit_paid", column, 1)
		if got := readBookings(Read("tours.csv", text)) != nil; got != is {
			t.Errorf("%s says what is paid: %v", column, got)
		}
	}
}

// Nearly all kits of bookings have files, and all of these are read as bookings.
func TestBookingKitsAreRead(t *testing.T) {
	none := 0
	for seed := range uint64(40) {
		files := map[string]string{}
		addBookings(newRand(seed), files, "")
		if len(files) == 0 {
			none++
		} else if len(Of(files, nil).booked) == 0 {
			t.Errorf("nothing is booked in %q", files)
		}
	}
	if none > 4 {
		t.Errorf("%d of 40 kits have no files", none)
	}
}
