package generate

import (
	"context"
	"slices"
	"sync/atomic"
)

// statePlays is a state of a server, such as a folder or a graph, over which programs are played.
type statePlays interface {
	// tasks makes the tasks of the state with this number. It also returns how many programs fell, by why, and how
	// many were tried.
	tasks(ctx context.Context, number int) ([]draftOf, map[string]int, int, error)
	name() string
	close()
}

func (s setting) name() string { return s.Name }

// playStates makes the tasks of states, several at once, and reports them as one stage.
func (m *maker) playStates(ctx context.Context, stage string, all []statePlays) ([]draftOf, error) {
	made, reasons, tried := make([][]draftOf, len(all)), make([]map[string]int, len(all)), make([]int, len(all))
	var done atomic.Int64
	err := atOnce(m.workers, len(all), func(i int) (err error) {
		defer all[i].close()
		made[i], reasons[i], tried[i], err = all[i].tasks(ctx, i)
		m.Progress(stage, int(done.Add(1)), len(all), all[i].name())
		return err
	})
	if err != nil {
		return nil, err
	}
	why, in := map[string]int{}, 0
	for i := range all {
		in += tried[i]
		for reason, n := range reasons[i] {
			why[reason] += n
		}
	}
	list := slices.Concat(made...)
	m.report.stage(stage, in, len(list), why)
	return list, nil
}
