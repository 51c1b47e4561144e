package demo

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"
)

// words are common, short, and one or two tokens each in any English vocabulary, so that a small model can copy them.
const words = `apple river stone cloud green tiger paper house light music ocean bread chair silver garden winter
summer bridge candle forest horse island jacket kettle lemon mirror night orange pencil queen rabbit school table
window yellow zebra anchor basket camera desert engine flower guitar hammer insect jungle kitchen ladder market needle
office pocket ribbon saddle ticket valley wagon blanket copper dragon eagle feather glass honey iron jewel lake moon
nest olive pearl rain sand tower ship train wheel bird clock door fish gold hill ice king leaf milk north peak road
salt tree wind wolf`

func word(r *rand.Rand) string {
	list := strings.Fields(words)
	return list[r.IntN(len(list))]
}

// phrase is one to three words, some with a number behind.
func phrase(r *rand.Rand) string {
	parts := make([]string, 1+r.IntN(3))
	for i := range parts {
		parts[i] = word(r)
	}
	if len(parts) == 1 || r.IntN(3) == 0 {
		parts = append(parts, fmt.Sprint(r.IntN(1000)))
	}
	return strings.Join(parts, " ")
}

// number is spread evenly over its lengths from low to high digits.
func number(r *rand.Rand, low, high int) int {
	n := 1 + r.IntN(9)
	for range low + r.IntN(high-low+1) - 1 {
		n = n*10 + r.IntN(10)
	}
	return n
}

func date(r *rand.Rand) time.Time {
	return time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, r.IntN(36500))
}

func drawPhrase(r *rand.Rand) values { return values{"a": phrase(r)} }

func drawLongPhrase(r *rand.Rand) values {
	return values{"a": phrase(r) + " " + phrase(r)}
}

func drawBase64(r *rand.Rand) values {
	return values{"a": base64.StdEncoding.EncodeToString([]byte(word(r) + " " + word(r)))}
}

// awkward is a text that URL encoding changes.
func awkward(r *rand.Rand) string {
	return word(r) + []string{" & ", "=", " + ", "/", "?", " "}[r.IntN(6)] + word(r) + fmt.Sprintf(" %d", r.IntN(100))
}

func drawAwkward(r *rand.Rand) values { return values{"a": awkward(r)} }

func drawEscaped(r *rand.Rand) values {
	return values{"a": strings.ReplaceAll(url.QueryEscape(awkward(r)), "+", "%20")}
}

func drawMath(r *rand.Rand) values {
	operator := func() string { return []string{"+", "-", "*"}[r.IntN(3)] }
	a := fmt.Sprintf("%d %s %d", number(r, 2, 4), operator(), number(r, 2, 3))
	if r.IntN(2) == 0 {
		a += fmt.Sprintf(" %s %d", operator(), number(r, 1, 3))
	}
	return values{"a": a}
}

func drawDates(r *rand.Rand) values {
	from := date(r)
	return values{"a": from.Format(time.DateOnly), "b": from.AddDate(0, 0, 2+r.IntN(2000)).Format(time.DateOnly)}
}

func drawDate(r *rand.Rand) values { return values{"a": date(r).Format(time.DateOnly)} }

func drawDateAmount(r *rand.Rand) values {
	return values{"a": date(r).Format(time.DateOnly), "b": fmt.Sprint(number(r, 1, 3))}
}

func drawDecimal(r *rand.Rand) values { return values{"a": fmt.Sprint(number(r, 3, 7))} }

func drawHexAmount(r *rand.Rand) values {
	return values{"a": fmt.Sprintf("%x", 256+r.IntN(1<<16)), "b": fmt.Sprint(number(r, 2, 3))}
}

func drawDatesAmount(r *rand.Rand) values {
	v := drawDates(r)
	v["c"] = fmt.Sprint(2 + r.IntN(98))
	return v
}

func drawColor(r *rand.Rand) values { return values{"a": fmt.Sprintf("#%06x", r.IntN(1<<24))} }
