package jinja

import (
	"fmt"
	"strings"
	"time"

	"hone/internal/jinja/pyvalue"
)

// strftime is Python's, in the C locale and without a time zone, as transformers' strftime_now is.
func (r *run) strftime(format string) string {
	r.Charge(len(format))
	t := r.now
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		pad := true
		if format[i] == '-' && i+1 < len(format) {
			pad = false
			i++
		}
		text, ok := directive(format[i], t)
		if !ok {
			pyvalue.Fail(r.At, pyvalue.Unsupported, "the strftime directive %%%c", format[i])
		}
		if !pad {
			if text = strings.TrimLeft(text, "0 "); text == "" {
				text = "0"
			}
		}
		b.WriteString(text)
	}
	return b.String()
}

func directive(c byte, t time.Time) (string, bool) {
	layouts := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'm': "01", 'y': "06",
		'Y': "2006", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'F': "2006-01-02", 'T': "15:04:05",
		'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'X': "15:04:05", 'c': "Mon Jan _2 15:04:05 2006",
		'r': "03:04:05 PM", 'j': "002",
	}
	if layout, ok := layouts[c]; ok {
		return t.Format(layout), true
	}
	year, week := t.ISOWeek()
	switch c {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1), true
	case 'w':
		return fmt.Sprint(int(t.Weekday())), true
	case 'G':
		return fmt.Sprint(year), true
	case 'V':
		return fmt.Sprintf("%02d", week), true
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100), true
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7), true
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1), true
	case 's':
		return fmt.Sprint(t.Unix()), true
	case 'z', 'Z':
		return "", true
	}
	return "", false
}
