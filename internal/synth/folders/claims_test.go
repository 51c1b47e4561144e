package folders

import (
	"strings"
	"testing"
)

// A bill that agrees with what is booked and not paid is marked and entered; one that does not is not.
func TestBillAgainstOurList(t *testing.T) {
	book := "date,what,amount\n2026-02-03,Old Mill January,30.00\n2026-02-09,stamps,8.00\n2026-02-20,flowers,12.50\n"
	jobs := "# To do\n\n- [ ] oil the gate\n- [x] ring Bo\n- [ ] sweep the hall\n"
	for _, c := range []struct {
		file, text, x, months, sum, was, paid string
		rows                                  []string
		more                                  string
	}{
		{"halls.csv", "date,hall,cost,status\n2026-02-01,Old Mill,30.00,paid\n2026-03-02,Old Mill,45.00,booked\n" +
			"2026-03-09,Guild Room,20.00,booked\n2026-03-16,Old Mill,30.00,cancelled\n" +
			"2026-03-23,Old Mill,45.50,booked\n2026-04-06,Old Mill,45.00,booked\n",
			"Old Mill", "March", "90.50", "booked", "paid",
			[]string{"2026-03-02,Old Mill,45.00,", "2026-03-23,Old Mill,45.50,"}, "2026-04-06,Old Mill,45.00,"},
		{"work/lessons.md", "# Lessons\n\n| day | teacher | fee | state |\n|---|---|---|---|\n" +
			"| 02/05/2026 | Ms Roy | 40 | given |\n| 09/05/2026 | Mr Ames | 35 | given |\n" +
			"| 16/05/2026 | Ms Roy | 40 | dropped |\n" +
			"| 06/06/2026 | Ms Roy | 50 | given |\n| 13/06/2026 | Mr Ames | 35 | paid |\n" +
			"| 04/07/2026 | Ms Roy | 40 | given |\n",
			"Ms Roy", "May and June", "90", "given", "paid", []string{"| 02/05/2026 | Ms Roy | 40 | ",
				"| 06/06/2026 | Ms Roy | 50 | "}, "| 04/07/2026 | Ms Roy | 40 | "},
		{"print.csv", "date,printer,price,state\n2026-03-02,Fox Press,10.00,open\n2026-03-03,Redleaf,99.00,open\n" +
			"2026-03-05,Fox Press,15.00,open\n2026-03-06,Fox Press,60.00,settled\n2026-04-07,Fox Press,5.00,open\n" +
			"2026-05-08,Redleaf,11.00,withdrawn\n", "Fox Press", "March", "25", "open", "settled",
			[]string{"2026-03-02,Fox Press,10.00,", "2026-03-05,Fox Press,15.00,"}, "2026-04-07,Fox Press,5.00,"},
	} {
		files := map[string]string{c.file: c.text, "money/accounts.csv": book, "jobs.md": jobs}
		of := func(agrees bool) func(*Plan) bool {
			return func(p *Plan) bool {
				return p.Slot("x") == c.x && p.Slot("ref") == c.months && (p.Slot("v") == c.sum) == agrees
			}
		}
		marked := c.text
		for _, row := range c.rows {
			marked = strings.Replace(marked, row+c.was, row+c.paid, 1)
		}
		again := strings.Replace(marked, c.more+c.was, c.more+c.paid, 1)
		fits := func(p *Plan) bool {
			return of(true)(p) && strings.Contains(strings.Join(newTexts(p), "\n"), "-02,") // of one day
		}
		_, p := drawnBy(t, end{files: files, way: (*drawer).checkBill, pattern: "bill_or_do", fits: fits})
		now, _ := Of(files, nil).State().Apply(p.Ops)
		entered := now["money/accounts.csv"]
		row := strings.TrimPrefix(entered, book)
		checkEnd(t, end{files: files, way: (*drawer).checkBill, pattern: "bill_or_do",
			fits: func(o *Plan) bool {
				return fits(o) && strings.Contains(strings.Join(newTexts(o), ""), strings.TrimSpace(row))
			},
			want: map[string]string{c.file: marked, "money/accounts.csv": entered}, why: "does not count",
			also: map[string][]string{"money/accounts.csv": {book + strings.Replace(row, c.x, "bill of "+c.x, 1)}},
			wrong: map[string][]string{c.file: {again}, "money/accounts.csv": {entered + row,
				strings.Replace(entered, c.x, "bill", 2)}}})
		if !strings.Contains(row, c.x) || !strings.Contains(row, strings.TrimSuffix(c.sum, ".00")) {
			t.Errorf("%s: the row is %q", c.file, row)
		}
		list := jobs + "- [ ] ring " + c.x + " about the bill\n"
		checkEnd(t, end{files: files, way: (*drawer).checkBill, pattern: "bill_or_do",
			fits: func(p *Plan) bool { return of(false)(p) && strings.HasPrefix(p.Slot("item"), "ring ") },
			want: map[string]string{"jobs.md": list}, why: "It is " + c.sum + ": fails",
			also: map[string][]string{"jobs.md": {strings.Replace(list, "the bill\n", "the bill: it is wrong\n", 1),
				strings.Replace(jobs, "\n- [ ] oil", "\n- [ ] Ring "+c.x+" about the bill\n- [ ] oil", 1)}},
			wrong: map[string][]string{"jobs.md": {list + "- [ ] pay\n", strings.Replace(list, "[x]", "[ ]", 1)}}})
		checkEnd(t, end{files: files, way: (*drawer).checkBill, pattern: "bill_or_say", fits: of(false),
			answer: "ours come to " + c.sum + ", not "})
	}
}
