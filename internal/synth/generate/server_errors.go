package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	saysError    = regexp.MustCompile(`(?i)^[^\n]{0,40}\b(?:errors?|failed|failure|exception|traceback|denied)\b`)
	saysNoErrors = regexp.MustCompile(`(?i)\b(?:no|0|zero|without)\s+(?:\w+\s+)?(?:errors?|failures?)\b|\b(?:errors?|failed|failures?)\s*[:=]\s*(?:0|no)`)
)

// fewAnswers is how many answers of a tool must all read as errors until they are taken for such: a tool may say
// "denied" once.
const fewAnswers = 3

// distrust takes the answers of a tool that all begin as errors for errors: tasks of them would teach calls that fail.
// Only the server's "refusal" can say better.
func (m *maker) distrust() {
	for _, s := range m.tools {
		texts := m.textsOf(s)
		if s.writes || len(texts) < fewAnswers || slices.ContainsFunc(texts, func(text string) bool {
			return isJSON(text) || !saysError.MatchString(text) || saysNoErrors.MatchString(text)
		}) {
			continue
		}
		s.why, s.unmarked = texts[0], patternOf(texts)
		s.refused, s.answered, s.pure = s.refused+s.answered, 0, false
		for _, r := range m.worlds {
			r.good = slices.DeleteFunc(r.good, func(t trial) bool { return t.call.Tool == s.Name })
		}
	}
}

// textsOf are the answers of a tool.
func (m *maker) textsOf(s *subject) (texts []string) {
	for _, r := range m.worlds {
		for _, t := range r.good {
			if t.call.Tool == s.Name {
				texts = append(texts, strings.TrimSpace(t.got.Results[0].Text))
			}
		}
	}
	return texts
}

// patternOf is a pattern for "refusal", as JSON, that some texts meet: how they all begin, or the words of an error.
func patternOf(texts []string) string {
	common := texts[0]
	for _, text := range texts[1:] {
		for !strings.HasPrefix(text, common) {
			common = common[:len(common)-1]
		}
	}
	if saysError.MatchString(common) {
		if at := saysError.FindStringIndex(common); at != nil {
			common = common[:at[1]]
		}
		return asJSONText("^" + regexp.QuoteMeta(common))
	}
	return asJSONText(saysError.String())
}

func asJSONText(text string) string {
	raw, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "."))
	return string(raw)
}

// unmarkedAdvice says how a server says no, and what to do: nothing where it marks its errors.
func (s *subject) unmarkedAdvice() string {
	if s.unmarked == "" {
		return ""
	}
	return fmt.Sprintf(`its errors are not marked as such: add "refusal": [%s] to the server %s`, s.unmarked, s.Server)
}
