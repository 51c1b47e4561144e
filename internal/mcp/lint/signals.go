package lint

import (
	"regexp"
	"slices"
)

// What signals are called in a finding.
const (
	sOverride  = "asks to ignore other instructions"
	sHide      = "asks to hide something from the user"
	sSecretGet = "asks to read secrets"
	sSecret    = "asks to pass on secrets"
	sWhose     = "wants all of them, or the user's"
	sContext   = "asks for the conversation or the prompt"
	sData      = "asks to pass on the user's data"
	sWhere     = "names where to send it"
	sField     = "names a field to put it in"
	sScope     = "speaks about every tool or answer"
	sCall      = "orders a call of another tool"
	sUrgent    = "presses"
	sThreat    = "threatens"
	sAuthority = "claims authority"
	sModel     = "speaks to the model"
	sTrigger   = "waits for an occasion"
	sMoney     = "changes where money or messages go"
	sDefy      = "overrules the user"
	sDanger    = "orders damage"
	sConsent   = "asks to skip the user's consent"
	sApproved  = "claims the user's consent"
	sPrefer    = "wants to be preferred to other tools"
	sDisparage = "speaks ill of other tools"
	sRole      = "gives the model another role"
	sUnbound   = "lifts the model's limits"
	sPose      = "poses as the system"
	sAside     = "has a field for notes aside"
	sRules     = "sets rules for another tool"
	sAlter     = "changes how it is called"
	sMust      = "leaves no choice"
	sPressed   = "presses in several ways"
	sBias      = "slants the model's answers"
)

// read finds all signals of a scene.
func (s *scene) read() {
	s.override()
	s.hide()
	s.secrets()
	s.files()
	s.context()
	s.data()
	s.tools()
	s.consent()
	s.persuade()
	s.roles()
	s.poses()
	s.shadow()
}

func both(a, b []hit) []hit { return append(slices.Clone(a), b...) }

// override finds orders to leave other instructions.
func (s *scene) override() {
	strongVerbs, verbs := both(s.words["ignore"], s.words["void"]), s.words["weakignore"]
	for i, v := range both(strongVerbs, verbs) {
		for _, r := range both(s.words["rules"], s.words["weakrules"]) {
			if s.gap(v, r) > 60 || v.start < r.end && r.start < v.end {
				continue
			}
			p, strongPrior := s.apart(r, s.words["prior"], 40)
			if !strongPrior {
				var ok bool
				if p, ok = s.apart(r, s.words["weakprior"], 40); !ok && !slices.Contains(s.text.key[r.start:r.end], ' ') { // "what you were told" needs no "previous"
					continue
				} else if !ok {
					p = r
				}
			}
			if s.mentioned(v) || v.concept != "void" && s.order(v) == 0 {
				continue
			}
			weight := 2
			if strongPrior || r.concept == "rules" {
				weight = 4
			} else if v.concept == "void" {
				weight = 3
			}
			if i >= len(strongVerbs) || s.language == "en" && s.order(v) == 1 && !strongPrior {
				weight--
			}
			s.sign(sOverride, weight, v, r, p)
		}
	}
}

// aboutThis is what the model has just been told to do.
var aboutThis = regexp.MustCompile(`^ (?:about |of )?(?:this|it|that|these|the fact)\b`)

// verbFirst are languages that put "not" after the verb of an order: "Sag dem Benutzer nichts".
var verbFirst = []string{"de", "nl", "sv", "da"}

// hide finds orders to keep the user from knowing.
func (s *scene) hide() {
	for _, n := range s.words["neg"] {
		for _, t := range both(s.words["tell"], s.words["weaktell"]) {
			before := t.start >= n.end && s.gap(n, t) <= 14
			after := slices.Contains(verbFirst, s.language) && n.start >= t.end && s.gap(n, t) <= 30
			if !before && !after || s.mentioned(n) {
				continue
			}
			weight := 2
			u, ok := s.near(t, s.words["user"], 40)
			switch {
			case ok && t.concept == "weaktell":
				weight = 2
			case ok && s.isTask(u):
				weight = 0
			case ok && s.isText(n, "without"):
				weight = 3
			case ok:
				weight = 4
			case t.concept == "weaktell":
				weight = 0
			case s.language == "en" && aboutThis.MatchString(string(s.text.key[t.end:min(len(s.text.key), t.end+12)])):
				weight = 4
			}
			if weight > 0 {
				if !ok {
					u = t
				}
				s.sign(sHide, weight, n, t, u)
			}
		}
	}
	for _, c := range s.words["conceal"] {
		if s.mentioned(c) {
			continue
		}
		weight, over := 2, c
		if u, ok := s.near(c, s.words["user"], 60); ok || s.language == "en" {
			weight = 4
			if ok {
				over = u
			}
		}
		s.sign(sHide, weight, c, over)
	}
	for _, c := range s.words["weakconceal"] {
		weight := 2
		for _, verb := range []string{"use", "give", "get", "replace"} {
			if v, ok := s.near(c, s.words[verb], 1); ok && v.start > c.start {
				weight = 3
			}
		}
		if !s.mentioned(c) {
			s.sign(sHide, weight, c)
		}
	}
}

// isTask tells "do not tell the user to ..." and "... before ..." from "do not tell the user".
func (s *scene) isTask(user hit) bool {
	end := user.end
	for end < len(s.sentences) && s.sentences[end] == s.sentences[user.start] {
		end++
	}
	rest := string(s.text.key[user.end:end])
	return taskOf.MatchString(rest)
}

var taskOf = regexp.MustCompile(`^ to\b|\b(until|unless|before)\b`)

func (s *scene) isText(h hit, text string) bool { return string(s.text.key[h.start:h.end]) == text }
