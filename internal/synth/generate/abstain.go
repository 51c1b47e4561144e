package generate

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// abstentions are n candidates that are answered without a call: a third each asks back, lacks a tool, needs none.
func (m *maker) abstentions(n int) (list []*Candidate) {
	back := m.askBacks((n + 2) / 3)
	list = append(list, back...)
	missing := m.missing((n + 1) / 3)
	list = append(list, missing...)
	return append(list, m.needless(n-len(list))...)
}

// askBacks are calls of which a required text or number is not said.
func (m *maker) askBacks(n int) (list []*Candidate) {
	random := m.random("ask back")
	var able []*subject
	for _, s := range m.usable() {
		if s.needs() {
			able = append(able, s)
		}
	}
	seen := map[string]bool{}
	for try := 0; try < 10*n && len(list) < n && len(able) > 0; try++ {
		s := able[try%len(able)]
		realms := m.realmsOf(s)
		if len(realms) == 0 {
			continue
		}
		r := pick(random, realms)
		arguments, ok := filler{random, s, &r.known}.arguments(false)
		if !ok || !s.takes(string(arguments)) {
			continue
		}
		c := Call{Tool: s.Name, Arguments: arguments}
		var lacks []string
		for _, p := range s.schema.fields {
			if p.required && p.kind != "boolean" {
				lacks = append(lacks, p.name)
			}
		}
		if len(lacks) == 0 {
			continue
		}
		lack := pick(random, lacks)
		if key := s.Name + lack + string(arguments); !seen[key] {
			seen[key] = true
			list = append(list, &Candidate{Kind: askBack, World: r.index, Calls: []Call{c}, Subject: lack})
		}
	}
	return list
}

// wishes are what people ask of assistants that have the tools for it: a request, then words of tools that could do it.
func wishes() [][2]string {
	return [][2]string{
		{"book a flight from Oslo to Lima for next Friday", "flight book travel ticket"},
		{"order a large pizza to my flat", "pizza order food deliver"}, {"play some jazz in the living room",
			"play music song audio media"},
		{"call my dentist and move the appointment", "call phone dial appointment calendar"},
		{"transfer 50 euros to Ada", "transfer bank pay payment money"}, {"turn off the lights in the kitchen",
			"light home switch device"},
		{"print two copies of my report on the office printer", "printer"},
		{"reserve a table for four at eight this evening", "reserve table restaurant book"},
		{"post a photo of my cat to my profile", "photo post social image upload"},
		{"tell me the weather in Nairobi tomorrow", "weather forecast temperature"},
		{"text Marie that I am late", "sms text message send phone"},
		{"find the cheapest hotel in Athens for two nights", "hotel book travel"}, {"take a picture with the webcam",
			"camera webcam picture photo image"},
		{"look up the price of gold today", "price stock market finance gold"}, {"renew my driving licence",
			"licence renew government"},
		{"water the plants at six every morning", "water plant schedule device garden"},
		{"edit the colours of my holiday video", "video edit movie"}, {"scan my fridge and say what is missing",
			"scan fridge device"}, {"start the washing machine", "washing machine device start"},
		{"find a parking space near the station", "parking map location place"}, {"measure my heart rate now",
			"heart health measure"},
		{"unlock the front door", "door lock unlock device"}, {"order new shoes in size 42", "order shop shoe buy"},
	}
}

// missing are wishes that none of the tools has a word of; none where a tool can do nearly anything.
func (m *maker) missing(n int) (list []*Candidate) {
	if slices.ContainsFunc(m.tools, (*subject).general) {
		return nil
	}
	known, all := wordsOf(m.tools), wishes()
	m.random("missing").Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, wish := range all {
		if len(list) < n &&
			!slices.ContainsFunc(strings.Fields(wish[1]), func(w string) bool { return slices.Contains(known, w) }) {
			list = append(list, &Candidate{Kind: missingTool, Subject: wish[0]})
		}
	}
	return list
}

// wordsOf are the words of tools' names and descriptions.
func wordsOf(tools []*subject) (known []string) {
	for _, s := range tools {
		known = append(known, words(s.Name)...)
		for _, w := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(s.Description, -1) {
			known = append(known, singular(strings.ToLower(w)))
		}
	}
	return known
}

// askFor is the answer to a task that lacks a parameter.
func askFor(name string) string { return fmt.Sprintf("Which %s should I use?", wordsOfName(name)) }

// needless are things to say to which no tool adds anything.
func (m *maker) needless(n int) (list []*Candidate) {
	subjects := []string{
		"Thank you, that was all for today.|You are welcome.",
		"Good morning! How are you?|Good morning! I am well. What can I do for you?",
		"Thanks, the last answer was exactly what I needed.|You are welcome.",
		"Say hello to my colleague Ada.|Hello, Ada!",
		"Please wait a moment, I am looking for my notes.|Of course. Tell me when you are ready.",
		"What is the opposite of late?|Early.", "Which is heavier, a kilo of iron or a kilo of feathers?|They weigh " +
			"the same.", "Never mind, I have changed my mind.|All right.",
	}
	for _, s := range m.usable() {
		if m.held[m.group(s.Name)] { // training would speak of what it is not to see
			continue
		}
		do := byDescription(s)
		subjects = append(subjects,
			fmt.Sprintf("Do not do it yet, but do you have a tool to %s?|Yes, %s can do that.", do, s.Name))
	}
	m.random("needless").Shuffle(len(subjects), func(i, j int) { subjects[i], subjects[j] = subjects[j], subjects[i] })
	for _, s := range subjects[:max(0, min(n, len(subjects)))] {
		list = append(list, &Candidate{Kind: noTool, Subject: s})
	}
	return list
}

// abstain fills in the task and the checks of a scenario without calls.
func (m *maker) abstain(s *scenario.Scenario, c *Candidate, f family, r *rand.Rand) {
	s.Checks = []scenario.Check{{Type: scenario.NoCallCheck}}
	switch c.Kind {
	case askBack:
		question := `\?\s*$`
		s.Task = strings.ReplaceAll(m.alone(c.Calls[0], f, r, c.Subject), "?", ".")
		s.GoldAnswer = askFor(c.Subject)
		s.Checks = append(s.Checks, scenario.Check{Type: scenario.AnswerCheck, Regex: &question})
		s.Setup = m.setupOf(c)
	case missingTool:
		s.Task = title(strings.NewReplacer("{do}", c.Subject).Replace(pick(r, f.bareOf())))
		s.GoldAnswer = "None of my tools can do that."
	case noTool:
		s.Task, s.GoldAnswer, _ = strings.Cut(c.Subject, "|")
	}
}

// bareOf are the patterns of a request without slots, with the request as it is.
func (f family) bareOf() (patterns []string) {
	for _, p := range f.Bare {
		patterns = append(patterns, strings.ReplaceAll(p, "{Do}", "{do}"))
	}
	return patterns
}
