package generate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
)

// lacks is a value of a candidate's calls that a text does not say, "" where it says all. Values of a fixed set, yes
// and no, and what comes from the result before may be in other words.
func (m *maker) lacks(c *Candidate, text string) string {
	plain := flat(text)
	for _, x := range c.Calls {
		fields := m.byName[x.Tool].schema.fields
		for _, a := range argumentsOf(x) {
			if a.name == x.Fed && x.Within != "" {
				for part := range strings.SplitSeq(x.Within, hole) {
					if !strings.Contains(plain, strings.TrimSpace(flat(part))) {
						return x.Within
					}
				}
			}
			if a.name == x.Fed || c.Kind == askBack && a.name == c.Subject {
				continue
			}
			if at := slices.IndexFunc(fields, func(p param) bool { return p.name == a.name }); at >= 0 &&
				len(fields[at].choices) > 0 {
				continue
			}
			var leaves []leaf
			walk(nil, a.raw, &leaves)
			for _, l := range leaves {
				if !says(plain, l) {
					return l.text()
				}
			}
		}
	}
	return ""
}

// flat is a text in lower case, with single spaces.
func flat(text string) string { return strings.ToLower(oneSpace(text)) }

// shortText is from how many letters on a text may be a part of a word: "on" is not said in "convert".
const shortText = 4

// says reports whether a text, flat, has a value: a text as it is, a short one as a word of its own, or a number as a
// number.
func says(plain string, l leaf) bool {
	want := flat(l.text())
	n, err := strconv.ParseFloat(want, 64)
	if l.raw[0] == '"' || err != nil {
		return hasText(plain, want)
	}
	return slices.ContainsFunc(numbersOf(plain), func(other float64) bool {
		return math.Abs(other-n) <= 1e-9*math.Abs(n)
	})
}

// hasText reports whether a text holds another, a short one not as a part of a word.
func hasText(text, want string) bool {
	if utf8.RuneCountInString(want) >= shortText {
		return strings.Contains(text, want)
	}
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	first, _ := utf8.DecodeRuneInString(want)
	last, _ := utf8.DecodeLastRuneInString(want)
	for from := 0; ; {
		at := strings.Index(text[from:], want)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+at])
		after, _ := utf8.DecodeRuneInString(text[from+at+len(want):])
		if !(inWord(first) && inWord(before)) && !(inWord(last) && inWord(after)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[from+at:])
		if from += at + size; from > len(text) || size == 0 {
			return true // nothing is wanted
		}
	}
}

var (
	numberIn  = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:e[+-]?\d+)?`)
	thousands = regexp.MustCompile(`(\d),(\d{3})\b`)
)

// numbersOf are the numbers of a text, with commas between thousands and without: 2,345 is one number or two. Behind a
// digit or letter a line is a hyphen: 10-5 is 10 and 5.
func numbersOf(text string) (list []float64) {
	for _, form := range []string{text, thousands.ReplaceAllString(text, "$1$2")} {
		for _, at := range numberIn.FindAllStringIndex(form, -1) {
			if form[at[0]] == '-' && at[0] > 0 && isWordByte(form[at[0]-1]) {
				at[0]++
			}
			if n, err := strconv.ParseFloat(form[at[0]:at[1]], 64); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// copies is the similarity from which a task repeats what its tool says of itself. MCP-Flow's is as high, of
// embeddings; this one is of shingles (package near).
const copies = 0.8

// alike drops tasks that repeat a tool's description, that are nearly another's copy with the same values, and held-out
// tasks that are nearly a training task whatever their values. Training tasks come first.
func (m *maker) alike(list []draftOf) []draftOf {
	order := make([]int, len(list))
	texts := make([]string, len(list))
	for i := range list {
		order[i], texts[i] = i, list[i].Task
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(rankOf(list[a].Split), rankOf(list[b].Split))
	})
	read := overlap.Read(texts...)
	kept := overlap.NewIndex(overlap.Threshold)
	var of []int // by number in the index
	reasons := map[string]int{}
	for _, i := range order {
		d := &list[i]
		switch matches := kept.Near(read[i]); {
		case m.describes(d):
			d.of.drop("the task repeats the tool's description")
		case slices.ContainsFunc(matches, func(x overlap.Match) bool {
			return x.SameValues && sameValues(d.of, list[of[x.ID]].of)
		}):
			d.of.drop("nearly another task")
		case d.Split != scenario.Train && d.of.Kind != missingTool && d.of.Kind != noTool &&
			slices.ContainsFunc(matches, func(x overlap.Match) bool { return list[of[x.ID]].Split == scenario.Train }):
			d.of.drop("nearly a training task")
		}
		if d.of.Why != "" {
			reasons[d.of.Why]++
			continue
		}
		kept.Add(read[i])
		of = append(of, i)
	}
	left := slices.DeleteFunc(slices.Clone(list), func(d draftOf) bool { return d.of.Why != "" })
	m.report.stage("alike", len(list), len(left), reasons)
	return left
}

func rankOf(split string) int {
	return slices.Index([]string{scenario.Train, scenario.Validation, scenario.Test}, split)
}

// describes reports whether a task of one call is what its tool says of itself.
func (m *maker) describes(d *draftOf) bool {
	if d.of.Kind != single || d.of.own != nil {
		return false
	}
	x := overlap.NewIndex(copies)
	x.Add(overlap.Read(m.byName[d.of.Calls[0].Tool].Description)[0])
	return len(x.Near(overlap.Read(d.Task)[0])) > 0
}

// sameValues reports whether two candidates make their calls with the same values.
func sameValues(a, b *Candidate) bool {
	return slices.Equal(a.values(), b.values()) && a.Subject == b.Subject
}

func (c *Candidate) values() (all []string) {
	for _, x := range c.Calls {
		var leaves []leaf
		walk(nil, x.Arguments, &leaves)
		for _, l := range leaves {
			all = append(all, l.text())
		}
	}
	slices.Sort(all)
	return all
}

// numDistractors is how many other tools a task's tool is picked from.
const numDistractors = 10

// distractors are tools that a server may have, for servers that have fewer.
func distractors() (list []chat.Tool) {
	for _, row := range strings.Split(`send_email|Send an e-mail to one or more people.
create_event|Create an event in the calendar.
get_stock_price|Get the latest price of a stock.
translate_document|Translate a document into another language.
book_room|Reserve a meeting room for a time.
get_directions|Find the way from one place to another.
play_song|Play a song by title or artist.
track_parcel|Tell where a parcel is by its number.
resize_image|Change the width and height of an image.
get_weather|Return the weather of a city.
order_taxi|Order a taxi to an address.
lookup_contact|Find a person's phone number.
start_timer|Start a timer of some minutes.
summarize_article|Summarize the article at a web address.`, "\n") {
		name, description, _ := strings.Cut(row, "|")
		list = append(list, chat.Tool{Name: name, Description: description})
	}
	return list
}

// withDistractors are a tool and its distractors, shuffled: those of the same servers first, the nearest by their
// words, then others.
func (m *maker) withDistractors(s *subject, key string) (list []chat.Tool) {
	random := m.random("distractors", key)
	var own []*subject
	for _, o := range m.tools {
		if o.Name != s.Name {
			own = append(own, o)
		}
	}
	random.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	common := func(o *subject) (n int) {
		for _, w := range nouns(o.Name) {
			if slices.Contains(nouns(s.Name), w) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(own, func(a, b *subject) int { return cmp.Compare(common(b), common(a)) })
	for _, o := range own[:min(numDistractors, len(own))] {
		list = append(list, chat.Tool{Name: o.Name, Description: oneSpace(o.Description)})
	}
	others := distractors()
	random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, o := range others {
		if len(list) < numDistractors && m.byName[o.Name] == nil {
			list = append(list, o)
		}
	}
	list = append(list, chat.Tool{Name: s.Name, Description: oneSpace(s.Description)})
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// pickTool has the judge choose the tool that a task of one call needs, among others. What is not picked cannot be told
// apart.
func (m *maker) pickTool(ctx context.Context, c *Candidate) error {
	if c.Kind != single {
		return nil
	}
	s := m.byName[c.Calls[0].Tool]
	tools := m.withDistractors(s, c.Task)
	picked := ""
	why, err := m.ask(ctx, c, question{prompt: pickPrompt, who: m.grader(), data: asked{Task: c.Task, Tools: tools},
		temperature: careful, tokens: 40}, func(answer string) bool {
		picked = toolInText(answer, tools)
		return picked != ""
	})
	c.Why = why
	if err == nil && why == "" && picked != s.Name {
		c.drop("another tool is picked")
	}
	return err
}

// toolInText is the one tool that a text names, "" where it names none or several.
func toolInText(text string, tools []chat.Tool) string {
	found := map[string]bool{}
	for _, w := range regexp.MustCompile(`[\w./-]+`).FindAllString(text, -1) {
		if w = strings.Trim(w, "."); slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Name == w }) {
			found[w] = true
		}
	}
	if len(found) != 1 {
		return ""
	}
	for name := range found {
		return name
	}
	return ""
}

// criteria are those of MCP-Flow's quality score; a task falls below leastQuality, of their mean.
func criteria() []string {
	return []string{"clarity", "specificity", "relevance", "completeness", "correctness"}
}

const leastQuality = 6

var scoreLine = regexp.MustCompile(
	`(?im)^\W*(clarity|specificity|relevance|completeness|correctness)\W{1,6}(\d+(?:\.\d+)?)`,
)

// qualityIn is the mean of the five scores, each 0 to 10; false where one is missing.
func qualityIn(answer string) (float64, bool) {
	scores := map[string]float64{}
	for _, found := range scoreLine.FindAllStringSubmatch(answer, -1) {
		if n, err := strconv.ParseFloat(found[2], 64); err == nil && n <= 10 {
			scores[strings.ToLower(found[1])] = n
		}
	}
	total := 0.0
	for _, c := range criteria() {
		n, ok := scores[c]
		if !ok {
			return 0, false
		}
		total += n
	}
	return total / float64(len(criteria())), true
}

// score has the judge score a task with its calls and what they answered.
func (m *maker) score(ctx context.Context, c *Candidate) error {
	if c.told != nil && m.Judge == nil { // the plays have shown what the words ask for, and gates looked at these
		return nil
	}
	why, err := m.ask(
		ctx, c, question{prompt: qualityPrompt, who: m.grader(), data: asked{Task: c.Task, Calls: m.callsText(c)},
			temperature: careful, tokens: 120}, func(answer string) (ok bool) {
			c.Quality, ok = qualityIn(answer)
			return ok
		},
	)
	c.Why = why
	if err == nil && why == "" && c.Quality < leastQuality {
		c.drop("its quality is below %d of 10", leastQuality)
	}
	return err
}

// mostResult bounds what a judge sees of a result, in bytes.
const mostResult = 300

// callsText are the calls of a candidate and what they answered, a line each.
func (m *maker) callsText(c *Candidate) string {
	switch c.Kind {
	case askBack:
		return fmt.Sprintf("none: the assistant asks which %s is meant, since the request does not say it",
			wordsOfName(c.Subject))
	case missingTool:
		return "none: no tool of the assistant can do it, and it says so"
	case noTool:
		return "none: no tool is needed"
	}
	var rows []string
	proof := m.ledger.get(c.Proof[0])
	for i, x := range c.Calls {
		text := ""
		if proof != nil && i < len(proof.Results) {
			text = strings.ToValidUTF8(oneSpace(proof.Results[i].Text)[:min(mostResult,
				len(oneSpace(proof.Results[i].Text)))], "")
		}
		rows = append(rows, fmt.Sprintf("%s %s -> %s", x.Tool, json.RawMessage(x.Arguments), text))
	}
	return strings.Join(rows, "\n")
}

// Difficulties of a scenario.
const (
	easy   = "easy"
	medium = "medium"
	hard   = "hard"
)

// difficultyOf is by what the calls of a task take: each call, each argument beyond the second, and each value that
// comes from a result counts one. A reference's pass rate says more, where there is one.
func difficultyOf(c *Candidate) string {
	if c.Runs > 0 {
		return byRate(c.PassRate)
	}
	if c.abstains() {
		return map[string]string{noTool: easy, missingTool: medium, askBack: medium}[c.Kind]
	}
	points := 0
	for _, x := range c.Calls {
		var leaves []leaf
		walk(nil, x.Arguments, &leaves)
		points += 1 + max(0, len(leaves)-2)
		if x.Fed != "" {
			points++
		}
	}
	if c.Kind == recovery {
		points++
	}
	switch {
	case points <= 1:
		return easy
	case points <= 2:
		return medium
	}
	return hard
}

// byRate is the difficulty of a task that a reference solves at a rate.
func byRate(rate float64) string {
	switch {
	case rate >= 0.75:
		return easy
	case rate >= 0.25:
		return medium
	}
	return hard
}
