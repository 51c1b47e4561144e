package recipe

import (
	"slices"

	"hone/internal/episode/scenario"
)

// Together has the scenarios of a step share the tools that they are shown, where each would have its own choice of too
// many. Then their prompts begin alike, which is computed once for all of them. It acts behind the additions that pick.
type Together struct {
	None
	// Share is told which scenarios a step may have: those that it begins with, then those that may take their place.
	// Where it fails, each has tools of its own, or its episodes end by what is wrong.
	Share func(list []scenario.Scenario) error
	stage *stage
}

// Begin implements Addition.
func (t *Together) Begin(s *stage) error { t.stage = s; return nil }

// Pick implements Addition.
func (t *Together) Pick(p *Picked) {
	if err := t.Share(slices.Concat(p.Scenarios, slices.Concat(p.Others...))); err != nil {
		t.stage.log.Notice("the scenarios of a step share no tools: " + err.Error())
	}
}
