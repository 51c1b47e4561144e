package collect

import (
	"fmt"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// oddResults count what of tools' results was not read as it came, by the warning that stands on them.
type oddResults fault.Asides

func (o oddResults) add(x *trajectory.Trajectory) {
	for _, turn := range x.Turns {
		for _, r := range turn.Results {
			if r.Warning != "" {
				fault.Asides(o).Add(r.Warning, fmt.Sprintf("of %s in %s", r.Call.Name, x.ID))
			}
		}
	}
}

// lines tell of the most frequent.
func (o oddResults) lines() []string {
	const shown = 8
	return fault.Asides(o).Lines(shown, "result", "which the records hold")
}
