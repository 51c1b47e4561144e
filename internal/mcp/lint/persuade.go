package lint

import (
	"regexp"
	"slices"
	"strings"
)

// also is how a text adds to what a tool does.
var also = regexp.MustCompile(`\b(?:as well|also|too|in addition|additionally|a copy|copies|mirror|duplicate|likewise)\b`)

func (s *scene) tools() {
	for _, a := range s.words["anytool"] {
		if b, ok := s.near(a, both(s.words["before"], s.words["use"]), 40); ok {
			s.sign(sScope, 2, a, b)
		}
	}
	for _, p := range s.marks["path"] {
		if u, order := s.ordered("use", p, 40); order == 2 && !s.mentioned(p) {
			s.sign(sSecret, 3, u, p)
		}
	}
	for _, u := range s.words["use"] {
		if s.order(u) < 2 && s.language == "en" {
			continue
		}
		for _, t := range s.marks["tool"] {
			if s.parameter && t.start >= u.end && t.start-u.end <= 4 {
				s.sign(sCall, 1, u, t)
			}
		}
		for _, t := range s.marks["secret tool"] {
			if t.start >= u.end && t.start-u.end <= 4 {
				s.sign(sSecretGet, 2, u, t)
			}
		}
	}
	for _, m := range s.words["money"] {
		if r, order := s.ordered("replace", m, 40); order == 2 {
			s.sign(sMoney, 2, r, m)
			for _, a := range both(s.marks["account"], both(s.marks["mail"], s.marks["host"])) {
				if s.gap(m, a) <= 60 {
					s.sign(sMoney, 4, r, a)
				}
			}
		}
	}
	for _, d := range s.words["danger"] {
		if s.order(d) == 2 && !s.mentioned(d) {
			s.sign(sDanger, 3, d)
			if u, ok := s.near(d, s.words["user"], 40); ok {
				s.sign(sWhose, 1, d, u)
			}
		}
	}
	for _, c := range s.marks["command"] {
		if u, order := s.ordered("use", c, 40); order == 2 && !s.mentioned(c) {
			s.sign(sDanger, 4, u, c)
		}
	}
	for _, u := range s.marks["filled url"] {
		if _, ok := s.near(u, both(s.words["always"], both(s.words["context"], both(s.words["all"], s.words["private"]))), farAway); ok {
			s.sign(sWhere, 2, u)
		}
		s.sign(sData, 2, u)
	}
	for _, f := range s.marks["hidden field"] {
		s.sign(sAside, 1, f)
	}
}

// conditional is what makes a claim a condition.
var conditional = regexp.MustCompile(`\b(?:if|once|when|after|unless|only|whether|until|before|that)\b`)

func (s *scene) consent() {
	for _, c := range s.words["consent"] {
		a, ok := s.near(c, s.words["ask"], 25)
		if !ok {
			continue
		}
		word := string(s.text.key[a.start:a.end])
		if n, denied := s.near(a, s.words["neg"], 12); denied && n.end <= a.start && !s.isText(n, "cannot") {
			weight := 2
			if s.isText(n, "without") {
				weight = 1
			}
			s.sign(sConsent, weight, n, c)
		} else if (word == "skip" || word == "bypass" || word == "suppress" || word == "auto-approve" || word == "disable") && s.order(a) == 2 {
			s.sign(sConsent, 2, a, c)
		}
	}
	for _, n := range s.words["noask"] {
		s.sign(sConsent, 2, n)
	}
	for _, a := range s.words["approved"] {
		weight := 2
		if strings.Contains(string(s.text.key[a.start:a.end]), "already") || s.language != "en" {
			if _, ok := s.near(a, s.words["user"], 20); ok && !conditional.MatchString(s.sentence(a)) {
				weight = 4
			}
		}
		s.sign(sApproved, weight, a)
		if b, ok := s.beside(a, s.words["approved"]); ok {
			s.sign(sApproved, 3, a, b)
		}
	}
}

// persuade weighs words that press, alone too little for a finding.
func (s *scene) persuade() {
	for _, p := range []struct {
		concept, name string
		weight        int
	}{{"urgent", sUrgent, 1}, {"threat", sThreat, 1}, {"authority", sAuthority, 1}, {"model", sModel, 1}, {"trigger", sTrigger, 1}, {"occult", sTrigger, 2}, {"defy", sDefy, 2}, {"bias", sBias, 2}} {
		for _, h := range s.words[p.concept] {
			if !s.mentioned(h) {
				s.sign(p.name, p.weight, h)
			}
		}
	}
	for _, m := range occasion.FindAllStringIndex(string(s.text.key), 6) {
		if start := len([]rune(string(s.text.key)[:m[0]])); s.language == "en" && start > 0 {
			s.sign(sTrigger, 1, hit{start: start, end: start + 8})
		}
	}
	s.pressed()
	for _, p := range s.words["prefer"] {
		s.sign(sPrefer, 3, p)
	}
	for _, p := range s.words["likes"] {
		s.sign(sPrefer, 1, p)
		if q, ok := s.beside(p, s.words["likes"]); ok {
			s.sign(sPrefer, 2, p, q)
		}
		if q, ok := s.beside(p, s.words["prefer"]); ok {
			s.sign(sPrefer, 4, p, q)
		}
	}
	for _, p := range both(s.words["prefer"], s.words["likes"]) {
		if b, ok := s.near(p, s.words["always"], farAway); ok {
			s.sign(sUrgent, 1, p, b)
		}
	}
	for _, d := range s.words["disparage"] {
		if o, ok := s.near(d, s.words["others"], 50); ok {
			s.sign(sDisparage, 2, d, o)
		}
	}
}

// occasion is a condition at the head of a sentence.
var occasion = regexp.MustCompile(`(?:[.:;!?)] ?|\n)(?:only )?(?:if|when|whenever|once|after|starting|from|on|as soon as|every|each|should|in case|the next time|until|while) [^.;]{3,90}[,:]`)

// pressed weighs authority, haste, threats and an address to the model that come together.
func (s *scene) pressed() {
	kinds := []string{"authority", "urgent", "threat", "model"}
	for _, a := range both(s.words["authority"], s.words["urgent"]) {
		found, over := 0, []hit{a}
		for _, k := range kinds {
			if b, ok := s.beside(a, s.words[k]); ok || a.concept == k {
				found++
				over = append(over, b)
			}
		}
		if found >= 3 {
			s.sign(sPressed, 1, over...)
		}
	}
}

// beside is near in the same sentence or the next.
func (s *scene) beside(a hit, others []hit) (hit, bool) {
	for _, b := range others {
		if abs(s.sentences[a.start]-s.sentences[b.start]) <= 1 && (b.start >= a.end || a.start >= b.end) {
			return b, true
		}
	}
	return a, false
}

func (s *scene) roles() {
	for _, r := range s.words["role"] {
		if s.mentioned(r) || s.language == "en" && s.isState(r) {
			continue
		}
		s.sign(sRole, 4, r)
	}
	for _, r := range s.words["weakrole"] {
		if s.order(r) == 2 && !s.mentioned(r) {
			s.sign(sRole, 2, r)
		}
	}
	for _, r := range s.words["unbound"] {
		if !s.mentioned(r) {
			s.sign(sUnbound, 2, r)
		}
	}
}

// isState tells "you are now logged in" from "you are now an administrator".
func (s *scene) isState(r hit) bool {
	next := splitWords(string(s.text.key[r.end:min(len(s.text.key), r.end+20)]))
	return len(next) > 0 && slices.Contains([]string{"connected", "logged", "ready", "able", "signed", "authenticated", "done", "subscribed", "at", "on"}, next[0])
}

// markup are words of texts about marks.
var markup = regexp.MustCompile(`\b(?:chatml|chat templates?|special tokens?|control tokens?|delimiters?|tokeni[sz]ers?|xml|html|markdown|elements?|tags?|markers?|syntax|parses?|renders?|formats?|converts?|templates?)\b`)

// sentence is the text of the sentence that a place begins in, to the start of the place.
func (s *scene) sentence(h hit) string {
	start := h.start
	for start > 0 && s.sentences[start-1] == s.sentences[h.start] {
		start--
	}
	return string(s.text.key[start:h.start])
}

func (s *scene) poses() {
	for _, p := range s.marks["pose"] {
		weight := 4
		switch Severity(p.language) {
		case Medium:
			weight = 3
		case Low:
			weight = 1
		}
		if s.quoted(p) || s.mentioned(p) && weight < 4 {
			continue
		}
		if markup.MatchString(s.sentence(p)) {
			weight = min(weight, 2) // the tool may be about such marks: more must be said
		}
		s.sign(p.concept, weight, p)
	}
}

// shadow weighs rules for tools that are not this server's. That a tool says which others to call is common; that it
// says what happens when others are called is not.
func (s *scene) shadow() {
	if s.language != "en" {
		return
	}
	text := string(s.text.key)
	for _, p := range shadowPatterns {
		for _, m := range p.FindAllStringIndex(text, 4) {
			h := hit{start: len([]rune(text[:m[0]])), end: len([]rune(text[:m[1]]))}
			if s.parameter && p.message == sDefy || s.mentioned(h) || p.message != sHide && (anyTool.MatchString(text[m[0]:m[1]]) || s.ownTool(h)) {
				continue
			}
			weight := map[Severity]int{Low: 1, Medium: 2, High: 3}[p.severity]
			if p.message == sHide {
				if _, ok := s.near(h, s.words["user"], 40); ok {
					weight++
				}
			}
			s.sign(p.message, weight, h)
			if p.message == sRules {
				s.altered(h)
			}
		}
	}
}

// altered weighs what a rule for another tool asks for.
func (s *scene) altered(h hit) {
	asked := 0
	end := h.end
	for end < len(s.sentences) && s.sentences[end] == s.sentences[h.start] {
		end++
	}
	if changed.Match([]byte(string(s.text.key[h.end:end]))) {
		asked = 2
	}
	for _, v := range both(s.words["give"], s.words["replace"]) {
		if v.start < h.start || s.gap(h, v) > farAway || s.order(v) == 0 {
			continue
		}
		asked = max(asked, 1)
		where := both(s.marks["account"], both(s.marks["mail"], both(s.marks["url"], s.words["money"])))
		if _, ok := s.near(v, where, 60); ok || v.concept == "replace" {
			asked = 2
		}
	}
	if asked > 0 {
		s.sign(sAlter, asked, h)
	}
	if must, ok := s.near(h, s.words["must"], farAway); ok && asked != 1 {
		s.sign(sMust, 1, h, must)
	}
}

var changed = regexp.MustCompile(`\b(?:replaced|changed|overridden|overwritten|override|altered|redirected|rerouted|repeated|split|doubled|increased|mirrored|addressed to|copied to|sent to|bcc|prefixed|appended)\b`)

// ownTool reports whether a place names a tool of the same server.
func (s *scene) ownTool(h hit) bool {
	return slices.ContainsFunc(names(s.text.shown[h.start:h.end]), func(n string) bool { return s.own[n] })
}

// names cuts text into what may be names of tools.
func names(text []rune) []string {
	return strings.FieldsFunc(string(text), func(r rune) bool { return !inWord(r) && r != '-' && r != '.' })
}
