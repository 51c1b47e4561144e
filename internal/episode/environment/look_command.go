package environment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/userprogram"
)

// command runs a user's program: the trajectory is its stdin, as JSON, and its stdout is a number from 0 to 1. A
// program beside the scenarios runs in its folder, one of PATH in ours. It sees the given environment, and the
// episode's folder as HONE_EPISODE_DIR.
func (w *Watch) command(
	ctx context.Context, c scenario.Check, t *trajectory.Trajectory,
) (trajectory.Observation, error) {
	if w.programs == nil {
		return trajectory.Observation{}, fmt.Errorf("programs of scenarios are not allowed to run: %s", c.Command[0])
	}
	p := userprogram.Program{Command: c.Command, Environ: append([]string{}, w.programs...),
		Timeout: time.Duration(c.Timeout * float64(time.Second))}
	if dir := w.session.Dir(""); dir != "" {
		p.Environ = append(p.Environ, "HONE_EPISODE_DIR="+dir)
	}
	text, said, err := p.Run(ctx, t)
	if err != nil {
		return trajectory.Observation{}, err
	}
	score, err := strconv.ParseFloat(text, 64)
	if err != nil || !(score >= 0 && score <= 1) {
		if said != "" {
			said = "; stderr: " + said
		}
		return trajectory.Observation{}, fmt.Errorf("the program %s writes %q, which is no score of 0 to 1%s",
			c.Command[0], text, said)
	}
	return trajectory.Observation{Status: trajectory.Seen, Text: text, Score: &score}, nil
}
