package selection

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"hone/internal/chat"
)

// The usual constants of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, 3.4).
const (
	saturation = 1.2  // k1: how soon a word said again adds nothing
	lengthNorm = 0.75 // b: how much long texts are held back
)

// nameWeight is how often the words of a tool's name count: a name says most of what a tool does.
const nameWeight = 3

// Index ranks tools by how well their words match a text.
type Index struct {
	counts []map[string]int // of each tool's words
	length []float64        // words of each tool
	mean   float64          // of length
	idf    map[string]float64
}

// NewIndex reads name, description, and the names and descriptions of all parameters.
func NewIndex(tools []chat.Tool) *Index {
	x := &Index{idf: map[string]float64{}}
	for _, t := range tools {
		counts := map[string]int{}
		total := 0
		add := func(text string, weight int) {
			for _, w := range words(text) {
				counts[w] += weight
				total += weight
			}
		}
		add(t.Name, nameWeight)
		add(t.Description, 1)
		var schema any
		if json.Unmarshal(t.InputSchema, &schema) == nil {
			parameters(schema, func(text string) { add(text, 1) })
		}
		x.counts, x.length = append(x.counts, counts), append(x.length, float64(total))
		x.mean += float64(total) / float64(len(tools))
		for w := range counts {
			x.idf[w]++
		}
	}
	n := float64(len(tools))
	for w, having := range x.idf {
		x.idf[w] = math.Log(1 + (n-having+0.5)/(having+0.5)) // never negative, unlike the original
	}
	return x
}

// Rank returns the tools that share a word with the query, best first; equals in the order of the catalog.
func (x *Index) Rank(query string) []int {
	asked := words(query)
	slices.Sort(asked) // sums of the same numbers in the same order
	asked = slices.Compact(asked)
	scores := make([]float64, len(x.counts))
	var found []int
	for i, counts := range x.counts {
		norm := saturation * (1 - lengthNorm + lengthNorm*x.length[i]/x.mean)
		for _, w := range asked {
			if tf := float64(counts[w]); tf > 0 {
				scores[i] += x.idf[w] * tf * (saturation + 1) / (tf + norm)
			}
		}
		if scores[i] > 0 {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return found
}

// parameters hands over the names and descriptions in a JSON Schema.
func parameters(schema any, visit func(text string)) {
	switch v := schema.(type) {
	case map[string]any:
		if text, ok := v["description"].(string); ok {
			visit(text)
		}
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				visit(name)
			}
		}
		for _, below := range v {
			parameters(below, visit)
		}
	case []any:
		for _, below := range v {
			parameters(below, visit)
		}
	}
}

// words splits a text at everything but letters and digits, and names at their capitals, and drops plurals. Every letter
// of a script without spaces is a word.
func words(text string) []string {
	var out []string
	var word []rune
	end := func() {
		if w := strings.ToLower(string(word)); w != "" {
			if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
				w = w[:len(w)-1]
			}
			out = append(out, w)
		}
		word = word[:0]
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			out = append(out, string(r))
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end() // readFile, HTTPServer
		}
		word = append(word, r)
	}
	end()
	return out
}
