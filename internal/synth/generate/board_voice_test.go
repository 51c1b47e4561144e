package generate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

func TestYearless(t *testing.T) {
	for text, want := range map[string]string{
		"put it on 3 May 2026":                   "put it on 3 May",
		"due May 3, 2026, please":                "due May 3, please",
		"what is due in June 2026?":              "what is due in June?",
		"the 2nd of June 2026 and 4 Jul 2026":    "the 2nd of June and 4 Jul",
		"from 3 May 2025 to 3 May 2026":          "from 3 May 2025 to 3 May 2026", // it has to be said
		"set it to 2026-05-03, or in 2026":       "set it to 2026-05-03, or in 2026",
		"Mayor 2026 has 12 Maytrees, 1 May 2026": "Mayor 2026 has 12 Maytrees, 1 May",
	} {
		if got := yearless(text, "2026"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSigned(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for text, by := range map[string]string{
		"hand it to ida":                        "Ida",
		"Which are assigned to ida?":            "Ida",
		"let ida look after it":                 "Ida",
		"give what ida has to ben":              "Ben",
		"ida takes it":                          "",
		"assign it to ida, and ask ida's boss":  "",
		`write "for ida" on it`:                 "",
		"what is assigned to ida-marie is late": "",
	} {
		for range 8 {
			got := signed(r, text, []string{"ida", "ben"})
			if by == "" && got != text {
				t.Errorf("%q: %q", text, got)
			}
			says := strings.Contains(got, by) && strings.Contains(got, " me")
			if by != "" && (!says || strings.Contains(got, "to "+strings.ToLower(by))) {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
}

// Who asks in two messages is named in the first: it may be answered before the second is said.
func TestSignedBeforeTheFirst(t *testing.T) {
	for seed := range uint64(20) {
		text := "List what is open. " + programs.NextMessage + " Give them to ben."
		got := signed(rand.New(rand.NewPCG(seed, 1)), text, []string{"ben"})
		if !strings.HasPrefix(got, "Ben here") || !strings.HasSuffix(got, "Give them to me.") {
			t.Errorf("%q", got)
		}
	}
}
