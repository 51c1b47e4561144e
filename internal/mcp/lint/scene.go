package lint

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// scene is one text, in one language, as the rules for signals see it.
type scene struct {
	text      folded
	language  string
	words     map[string][]hit // of the lexicon, by concept
	marks     map[string][]hit // places of no language: paths, addresses, names of tools
	sentences []int            // of each rune
	parameter bool             // the text says what the model is to fill in
	own       map[string]bool  // names of the server's own tools
	signals   []signal
}

// signal is one sign of an order that an honest tool does not give. Weights add up.
type signal struct {
	name       string
	weight     int
	start, end int // runes
}

// enough is the weight of signals, in sentences that follow one another, that makes a finding.
const (
	enough  = 4
	nearby  = 3 // sentences
	farAway = 90
)

// sentencesOf numbers the sentences. A full stop inside a name or a path ends none; the end of a line does, unless the
// next line goes on in small letters.
func sentencesOf(f folded) []int {
	out := make([]int, len(f.key))
	n := 0
	for i, r := range f.key {
		out[i] = n
		switch r {
		case '\n':
			if i+1 == len(f.key) || !unicode.IsLower(f.shown[i+1]) {
				n++
			}
		case '。', '！', '？', '؟', '۔', '।', ';', '؛':
			n++
		case '.', '!', '?':
			if i+1 == len(f.key) || !inWord(f.key[i+1]) && f.key[i+1] != '/' && f.key[i+1] != '.' {
				n++
			}
		}
	}
	return out
}

// gap is how many runes are between two places, 0 where they overlap; far where they are in different sentences.
func (s *scene) gap(a, b hit) int {
	if b.start < a.start {
		a, b = b, a
	}
	if b.start < len(s.sentences) && s.sentences[a.start] != s.sentences[b.start] {
		return farAway + 1
	}
	return max(0, b.start-a.end)
}

// near returns the nearest of some places, if it is within a gap.
func (s *scene) near(a hit, others []hit, within int) (hit, bool) {
	best, found := hit{}, false
	for _, b := range others {
		if g := s.gap(a, b); g <= within && (!found || g < s.gap(a, best)) && !(a.start == b.start && a.end == b.end && a.concept == b.concept) {
			best, found = b, true
		}
	}
	return best, found
}

// apart is near without overlaps.
func (s *scene) apart(a hit, others []hit, within int) (hit, bool) {
	return s.near(a, slices.DeleteFunc(slices.Clone(others), func(b hit) bool { return b.start < a.end && a.start < b.end }), within)
}

// sign notes a signal over the places given.
func (s *scene) sign(name string, weight int, over ...hit) {
	g := signal{name: name, weight: weight, start: over[0].start, end: over[0].end}
	for _, h := range over[1:] {
		g.start, g.end = min(g.start, h.start), max(g.end, h.end)
	}
	s.signals = append(s.signals, g)
}

// order says how much a verb is an order: 2 for one, 1 for the first word of a text, where tools say what they do; 0
// for what is told, allowed, possible or forbidden. Only English is told apart by place; in other languages the lexicon
// holds the forms that give orders.
func (s *scene) order(h hit) int {
	for _, n := range s.words["neg"] {
		if n.end <= h.start && h.start-n.end <= 12 && s.gap(n, h) <= 12 {
			return 0
		}
	}
	if s.language != "en" {
		return 2
	}
	if n := s.passive(h); n > 0 {
		return n
	}
	i := h.start - 1
	for i >= 0 && (s.text.key[i] == ' ' || s.text.key[i] == '\n' && s.sentences[i] == s.sentences[h.start] || s.text.key[i] == '"' || s.text.key[i] == '*' || s.text.key[i] == '`') {
		i--
	}
	if i < 0 {
		if s.parameter || slices.Contains(handingOver, string(s.text.key[h.start:h.end])) {
			return 2
		}
		return 1
	}
	if !unicode.IsLetter(s.text.key[i]) && s.text.key[i] != '\'' {
		if s.text.key[i] == ',' && s.opensWithVerb(h) {
			return 0
		}
		return 2
	}
	for _, o := range s.words["order"] {
		if o.end == i+1 {
			word := string(s.text.key[o.start:o.end])
			if (word == "and" || word == "or" || word == "also") && s.opensWithVerb(h) {
				return 0
			}
			return 2
		}
	}
	return 0
}

// handingOver are verbs that say what to do with a tool, never what it does.
var handingOver = []string{"include", "pass", "put", "provide", "supply", "fill", "paste", "insert", "hand over"}

// opensWithVerb reports whether h is in the first sentence of a text that says what the tool does: "Read a file and ...".
func (s *scene) opensWithVerb(h hit) bool {
	if s.parameter || s.sentences[h.start] != 0 {
		return false
	}
	for _, c := range []string{"give", "get", "use", "replace"} {
		for _, v := range s.words[c] {
			if v.start == 0 {
				return true
			}
		}
	}
	return false
}

// quoted reports whether a place is inside quotation marks of a sentence that speaks of attacks or gives examples, as
// the texts of tools that look for attacks do.
func (s *scene) quoted(h hit) bool {
	if _, ok := s.near(h, s.words["mention"], 2*farAway); !ok && s.language == "en" {
		return false
	}
	before, after := s.text.key[:h.start], s.text.key[h.end:]
	for _, q := range []string{"\"\"", "''", "“”", "``", "«»", "「」", "『』", "„“"} {
		marks := []rune(q)
		open, shut := -1, -1
		for i := len(before) - 1; i >= 0 && s.sentences[i] == s.sentences[h.start] && open < 0; i-- {
			if before[i] == marks[0] && (marks[0] != '\'' || i == 0 || !unicode.IsLetter(before[i-1])) {
				open = i
			}
		}
		for i := 0; i < len(after) && i < farAway && shut < 0; i++ {
			if after[i] == marks[1] && (marks[1] != '\'' || i+1 == len(after) || !unicode.IsLetter(after[i+1])) {
				shut = i
			}
		}
		if open >= 0 && shut >= 0 {
			return true
		}
	}
	return false
}

// mentioned reports whether a place is spoken about, not said: quoted, or after a word such as "detects".
func (s *scene) mentioned(h hit) bool {
	if s.quoted(h) {
		return true
	}
	for _, m := range s.words["mention"] {
		if m.end <= h.start && s.gap(m, h) <= farAway && s.sentences[m.start] == s.sentences[h.start] {
			return true
		}
	}
	return false
}

// heaviest returns the sentences whose signals weigh most: their signals, each name once, and the weight.
func (s *scene) heaviest() (list []signal, weight int) {
	if len(s.sentences) == 0 {
		return nil, 0
	}
	for first := 0; first <= s.sentences[len(s.sentences)-1]; first++ {
		best := map[string]signal{}
		for _, g := range s.signals {
			at := s.sentences[min(g.start, len(s.sentences)-1)]
			if at >= first && at < first+nearby && g.weight > best[g.name].weight {
				best[g.name] = g
			}
		}
		sum := 0
		var now []signal
		for _, g := range best {
			sum += g.weight
			now = append(now, g)
		}
		if sum > weight {
			list, weight = now, sum
		}
	}
	slices.SortFunc(list, func(a, b signal) int {
		if a.weight != b.weight {
			return b.weight - a.weight
		}
		return a.start - b.start
	})
	return list, weight
}

// places are what rules look for that is no word of a language.
var places = []struct {
	name string
	*regexp.Regexp
}{
	{"url", regexp.MustCompile(`(?i)\b(https?|wss?|ftp)://[^\s"'<>)]+`)},
	{"mail", regexp.MustCompile(`(?i)\b[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+`)},
	{"host", regexp.MustCompile(`(?i)\b([a-z0-9{}*-]+\.)+(io|com|net|org|xyz|cn|ru|site|online|top|info|dev|app|me|co|cc|sh|evil|example|test)\b`)},
	{"account", regexp.MustCompile(`\b([A-Z]{2}\d{2}[A-Z0-9 ]{6,30}|bc1[a-z0-9]{20,}|0x[0-9a-fA-F]{6,40}|\+?\d{8,16}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})\b`)},
	{"tool", regexp.MustCompile("\\b[a-z][a-z0-9]*(_[a-z0-9]+)+\\b|`[a-zA-Z_-]+`|\\b(?i:the )?[a-z_-]+ (?i:tool|function)\\b|\\b[a-z]+[A-Z][a-zA-Z]+\\b")},
	{"secret tool", regexp.MustCompile(`\b(get|read|fetch|list|dump|reveal|load|retrieve|export|show)_[a-z0-9_]*(secret|password|credential|private_key|ssh|env|vault)[a-z0-9_]*\b`)},
	{"command", regexp.MustCompile(`(?i)\b(curl|wget|iwr|invoke-webrequest)\b[^|;\n]{0,200}(\||;|&&|-o)\s*(sudo\s+)?(ba|z|da)?(sh|python3?|perl|iex|chmod)\b|\brm\s+-rf?\s+(~|/|\$home|\*)|\bnc\s+-e\b|\bbase64\s+-d\s*\|\s*(ba)?sh|/dev/tcp/|\bpowershell\s+-e|chmod\s+777`)},
	{"path", regexp.MustCompile("(?:^|[\\s\"'`/(])\\.env(?:\\.[a-z]+)?\\b")},
	{"path", regexp.MustCompile("\\$\\{?[A-Z_]*(?:TOKEN|API_KEY|SECRET|PASSWORD)\\b|`env`|\\bprintenv\\b")},
	{"variable", regexp.MustCompile(`\b[A-Z][A-Z0-9]*_(?:API_KEY|TOKEN|SECRET|PASSWORD|ACCESS_KEY|SECRET_KEY)\b`)},
	{"path", regexp.MustCompile(`\.(?:pem|ppk|p12|pfx|kdbx|keystore|jks)\b`)},
	{"filled url", regexp.MustCompile(`https?://[^\s"'<>)]+[?&][a-z_]+=(?:[A-Z]{3,}|%s|\$[A-Za-z{]|\[[A-Za-z])`)},
	{"filled url", regexp.MustCompile(`(?i)https?://[^\s"'<>)]+[?&/=.]?(\{[^}]*(data|chat|conversation|history|message|prompt|secret|key|token|content|result|context|base64|output|summary|answer|query|text|input|user)[^}]*\}|<[a-z _-]*(data|chat|conversation|history|secret|key|token|content|base64|context)[a-z _-]*>)`)},
	{"path", regexp.MustCompile(`(?i)(?:~|\$\{?home\}?|%userprofile%|/root|/home/[\w.-]+|/users/[\w.-]+)[/\\]\.[a-z][\w./\\-]*`)},
	{"file", regexp.MustCompile(`(?i)(?:~|\$\{?home\}?|%[a-z]+%|/etc|/home|/root|/var|/users|/proc|[a-z]:)[/\\][\w./\\-]+`)},
	{"hidden field", regexp.MustCompile(`(?i)\bside_?notes?\b`)},
}

// ownMachine are addresses that lead nowhere else.
var ownMachine = regexp.MustCompile(`(?i)(^|[@/])(localhost|127\.0\.0\.1)([:/?#]|$)`)

func placesOf(f folded) map[string][]hit {
	text := f.String()
	runeAt := make([]int, len(text)+1)
	n := 0
	for i := range text {
		runeAt[i] = n
		n++
	}
	runeAt[len(text)] = n
	out := map[string][]hit{}
	for _, p := range places {
		for _, m := range p.FindAllStringIndex(text, 20) {
			if (p.name == "url" || p.name == "mail" || p.name == "host") && ownMachine.MatchString(text[m[0]:m[1]]) {
				continue
			}
			out[p.name] = append(out[p.name], hit{concept: p.name, start: runeAt[m[0]], end: runeAt[m[1]]})
		}
	}
	for _, p := range secretPatterns {
		if m := p.FindStringIndex(text); m != nil && !strings.HasPrefix(text[m[1]:], ".pub") {
			out["path"] = append(out["path"], hit{concept: "path", start: runeAt[m[0]], end: runeAt[m[1]]})
		}
	}
	for _, p := range posePatterns {
		for _, m := range p.FindAllStringIndex(text, 4) {
			out["pose"] = append(out["pose"], hit{concept: p.message, language: string(p.severity), start: runeAt[m[0]], end: runeAt[m[1]]})
		}
	}
	return out
}
