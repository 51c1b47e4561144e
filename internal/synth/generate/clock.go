package generate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	hourMinute = regexp.MustCompile(`\b(\d{1,2}):(\d{2})\b`)
	longNumber = regexp.MustCompile(`\b\d{10,13}\b`)
	// relative are times that are told from the time of telling: "3 minutes ago", "in an hour", "2 days left".
	relative = regexp.MustCompile(`(?i)\b(?:just now|moments? ago|yesterday|today|tomorrow)\b` +
		`|\b(?:an?|one|few|\d+(?:\.\d+)?) ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|years?) (?:ago|from now|left|remaining|old)\b` +
		`|\bin (?:about )?(?:an?|one|\d+(?:\.\d+)?) (?:secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?)\b`)
)

// dayForms are how servers write a day.
func dayForms() []string {
	return []string{
		"2006-01-02", "2006/01/02", "02/01/2006", "01/02/2006", "1/2/2006", "02.01.2006", "2.1.2006", "20060102",
		"Jan 2 2006", "Jan 02 2006", "Jan 2, 2006", "January 2, 2006", "2 January 2006", "2 Jan 2006", "02 Jan 2006",
	}
}

// brokenZones are the offsets from UTC of the time zones that are not whole hours, in minutes (IANA time zone database
// 2025b).
func brokenZones() []int {
	return []int{-9*60 - 30, -3*60 - 30, -2*60 - 30, 3*60 + 30, 4*60 + 30, 5*60 + 30, 5*60 + 45, 6*60 + 30, 8*60 + 45,
		9*60 + 30, 10*60 + 30, 12*60 + 45, 13*60 + 45}
}

// saysNow reports whether a text says one of some times, in Unix seconds, or its day, in any time zone, or a time by
// how far it is from now: it would be another a minute later, or tomorrow. A text with a time of its own that falls on
// the same minute is taken for one too.
func saysNow(text string, at []int64) bool {
	if relative.MatchString(text) {
		return true
	}
	return slices.ContainsFunc(at, func(seconds int64) bool { return saysTime(text, time.Unix(seconds, 0).UTC()) })
}

func saysTime(text string, now time.Time) bool {
	for _, day := range []time.Time{now.AddDate(0, 0, -1), now, now.AddDate(0, 0, 1)} { // of other zones too
		for _, form := range dayForms() {
			if strings.Contains(text, day.Format(form)) {
				return true
			}
		}
	}
	for _, m := range hourMinute.FindAllStringSubmatch(text, -1) {
		if isMinute(m[1], m[2], now) || isMinute(m[1], m[2], now.Add(time.Minute)) { // the play goes on for a while
			return true
		}
	}
	for _, m := range longNumber.FindAllString(text, -1) {
		n, err := strconv.ParseInt(m, 10, 64)
		if len(m) == 13 {
			n /= 1000
		}
		if err == nil && n > now.Unix()-3600 && n < now.Unix()+3600 {
			return true
		}
	}
	return false
}

// isMinute reports whether an hour and a minute, as digits, are now in some time zone. A clock may count to 12.
func isMinute(hour, minute string, now time.Time) bool {
	h, _ := strconv.Atoi(hour) // two digits at most
	if h < 24 && minute == now.Format("04") {
		return true
	}
	return slices.ContainsFunc(brokenZones(), func(offset int) bool {
		there := now.Add(time.Duration(offset) * time.Minute)
		return minute == there.Format("04") && h%12 == there.Hour()%12
	})
}

// grows reports whether a leaf is named as what grows with time: an age, a countdown, the seconds since something.
func (l leaf) grows() bool {
	name := l.own()
	has := func(list ...string) bool {
		return slices.ContainsFunc(name, func(w string) bool { return slices.Contains(list, w) })
	}
	return has("age", "uptime", "elapsed", "ttl", "ago", "countdown") ||
		has("since", "until", "left", "remaining", "in") &&
			has("ms", "seconds", "secs", "minutes", "mins", "hours", "days", "weeks", "time") ||
		has("expires", "expiry") && has("in")
}
