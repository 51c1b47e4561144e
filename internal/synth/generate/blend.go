package generate

import (
	"math"
	"slices"
)

// Of a request that is refused or asked back so many wordings are tried, in so many rounds.
const (
	waysToRefuse = 8
	roundsOfWays = 3
)

// blend words what is refused or asked back as the other tasks are worded: of several drawn wordings that one whose
// words tell least of a refusal. Each round learns anew what tells, so that no one wording is taken for all.
func (m *maker) blend(list []draftOf) {
	for round := range roundsOfWays {
		var bags [][]int
		var refusing []bool
		words := lexicon{number: map[string]int{}}
		for i := range list {
			bags, refusing = append(bags, words.bag(list[i].Task)), append(refusing, isRefusing(&list[i].Scenario))
		}
		if !slices.Contains(refusing, true) || !slices.Contains(refusing, false) {
			return
		}
		weights := words.learn(bags, refusing, func(int) bool { return true })
		for i := range list {
			d := &list[i]
			if i%roundsOfWays != round || !refusing[i] || d.of.told == nil || d.of.Teacher != "" {
				continue
			}
			best, least := 0, math.Inf(1)
			for way := range waysToRefuse {
				d.of.told.way = way
				m.retell(d)
				if score := weights.score(words.known(d.Task)); score < least {
					best, least = way, score
				}
			}
			d.of.told.way = best
			m.retell(d)
		}
	}
}
