package known

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// instant is a date, a time of day, or both.
type instant struct {
	year, month, day int  // year 0 where it is not said; month 0 where there is no date
	clock            int  // seconds of the day, -1 where it is not said
	follows          bool // a time of day right behind a date
	numbers          []string
	monthName        string
}

var (
	months  = strings.Fields("january february march april may june july august september october november december")
	isMonth = `(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|` +
		`oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	timeOf   = `(\d{1,2}):(\d\d)(?::(\d\d))?(?:\.\d+)?`
	instants = regexp.MustCompile(`\b(\d{4})([-/.])(\d{1,2})[-/.](\d{1,2})\b` + `|` +
		`\b(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4})\b` + `|` +
		`\b(\d{1,2})(?:st|nd|rd|th)?\.?(?: of)? (` + isMonth + `)\b\.?(?:,? (\d{4})\b)?` + `|` +
		`\b(` + isMonth + `)\.? (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4})\b)?` + `|` +
		`(?:\b|T)` + timeOf + `\b`)
)

// eachInstant gives what says an instant in a text, and returns the text with spaces in its place.
func eachInstant(text string, take func(text string, at instant)) string {
	out, behindDate := []byte(text), -1
	for _, m := range instants.FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		at, ok := instantOf(group)
		if !ok {
			continue
		}
		if at.follows = at.month == 0 && behindDate >= 0 && m[0]-behindDate <= 1; at.month > 0 {
			behindDate = m[1]
		}
		take(text[m[0]:m[1]], at)
		for i := m[0]; i < m[1]; i++ {
			out[i] = ' '
		}
	}
	return string(out)
}

func instantOf(group func(int) string) (at instant, ok bool) {
	at.clock = -1
	n := func(i int) int {
		v, _ := strconv.Atoi(group(i)) // 0 where there is none
		if group(i) != "" {
			at.numbers = append(at.numbers, canonical(group(i)))
		}
		return v
	}
	switch {
	case group(1) != "":
		at.year, at.month, at.day = n(1), n(3), n(4)
	case group(5) != "":
		at.day, at.month, at.year = n(5), n(7), n(8)
		if at.month > 12 {
			at.day, at.month = at.month, at.day
		}
	case group(10) != "":
		at.day, at.month, at.year, at.monthName = n(9), monthOf(group(10)), n(11), group(10)
	case group(12) != "":
		at.month, at.day, at.year, at.monthName = monthOf(group(12)), n(13), n(14), group(12)
	default:
		hours, minutes, seconds := n(15), n(16), n(17)
		at.clock = hours*3600 + minutes*60 + seconds
		return at, hours < 25 && minutes < 60
	}
	return at, at.month >= 1 && at.month <= 12 && at.day >= 1 && at.day <= 31
}

func monthOf(name string) int {
	for i, m := range months {
		if strings.HasPrefix(m, strings.ToLower(name)[:3]) {
			return i + 1
		}
	}
	return 0
}

// in reports whether words say all parts of an instant.
func (at *instant) in(w *words) bool {
	for _, n := range at.numbers {
		if !w.all[n] {
			return false
		}
	}
	if at.monthName == "" {
		return true
	}
	name := months[at.month-1]
	return w.all[name] || w.all[name[:3]] || w.all[strconv.Itoa(at.month)]
}

// days counts those since 1970.
func (at *instant) days() int {
	day := time.Date(at.year, time.Month(at.month), at.day, 0, 0, 0, 0, time.UTC)
	return int(math.Floor(float64(day.Unix()) / 86400))
}

// ofUnix is the instant of a number that may be one: seconds or milliseconds since 1970, of 2001 and later.
func ofUnix(n float64) (at instant, ok bool) {
	if n > 1e12 {
		n /= 1000
	}
	if n < 1e9 || n > 5e9 || n != math.Trunc(n) {
		return at, false
	}
	t := time.Unix(int64(n), 0).UTC()
	return instant{year: t.Year(), month: int(t.Month()), day: t.Day(),
		clock: t.Hour()*3600 + t.Minute()*60 + t.Second()}, true
}

var periods = regexp.MustCompile(`(?i)\b(days?|weeks?|months?|quarters?|years?|next|last|ago|end|deadline|due|` +
	`(mon|tues|wednes|thurs|fri|satur|sun)day)\b`)

// leadsToMoment reports whether an instant may be reckoned from those that were shown or asked: by some days or hours
// that are named, by a period, or in another time zone.
func (r *reckoner) leadsToMoment(at instant) bool {
	r.read()
	if r.vast {
		return true
	}
	steps := func(n int) bool { return n == 0 || r.numbers[math.Abs(float64(n))] }
	for _, from := range r.instants {
		switch {
		case at.month == 0: // time zones are quarters of an hour apart
			if d := at.clock - from.clock; from.clock >= 0 &&
				(d%900 == 0 || d%60 == 0 && steps(d/60) || d%3600 == 0 && steps(d/3600)) {
				return true
			}
		case from.month == 0:
		default:
			if at.year == 0 {
				at.year = from.year
			}
			if from.year == 0 {
				from.year = at.year
			}
			d := at.days() - from.days()
			near := d >= -7 && d <= 7
			if near || steps(d) || d%7 == 0 && steps(d/7) || r.periods && d >= -366 && d <= 366 ||
				at.day == from.day && steps(12*(at.year-from.year)+at.month-from.month) ||
				at.day == from.day && at.month == from.month && steps(at.year-from.year) {
				return true
			}
		}
	}
	return false
}

// hasDay reports whether there is a date, or a number of a day or a month, of which its name may come.
func (r *reckoner) hasDay() bool {
	r.read()
	if r.vast || len(r.instants) > 0 {
		return true
	}
	for n := range 13 {
		if r.numbers[float64(n)] {
			return true
		}
	}
	return false
}
