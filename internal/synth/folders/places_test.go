package folders

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A new row of a table may stand anywhere in it, and in one that is sorted at its place or where it was put; no row is
// lost or changed, and the new one stands there once.
func TestPlacesOfANewRow(t *testing.T) {
	const (
		loose  = "who,gear,hours\nBo Maes,tent,3\nAna Lund,boat,8\nCy Petit,canoe,2\n"
		dated  = "day,who\n2026-03-09,Bo\n2026-03-10,Ana\n2026-03-12,Cy\n2026-03-12,Ana\n"
		bars   = "# Gear\n\n| who | hours |\n|---|---|\n| Bo | 3 |\n| Ana | 8 |\n| Cy | 2 |\n\nThat is all.\n"
		coded  = "code,who\nR-9,Bo\nR-10,Ana\nR-11,Ana\n"
		falls  = "points,who\n9.5,Bo\n9.25,Cy\n7,Ana\n"
		paid   = "who,paid\nBo,yes\nCy,yes\nAna,yes\n"
		listed = "# Gear\n- tent\n- boat\n- canoe\n"
	)
	in := func(text string, line int, row string) string {
		lines := strings.Split(text, "\n")
		return strings.Join(slices.Insert(lines, line, row), "\n")
	}
	const dan = "Dan Ito,raft,5"
	for name, c := range map[string]struct {
		file, was, now string
		are, no        []string
	}{
		"at any place": {"gear.csv", loose, in(loose, 4, dan),
			[]string{in(loose, 1, dan), in(loose, 2, dan), in(loose, 3, dan), in(loose, 4, dan),
				"\n" + in(loose, 4, dan), strings.TrimSpace(in(loose, 4, dan))},
			[]string{loose, in(loose, 0, dan), in(in(loose, 2, dan), 2, dan), in(in(loose, 4, dan), 1, dan),
				in(strings.Replace(loose, "Bo Maes,tent,3\n", "", 1), 3, dan), in(loose, 4, "Dan Ito,raft,6"),
				in(strings.Replace(loose, "tent", "rent", 1), 4, dan), in(in(loose, 4, dan), 4, "Eve,raft,1"),
				in(loose, 4, dan+"0"), in(loose, 4, "\n"+dan), loose + "\n \n"}},
		"between others": {"gear.csv", loose, in(loose, 2, dan), []string{in(loose, 4, dan), in(loose, 2, dan)},
			[]string{loose}},
		"sorted by a day": {"log.csv", dated, in(dated, 5, "2026-03-11,Eve"),
			[]string{in(dated, 3, "2026-03-11,Eve"), in(dated, 5, "2026-03-11,Eve")},
			[]string{in(dated, 1, "2026-03-11,Eve"), in(dated, 2, "2026-03-11,Eve"), in(dated, 4, "2026-03-11,Eve"),
				dated}},
		"sorted and last": {"log.csv", dated, in(dated, 5, "2026-03-14,Eve"), []string{in(dated, 5, "2026-03-14,Eve")},
			[]string{in(dated, 4, "2026-03-14,Eve"), in(dated, 1, "2026-03-14,Eve"), dated}},
		"sorted by a code": {"codes.csv", coded, in(coded, 4, "R-12,Al"), []string{in(coded, 4, "R-12,Al")},
			[]string{in(coded, 1, "R-12,Al"), in(coded, 2, "R-12,Al"), in(coded, 3, "R-12,Al")}},
		"sorted from the greatest": {"ranks.csv", falls, in(falls, 4, "9.3,Al"),
			[]string{in(falls, 2, "9.3,Al"), in(falls, 4, "9.3,Al")},
			[]string{in(falls, 1, "9.3,Al"), in(falls, 3, "9.3,Al")}},
		"between bars": {"gear.md", bars, in(bars, 7, "| Dan | 5 |"),
			[]string{in(bars, 4, "| Dan | 5 |"), in(bars, 6, "|Dan|5|"), in(bars, 7, "|  Dan |   5 | ")},
			[]string{in(strings.Replace(bars, "| Bo | 3 |", "|Bo|3|", 1), 7, "| Dan | 5 |"),
				in(bars, 3, "| Dan | 5 |"), in(bars, 8, "| Dan | 5 |"), in(bars, 9, "| Dan | 5 |"), bars}},
		"all alike in a column": {"fees.csv", paid, in(paid, 4, "Bea,no"), []string{in(paid, 1, "Bea,no"),
			in(paid, 3, "Bea,no")}, []string{paid}},
		"below a table": {"gear.md", bars, in(bars, 8, "| Dan | 5 |"), []string{in(bars, 8, "| Dan | 5 |")},
			[]string{in(bars, 6, "| Dan | 5 |"), in(bars, 7, "| Dan | 5 |")}},
		"a changed cell": {"gear.md", bars, strings.Replace(bars, "| 8", "| 9", 1),
			[]string{strings.Replace(bars, "| Ana | 8 |", "|Ana|  9|", 1)},
			[]string{strings.NewReplacer("| Ana | 8 |", "| Ana | 9 |", "| Bo | 3 |", "|Bo|3|").Replace(bars)}},
		"a remark": {"gear.csv", loose, in(loose, 4, "Dan"), []string{in(loose, 4, "Dan")}, []string{in(loose, 2, "Dan")}},
		"no row": {"gear.md", listed, in(listed, 4, "- raft"), []string{in(listed, 4, "- raft")},
			[]string{in(listed, 2, "- raft")}},
		"two rows": {"gear.csv", loose, in(in(loose, 4, dan), 5, "Eve,raft,1"),
			[]string{in(in(loose, 4, dan), 5, "Eve,raft,1")}, []string{in(in(loose, 4, dan), 2, "Eve,raft,1")}},
		"a changed row": {"gear.csv", loose, strings.Replace(loose, "8", "9", 1),
			[]string{strings.Replace(loose, "8", "9", 1)}, []string{loose}},
		"a new file": {"new.csv", "", "a,b\n1,2\n", []string{"a,b\n1,2"}, []string{"a,b", "1,2\na,b"}},
	} {
		files := map[string]string{"else.txt": "x\n"}
		if c.was != "" {
			files[c.file] = c.was
		}
		texts := Of(files, nil).Texts(c.file, c.now)
		meets := func(text string) bool {
			return !slices.ContainsFunc(texts,
				func(want string) bool { return !regexp.MustCompile(want).MatchString(text) })
		}
		for _, text := range c.are {
			if !meets(text) {
				t.Errorf("%s: refused is\n%s\nby %q", name, text, texts)
			}
		}
		for _, text := range c.no {
			if meets(text) {
				t.Errorf("%s: taken is\n%s\nby %q", name, text, texts)
			}
		}
	}
}

// A line that begins with a bar and does not end with one may have blanks at its end.
func TestBlanksAtTheEnd(t *testing.T) {
	for _, text := range []string{"| date ", "| date", "| date |", "| date | "} {
		if want := exactly("# A\n"+text+"\n| 1 |", nil); !matches(want, "# A\n"+text+"\n| 1 |") {
			t.Errorf("%q does not meet %q", text, want)
		}
	}
}
