package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// oneMeaning leaves out tasks of programs whose words another program of the same state has too, where the two come to
// different ends: nobody could tell which is meant. A model's words give way to those of the template first.
func (m *maker) oneMeaning(list []draftOf) (kept []draftOf) {
	in, reasons := 0, map[string]int{}
	torn := twofold(list)
	for i := range list {
		if d := &list[i]; torn[i] && d.of.told.requests != nil {
			d.of.untell()
			m.retell(d)
			reasons["the template's words stand: they fit another program, too"]++
		}
	}
	torn = twofold(list)
	for i, d := range list {
		if d.of.told == nil {
			kept = append(kept, d)
			continue
		}
		if in++; torn[i] {
			d.of.drop("its words fit another program of another end")
			reasons[d.of.Why]++
			continue
		}
		kept = append(kept, d)
	}
	if in > 0 {
		m.report.stage("one meaning", in, in-(len(list)-len(kept)), reasons)
	}
	return kept
}

// twofold says of each task of a program whether another one of the same state says the same and comes to another end.
func twofold(list []draftOf) []bool {
	ends := map[string]string{}
	differ := map[string]bool{}
	keys := make([]string, len(list))
	for i, d := range list {
		if d.of.told == nil {
			continue
		}
		keys[i] = fmt.Sprint(d.of.World, " ", strings.Join(essence(d.Task), " "))
		end := endOf(d)
		if before, there := ends[keys[i]]; there && before != end {
			differ[keys[i]] = true
		}
		ends[keys[i]] = end
	}
	torn := make([]bool, len(list))
	for i, key := range keys {
		torn[i] = key != "" && differ[key]
	}
	return torn
}

// essence are the words of a task that say what is wanted: without greetings and courtesies, in small letters.
func essence(task string) (list []string) {
	courtesy := strings.Fields("please pls kindly thanks thank hi hello hey dear can could would will you me i d ll " +
		"the a an just quickly so well s re need want like to know tell give")
	for _, w := range words(strings.ToLower(task)) {
		if !slices.Contains(courtesy, w) {
			list = append(list, w)
		}
	}
	return list
}

// endOf is what a task of a program comes to: its answers, and what is there in the end.
func endOf(d draftOf) string {
	var states []scenario.Check
	for _, c := range d.Checks {
		if c.Type != scenario.AnswerCheck {
			states = append(states, c)
		}
	}
	text, _ := json.Marshal([]any{d.of.told.Ends(), states}) // of texts
	return string(text)
}
