package access

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
	having map[string][]posting // the tools that have a word, in the catalog's order
	norm   []float64            // of each tool, by its length
	idf    map[string]float64
}

// posting is how often a tool has a word.
type posting struct {
	tool int32
	tf   float64
}

// NewIndex reads name, description, and the names and descriptions of all parameters.
func NewIndex(tools []chat.Tool) *Index {
	x := &Index{idf: map[string]float64{}, having: map[string][]posting{}}
	mean := 0.0
	for i, t := range tools {
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
		x.norm = append(x.norm, float64(total))
		mean += float64(total) / float64(len(tools))
		for w, n := range counts {
			x.having[w] = append(x.having[w], posting{int32(i), float64(n)})
		}
	}
	for i, length := range x.norm {
		x.norm[i] = saturation * (1 - lengthNorm + lengthNorm*length/mean)
	}
	n := float64(len(tools))
	for w, list := range x.having {
		having := float64(len(list))
		x.idf[w] = math.Log(1 + (n-having+0.5)/(having+0.5)) // never negative, unlike the original
	}
	return x
}

// Rank returns the tools that share a word with the query, best first; equals in the order of the catalog.
func (x *Index) Rank(query string) []int {
	asked := words(query)
	slices.Sort(asked) // sums of the same numbers in the same order
	asked = slices.Compact(asked)
	scores := make([]float64, len(x.norm))
	var found []int
	for _, w := range asked {
		for _, p := range x.having[w] {
			if scores[p.tool] == 0 {
				found = append(found, int(p.tool))
			}
			scores[p.tool] += x.idf[w] * p.tf * (saturation + 1) / (p.tf + x.norm[p.tool])
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
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

// words splits a text at everything but letters and digits, and names at their capitals, and drops plurals. Every
// letter of a script without spaces is a word.
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
		case unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end() // readFile, HTTPServer
		}
		word = append(word, r)
	}
	end()
	return out
}
