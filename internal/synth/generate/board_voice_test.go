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
		`note "from 3 May 2026", 3 May 2026`:     `note "from 3 May 2026", 3 May 2026`,
	} {
		if got := yearless(text, "2026"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSigned(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	v := voice{people: []string{"ida", "Ben", "May", "everyone", "Ana\u00efs", "12", "mo"},
		names: []string{"Gift for Ben"}}
	for text, by := range map[string]string{
		"hand it to ida":                        "Ida",
		"Which are assigned to ida?":            "Ida",
		"let ida look after it":                 "Ida",
		"give what ida has to Ben":              "", // whose name is in a title
		"ida takes it":                          "",
		"assign it to ida, and ask ida's boss":  "",
		`write "for ida" on it`:                 "",
		"what is assigned to ida-marie is late": "",
		"pass it on to ida Adler":               "",
		"put off what goes to May":              "",
		"assign it to everyone":                 "",
		"set the seats to 12":                   "",
		"it goes to mo":                         "",
	} {
		for range 8 {
			got := v.signed(r, text, "Done.")
			if by == "" && got != text {
				t.Errorf("%q: %q", text, got)
			}
			says := strings.Contains(got, by) && strings.Contains(got, " me")
			if by != "" && (!says || strings.Contains(got, "to "+strings.ToLower(by))) {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
	if text := "Count for ida and Ben. NAME: NUMBER"; v.signed(r, text, "ida: 2\nBen: 1") != text {
		t.Error("the answer has to name her")
	}
}

// The year is left out where all days of the things are in one, and the whole list has been read.
func TestVoiceOf(t *testing.T) {
	for _, c := range []struct {
		days   []any
		hidden bool
		whole  bool
		want   string
	}{
		{[]any{"2026-05-03", "2026-01-01", nil}, false, true, "2026"},
		{[]any{"2026-05-03", "2025-01-01", nil}, false, true, ""},
		{[]any{"2026-05-03", "2026-01-01", nil}, true, true, ""},
		{[]any{"2026-05-03", "2026-01-01", nil}, false, false, ""},
	} {
		list := &subject{}
		list.Name = "list"
		table := &programs.Table{Columns: []programs.Column{{Name: "title"}, {Name: "due", Kind: programs.Date}}}
		for _, day := range c.days {
			table.Rows = append(table.Rows, []any{"A", day})
		}
		state := &boardState{board: &board{list: list}, table: table}
		state.columns = []boardColumn{{name: "title"}, {name: "due", hidden: c.hidden}}
		task := &boardTask{reads: []Call{list.filtered(member{"status", quote("open")})}}
		if c.whole {
			task.reads = append(task.reads, list.bare())
		}
		if got := (&boarding{boardState: state}).voiceOf(task).year; got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
