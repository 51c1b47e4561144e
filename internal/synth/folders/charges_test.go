package folders

import (
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// What is charged follows a rule of one file, by a row of another and the prices of a third.
func TestCharges(t *testing.T) {
	files := map[string]string{
		"stays.csv":  "guest,nights,dog,paid\nAna Lund,4,yes,50.00\nBo Maes,3,no,0.00\nCy Petit,2,no,20.00\n",
		"prices.txt": "Price per night: 40.00\nDog fee: 12.50\nLost key: 9.00\n",
		"billing.md": "How we charge\n\nA stay costs its nights times the price per night, plus the dog fee if dog " +
			"is yes, less what was paid.\n",
	}
	for _, test := range []struct{ pattern, x, answer, works string }{
		{"due_of", "Ana Lund", "122.50", "4 x 40.00 = 160.00\ndog is yes, dog fee 12.50: 160.00 + 12.50 = 172.50\n" +
			"172.50 - 50.00 = 122.50"},
		{"charge_both", "Cy Petit", "total = 80.00\nleft = 60.00",
			"dog is no: nothing comes on top\n80.00 - 20.00 = 60.00"},
	} {
		_, p := drawn(t, files, programs.Total, test.pattern, func(p *Plan) bool { return p.Slot("x") == test.x })
		got := strings.Join(p.Answer.Values, "\n")
		if got != test.answer || !strings.HasSuffix(p.Working(), test.works) ||
			!strings.Contains(p.Working(), "billing.md: A stay costs") {
			t.Errorf("%q by %q", got, p.Working())
		}
	}
	files["old-prices.txt"] = "Price per night: 30.00\n"
	d := &drawer{r: newRand(1), f: Of(files, nil), can: everything(), seen: map[string]bool{}}
	for range 20 {
		if d.findCharge() != nil {
			t.Fatal("two files say what a night costs")
		}
	}
}
