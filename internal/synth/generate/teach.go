package generate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what a teacher is asked.
const (
	perInstruct = 5   // requests of one answer
	mostAsks    = 40  // answers for one tool
	mostTask    = 600 // bytes of a task
	mostAdded   = 25  // words that one evolution may add
	numEvolved  = 2   // evolutions of a task
)

// Temperatures: what is to vary, and what is to be right.
const (
	inventive = 0.8
	careful   = 0
)

// teach makes tasks of one call by asking the teacher, as MCP-Flow does (arXiv 2510.24284, section 3.2): requests for
// each tool, their slots filled with what there is, made harder in two steps, and the call of each. n is how many are
// wanted.
func (d *drafts) teach(ctx context.Context, n int) ([]*Candidate, error) {
	list, err := d.instruct(ctx, n)
	if err != nil {
		return nil, err
	}
	stages := []struct {
		name string
		do   func(context.Context, *Candidate) error
	}{{"fill", d.fill}}
	for i := range numEvolved {
		stages = append(stages, struct {
			name string
			do   func(context.Context, *Candidate) error
		}{fmt.Sprintf("evolve %d", i+1), func(ctx context.Context, c *Candidate) error { return d.evolve(ctx, c, i) }})
	}
	stages = append(stages, struct {
		name string
		do   func(context.Context, *Candidate) error
	}{"call", d.call})
	for _, s := range stages {
		if err := d.through(ctx, s.name, list, s.do); err != nil {
			return nil, err
		}
	}
	return d.distinct(list), nil
}

// instruct asks for requests to each tool, over what there is in the realms that its tasks take place in.
func (d *drafts) instruct(ctx context.Context, n int) ([]*Candidate, error) {
	type one struct {
		tool  *subject
		realm *realm
		index int
	}
	var asks []one
	tools := d.usable()
	for _, s := range tools {
		realms := d.realmsOf(s)
		each := (n + len(tools) - 1) / len(tools)
		for i := range min(mostAsks, (each+perInstruct-1)/perInstruct) {
			if len(realms) > 0 {
				asks = append(asks, one{s, realms[i%len(realms)], i})
			}
		}
	}
	got, why := make([][]*Candidate, len(asks)), make([]string, len(asks))
	err := atOnce(d.workers, len(asks), func(i int) (err error) {
		a := asks[i]
		made := &Candidate{}
		var lines []string
		data := d.about(a.tool, a.realm)
		data.N = perInstruct
		why[i], err = d.ask(ctx, made, question{prompt: instructPrompt, who: d.Teacher, data: data,
			temperature: inventive, tokens: 400, key: fmt.Sprint(a.tool.Name, a.index)},
			func(answer string) bool {
				lines = requests(answer, a.tool)
				return len(lines) > 0
			})
		for _, line := range lines {
			got[i] = append(got[i], &Candidate{
				Kind:    single,
				World:   a.realm.index,
				Task:    line,
				Taught:  true,
				Calls:   []Call{{Tool: a.tool.Name}},
				Teacher: d.Teacher.Name,
				Prompts: map[string]string{string(instructPrompt): made.Prompts[string(instructPrompt)]},
			})
		}
		d.Progress("instruct", i+1, len(asks), a.tool.Name)
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []*Candidate
	reasons, seen := map[string]int{}, map[string]bool{}
	for i, a := range asks {
		reasons[cmp.Or(why[i], "fewer requests than were asked for")] += perInstruct - len(got[i])
		for _, c := range got[i] {
			if key := a.tool.Name + "\x00" + normal(c.Task); seen[key] {
				reasons["another request reads the same"]++
			} else {
				seen[key] = true
				list = append(list, c)
			}
		}
	}
	maps.DeleteFunc(reasons, func(_ string, n int) bool { return n == 0 })
	d.report.stage("instruct", perInstruct*len(asks), len(list), reasons)
	return list, nil
}

var listMark = regexp.MustCompile(`^\s*(?:[-*•]|\(?\d{1,2}[.):])\s*`)

// requests are the lines of an answer that can be requests: not too short or long, and without the tool's name.
func requests(answer string, s *subject) (lines []string) {
	for _, row := range strings.Split(answer, "\n") {
		text := bare(listMark.ReplaceAllString(row, ""))
		n := len(strings.Fields(text))
		if n < 3 || n > 80 || len(text) > mostTask || strings.Contains(text, s.Name) || strings.HasSuffix(text, ":") ||
			len(lines) == perInstruct {
			continue
		}
		if !slices.ContainsFunc(lines, func(other string) bool { return normal(other) == normal(text) }) {
			lines = append(lines, text)
		}
	}
	return lines
}

// bare is a line without the quotes around it.
func bare(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' && !strings.Contains(text[1:len(text)-1], `"`) {
		text = text[1 : len(text)-1]
	}
	return strings.TrimSpace(text)
}

var answerMark = regexp.MustCompile(`(?i)^(?:completed|rewritten|reworded)?\s*(?:request|message)\s*:\s*`)

// oneLine is the first line of an answer that says something, "" where it is too long for a task.
func oneLine(answer string) string {
	for _, row := range strings.Split(answer, "\n") {
		if text := bare(answerMark.ReplaceAllString(strings.TrimSpace(row), "")); len(strings.Fields(text)) > 1 {
			if len(text) > mostTask {
				return ""
			}
			return text
		}
	}
	return ""
}

// about is what prompts say of a tool in a realm.
func (m *maker) about(s *subject, r *realm) asked {
	a := asked{Tool: s.Name, Description: oneSpace(s.Description), Schema: string(s.InputSchema),
		Values: m.knownValues(s, r)}
	var parts []string
	for _, p := range s.schema.fields {
		parts = append(parts, describeParam(p))
	}
	a.Parameters = cmp.Or(strings.Join(parts, "; "), "none")
	return a
}

func oneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

func describeParam(p param) string {
	kind := cmp.Or(map[string]string{"string": "text", "integer": "integer", "number": "number",
		"boolean": "true or false", "array": "list", "object": "object"}[p.kind], "any")
	if p.required {
		kind += ", required"
	}
	text := fmt.Sprintf("%s (%s)", p.name, kind)
	if p.description != "" {
		text += ": " + oneSpace(p.description)
	}
	if len(p.choices) > 0 {
		var all []string
		for _, one := range p.choices {
			all = append(all, valueInWords(one))
		}
		text += ", one of " + strings.Join(all, " | ")
	}
	return text
}

// mostShown bounds the values of a parameter that a teacher sees.
const mostShown = 5

// knownValues are the values that are there for a tool's parameters: what servers have shown, what earlier calls took,
// and what the schema names.
func (m *maker) knownValues(s *subject, r *realm) string {
	random := m.random("shown", s.Name, r.index)
	exist := map[string]bool{}
	for _, one := range r.known.list {
		exist[string(one.raw)] = true
	}
	for _, t := range r.good {
		for _, a := range argumentsOf(t.call) {
			exist[string(a.raw)] = exist[string(a.raw)] || t.call.Tool == s.Name
		}
	}
	found := map[string][]string{}
	for range 12 {
		arguments, ok := filler{random, s, &r.known}.arguments(true)
		if !ok {
			break
		}
		for _, a := range members(arguments) {
			field := slices.IndexFunc(s.schema.fields, func(p param) bool { return p.name == a.name })
			known := exist[string(a.raw)] || field >= 0 && slices.ContainsFunc(s.schema.fields[field].examples,
				func(e json.RawMessage) bool { return bytes.Equal(e, a.raw) })
			if text := valueInWords(a.raw); known && len(found[a.name]) < mostShown &&
				!slices.Contains(found[a.name], text) {
				found[a.name] = append(found[a.name], text)
			}
		}
	}
	var parts []string
	for _, p := range s.schema.fields {
		if len(found[p.name]) > 0 {
			parts = append(parts, p.name+": "+strings.Join(found[p.name], ", "))
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "none")
}

// fill has the teacher put values into a request for what the tool requires.
func (d *drafts) fill(ctx context.Context, c *Candidate) error {
	s := d.byName[c.Calls[0].Tool]
	if !s.needs() {
		return nil
	}
	data := d.about(s, d.worlds[c.World])
	var required []string
	for _, p := range s.schema.fields {
		if p.required {
			required = append(required, describeParam(p))
		}
	}
	data.Task, data.Parameters = c.Task, strings.Join(required, "; ")
	return d.rewrite(ctx, c, question{prompt: fillPrompt, who: d.Teacher, data: data, temperature: careful,
		tokens: 200}, func(string) bool { return true })
}

// rewrite has a model write a task anew; an answer that fits says no to is of no use.
func (m *maker) rewrite(ctx context.Context, c *Candidate, q question, fits func(text string) bool) error {
	why, err := m.ask(ctx, c, q, func(answer string) bool {
		text := oneLine(answer)
		if text == "" || !fits(text) {
			return false
		}
		c.Task = text
		return true
	})
	c.Why = why
	return err
}

// evolve makes a task harder by one of the operators. One that comes to nothing leaves the task as it was, as in
// WizardLM.
func (d *drafts) evolve(ctx context.Context, c *Candidate, step int) error {
	s := d.byName[c.Calls[0].Tool]
	operator := pick(d.random("evolve", step, c.Task), evolutions())
	length := len(strings.Fields(c.Task))
	before := normal(c.Task)
	err := d.rewrite(ctx, c, question{
		prompt:      operator,
		who:         d.Teacher,
		data:        asked{Task: c.Task, Description: oneSpace(s.Description)},
		temperature: inventive,
		tokens:      200,
		key:         fmt.Sprint(step),
	},
		func(text string) bool {
			n := len(strings.Fields(text))
			return n <= length+mostAdded && 2*n >= length && normal(text) != before && !strings.Contains(text, s.Name)
		})
	if c.Why == nonsense || c.Why == refused {
		c.Why = ""
	}
	return err
}

// call has the teacher write the call that a task needs. It must fit the tool's schema, and the task must say its
// values.
func (d *drafts) call(ctx context.Context, c *Candidate) error {
	s := d.byName[c.Calls[0].Tool]
	data := d.about(s, d.worlds[c.World])
	data.Task = c.Task
	var arguments json.RawMessage
	why, err := d.ask(ctx, c, question{prompt: callPrompt, who: d.Teacher, data: data, temperature: careful,
		tokens: 400}, func(answer string) (ok bool) {
		arguments, ok = objectIn(answer)
		return ok
	})
	switch {
	case err != nil || why != "":
		c.Why = why
		return err
	case !s.takes(string(arguments)):
		c.drop("the call does not fit the schema")
		return nil
	}
	c.Calls[0].Arguments = s.dropUnsaid(arguments, c.Task)
	if d.lacks(c, c.Task) != "" {
		c.drop("a value of the call is not in the task")
	}
	return nil
}

// dropUnsaid are arguments without those that the tool does not require and the task does not say: a teacher likes to
// fill in all that there is, and a model that calls as it was asked would be marked down.
func (s *subject) dropUnsaid(arguments json.RawMessage, task string) json.RawMessage {
	plain := flat(task)
	kept := []json.RawMessage{}
	for _, a := range members(arguments) {
		at := slices.IndexFunc(s.schema.fields, func(p param) bool { return p.name == a.name })
		var leaves []leaf
		walk(nil, a.raw, &leaves)
		said := len(leaves) > 0 && !slices.ContainsFunc(leaves, func(l leaf) bool { return !says(plain, l) })
		if len(leaves) == 0 { // yes or no, or nothing
			said = strings.Contains(plain, wordsOfName(a.name)) || slices.ContainsFunc(words(a.name),
				func(w string) bool { return !vague(w) && slices.Contains(words(plain), w) })
		}
		if said || at >= 0 && s.schema.fields[at].required {
			kept = append(kept, slices.Concat(quote(a.name), json.RawMessage(":"), a.raw))
		}
	}
	out := slices.Concat(json.RawMessage("{"), bytes.Join(toBytes(kept), []byte(",")), json.RawMessage("}"))
	if !s.takes(string(out)) {
		return arguments
	}
	return out
}

// objectIn is the first JSON object of an answer; of one that is a call, its arguments.
func objectIn(answer string) (json.RawMessage, bool) {
	for rest := answer; ; rest = rest[1:] {
		at := strings.IndexByte(rest, '{')
		if at < 0 {
			return nil, false
		}
		rest = rest[at:]
		d := jsontext.NewDecoder(strings.NewReader(rest))
		raw, err := d.ReadValue()
		if err != nil {
			continue
		}
		if inner := find(json.RawMessage(raw), "arguments"); inner != nil &&
			find(json.RawMessage(raw), "name") != nil && inner[0] == '{' {
			raw = jsontext.Value(inner)
		}
		raw = raw.Clone()
		return json.RawMessage(raw), raw.Compact() == nil
	}
}

// distinct leaves out tasks whose call another has already, and puts the others among the drafts.
func (d *drafts) distinct(list []*Candidate) (kept []*Candidate) {
	in, reasons := 0, map[string]int{}
	for _, c := range list {
		if c.Why != "" {
			continue
		}
		in++
		key := fmt.Sprint(c.Calls[0].key(), "\x00", c.World)
		if d.seen[key] {
			c.drop("another task makes the same call")
			reasons[c.Why]++
			continue
		}
		d.seen[key] = true
		d.count[single]++
		kept = append(kept, c)
	}
	d.report.stage("distinct", in, len(kept), reasons)
	d.list = append(d.list, kept...)
	return kept
}
