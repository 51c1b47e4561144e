package programs

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// A problem of numbers comes to what its words say, reckoned in another way.
func TestSumsComeToWhatTheySay(t *testing.T) {
	type slots = func(name string) float64
	for kind, want := range map[string]func(n slots, item string) float64{
		"degrees": func(n slots, item string) float64 {
			if item == "Celsius" {
				return n("a")*1.8 + 32
			}
			return (n("a") - 32) / 1.8
		},
		"interest": func(n slots, _ string) float64 { return n("a") * n("b") * n("n") / 1200 },
		"tip_split": func(n slots, _ string) float64 {
			return n("a") * (100 + n("b")) / 100 / n("n")
		},
		"gain": func(n slots, _ string) float64 {
			return n("a")*math.Pow(1+n("b")/100, n("n")) - n("a")
		},
		"growth_plus": func(n slots, _ string) float64 {
			return n("a")*math.Pow(1+n("b")/100, n("n")) + n("v")
		},
		"order_off": func(n slots, _ string) float64 {
			return n("n")*n("a")*(1-n("b")/100) + n("v")
		},
		"leg":   func(n slots, _ string) float64 { return math.Sqrt(n("a")*n("a") - n("b")*n("b")) },
		"split": func(n slots, _ string) float64 { return n("a") / n("n") },
		"part_of_all": func(n slots, _ string) float64 {
			return 100 * n("b") / (n("a") + n("b") + n("v"))
		},
		"rate":        func(n slots, _ string) float64 { return n("n") * n("a") / n("b") },
		"per_hundred": func(n slots, _ string) float64 { return 100 * n("v") / n("a") },
	} {
		r, drawn := rand.New(rand.NewPCG(11, 3)), 0
		for range 30 {
			p := Reckon(r, kind)
			if p == nil {
				continue
			}
			drawn++
			number := func(slot string) float64 {
				x, err := strconv.ParseFloat(p.slots[slot], 64)
				if err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				return x
			}
			near := map[string]float64{"": 1e-6, "two_decimals": 0.0051, "one_decimal": 0.051}[p.slots["round"]]
			got, err := strconv.ParseFloat(p.Answer.Values[0], 64)
			if w := want(number, p.slots["item"]); err != nil || math.Abs(got-w) > near {
				t.Errorf("%s of %v: %v, want %v", kind, p.slots, p.Answer.Values, w)
			}
		}
		if drawn < 10 {
			t.Errorf("%s: %d were drawn", kind, drawn)
		}
	}
}

// Who compares offers names the one that is cheaper for the same amount.
func TestDeals(t *testing.T) {
	each := func(offer string) float64 { // "2.2 litres for 14.95"
		var size, cost float64
		var err error
		f := strings.Fields(offer)
		if size, err = strconv.ParseFloat(f[0], 64); err == nil {
			cost, err = strconv.ParseFloat(f[3], 64)
		}
		if err != nil {
			t.Fatalf("%q: %v", offer, err)
		}
		if f[1] == "litres" || f[1] == "kg" {
			size *= 1000
		}
		return cost / size
	}
	r := rand.New(rand.NewPCG(12, 3))
	for range 40 {
		p := Reckon(r, "deal")
		want := p.slots["x"]
		if each(p.slots["b"]) < each(p.slots["a"]) {
			want = p.slots["y"]
		}
		if p.Answer.Values[0] != want {
			t.Errorf("%v: %v, want %s", p.slots, p.Answer.Values, want)
		}
	}
}

// What is said of times in two places agrees with what their clocks show, and with their days.
func TestWhatIsSaidOfTimes(t *testing.T) {
	ahead := map[string]int{}
	for _, p := range places() {
		ahead[p.zone] = p.ahead
	}
	r, said := rand.New(rand.NewPCG(13, 3)), map[string]bool{}
	for range 80 {
		for kind, want := range map[string]func(there int, p *Reckoning) string{
			"claim": func(there int, p *Reckoning) string {
				return map[bool]string{true: "Yes", false: "No"}[clock(there) == p.slots["name"]]
			},
			"earlier_later": func(there int, p *Reckoning) string {
				return map[bool]string{true: "earlier", false: "later"}[clock(there) < p.slots["name"]]
			},
			"day_too": func(there int, _ *Reckoning) string {
				return []string{"previous day", "same day", "next day"}[(there+1440)/1440]
			},
			"day_changed": func(there int, _ *Reckoning) string {
				return map[bool]string{true: "yes", false: "no"}[(there+1440)/1440 != 1]
			},
		} {
			p := Reckon(r, kind)
			if p == nil {
				continue
			}
			s := p.Steps[0]
			h, m, _ := strings.Cut(s.Time, ":")
			hours, _ := strconv.Atoi(h) // made by clock
			minutes, _ := strconv.Atoi(m)
			w := want(60*hours+minutes+ahead[s.To]-ahead[s.From], p)
			said[w] = true
			if !strings.Contains(strings.Join(p.Answer.Values, "|")+"|", w+"|") {
				t.Errorf("%s of %v: %v, want %s", kind, p.slots, p.Answer.Values, w)
			}
		}
	}
	if len(said) != 9 {
		t.Errorf("%v were said", said)
	}
	for minutes, want := range map[int]string{-1: "previous day", 0: "same day", 1439: "same day", 1440: "next day"} {
		if got := day(minutes); got != want {
			t.Errorf("%d minutes from midnight: %s, want %s", minutes, got, want)
		}
	}
}
