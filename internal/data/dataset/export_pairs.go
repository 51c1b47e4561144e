package dataset

import (
	"reflect"

	"hone/internal/chat"
)

// Why a trace is in no pair.
const (
	noScenario  = "of no scenario, or not scored by checks"
	noRival     = "its scenario has traces that passed alone, or that failed alone"
	notTheModel = "it failed for a reason that is not the model's"
	otherPrompt = "it begins otherwise than those that passed, or was shown other tools"
	enoughPairs = "its scenario has 4 pairs already"
)

// mostPairs is how many pairs one scenario gives, so that one at which most attempts fail does not outweigh the others.
const mostPairs = 4

// pairs joins traces of one scenario that failed with those that passed.
type pairs struct {
	out     *lines
	order   []string
	passed  map[string][]*Row
	failed  map[string][]*Row
	leftOut map[string]int
}

func openPairs(_ SinkOptions, path string) (writer, error) {
	out, err := newLines(path, nil)
	return &pairs{out: out, passed: map[string][]*Row{}, failed: map[string][]*Row{},
		leftOut: map[string]int{}}, err
}

func (p *pairs) add(r *Row) error {
	key := r.Scenario
	if key == "" {
		key = r.ScenarioID
	}
	scored := false
	for _, t := range r.Terms {
		scored = scored || t.Name == "checks"
	}
	switch {
	case key == "" || r.Outcome == "" || r.Outcome.Trainable() && !scored:
		p.leftOut[noScenario]++
		return nil
	case !r.Outcome.Trainable():
		p.leftOut[notTheModel]++
		return nil
	}
	if p.passed[key] == nil && p.failed[key] == nil {
		p.order = append(p.order, key)
	}
	if r.WhyNoDemonstration() == "" {
		p.passed[key] = append(p.passed[key], r)
	} else {
		p.failed[key] = append(p.failed[key], r)
	}
	return nil
}

// finish writes each failed trace with one that passed, in turn, so that no passed one stands for all.
func (p *pairs) finish(w *SinkFiles) error {
	w.Rows = 0
	for _, key := range p.order {
		passed, failed := p.passed[key], p.failed[key]
		if len(passed) == 0 || len(failed) == 0 {
			p.leftOut[noRival] += len(passed) + len(failed)
			continue
		}
		written := 0
		for i, bad := range failed {
			if written == mostPairs {
				p.leftOut[enoughPairs]++
				continue
			}
			good := passed[i%len(passed)]
			if !sameOpening(good, bad) || firstTarget(bad) == len(bad.Messages) {
				p.leftOut[otherPrompt]++
				continue
			}
			if err := p.write(good, bad); err != nil {
				return err
			}
			w.Rows, written = w.Rows+1, written+1
		}
	}
	w.LeftOut = p.leftOut
	return p.out.finish(w)
}

func sameOpening(a, b *Row) bool {
	n, m := firstTarget(a), firstTarget(b)
	return n == m && reflect.DeepEqual(a.Messages[:n], b.Messages[:m]) && reflect.DeepEqual(a.Tools, b.Tools)
}

// write writes a pair in TRL's conversational preference form.
func (p *pairs) write(good, bad *Row) error {
	cut := firstTarget(good)
	dst := AppendMessagesObjects([]byte(`{"prompt":`), good.Messages[:cut])
	dst = AppendMessagesObjects(append(dst, `,"chosen":`...), good.Messages[cut:])
	dst = AppendMessagesObjects(append(dst, `,"rejected":`...), bad.Messages[cut:])
	dst = texts(append(dst, `,"tools":`...), good.Tools)
	for _, m := range [][2]string{
		{"scenario_id", good.ScenarioID},
		{"chosen_id", good.ID},
		{"rejected_id", bad.ID},
		{"rejected_why", bad.WhyNoDemonstration()},
	} {
		dst = append(append(append(dst, `,"`...), m[0]...), `":`...)
		dst = chat.AppendString(dst, m[1], false)
	}
	_, err := p.out.out.Write(append(dst, "}\n"...))
	return err
}
