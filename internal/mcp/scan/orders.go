package scan

import (
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// enough is the score that makes a finding: where weights learnt without a set of the development half find one in
// thirty of its harmless tools (TestFit).
const enough = 1.5

// certain is the score from which a finding keeps a run from training. Below it a person is told, and nothing waits: of
// 98 tools of nine servers that many use, 5 reach enough and one certain (docs/log), and a server of twenty tools must
// not stop each run by chance.
const certain = 2.6

// carried is how much less is enough for a text that is encoded or out of sight.
const carried = 1.5

// orders finds texts that give the model orders about more than how to use the tool.
func (c *checker) orders() {
	for _, units := range [][]unit{c.tool.units(), c.tool.inARow()} {
		found := false
		for _, u := range units {
			found = c.instruction(u) || found
		}
		if found {
			return
		}
	}
}

// instruction adds a finding where a unit reads like an order, as sure as its score is, and reports whether that
// settles it: of what is the server's own business, other fields may say more.
func (c *checker) instruction(u unit) bool {
	score := learnt().score(u.features())
	own := score >= certain && c.isOwnBusiness(u)
	switch {
	case score >= certain && !own:
		c.order(Instruction, High, "reads like an order to the model", u)
	case score >= enough:
		c.order(Instruction, Low, "may be an order to the model", u)
	}
	return score >= enough && !own
}

// tags are marks that part a text from what is around it, in the form of HTML, of chat templates, or of prompts.
var tags = regexp.MustCompile(`<[/|]?[A-Za-z_][A-Za-z_ -]*[|/]?>|\[/?[A-Z]+\]`)

// checkDisguise finds such texts that are encoded, or dressed in ways that a model is able to undo.
func (c *checker) checkDisguise(at, text string) {
	for _, d := range decodings(text) {
		for _, u := range unitsOf(at, fold(d), false) {
			if learnt().score(u.features()) >= enough-carried {
				c.order(EncodedBlob, High, "encoded, reads like an order to the model", u)
				return
			}
		}
	}
	if plain := tags.ReplaceAllString(text, " "); plain != text { // an order is one without the tags around it too
		for _, u := range unitsOf(at, fold(plain), false) {
			if c.instruction(u) {
				return
			}
		}
	}
	f := fold(text)
	if len(f.key) < shortDisguise {
		return
	}
	for name, g := range f.disguises() {
		english := languagesOf(lexicon().find(g.key, name == "spaced letters"))["en"]
		if countWords(english, "en") <= fewWords { // no text
			continue
		}
		for _, u := range unitsOf(at, g, false) {
			// else it is no other reading, and was looked at
			if learnt().score(u.features()) >= enough && u.isDisguised() {
				c.order(EncodedBlob, High, name+": reads like an order to the model", u)
				return
			}
		}
	}
}

// shortDisguise is the length below which a text is not read in disguises: chance would find orders in it.
const shortDisguise = 20

// order adds a finding at the sentence that weighs most, with the words in it that do.
func (c *checker) order(code Code, s Severity, what string, u unit) {
	w := learnt()
	features := slices.DeleteFunc(u.features(), func(f feature) bool { return w.weigh(f) <= 0 })
	start, end := u.weightiest()
	sort.SliceStable(features, func(i, j int) bool {
		return int(1e6*(w.weigh(features[j])-w.weigh(features[i]))) < 0
	})
	var words []string
	taken := make([]bool, len(u.text.key))
	for _, f := range features {
		if f.word && u.sentences[f.start] == u.sentences[start] && len(words) < 3 &&
			!slices.Contains(taken[f.start:f.end], true) {
			words = append(words, strconv.Quote(string(u.text.shown[f.start:f.end])))
			for i := f.start; i < f.end; i++ {
				taken[i] = true
			}
		}
	}
	text, from, to := u.text.part(u.lead, len(u.text.key)).place(max(0, start-u.lead), max(0, end-u.lead))
	c.add(code, s, u.at, text, from, to, fmt.Sprintf("%s: %s", what, strings.Join(words, ", ")))
}

// isDisguised reports whether a sentence of a unit was changed that makes it an order at least half as much as the one
// which does most: so a plain sentence before it hides none, and a number elsewhere in a harmless text is no disguise.
func (u unit) isDisguised() bool {
	weights, best := u.weights()
	for i, weight := range weights {
		if weight >= weights[best]/2 && u.text.part(u.sentence(i)).isChanged() {
			return true
		}
	}
	return false
}

// weightiest is where the sentence of a unit begins and ends that makes it an order more than others do.
func (u unit) weightiest() (start, end int) {
	_, best := u.weights()
	return u.sentence(best)
}

// sentence is where the sentence of a number begins and ends.
func (u unit) sentence(number int) (start, end int) {
	start, _ = slices.BinarySearch(u.sentences, number)
	end, _ = slices.BinarySearch(u.sentences, number+1)
	return start, end
}

// weights are how much each sentence of a unit makes it an order, by number, and which does most.
func (u unit) weights() (bySentence map[int]float32, best int) {
	w := learnt()
	bySentence, best = map[int]float32{}, u.sentences[0]
	for _, f := range u.features() {
		if w.weigh(f) <= 0 {
			continue
		}
		i := u.sentences[f.start]
		if bySentence[i] += w.weigh(f); bySentence[i] > bySentence[best] {
			best = i
		}
	}
	return bySentence, best
}

// fewWords is how many words of a language a text of another may hold by chance.
const fewWords = 2

// countWords counts the places of a text that hold words of a language.
func countWords(words map[string][]hit, language string) int {
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

// splitName cuts a name at _, - and capitals.
func splitName(name string) []string {
	return strings.FieldsFunc(camel.ReplaceAllString(name, "$1 $2"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

var camel = regexp.MustCompile(`([a-z])([A-Z])`)

var (
	hexText      = regexp.MustCompile(`(?i)(?:0x)?((?:[0-9a-f]{2}[ :]?){12,})`)
	escapedText  = regexp.MustCompile(`(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]+\}){6,}`)
	entitiesText = regexp.MustCompile(`(?:&#x?[0-9a-fA-F]{2,6};){6,}`)
	binaryText   = regexp.MustCompile(`(?:[01]{8} ?){8,}`)
	decimalText  = regexp.MustCompile(`(?:\b(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])\b[ ,]*){10,}`)
	percentCut   = regexp.MustCompile(`\S*(?:%[0-9a-fA-F]{2}\S*){3,}`)
)

// decodings returns what the encoded parts of a text say: base64, hexadecimal, escapes of URLs, HTML and strings, and
// characters by number; and what tag characters spell.
func decodings(text string) []string {
	var out []string
	keep := func(s string) {
		if s = readable(s); s != "" {
			out = append(out, s)
		}
	}
	for _, run := range base64Run.FindAllString(text, 20) {
		keep(base64Text(run))
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
	keep(tagText(text))
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

// tagText is what the tag characters of a text spell (Unicode Standard 23.9).
func tagText(text string) string {
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
