package lint

import (
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reading is a text as one language reads it: the signals in the sentences that weigh most.
type reading struct {
	text    folded
	signals []signal
	weight  int
}

// weigh reads a text in every language whose words it holds, and returns the reading that weighs most; parameter says
// that the text tells the model what to fill in. No words, no reading.
func weigh(text string, parameter bool, own map[string]bool) (*reading, folded) {
	f := fold(text)
	return f.weigh(parameter, false, own), f
}

func (f folded) weigh(parameter, glued bool, own map[string]bool) *reading {
	if len(f.key) == 0 {
		return nil
	}
	return f.weighIn(languagesOf(lexicon().find(f.key, glued)), parameter, own)
}

func (f folded) weighIn(languages map[string]map[string][]hit, parameter bool, own map[string]bool) *reading {
	if languages["en"] == nil {
		languages["en"] = map[string][]hit{}
	}
	marks, sentences := placesOf(f), sentencesOf(f)
	var best *reading
	for language, words := range languages {
		if language != "en" && spoken(words, language) < fewWords {
			continue
		}
		s := &scene{text: f, language: language, words: words, marks: marks, sentences: sentences, parameter: parameter, own: own}
		s.read()
		if list, weight := s.heaviest(); weight > 0 && (best == nil || weight > best.weight) {
			best = &reading{f, list, weight}
		}
	}
	return best
}

// fewWords is how many words of a language a text of another may hold by chance.
const fewWords = 2

// spoken counts the places of a text that hold words of a language.
func spoken(words map[string][]hit, language string) int {
	places := map[int]bool{}
	for _, list := range words {
		for _, h := range list {
			if h.language == language {
				places[h.start] = true
			}
		}
	}
	return len(places)
}

// carried is the weight of being encoded, disguised or hidden, for a text that has a weight of its own.
const carried = 2

// orders finds texts that give the model orders about more than how to use the tool, whatever they are dressed as.
func (c *checker) orders(at, text string) {
	parameter := strings.Contains(at, "/properties/") || strings.HasPrefix(at, "/inputSchema/")
	r, f := weigh(text, parameter, c.own)
	if r != nil && r.weight >= enough {
		c.order(at, Instruction, "", r)
		return
	}
	for _, d := range decoded(text) {
		if r, _ := weigh(d, parameter, c.own); r != nil && r.weight+carried >= enough && r.weight >= carried {
			c.order(at, EncodedBlob, "an encoded text that ", r)
			return
		}
	}
	if len(f.key) < shortDisguise {
		return
	}
	for name, g := range f.disguises() {
		english := languagesOf(lexicon().find(g.key, name == "spaced letters"))["en"]
		if spoken(english, "en") <= fewWords { // no text, so its marks need no search
			continue
		}
		if r := g.weighIn(map[string]map[string][]hit{"en": english}, parameter, c.own); r != nil && r.weight >= enough {
			c.order(at, EncodedBlob, name+": ", r)
			return
		}
	}
}

// shortDisguise is the length below which a text is not read in disguises: chance would find orders in it.
const shortDisguise = 20

// order adds what was read as one finding, with all signals in its message.
func (c *checker) order(at string, code Code, before string, r *reading) {
	start, end := r.signals[0].start, r.signals[0].end
	names := []string{}
	for _, g := range r.signals {
		names = append(names, g.name)
	}
	text, from, to := r.text.place(start, end)
	c.add(code, High, at, text, from, to, before+strings.Join(names, ", "))
}

// parameterName reads the name of a parameter as the text that it is to a model.
func (c *checker) parameterName(at, name string) {
	words := splitName(name)
	if len(words) < 3 {
		return
	}
	if r, _ := weigh(strings.Join(words, " "), true, c.own); r != nil && r.weight >= enough-1 {
		c.order(at, Instruction, "a name that ", r)
	}
}

// splitName cuts a name at _, - and capitals.
func splitName(name string) []string {
	return strings.FieldsFunc(camel.ReplaceAllString(name, "$1 $2"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

var camel = regexp.MustCompile(`([a-z])([A-Z])`)

func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) })
}

var (
	hexText      = regexp.MustCompile(`(?i)(?:0x)?((?:[0-9a-f]{2}[ :]?){12,})`)
	escapedText  = regexp.MustCompile(`(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]+\}){6,}`)
	entitiesText = regexp.MustCompile(`(?:&#x?[0-9a-fA-F]{2,6};){6,}`)
	binaryText   = regexp.MustCompile(`(?:[01]{8} ?){8,}`)
	decimalText  = regexp.MustCompile(`(?:\b(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])\b[ ,]*){10,}`)
	percentCut   = regexp.MustCompile(`\S*(?:%[0-9a-fA-F]{2}\S*){3,}`)
)

// decoded returns what the encoded parts of a text say: base64, hexadecimal, escapes of URLs, HTML and strings, and
// characters by number; and what tag characters spell.
func decoded(text string) []string {
	var out []string
	keep := func(s string) {
		if s = readable(s); s != "" {
			out = append(out, s)
		}
	}
	for _, run := range base64Run.FindAllString(text, 20) {
		keep(decodedText(run))
	}
	for _, m := range hexText.FindAllStringSubmatch(text, 20) {
		if data, err := hex.DecodeString(strings.NewReplacer(" ", "", ":", "").Replace(m[1])); err == nil {
			keep(string(data))
		}
	}
	for _, run := range percentCut.FindAllString(text, 20) {
		if s, err := url.QueryUnescape(run); err == nil {
			keep(s)
		}
	}
	for _, run := range escapedText.FindAllString(text, 20) {
		if s, err := strconv.Unquote(`"` + run + `"`); err == nil {
			keep(s)
		}
	}
	if entitiesText.MatchString(text) {
		keep(html.UnescapeString(text))
	}
	for _, run := range binaryText.FindAllString(text, 20) {
		keep(numbers(run, 2))
	}
	for _, run := range decimalText.FindAllString(text, 20) {
		keep(numbers(run, 10))
	}
	keep(spelt(text))
	return out
}

func numbers(run string, base int) string {
	var b strings.Builder
	for _, f := range strings.FieldsFunc(run, func(r rune) bool { return r == ' ' || r == ',' }) {
		for i := 0; base == 2 && i+8 <= len(f) || i == 0; i += 8 {
			digits := f
			if base == 2 {
				digits = f[i : i+8]
			}
			n, err := strconv.ParseUint(digits, base, 8)
			if err != nil {
				return ""
			}
			b.WriteByte(byte(n))
		}
	}
	return b.String()
}

// spelt is what the tag characters of a text spell (Unicode Standard 23.9).
func spelt(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0xE0020 && r <= 0xE007E {
			b.WriteRune(r - 0xE0000)
		}
	}
	return b.String()
}

// readable returns s if it is text, else "".
func readable(s string) string {
	if len(s) < 8 || !utf8.ValidString(s) {
		return ""
	}
	for _, r := range s {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return ""
		}
	}
	return s
}
