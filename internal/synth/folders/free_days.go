package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// stays is a table of who has a thing or a place from which day to which.
type stays struct {
	doc        *Doc
	who        int    // column
	thing      string // as people call it: the hut
	form       string
	from, to   []time.Time
	cancelled  []bool
	names      []string
	first, end time.Time // of those that hold
}

// guestWords are words of columns that say who has booked.
const guestWords = "guest guests who name group for party booked family tenant client visitor visitors user users team"

var (
	calledOff  = regexp.MustCompile(`(?i)^(?:cancell?ed|called off|dropped|withdrawn)$`)
	maybeOff   = regexp.MustCompile(`(?i)\bcancel|^(?:called off|dropped out|withdrawn)\b`)
	vagueStems = strings.Fields("booking bookings stay stays calendar list plan reservation reservations who file " +
		"table use days all the our")
)

// stays reads a file as such a table; nil: it is none, two have a day at once, or nobody knows whether one
// is cancelled.
func (d *Doc) stays() *stays {
	if !d.hasBody() || len(d.body()) < leastSteps || d.steps() != nil {
		return nil
	}
	days := d.dayColumns(false)
	who := slices.IndexFunc(d.header, func(h string) bool { return isCalled(h, guestWords) })
	if len(days) != 2 || who < 0 || slices.Contains(days, who) || slices.Contains(d.texts(who), "") {
		return nil
	}
	s := &stays{doc: d, who: who, names: d.texts(who), cancelled: make([]bool, len(d.body()))}
	s.from, s.form = daysOf(d.texts(days[0]))
	to, form := daysOf(d.texts(days[1]))
	s.to = to
	if form != s.form {
		return nil
	}
	for k := range d.header {
		for i, v := range d.texts(k) {
			if k != who && maybeOff.MatchString(v) && !calledOff.MatchString(v) {
				return nil
			}
			s.cancelled[i] = s.cancelled[i] || k != who && calledOff.MatchString(v)
		}
	}
	for i := range s.from {
		if !s.from[i].Before(s.to[i]) {
			return nil
		}
		for k := range i {
			if !s.cancelled[i] && !s.cancelled[k] && s.from[i].Before(s.to[k]) && s.from[k].Before(s.to[i]) {
				return nil
			}
		}
		if !s.cancelled[i] && (s.first.IsZero() || s.from[i].Before(s.first)) {
			s.first = s.from[i]
		}
		if !s.cancelled[i] && s.to[i].After(s.end) {
			s.end = s.to[i]
		}
	}
	words := slices.DeleteFunc(strings.Fields(programs.Words(d.stem())), func(w string) bool {
		return hasDigit.MatchString(w) || slices.Contains(vagueStems, w)
	})
	if s.thing = "the " + strings.Join(words, " "); len(words) == 0 {
		s.thing = "our place"
	}
	if s.first.IsZero() || s.first.Year() != s.end.Year() {
		return nil
	}
	return s
}

// at is the stay that holds between two days; -1: it is free.
func (s *stays) at(a, b time.Time) int {
	for i := range s.from {
		if !s.cancelled[i] && s.from[i].Before(b) && a.Before(s.to[i]) {
			return i
		}
	}
	return -1
}

// next is the first stay that holds and begins after a day; -1: there is none.
func (s *stays) next(day time.Time) int {
	best := -1
	for i := range s.from {
		if !s.cancelled[i] && s.from[i].After(day) && (best < 0 || s.from[i].Before(s.from[best])) {
			best = i
		}
	}
	return best
}

// isEdge reports whether somebody comes or goes on a day, so that nobody could say whether it is free.
func (s *stays) isEdge(day time.Time) bool {
	same := func(o time.Time) bool { return o.Equal(day) }
	return slices.ContainsFunc(s.from, same) || slices.ContainsFunc(s.to, same)
}

// reason quotes the stay that holds between two days, or those that do not, and the next one.
func (s *stays) reason(a, b time.Time) []string {
	body := s.doc.body()
	if i := s.at(a, b); i >= 0 {
		return []string{s.doc.quote(body[i]), "Then it is taken by " + s.names[i] + "."}
	}
	var lines []string
	for i := range s.from {
		if s.cancelled[i] && s.from[i].Before(b) && a.Before(s.to[i]) {
			lines = append(lines, s.doc.quote(body[i]), "That does not hold any more.")
		}
	}
	before := -1
	for i := range s.to {
		if !s.cancelled[i] && s.to[i].Before(a) && (before < 0 || s.to[i].After(s.to[before])) {
			before = i
		}
	}
	if before >= 0 {
		lines = append(lines, "Before: "+s.doc.quote(body[before]))
	}
	if next := s.next(a); next >= 0 {
		lines = append(lines, "Next: "+s.doc.quote(body[next]))
	}
	return append(lines, "Nobody has it then.")
}

// some is a day on which a thing is free or not, if one is soon found: also one for which somebody has cancelled.
func (s *stays) some(d *drawer, free bool) (day time.Time) {
	span := int(s.end.Sub(s.first).Hours()/24) + 1
	for range 20 {
		i := d.r.IntN(len(s.from))
		if day = s.first.AddDate(0, 0, d.r.IntN(span)-2); s.cancelled[i] {
			day = s.from[i].AddDate(0, 0, 1)
		}
		if !s.isEdge(day) && (s.at(day, day) < 0) == free {
			break
		}
	}
	return day
}

// freeAsked asks whether a thing is free on a day, or between two.
func (d *drawer) freeAsked() *programs.Program { return d.dayAsked(d.r.IntN(2)) }

// stayAsked asks until when it is free, who has it on a day, or who comes next.
func (d *drawer) stayAsked() *programs.Program { return d.dayAsked(2 + d.r.IntN(3)) }

// dayAsked asks the n-th of the questions over days.
func (d *drawer) dayAsked(n int) *programs.Program {
	if len(d.f.stays) != 1 {
		return nil
	}
	s := d.f.stays[0]
	day := s.some(d, n == 2 || n != 3 && d.r.IntN(2) == 0)
	i, next := s.at(day, day), s.next(day)
	if s.isEdge(day) || day.Year() != s.first.Year() {
		return nil
	}
	slot := slots("x", s.thing, "time", shortDay(d.r, day))
	var p *programs.Program
	switch {
	case n == 0:
		yes := map[bool]string{true: "Yes", false: "No"}[i < 0]
		p = question(programs.YesNo, "free_on", slot, "yes_no", yes).Work(s.reason(day, day)...)
	case n == 1:
		to := day.AddDate(0, 0, 2+d.r.IntN(6))
		if s.isEdge(to) || to.Year() != day.Year() {
			return nil
		}
		yes := map[bool]string{true: "Yes", false: "No"}[s.at(day, to) < 0]
		p = question(programs.YesNo, "free_between", slots("x", s.thing, "a", shortDay(d.r, day), "b",
			shortDay(d.r, to)), "yes_no", yes).Work(s.reason(day, to)...)
	case n == 2 && i < 0 && next >= 0:
		p = question(programs.Lookup, "free_until", slot, "text", s.from[next].Format(time.DateOnly)).
			Work(append(s.reason(day, day), "So it is free until "+s.from[next].Format(s.form)+".")...)
	case n == 3 && i >= 0:
		p = question(programs.Lookup, "who_on", slot, "text", s.names[i]).Work(s.reason(day, day)...)
	case n == 4 && next >= 0:
		p = question(programs.Lookup, "next_after", slot, "text", s.names[next]).
			Work("After "+day.Format(s.form)+" the first that holds is this one.", s.doc.quote(s.doc.body()[next]))
	default:
		return nil
	}
	d.hunt(s.doc, strings.TrimPrefix(s.thing, "the "), "bookings stays calendar reservations",
		path.Base(s.doc.Path)+" may say who has "+s.thing+" when.")
	return p
}
