package generate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"hone/internal/blob"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// told is a program with the world that it is about. Requests are a model's words for it; templates word it where there
// are none.
type told struct {
	*programs.Program
	world    *programs.World
	requests []string
	way      int // of several drawn wordings
	voice    voice
}

// wordTries is how often a program is worded at most: where a wording falls at a gate, another persona says it, the
// last one plainly.
const wordTries = 4

// lively is the temperature of wordings: the persona makes them differ, and a small model wanders off when it is
// warmer.
const lively = 0.6

// Reasons for which the words of a template stand.
const (
	wrongLength   = "the wording is much too short or too long"
	wrongLanguage = "the wording is in another script"
	technical     = "the wording names SQL or a tool"
	answering     = "the wording answers instead of asking"
	alikeOpening  = "many wordings begin so"
)

// asPersons has the teacher word programs, each from its meaning, by somebody who is drawn; it never sees a call, a
// statement or an answer. What a gate rejects keeps the words of its template, and the reason is counted.
func (m *maker) asPersons(ctx context.Context, list []draftOf) error {
	if m.Teacher == nil {
		return nil
	}
	var of []*draftOf
	for i := range list {
		if t := list[i].of.told; t != nil && t.Meanings(t.world, list[i].Split) != nil {
			of = append(of, &list[i])
		}
	}
	why := make([]string, len(of))
	var done atomic.Int64
	err := atOnce(m.workers, len(of), func(i int) (err error) {
		for try := 0; try < wordTries && (try == 0 || why[i] != ""); try++ {
			if why[i], err = m.asPerson(ctx, of[i], try); err != nil || why[i] == unasked {
				break
			}
		}
		m.Progress("teacher's words", int(done.Add(1)), len(of), "")
		return err
	})
	if err != nil {
		return err
	}
	m.spread(of, why)
	reasons := map[string]int{}
	for i, d := range of {
		if why[i] != "" {
			d.of.untell()
			reasons["the template's words stand: "+why[i]]++
		}
	}
	m.report.stage("teacher's words", len(of), len(of)-sum(reasons), reasons)
	return nil
}

// asPerson has one program worded, each of its requests by itself and all by the same person.
func (m *maker) asPerson(ctx context.Context, d *draftOf, try int) (why string, err error) {
	t := d.of.told
	who := drawPersona(m.random("persona", t.Key(), d.of.World, try), d.Split)
	if try == wordTries-1 {
		who.tone = plainTone(d.Split)
	}
	q := question{prompt: askPrompt, who: m.Teacher, temperature: lively, tokens: 90, key: fmt.Sprint("wording ", try)}
	if d.Split != scenario.Train {
		q.prompt, q.who = askHeldPrompt, m.forHeldOut()
	}
	var requests []string
	for _, meaning := range t.Meanings(t.world, d.Split) {
		if meaning.Wants == "" {
			requests = append(requests, "")
			continue
		}
		q.data = asked{
			Person:   who.Who,
			Tone:     who.How,
			Around:   around(t),
			Examples: who.examples(),
			Wants:    strings.ReplaceAll("I would like "+meaning.Wants+".", "?.", "?"),
		}
		text := ""
		why, err = m.ask(ctx, nil, q, func(answer string) bool {
			text = oneLine(answer)
			return text != ""
		})
		if err != nil || why != "" {
			return why, err
		}
		if why = m.wordingFault(meaning, text); why != "" {
			return why, nil
		}
		requests = append(requests, text)
	}
	p, err := readPrompt(q.prompt)
	if err != nil {
		return "", err
	}
	d.of.notePrompt(p)
	d.of.Teacher, t.requests = q.who.Name, requests
	return "", nil
}

// mostAround bounds what a prompt says of the state.
const mostAround = 400

// around is what a wording may stand on: the things that a program is about and what is noted of them, and no value.
func around(t *told) string {
	tables := t.Tables
	if len(tables) == 0 {
		tables = t.world.Tables
	}
	text := (&programs.World{Tables: tables}).About()
	return strings.ToValidUTF8(text[:min(mostAround, len(text))], "")
}

var (
	sqlWord = regexp.MustCompile(
		`\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|GROUP BY|ORDER BY|JOIN|SQL|sql|NULL|` +
			`select \*|COUNT\()\b|[{};]|<\w|\w_\w`,
	)
	asAnswer = regexp.MustCompile(
		`(?i)^(?:sure\b|certainly|of course\b|here (?:is|are)\b|here's|the answer\b|i(?:'m| am) sorry|as an ai|` +
			`i(?:'ve| have) (?:updated|changed|deleted|added|set)|the (?:person|message|need|request)\b|(?:ok|okay)\W+let me|let me (?:check|look|see)|` +
			`are you looking|did you know|got it|good question|(?:we|i) (?:can't|cannot|don't have))|` +
			`\b(?:(?:do|would) you (?:need|want|like)|i'll (?:tell you|set|change|update|delete|add)|you want to know|you(?:'re| are) asking|you need to|i can help|how can i)\b`,
	)
	// amid matches a capitalized word within a sentence.
	amid = regexp.MustCompile(`[\p{Ll}\d,;] (\p{Lu}[\p{L}]{2,})`)
)

// wordingFault says why a text is no request of a meaning; "" where it can be one.
func (m *maker) wordingFault(meaning programs.Meaning, text string) string {
	n, meant := len(strings.Fields(text)), len(strings.Fields(meaning.Wants))
	wants := flat(meaning.Wants)
	switch {
	case n < 2 || n > 2*meant+25:
		return wrongLength
	case strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) && !strings.ContainsRune(wants, unicode.ToLower(r))
	}) >= 0:
		return wrongLanguage
	case slices.ContainsFunc(sqlWord.FindAllString(text, -1), func(w string) bool {
		return !strings.Contains(wants, flat(w))
	}):
		return technical
	case slices.ContainsFunc(m.tools, func(s *subject) bool {
		return strings.ContainsAny(s.Name, "_-.") && strings.Contains(text, s.Name)
	}):
		return technical
	case asAnswer.MatchString(text):
		return answering
	case invents(text, wants):
		return programs.SaysOther
	}
	return meaning.Fault(text)
}

// invents reports whether a text has a name within a sentence that is not in what is wanted: nobody else is meant.
func invents(text, wants string) bool {
	usual := strings.Fields("monday tuesday wednesday thursday friday saturday sunday january february march april " +
		"may june july august september october november december answer please english")
	for _, found := range amid.FindAllStringSubmatch(text, -1) {
		if name := strings.ToLower(found[1]); !strings.Contains(wants, name) && !slices.Contains(usual, name) {
			return true
		}
	}
	return false
}

// Openings are the first words of a task; of a split's tasks no more than mostOpening, or a few, begin with the same.
const (
	openingWords = 3
	mostOpening  = 0.06
	fewOpenings  = 3
)

// spread gives wordings a reason to fall that begin as many others of their split do.
func (m *maker) spread(of []*draftOf, why []string) {
	total, seen := map[string]int{}, map[string]int{}
	for _, d := range of {
		total[d.Split]++
	}
	for i, d := range of {
		if why[i] != "" {
			continue
		}
		first := words(strings.ToLower(strings.Join(d.of.told.requests, " ")))
		key := d.Split + " " + strings.Join(first[:min(openingWords, len(first))], " ")
		if seen[key]++; seen[key] > max(fewOpenings, int(mostOpening*float64(total[d.Split]))) {
			why[i] = alikeOpening
		}
	}
}

// retell words a task of a program as it is told now, with the answer and the checks that go with that.
func (m *maker) retell(d *draftOf) {
	c := d.of
	stream := []any{"asked", c.told.Key(), c.World}
	if c.told.way > 0 {
		stream = append(stream, "another way", c.told.way)
	}
	w := c.told.WordAs(m.random(stream...), d.Split, c.told.requests)
	d.Task, d.GoldAnswer, d.Checks = w.Task, w.Answer, slices.Concat(w.Checks, c.Checks)
	if c.told.requests == nil {
		d.Task = c.told.voice.speak(m.random("voice", c.told.Key(), c.World), d.Task, d.GoldAnswer)
	}
	d.between = w.Between
	d.GoldReasoning = c.told.Working()
	d.ID = fmt.Sprintf("%s-%s", strings.ReplaceAll(c.Kind, "_", "-"), blob.Of(c.key() + d.Task).String()[:10])
	d.Provenance.Teacher, d.Provenance.Prompts = c.Teacher, c.Prompts
	c.Task = d.Task
}

// untell takes a model's words back: the template's stand.
func (c *Candidate) untell() { c.told.requests, c.Teacher, c.Prompts = nil, "", nil }
