package folders

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Form is the text that a file has in the end, and expressions for all ways in which people write it.
type Form struct {
	Path, Text string
	Is         []string
}

// form says in which ways a file may be written that the operations so far leave.
func (d *drawer) form(file string, is ...string) {
	d.forms = append(d.forms, Form{file, d.now()[file], is})
}

// inserted are expressions for a text with a line more behind one of a stretch: from a line up to another one. Where
// that is one line, several may come behind it.
func inserted(lines []string, from, to int, is string) []string {
	for len(lines) > to+1 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	text, full := `\A\s*`, 0
	for i, line := range lines {
		text += regexp.QuoteMeta(line)
		if from <= i && i <= to {
			text += `(?:\n` + is + `)` + map[bool]string{true: "?"}[from < to]
		}
		if i < len(lines)-1 {
			text += `\n`
		}
		if strings.TrimSpace(line) != "" {
			full++
		}
	}
	if from == to {
		return []string{text + `\s*\z`}
	}
	once := fmt.Sprintf(`\A\s*(?:\S[^\n]*\n\s*){%d}\S[^\n]*\s*\z`, full)
	return []string{text + `\s*\z`, once}
}

// tellDay is a day as a request says it.
func (d *drawer) tellDay(at time.Time, layout string) string {
	return at.Format(pick(d.r, []string{layout, time.DateOnly, "2 January 2006"}))
}

// signed adds amounts up one after the other, of which some are below nothing: "90.00 - 20.50 = 69.50".
func signed(list []int) string {
	var steps []string
	sum := 0
	for i, one := range list {
		before := sum
		if sum += one; i == 0 {
			continue
		}
		mark := " + "
		if one < 0 {
			mark, one = " - ", -one
		}
		steps = append(steps, minus(before)+mark+minus(one)+" = "+minus(sum))
	}
	return cmp.Or(strings.Join(steps, ", "), minus(sum))
}

// minus is an amount that may be below nothing.
func minus(cents int) string {
	if cents < 0 {
		return "-" + money(-cents)
	}
	return money(cents)
}

// amountIn is what a cell says in hundredths; nothing where it is empty.
func amountIn(cell string) (amount int, ok bool) {
	text := strings.NewReplacer("£", "", "€", "", "$", "", " ", "").Replace(cell)
	sign := 1
	if rest, is := strings.CutPrefix(text, "-"); is {
		text, sign = rest, -1
	}
	if text == "" {
		return 0, cell == "" || cell == "-"
	}
	if !plainNumber.MatchString(text) {
		return 0, false
	}
	return sign * cents(text), true
}

// asAmount is an amount in the form of a cell: with as many digits behind the point.
func asAmount(amount int, like string) string {
	if !strings.Contains(like, ".") && amount%100 == 0 {
		return strings.TrimSuffix(minus(amount), ".00")
	}
	return minus(amount)
}

// anyDigits matches an amount with and without the cents that it has not.
func anyDigits(text string) string {
	if whole, is := strings.CutSuffix(text, ".00"); is {
		return regexp.QuoteMeta(whole) + `(?:\.00)?`
	}
	return regexp.QuoteMeta(text) + map[bool]string{true: "", false: `(?:\.00)?`}[strings.Contains(text, ".")]
}

// isCalled reports whether a column is called by one of some words.
func isCalled(column string, words string) bool {
	return sharesNoun(strings.Fields(strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(column))),
		strings.Fields(words))
}

// lineOf is the line of a row of a table with these cells.
func (d *Doc) lineOf(row []string) string {
	if mark := d.between(); mark != "|" {
		return strings.Join(row, mark)
	}
	return "| " + strings.Join(row, " | ") + " |"
}

// rowForm matches the line of a row whose cells meet expressions.
func (d *Doc) rowForm(row []string) string {
	switch mark := d.between(); mark {
	case "|":
		return `\| *` + strings.Join(row, ` *\| *`) + ` *\|`
	default:
		return strings.Join(row, " *"+regexp.QuoteMeta(mark)+" *") + " *"
	}
}

// anyWords matches what a cell may say in other words.
const anyWords = `[^,|\t\n]+`

// nextRef is the number or code behind the last of a column; "" where it has no such.
func nextRef(all []string, more int) string {
	last := all[len(all)-1]
	at := len(last)
	for at > 0 && last[at-1] >= '0' && last[at-1] <= '9' {
		at--
	}
	if at == len(last) || !distinct(all) {
		return ""
	}
	var n int
	_, _ = fmt.Sscan(strings.TrimLeft(last[at:], "0"), &n) // of digits
	return fmt.Sprintf("%s%0*d", last[:at], len(last)-at, n+more)
}
