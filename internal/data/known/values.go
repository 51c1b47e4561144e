package known

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value is a word, a number or a time of an answer that says something.
type value struct {
	kind     kind
	text     string   // as it stands there
	word     string   // as it is compared
	readings []string // of a number or a code
	number   float64
	decimals int  // of the number, behind its point
	near     bool // "about 1400", "1.4k": the digits behind its zeros are not said
	percent  bool
	spelt    bool
	at       instant // of a moment
}

// whole reports whether a number may be a count.
func (v *value) whole() bool { return v.decimals == 0 && !v.percent }

// strict reports whether a value is to be known, whatever others of its answer are.
func (v *value) strict() bool {
	return v.kind == moment || v.kind == number && !v.spelt || v.kind == code && len(v.word) >= stem
}

// in reports whether a value stands among words as it is.
func (v *value) in(w *words) bool {
	if v.kind == moment {
		return v.at.in(w)
	}
	return w.all[v.word] || slices.ContainsFunc(v.readings, func(r string) bool { return w.all[r] })
}

// valuesOf are the values of an answer.
func valuesOf(answer string) (out []value) {
	text := eachInstant(answer, func(s string, at instant) {
		out = append(out, value{kind: moment, text: s, word: s, at: at})
	})
	text = phone.ReplaceAllStringFunc(text, func(s string) string {
		digits := digitsOf(s)
		if len(digits) < longNumber || digits == s || spacedThousands.FindString(s) == s {
			return s
		}
		out = append(out, value{kind: code, text: s, word: runPrefix + digits})
		return strings.Repeat(" ", len(s))
	})
	text = spacedThousands.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", "") })
	tokens := slices.Collect(split(text))
	short := len(tokens)+len(out) <= shortAnswer
	for i, t := range tokens {
		if t.opens && t.kind == number && t.spelt == "" && isOrdinal(text, t.to) {
			continue // "1. alder"
		}
		low := t.lower()
		letters := utf8.RuneCountInString(low)
		switch {
		case t.kind == number:
			if v := numberOf(text, tokens, i); v.word != "0" && v.word != "1" { // that nothing shown comes to
				out = append(out, v)
			}
		case sayNothing[low]:
		case reckoned[low]:
			out = append(out, value{kind: calendar, text: t.text, word: low})
		case t.kind == code:
			out = append(out, value{kind: code, text: t.text, word: low, readings: readingsOf(text, &t)})
		case t.quoted || t.name && !t.begins || short && letters < longRun:
			out = append(out, value{kind: word, text: t.text, word: low})
		}
	}
	return out
}

// isOrdinal reports whether what ends there is the number of a list's item.
func isOrdinal(text string, to int) bool {
	return to+1 < len(text) && (text[to] == '.' || text[to] == ')') && (text[to+1] == ' ' || text[to+1] == '\t')
}

// numberOf is the number at a token, with what the words around it say of it.
func numberOf(text string, tokens []token, i int) value {
	t := tokens[i]
	v := value{kind: number, text: text[t.from:t.to], readings: readingsOf(text, &t), spelt: t.spelt != ""}
	v.word = v.readings[0]
	if len(v.word) >= longNumber {
		v.readings = append(v.readings, runPrefix+v.word)
	}
	next := ""
	if i+1 < len(tokens) && strings.TrimSpace(text[t.to:tokens[i+1].from]) == "" {
		next = tokens[i+1].lower()
	}
	v.percent = strings.HasPrefix(strings.TrimLeft(text[t.to:], " \u00a0"), "%") || next == "percent" || next == "pct"
	for back := 1; back <= 2 && i-back >= 0; back++ {
		v.near = v.near || nearWords[tokens[i-back].lower()]
	}
	before, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text[:t.from], " $€£"))
	v.near = v.near || strings.ContainsRune("~≈", before)
	v.setNumber(v.word)
	suffix := strings.ToLower(t.suffix)
	if suffix == "" && longScales[next] > 0 {
		suffix = next
	}
	if by := max(scales[suffix], longScales[suffix]); by > 0 {
		v.setNumber(strconv.FormatFloat(v.number*by, 'f', -1, 64))
		v.readings, v.near = append(v.readings, canonical(strconv.FormatFloat(v.number, 'f', -1, 64))), true
	}
	return v
}

// setNumber takes a number by its digits. One that no float64 holds exactly leads from none but itself.
func (v *value) setNumber(digits string) {
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n >= 1<<53 {
		n = math.NaN()
	}
	v.number = n
	_, behind, _ := strings.Cut(digits, ".")
	v.decimals = len(behind)
}

// unit is that of the last digit that is said.
func (v *value) unit() float64 {
	unit := math.Pow10(-v.decimals)
	for v.near && v.number > 0 && math.Mod(v.number, unit*10) == 0 {
		unit *= 10
	}
	return unit
}

const (
	runPrefix = "digits "
	// longNumber is from how many digits one may stand in groups.
	longNumber = 7
)

var (
	spacedThousands = regexp.MustCompile(`\b\d{1,3}( \d{3})+\b`)
	phone           = regexp.MustCompile(`\+?\(?\d[\d ()./-]{5,28}\d\b`)
	nearWords       = wordSet("about around approximately approx roughly nearly almost over under some than ca circa")
	scales          = map[string]float64{"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
	longScales      = map[string]float64{"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
)

func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// digitRuns are the long numbers whose digits stand in groups, such as those of telephones, and those whose thousands
// are set apart by a space.
func digitRuns(text string) (runs []string) {
	for i := 0; i < len(text); i++ {
		if !digitAt(text, i) {
			continue
		}
		from, digits, groups, thousands := i, 0, 1, true
		group := 0
		for ; i < len(text); i++ {
			if digitAt(text, i) {
				digits, group = digits+1, group+1
				continue
			}
			gap := 0
			for gap < 2 && i+gap < len(text) && strings.IndexByte(" ()./-", text[i+gap]) >= 0 {
				gap++
			}
			if gap == 0 || !digitAt(text, i+gap) {
				break
			}
			thousands = thousands && gap == 1 && text[i] == ' ' && (group == 3 || groups == 1 && group < 3) &&
				threeDigitsAt(text, i+1)
			groups, group, i = groups+1, 0, i+gap-1
		}
		switch {
		case groups > 1 && thousands && digits < 16:
			runs = append(runs, canonical(digitsOf(text[from:i])))
			fallthrough
		case groups > 1 && digits >= longNumber && digits <= 20, groups == 1 && digits >= longNumber:
			runs = append(runs, runPrefix+digitsOf(text[from:i]))
		}
	}
	return runs
}

// canonical is a number in digits without what does not change it.
func canonical(digits string) string {
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" || digits[0] == '.' {
		digits = "0" + digits
	}
	return digits
}

// readingsOf are the numbers that a token may be, the likeliest first: commas and points set thousands apart, begin
// decimals, or stand between the numbers of a list.
func readingsOf(text string, t *token) (out []string) {
	if t.spelt != "" {
		return []string{t.spelt}
	}
	plain := ascii(t.text)
	add := func(digits string) {
		if n := canonical(digits); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	switch dots, commas := strings.Count(plain, "."), strings.Count(plain, ","); {
	case t.kind == code:
		if parts := strings.Split(plain, "."); dots == 2 && (len(parts[0]) == 4 || len(parts[2]) == 4) {
			for _, part := range parts { // of a date
				add(part)
			}
		}
		if groupsOfThree(plain, ".") {
			add(strings.ReplaceAll(plain, ".", ""))
		}
	case dots == 0 && commas == 0:
		add(plain)
	case commas == 0:
		add(plain)
		if groupsOfThree(plain, ".") {
			add(strings.ReplaceAll(plain, ".", ""))
		}
	case commas == 1 && dots >= 1 && strings.LastIndex(plain, ".") < strings.Index(plain, ",") &&
		groupsOfThree(plain[:strings.Index(plain, ",")], "."):
		add(strings.Replace(strings.ReplaceAll(plain, ".", ""), ",", ".", 1))
	default:
		whole, _, _ := strings.Cut(plain, ".")
		thousands := dots <= 1 && groupsOfThree(whole, ",") && !strings.Contains(plain[len(whole):], ",")
		if thousands {
			add(strings.ReplaceAll(plain, ",", ""))
		} else if commas == 1 && dots == 0 {
			add(strings.Replace(plain, ",", ".", 1))
		}
		if !thousands || isListed(text, t) {
			for part := range strings.SplitSeq(plain, ",") {
				add(part)
			}
		}
	}
	if len(out) == 0 {
		out = []string{plain}
	}
	return out
}

// isListed reports whether a token may be some numbers of a list, or of a line of CSV.
func isListed(text string, t *token) bool {
	if t.from == 0 {
		return t.to < len(text)
	}
	return strings.IndexByte("\n,[{(:;", text[t.from-1]) >= 0
}

// groupsOfThree reports whether digits stand in groups as thousands do.
func groupsOfThree(digits, mark string) bool {
	groups := strings.Split(digits, mark)
	for i, g := range groups {
		if i > 0 && len(g) != 3 || i == 0 && (len(g) == 0 || len(g) > 3 || g == "0") {
			return false
		}
	}
	return len(groups) > 1
}

// ascii is a number without the marks between its groups that are neither point nor comma, in ASCII's digits.
func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf && r != '_' && r != '\'':
			return r
		case strings.ContainsRune("_'’\u202f\u00a0", r):
			return -1
		}
		for zero := r - 9; zero <= r; zero++ { // digits of all scripts stand ten in a row
			if digitZero[zero] {
				return '0' + r - zero
			}
		}
		return r
	}, text)
}

// digitZero are the zeros of other scripts that models answer in.
var digitZero = map[rune]bool{'٠': true, '۰': true, '०': true, '০': true, '๐': true, '０': true}

// speltNumbers are those that are written in letters.
var speltNumbers = func() map[string]int {
	all := map[string]int{"dozen": 12, "hundred": 100, "thousand": 1000}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen " +
		"fourteen fifteen sixteen seventeen eighteen nineteen") {
		all[w] = i
	}
	for i, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		all[w] = 20 + 10*i
	}
	return all
}()

// speltAt reads the number that words spell from there on: "thirty-seven", "two hundred and five", "dozen"; end is 0
// where they spell none.
func speltAt(text string, from int) (digits string, end int) {
	total, current := 0, 0
	for at := from; ; {
		to := at
		for to < len(text) && text[to]|0x20 >= 'a' && text[to]|0x20 <= 'z' {
			to++
		}
		w := strings.ToLower(text[at:to])
		n, is := speltNumbers[w]
		switch {
		case to < len(text) && text[to] >= utf8.RuneSelf:
			is = false
		case w == "and" && end > 0 && (current > 0 && current%100 == 0 || current == 0 && total > 0) && to < len(text):
			if _, more := speltAt(text, to+1); more > 0 {
				at = to + 1
				continue
			}
		case !is:
		case w == "dozen" && current < 20:
			current = max(1, current) * n
		case w == "hundred" && current > 0 && current < 10:
			current *= n
		case w == "thousand" && current > 0 && total == 0:
			total, current = current*n, 0
		case n < 20 && (end == 0 || n > 0 && (current%100 == 0 || n < 10 && current%10 == 0 && current%100 > 10)),
			n < 100 && current%100 == 0:
			current += n
		default:
			is = false
		}
		if !is {
			break
		}
		end = to
		if to == len(text) || text[to] != ' ' && text[to] != '-' {
			break
		}
		at = to + 1
	}
	return strconv.Itoa(total + current), end
}
