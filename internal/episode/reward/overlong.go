package reward

import (
	"fmt"

	"hone/internal/episode/trajectory"
)

// Overlong is a term that makes completions shorter before a limit cuts them (DAPO's soft overlong punishment, arXiv
// 2503.14476, eq. 13). Of the longest completion of an episode, with n sampled tokens:
//
//	score = 0                              n <= limit - buffer
//	        (n - (limit - buffer))/buffer  n <= limit
//	        1                              else
//
// Its weight is below 0.
type Overlong struct {
	Weight        float64
	Limit, Buffer int // tokens; the limit is that of a completion, the buffer at least 1
}

func (o Overlong) share(n int) float64 {
	return min(1, max(0, float64(n-(o.Limit-o.Buffer))/float64(o.Buffer)))
}

func (o Overlong) mark(e episode) mark {
	n := longest(e.Trajectory)
	score := o.share(n)
	if score == 0 {
		return mark{}
	}
	return mark{score: score, why: fmt.Sprintf("its longest completion has %d of %d tokens", n, o.Limit)}
}

// longest is the number of tokens of an episode's longest completion, by its ids or as an endpoint counts them.
func longest(t *trajectory.Trajectory) int {
	n := 0
	for _, turn := range t.Turns {
		if n = max(n, len(turn.CompletionIDs)); turn.Usage != nil {
			n = max(n, turn.Usage.CompletionTokens)
		}
	}
	return n
}
