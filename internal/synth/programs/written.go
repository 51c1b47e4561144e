package programs

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"hone/internal/episode/scenario"
	"hone/internal/synth/written"
)

// Written is the kind of tasks that somebody wrote by hand over an invented world, in the words and of the structures
// that come to a person and not to a drawer of programs.
const Written = "written"

// WrittenWorld is an invented state, and what people asked of it.
type WrittenWorld struct {
	*World
	Tasks []*Program
}

// writtenTask is a request as it stands in a file.
type writtenTask struct {
	Task  string `json:"task"`
	Steps []struct {
		SQL   string `json:"sql"`
		Think string `json:"think"`
	} `json:"steps"`
	Working string `json:"working"`
	WrittenAnswer
}

// WrittenAnswer is how a request that somebody wrote is answered.
type WrittenAnswer struct {
	Form   string   `json:"form"` // as writtenForms has it
	Values []string `json:"values"`
	Answer string   `json:"answer"`
}

// writtenForms are the forms of Answer by those of the files.
var writtenForms = map[string]Answer{
	"number": {Form: "number"}, "text": {Form: "text"}, "list": {Form: "list"},
	"ordered": {Form: "list", Order: true}, "yes_no": {Form: "yes_no"}, "exact": {Form: "lines"},
	"pairs": {Form: "each"}, "done": {}, "unknown": {Form: "unknown"}, "cannot": {Form: "cannot"},
	"question": {Form: "question"}, "already": {Form: "already"},
}

// writtenKinds are the kinds of requests that are not to be done.
var writtenKinds = map[string]string{"unknown": Unknown, "cannot": Cannot, "question": AskBack}

// NewWritten is a program in the words of whoever wrote it; acts says that it changes something.
func NewWritten(task, working string, acts bool, a WrittenAnswer) (*Program, error) {
	form, known := writtenForms[a.Form]
	if !known {
		return nil, fmt.Errorf("%q: the form %q is not known", task, a.Form)
	}
	form.Values = a.Values
	p := &Program{Kind: Written, Answer: form, asked: task, replied: a.Answer, acts: acts, working: InSteps(working)}
	if kind := writtenKinds[a.Form]; kind != "" {
		p.Kind = kind
	}
	return p, nil
}

// manyTerms is a sum of three numbers or more and what it comes to.
var manyTerms = regexp.MustCompile(`\d+(?:\.\d+)?(?: ?\+ ?\d+(?:\.\d+)?){2,} ?= ?\d+(?:\.\d+)?`)

// InSteps is a working in which sums are made one number after the other, as a small model can: "2 + 3 + 4 = 9" is
// "2 + 3 = 5, 5 + 4 = 9". A sum that does not hold stays.
func InSteps(working string) string {
	return manyTerms.ReplaceAllStringFunc(working, func(sum string) string {
		left, total, _ := strings.Cut(sum, "=")
		terms := strings.Split(left, "+")
		digits, so, steps := 0, 0.0, []string(nil)
		for i, term := range terms {
			term = strings.TrimSpace(term)
			_, behind, _ := strings.Cut(term, ".")
			digits = max(digits, len(behind))
			x, _ := strconv.ParseFloat(term, 64) // of digits
			if i > 0 {
				steps = append(steps, strconv.FormatFloat(so, 'f', digits, 64)+" + "+term+" = "+
					strconv.FormatFloat(so+x, 'f', digits, 64))
			}
			so += x
		}
		if want, _ := strconv.ParseFloat(strings.TrimSpace(total), 64); math.Abs(so-want) > 1e-6 {
			return sum
		}
		return strings.Join(steps, ", ")
	})
}

// asWritten is a program in the words of whoever wrote it. An answer may be worded freely, as that of whoever wrote it
// is: its values must be said, and not much else.
func (p *Program) asWritten() Worded {
	w := Worded{Task: p.asked, Answer: p.replied}
	want := func(patterns ...string) {
		for _, text := range patterns {
			w.Checks = append(w.Checks, scenario.Check{Type: scenario.AnswerCheck, Regex: &text})
		}
	}
	a := p.Answer
	switch a.Form {
	case "":
		return w
	case "unknown":
		want(notKnown())
	case "cannot":
		want(notAble())
	case "question":
		asks := regexp.MustCompile(`(?i)\b(?:which|what|who|whom|whose|where|when|or|mean)\b[^.!?\n]*\?`)
		if asks.MatchString(w.Task) { // else who repeats it asks back
			w.Task = strings.ReplaceAll(w.Task, "?", ".")
		}
		want(asks.String())
	case "already":
		want(`(?i)\balready\b|` + nothingDone())
	case "lines":
		w.Checks = []scenario.Check{{Type: scenario.AnswerCheck, Equals: &a.Values[0]}}
	case "yes_no":
		begins := `(?i)^\W*`
		if p.acts { // which may be told first
			begins = `(?i)(?:^|[.!:;\n])\W*`
		}
		want(begins + a.Values[0] + `\b`)
	default:
		var said []string
		for _, v := range a.Values {
			said = append(said, saidSomewhere(v))
		}
		if a.Order {
			said = []string{strings.Join(said, `(?s:.*)`)}
		}
		most := 2*utf8.RuneCountInString(p.replied) + around
		if p.acts { // what was done may be told
			most += 3 * around
		}
		want(append(said, fmt.Sprintf(`(?s)\A.{0,%d}\z`, most))...)
	}
	return w
}

// saidSomewhere matches a value within an answer: a number with zeros behind it or commas in it, a day in any form, and
// of a "name: value" both on one line.
func saidSomewhere(value string) string {
	if name, of, is := strings.Cut(value, ": "); is {
		return `(?:` + saidSomewhere(name) + `[^\n]*` + saidSomewhere(of) + `)`
	}
	if !plainNumber.MatchString(value) {
		return `(?i:` + spelling(value) + `)`
	}
	whole, part, _ := strings.Cut(value, ".")
	if part = strings.TrimRight(part, "0"); part != "" {
		part = `\.` + part + "0*"
	} else {
		part = `(?:\.0+)?`
	}
	for at := len(whole) - 3; at > 0; at -= 3 { // 24,000
		whole = whole[:at] + ",?" + whole[at:]
	}
	return `(?:^|[^\d.,]|[^\d][.,])` + whole + part + `(?:[.,]?(?:[^\d.,]|$))`
}

var plainNumber = regexp.MustCompile(`^\d+(?:\.\d+)?$`)

// WrittenWorlds are all of them, in the order of their names.
var WrittenWorlds = sync.OnceValue(func() []*WrittenWorld { return written.Read(written.SQL, readWritten) })

// readWritten reads a world and its tasks.
func readWritten(data []byte) (*WrittenWorld, error) {
	var file struct {
		Name   string `json:"name"`
		Tables []struct {
			Name, One, Many, Key string
			Label                string // the column by which people name a row; "": none
			Columns              []struct {
				Name, Kind string
				Of         string // the table whose key it holds
				Bool       bool
			}
			Rows [][]any
		} `json:"tables"`
		Tasks []writtenTask `json:"tasks"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	w := &WrittenWorld{World: &World{Name: file.Name}}
	tables := map[string]*Table{}
	for _, t := range file.Tables {
		tables[t.Name] = &Table{Name: t.Name, One: t.One, Many: t.Many, Key: -1, Label: -1}
		w.Tables = append(w.Tables, tables[t.Name])
	}
	for _, t := range file.Tables {
		table := tables[t.Name]
		for i, c := range t.Columns {
			table.Columns = append(table.Columns,
				Column{Name: c.Name, Kind: Kind(c.Kind), Bool: c.Bool, Ref: tables[c.Of]})
			switch c.Name {
			case t.Key:
				table.Key = i
			case t.Label:
				table.Label = i
			}
		}
		for _, row := range t.Rows {
			table.Rows = append(table.Rows, storedRow(table, row))
		}
	}
	for _, t := range file.Tasks {
		var steps []Step
		acts, free := false, false
		for _, s := range t.Steps {
			writes := !strings.HasPrefix(strings.ToUpper(s.SQL), "SELECT")
			steps = append(steps, Step{SQL: s.SQL, Writes: writes, Why: s.Think})
			acts, free = acts || writes, free || strings.HasPrefix(s.SQL, "INSERT INTO ")
		}
		p, err := NewWritten(t.Task, t.Working, acts, t.WrittenAnswer)
		if err != nil {
			return nil, err
		}
		p.Steps, p.Free = steps, free
		p.Tables = slices.Clone(w.Tables)
		w.Tasks = append(w.Tasks, p)
	}
	return w, nil
}

// storedRow is a row as a table holds it: whole numbers as such.
func storedRow(t *Table, row []any) (stored []any) {
	for i, v := range row {
		if f, is := v.(float64); is && t.Columns[i].Kind == Number && f == float64(int64(f)) {
			v = int64(f)
		}
		stored = append(stored, v)
	}
	return stored
}
