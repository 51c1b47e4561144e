package folders

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dayForms are how files write days.
func dayForms() []string {
	return []string{time.DateOnly, "2 January 2006", "2 Jan 2006", "02.01.2006", "2.1.2006", "02/01/2006"}
}

// daysOf reads days that are all written in one form, but for those that are empty; form is "" where they are not.
func daysOf(list []string) (days []time.Time, form string) {
	for _, form := range dayForms() {
		days = nil
		for _, text := range list {
			day, err := time.Parse(form, text)
			if text != "" && (err != nil || day.Format(form) != text) {
				break
			}
			days = append(days, day)
		}
		if len(days) == len(list) && strings.Join(list, "") != "" {
			return days, form
		}
	}
	return nil, ""
}

// lastDay is the latest of some days, and their form; "" where one is none, or they have several.
func lastDay(texts []string) (last time.Time, form string) {
	days, form := daysOf(texts)
	if slices.Contains(texts, "") || form == "" {
		return time.Time{}, ""
	}
	return slices.MaxFunc(days, time.Time.Compare), form
}

// isDays reports whether all of some texts are days of one form.
func isDays(texts []string) bool {
	_, form := lastDay(texts)
	return form != ""
}

// findDays finds the files of a folder of which the days matter.
func (f *Folder) findDays() {
	for _, d := range f.Docs {
		f.dates = append(f.dates, d.dates()...)
		if p := d.steps(); p != nil {
			f.plans = append(f.plans, p)
		} else if o := d.rota(); o != nil {
			f.rotas = append(f.rotas, o)
		}
		if s := d.stays(); s != nil {
			f.stays = append(f.stays, s)
		}
		if q := d.questions(); q != nil {
			f.questions = append(f.questions, q)
		}
		if j := d.journal(); j != nil {
			f.journals = append(f.journals, j)
		}
	}
	f.loans, f.numbered = f.findLoans(), f.findNumbered()
}

// dayColumns are the columns of a table that have days alone; with gaps, some may be empty.
func (d *Doc) dayColumns(gaps bool) (list []int) {
	for k := range d.header {
		all := d.texts(k)
		if _, form := daysOf(all); form != "" && (gaps || !slices.Contains(all, "")) {
			list = append(list, k)
		}
	}
	return list
}

// wholeDay is how somebody says a day with its year.
func wholeDay(r *rand.Rand, day time.Time) string {
	return pick(r, []string{day.Format(time.DateOnly), day.Format(time.DateOnly), day.Format("2 January 2006"),
		day.Format("Monday 2 January 2006"), day.Format("January 2, 2006")})
}

// shortDay is how somebody says a day of whose year nobody doubts.
func shortDay(r *rand.Rand, day time.Time) string {
	month := day.Month().String()
	return pick(r, []string{day.Format("2 January"), "the " + nth(day.Day()) + " of " + month, month + " " +
		nth(day.Day()),
		day.Format("2 Jan"), day.Format(time.DateOnly)})
}

// nth is a number that says a place: 1st, 12th, 23rd.
func nth(n int) string {
	end := "th"
	if n/10 != 1 {
		end = [10]string{"th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th"}[n%10]
	}
	return strconv.Itoa(n) + end
}

// sameYear reports whether days that are there are all in one year, so that nobody has to say it.
func sameYear(days []time.Time) bool {
	year := 0
	for _, day := range days {
		if day.IsZero() {
			continue
		}
		if year != 0 && year != day.Year() {
			return false
		}
		year = day.Year()
	}
	return true
}
