package known

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what is reckoned with. Behind them a number may be had from so many others that nothing is said of it.
const (
	mostBytes   = 1 << 20 // of texts
	mostNumbers = 512
	mostTried   = 200 // numbers of answers
	// allSubsets is of how many numbers of a column each part is summed up.
	allSubsets = 12
	// allTriples is of how many numbers each three are joined.
	allTriples = 6
)

type source struct {
	text  string
	shown bool
}

// reckoner knows what may be reckoned from texts: of their numbers, columns, lists and dates.
type reckoner struct {
	texts []source
	taken int // of texts, that were read
	size  int // of these

	numbers  map[float64]bool
	order    []float64 // the numbers, as they came
	columns  [][]float64
	across   table        // of results beside each other
	counts   map[int]bool // of lines, words and characters of whole results
	items    int          // listed in all: no count of some of them is larger
	instants []instant
	periods  bool // whether one is spoken of
	percents bool // and these
	vast     bool
	tried    int
}

// read takes the texts that came since.
func (r *reckoner) read() {
	if r.numbers == nil {
		r.numbers, r.counts, r.across = map[float64]bool{}, map[int]bool{}, table{}
	}
	for ; r.taken < len(r.texts) && !r.vast; r.taken++ {
		t := r.texts[r.taken]
		if r.size += len(t.text); r.size > mostBytes {
			r.vast = true
			return
		}
		r.periods = r.periods || periods.MatchString(t.text)
		r.percents = r.percents || percents.MatchString(t.text)
		if !t.shown {
			r.readText(t.text, false)
			continue
		}
		r.items++ // the result itself
		r.counts[len(t.text)], r.counts[len([]rune(t.text))], r.counts[len(strings.Fields(t.text))] = true, true, true
		r.readResult(t.text)
	}
}

// readResult reads JSON, and what text stands around it.
func (r *reckoner) readResult(text string) {
	for text != "" {
		at := strings.IndexAny(text, "[{")
		if at < 0 {
			break
		}
		d := jsontext.NewDecoder(strings.NewReader(text[at:]))
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		r.readText(text[:at], true)
		r.readJSON(value, "", r.across)
		text = text[at+int(d.InputOffset()):]
	}
	r.readText(text, true)
}

// table has columns of numbers by their key.
type table map[string][]float64

// inText is the key of the numbers of texts.
const inText = "|"

func (r *reckoner) readJSON(value jsontext.Value, key string, around table) {
	switch value.Kind() {
	case '{':
		r.readObject(value, key, around)
	case '[':
		var list []jsontext.Value
		_ = json.Unmarshal(value, &list) // valid: it was decoded
		r.items += len(list)
		own := table{}
		for _, item := range list {
			r.readJSON(item, key, own)
		}
		r.addTable(own)
		for key, column := range own { // of lists inside lists, all at once
			around[key] = append(around[key], column...)
		}
	case '"':
		var text string
		_ = json.Unmarshal(value, &text)
		r.readText(text, true)
		if v := strings.TrimSpace(text); plainNumber.MatchString(v) {
			r.addNumber(v, key, around)
		}
	case '0':
		r.addNumber(string(value), key, around)
	}
}

func (r *reckoner) readObject(value jsontext.Value, key string, around table) {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	_, _ = d.ReadToken() // the brace
	var keys []string
	var values []jsontext.Value
	alike := true
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return
		}
		keys = append(keys, name.String())
		member, err := d.ReadValue()
		if err != nil {
			return
		}
		values = append(values, member.Clone())
		alike = alike && member.Kind() == values[0].Kind() && member.Kind() != '"'
	}
	if alike && len(keys) > 1 { // things by their names
		r.items += len(keys)
		own := table{}
		for _, v := range values {
			r.readJSON(v, key, own)
		}
		r.addTable(own)
		if values[0].Kind() == '{' {
			return
		}
	}
	for i, v := range values {
		r.readJSON(v, key+"."+keys[i], around)
	}
}

var (
	plainNumber = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
	idKey       = regexp.MustCompile(`(?i:^|\.|_)(?i:id|uuid|key|zip|phone|sku)$|[a-z]I[dD]$`)
)

// addNumber takes a number to reckon with. Those of keys that name a thing are not reckoned with.
func (r *reckoner) addNumber(digits, key string, around table) {
	if idKey.MatchString(key) || len(digits) > 20 {
		return
	}
	var n float64
	if json.Unmarshal([]byte(digits), &n) != nil {
		return
	}
	n = math.Abs(n)
	if at, ok := ofUnix(n); ok {
		r.instants = append(r.instants, at)
	}
	if !r.numbers[n] {
		r.numbers[n] = true
		r.order = append(r.order, n)
		r.vast = r.vast || len(r.order) > mostNumbers
	}
	if around != nil {
		around[key] = append(around[key], n)
	}
}

// addTable takes columns, and the products of each two that stand beside each other: amounts at prices.
func (r *reckoner) addTable(t table) {
	var all [][]float64
	for _, column := range t {
		if len(column) > 1 {
			all = append(all, column)
		}
	}
	r.columns = append(r.columns, all...)
	for i, a := range all {
		for _, b := range all[:i] {
			if len(a) != len(b) || len(all) > 8 {
				continue
			}
			product := make([]float64, len(a))
			for k := range a {
				product[k] = a[k] * b[k]
			}
			r.columns = append(r.columns, product)
		}
	}
}

var percents = regexp.MustCompile(`(?i)%|percent|pct|discount|\brate|\btax`)

var listMarks = regexp.MustCompile(`[,;|\n]|\s(?i:and|und|et|y)\s|\s&\s`)

// readText reads the numbers and dates of a text; of a result's, also its lists.
func (r *reckoner) readText(text string, result bool) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if result {
		r.items += len(listMarks.FindAllStringIndex(strings.TrimSpace(text), -1))
	}
	text = eachInstant(text, func(_ string, at instant) {
		if r.instants = append(r.instants, at); at.follows {
			day := r.instants[len(r.instants)-2]
			day.clock = at.clock
			r.instants = append(r.instants, day)
		}
		if at.year > 0 {
			r.addNumber(strconv.Itoa(at.year), "", nil)
		}
	})
	places := table{}
	for line := range strings.Lines(text) {
		place := 0
		for t := range split(line) {
			if t.kind != number {
				continue
			}
			for i, reading := range readingsOf(line, &t) {
				if i == 0 {
					r.addNumber(reading, strings.Repeat(inText, place+2), places)
					place++
				} else {
					r.addNumber(reading, "", nil)
				}
			}
		}
	}
	r.addTable(places)
	for _, column := range places {
		r.across[inText] = append(r.across[inText], column...)
	}
}
