package generate

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"hone/internal/blob"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// Probe is how well the words of a task alone tell that it is to be refused or asked back. A model that can tell it so
// learns to refuse by the words, and refuses what it could do.
type Probe struct {
	Refusing int      `json:"refusing"` // tasks without a tool for them, without a value, or of what nothing records
	Others   int      `json:"others"`
	AUC      float64  `json:"auc"`             // of held-out tasks; 0.5 is a coin's
	Words    []string `json:"words,omitempty"` // that tell most of a refusal
}

// ProbeBar is the AUC from which words alone tell too much.
const ProbeBar = 0.70

// fewRefusing is the number of refusing tasks below which an AUC says little.
const fewRefusing = 10

// Of the logistic regression.
const (
	probeFolds = 5
	probeSteps = 150
	probeRate  = 4.0
	probeDecay = 0.002 // of the weights
	toldWords  = 6
)

// isRefusing reports whether a task is to be answered by a refusal, by a question back, or by saying that nothing is
// known.
func isRefusing(s *scenario.Scenario) bool {
	return s.Provenance != nil &&
		slices.Contains([]string{missingTool, askBack, programs.Unknown, programs.Cannot}, s.Provenance.Kind)
}

// ProbeOf tries to tell refusing tasks from the others by logistic regression over words, cross-validated: which words
// a task has, digits as one. It is the same for the same tasks.
func ProbeOf(list []scenario.Scenario) Probe {
	var bags [][]int
	var refusing []bool
	p, words := Probe{}, lexicon{number: map[string]int{}}
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { // whatever order they stand in
		return cmp.Compare(blob.Of(list[a].Task).String(), blob.Of(list[b].Task).String())
	})
	for _, i := range order {
		bags, refusing = append(bags, words.bag(list[i].Task)), append(refusing, isRefusing(&list[i]))
		if refusing[len(refusing)-1] {
			p.Refusing++
		} else {
			p.Others++
		}
	}
	if p.Refusing == 0 || p.Others == 0 {
		return p
	}
	fold, next := make([]int, len(bags)), map[bool]int{}
	for i, r := range refusing { // each fold has its part of both
		fold[i] = next[r] % probeFolds
		next[r]++
	}
	right, pairs := 0.0, 0.0
	for k := range probeFolds {
		weights := words.learn(bags, refusing, func(i int) bool { return fold[i] != k })
		var yes, no []float64
		for i := range bags {
			switch score := weights.score(bags[i]); {
			case fold[i] != k:
			case refusing[i]:
				yes = append(yes, score)
			default:
				no = append(no, score)
			}
		}
		for _, a := range yes {
			for _, b := range no {
				pairs++
				switch {
				case a > b:
					right++
				case a == b:
					right += 0.5
				}
			}
		}
	}
	if pairs > 0 {
		p.AUC = right / pairs
	}
	p.Words = words.strongest(words.learn(bags, refusing, func(int) bool { return true }))
	return p
}

var bagWord = regexp.MustCompile(`\p{L}+|\d+`)

// lexicon numbers words, from 1.
type lexicon struct {
	number map[string]int
	words  []string
}

// bag are the words of a task, each once, digits as "#".
func (v *lexicon) bag(text string) (bag []int) {
	for _, w := range bagWord.FindAllString(strings.ToLower(text), -1) {
		if w[0] >= '0' && w[0] <= '9' {
			w = "#"
		}
		if v.number[w] == 0 {
			v.words = append(v.words, w)
			v.number[w] = len(v.words)
		}
		bag = append(bag, v.number[w])
	}
	slices.Sort(bag)
	return slices.Compact(bag)
}

// known is the bag of a text without words that no other had.
func (v *lexicon) known(text string) []int {
	before := len(v.words)
	bag := v.bag(text)
	for _, w := range v.words[before:] {
		delete(v.number, w)
	}
	v.words = v.words[:before]
	return slices.DeleteFunc(bag, func(word int) bool { return word > before })
}

// wordWeights are a logistic regression's: one for each word by its number, and at 0 that of none.
type wordWeights []float64

// score is the log odds of a refusal. A task's words share one weight, so that long ones do not count more.
func (w wordWeights) score(bag []int) float64 {
	sum := 0.0
	for _, word := range bag {
		sum += w[word]
	}
	return w[0] + sum/math.Sqrt(float64(max(1, len(bag))))
}

// learn fits weights to the tasks that are taken, both sorts with half of the say.
func (v *lexicon) learn(bags [][]int, refusing []bool, taken func(int) bool) wordWeights {
	n := map[bool]float64{}
	for i := range bags {
		if taken(i) {
			n[refusing[i]]++
		}
	}
	w, step := make(wordWeights, len(v.words)+1), make([]float64, len(v.words)+1)
	for range probeSteps {
		clear(step)
		for i, bag := range bags {
			if !taken(i) {
				continue
			}
			want := 0.0
			if refusing[i] {
				want = 1
			}
			off := (want - 1/(1+math.Exp(-w.score(bag)))) / (2 * n[refusing[i]])
			step[0] += off
			for _, word := range bag {
				step[word] += off / math.Sqrt(float64(len(bag)))
			}
		}
		for word := range w {
			w[word] += probeRate * (step[word] - probeDecay*w[word])
		}
	}
	return w
}

// strongest are the words that tell most of a refusal.
func (v *lexicon) strongest(w wordWeights) []string {
	list := slices.DeleteFunc(slices.Clone(v.words), func(word string) bool { return w[v.number[word]] <= 0 })
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(w[v.number[b]], w[v.number[a]]), cmp.Compare(a, b))
	})
	return list[:min(toldWords, len(list))]
}

// Rows are the probe as a table; none where nothing is to be refused.
func (p Probe) Rows() [][]string {
	if p.Refusing == 0 || p.Others == 0 {
		return nil
	}
	auc := fmt.Sprintf("%.2f (bar %.2f)", p.AUC, ProbeBar)
	if p.Refusing < fewRefusing {
		auc += ", too few"
	}
	return [][]string{
		{"PROBE", "REFUSED OR ASKED BACK", "OTHERS", "AUC", "WORDS THAT TELL"},
		{"words alone", fmt.Sprint(p.Refusing), fmt.Sprint(p.Others), auc, strings.Join(p.Words, ", ")},
	}
}
