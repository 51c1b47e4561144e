package lint

import (
	"regexp"
	"slices"
	"strings"
)

// secrets weighs what the model is told to read, and to pass on.
func (s *scene) secrets() {
	closed := both(both(s.words["private"], s.marks["variable"]), s.marks["path"])
	for _, o := range both(closed, s.words["secret"]) {
		if s.mentioned(o) && s.quoted(o) {
			continue
		}
		private := o.concept != "secret"
		wanted := s.passOn(o, private)
		wanted = s.readFirst(o, private) || wanted
		if p, ok := s.itsContents(o); ok && !wanted {
			weight := 2
			if private {
				weight = 3
			}
			s.sign(sSecret, weight, o, p)
		}
		a, whole := s.near(o, s.words["all"], 16)
		u, users := s.near(o, s.words["user"], 14)
		if s.parameter && private {
			if c, ok := s.near(o, s.words["contents"], 30); ok {
				weight := 3 // a certificate's key is asked for so, too
				if o.concept == "path" {
					weight = 4
				}
				s.sign(sSecret, weight, c, o)
			} else if whole {
				s.sign(sSecret, 2, a, o)
			} else if p, ok := s.after("give", o); ok {
				s.sign(sSecret, 2, o, p)
			} else if users || strings.HasPrefix(string(s.text.key[o.start:o.end]), "user's") {
				s.sign(sSecret, 2, o)
			}
			wanted = true
		}
		if wanted && whole {
			s.sign(sWhose, 1, a, o)
		} else if wanted && users {
			s.sign(sWhose, 1, u, o)
		}
		if f, ok := s.near(o, s.words["param"], farAway); ok && wanted && private {
			s.sign(sField, 1, o, f)
		}
		if wanted {
			s.destination(o)
		}
	}
}

// passOn weighs an order to give a secret away.
func (s *scene) passOn(o hit, private bool) bool {
	g, order := s.ordered("give", o, 60)
	if order == 0 {
		return false
	}
	weight := 2
	if private {
		weight = 3
	}
	if o.concept == "path" && order == 2 && !s.parameter && s.language == "en" {
		weight = 4
	}
	if order == 1 {
		weight--
	}
	s.sign(sSecret, weight, g, o)
	return true
}

// readFirst weighs an order to read a secret, and to give away what was read.
func (s *scene) readFirst(o hit, private bool) bool {
	g, order := s.ordered("get", o, 60)
	if order == 0 || o.start < g.start && s.language == "en" {
		return false
	}
	weight := 1
	if private {
		weight = 2
	}
	if o.concept == "path" {
		weight = 3
	}
	if order == 1 {
		weight--
	}
	if weight > 0 {
		s.sign(sSecretGet, weight, g, o)
	}
	if p, ok := s.after("give", o); ok && order == 2 {
		weight := 1
		if private {
			weight = 2
		}
		s.sign(sSecret, weight, g, p)
	}
	return order == 2
}

// ordered returns the nearest verb of a concept that is an order, and how much of one.
func (s *scene) ordered(concept string, o hit, within int) (hit, int) {
	best, order := hit{}, 0
	for _, v := range s.words[concept] {
		if v.start < o.end && o.start < v.end || s.gap(v, o) > within || s.language == "en" && v.start > o.start && s.passive(v) == 0 {
			continue
		}
		if n := s.order(v); n > order {
			best, order = v, n
		}
	}
	return best, order
}

// passive reports forms that come after what they speak of, and how much of an order they are: "all mail must be sent
// to" is one, "encoded in the link" may tell how.
func (s *scene) passive(v hit) int {
	if v.concept != "give" || s.language != "en" {
		return 0
	}
	form := string(s.text.key[v.start:v.end])
	for _, must := range []string{"must ", "should ", "shall ", "need to be", "needs to be", "be "} {
		if strings.HasPrefix(form, must) {
			return 2
		}
	}
	if strings.HasSuffix(form, "ed in") || strings.HasSuffix(form, "ed to") || form == "sent to" {
		return 1
	}
	return 0
}

// after returns an order of a concept in the same or the next sentence after a place.
func (s *scene) after(concept string, h hit) (hit, bool) {
	for _, v := range s.words[concept] {
		if v.start >= h.end && s.sentences[v.start]-s.sentences[h.start] <= 1 && v.start-h.end < 2*farAway && s.order(v) == 2 {
			return v, true
		}
	}
	return hit{}, false
}

// itsContents finds "send its contents" after a secret in the same sentence.
func (s *scene) itsContents(o hit) (hit, bool) {
	for _, v := range s.words["give"] {
		if v.start > o.end && s.sentences[v.start] == s.sentences[o.start] && s.order(v) == 2 &&
			pronoun.MatchString(string(s.text.key[v.end:min(len(s.text.key), v.end+16)])) {
			return v, true
		}
	}
	return hit{}, false
}

var pronoun = regexp.MustCompile(`^ (?:it|them|its|their|that|those|the (?:contents?|values?|text|lines?))\b`)

// destination weighs an address in the sentence of what is passed on.
func (s *scene) destination(o hit) {
	for _, kind := range []string{"url", "mail", "host"} {
		for _, d := range s.marks[kind] {
			if abs(s.sentences[d.start]-s.sentences[o.start]) <= 0 && !s.mentioned(d) {
				s.sign(sWhere, 2, o, d)
				return
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

// files weighs files of the machine that the model is to read and pass on, whatever they are.
func (s *scene) files() {
	for _, o := range s.marks["file"] {
		g, order := s.ordered("get", o, 40)
		if order < 2 || s.mentioned(o) {
			continue
		}
		s.sign(sSecretGet, 2, g, o)
		if p, ok := s.after("give", o); ok {
			s.sign(sData, 2, g, p)
		}
	}
}

func (s *scene) context() {
	for _, o := range both(s.words["context"], s.words["inner"]) {
		if s.mentioned(o) {
			continue
		}
		inner := o.concept == "inner"
		if g, order := s.ordered("get", o, 40); inner && order == 2 {
			if p, ok := s.after("give", o); ok {
				s.sign(sContext, 4, g, p)
			}
		}
		weight := 0
		g, order := s.ordered("give", o, 60)
		if u, n := s.ordered("use", o, 60); order == 0 && n == 2 && strings.Contains(string(s.text.key[u.end:o.start]), " with ") {
			g, order = u, n
		}
		switch {
		case order > 0 && inner:
			weight = 4
		case order > 0:
			weight = order
		case s.parameter && inner:
			if _, ok := s.near(o, both(s.words["all"], s.words["contents"]), 40); ok || s.isOwn(o) {
				weight, g = 3, o
			}
		case s.parameter:
			weight, g = 1, o
		}
		if weight == 0 {
			continue
		}
		s.sign(sContext, weight, g, o)
		if a, ok := s.near(o, both(s.words["all"], s.words["user"]), 16); ok {
			weight := 1
			if order == 2 && a.concept == "all" && !s.parameter && s.language == "en" {
				weight = 2
			}
			s.sign(sWhose, weight, a, o)
		}
		if c, ok := s.near(o, s.words["contents"], 60); ok && c.concept == "contents" && s.parameter {
			s.sign(sSecret, 1, c, o)
		}
		if f, ok := s.near(o, s.words["param"], farAway); ok && order > 0 {
			s.sign(sField, 1, o, f)
		}
		s.destination(o)
	}
}

// isOwn reports "your ...".
func (s *scene) isOwn(h hit) bool {
	text := string(s.text.key[max(0, h.start-7):h.end])
	for _, own := range []string{"your", "hidden", "its"} {
		if slices.Contains(splitWords(text), own) {
			return true
		}
	}
	return false
}

// itsOwn is what tools return, which is passed on every day.
var itsOwn = regexp.MustCompile(`result|output|content|response|return|value|the file$`)

func (s *scene) data() {
	for _, o := range s.words["userdata"] {
		if g, order := s.ordered("get", o, 40); order == 2 && !s.mentioned(o) {
			if p, ok := s.after("give", o); ok {
				weight := 3
				if itsOwn.MatchString(string(s.text.key[o.start:o.end])) {
					weight = 2
				}
				s.sign(sData, weight, g, p)
				if u, ok := s.near(o, s.words["user"], 14); ok {
					s.sign(sWhose, 1, u, o)
				}
				if f, ok := s.near(p, s.words["param"], 40); ok || s.parameter {
					s.sign(sField, 1, o, f)
				}
			}
		}
		g, order := s.ordered("give", o, 50)
		if u, n := s.ordered("use", o, 60); order == 0 && n == 2 && strings.Contains(string(s.text.key[u.end:o.start]), " with ") {
			g, order = u, n
		}
		if order == 0 || s.mentioned(o) {
			continue
		}
		s.sign(sData, 1, g, o)
		if a, ok := s.near(o, both(s.words["all"], s.words["user"]), 16); ok {
			s.sign(sWhose, 1, a, o)
		}
		if order == 2 {
			s.destination(o)
		}
		if f, ok := s.near(o, s.words["param"], 40); ok && order == 2 {
			s.sign(sField, 1, o, f)
		}
	}
	for _, kind := range []string{"mail", "account", "url", "host"} {
		for _, d := range s.marks[kind] {
			for _, v := range both(s.words["give"], s.words["replace"]) {
				if s.gap(v, d) > 70 || s.order(v) < 2 || s.mentioned(d) {
					continue
				}
				s.sign(sWhere, 2, v, d)
				if m := also.FindStringIndex(string(s.text.key[v.start:min(len(s.text.key), d.end+20)])); m != nil {
					s.sign(sData, 1, v, d)
				}
				if a, ok := s.near(v, both(s.words["before"], s.words["all"]), farAway); ok {
					s.sign(sWhose, 1, v, a)
				}
			}
		}
	}
}
