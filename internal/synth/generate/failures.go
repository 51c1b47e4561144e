package generate

import (
	"hone/internal/blob"
	"hone/internal/episode/scenario"
)

// rejections are scenarios of what fell: what of the drafts the execution threw out, worded as training tasks
// are, and what the gates did.
func (m *maker) rejections(drafts []*Candidate) (list []scenario.Scenario) {
	said := map[string]bool{}
	for _, c := range drafts {
		if c.Fell != "execute" || c.Split != "" || m.isHeld(c) {
			continue
		}
		d := &draftOf{Scenario: scenario.Scenario{Setup: m.setupOf(c), Split: scenario.Train, GoldAnswer: "Done.",
			Tags: []string{c.tag(), "fell:execute"}}, of: c}
		for _, x := range c.Calls {
			d.Gold = append(d.Gold, x.gold())
		}
		random := m.random("rejected", c.key())
		f := pick(random, families(scenario.Train))
		if d.Task = c.Task; !c.Taught {
			d.Task = m.text(c, f, random)
		}
		if said[normal(d.Task)] {
			continue
		}
		said[normal(d.Task)] = true
		d.ID = "fell-" + blob.Of(c.key() + d.Task).String()[:10]
		d.Provenance = m.provenance(c, f)
		d.Difficulty = difficultyOf(c)
		list = append(list, d.Scenario)
	}
	for _, d := range m.fallen {
		if d.Split == scenario.Train {
			d.finish()
			d.Tags = append(d.Tags, "fell:"+d.of.Fell)
			list = append(list, d.Scenario)
		}
	}
	return list
}
