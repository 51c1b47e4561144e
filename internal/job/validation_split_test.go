package job

import (
	"fmt"
	"strings"
	"testing"

	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/testing/fakes"
)

// What the data names for measuring is measured on, whatever share is to be held out: that is of data that names none.
func TestANamedValidationSplitIsMeasured(t *testing.T) {
	all := []dataset.Row{{ScenarioID: "a"}, {ScenarioID: "b"}, {ScenarioID: "c"}, {ScenarioID: "d"}}
	for _, c := range []struct {
		share        float64
		named        int
		patience     int
		learnt, held int
		wrong        string
	}{
		{share: 0, learnt: 4},
		{share: 0, named: 2, learnt: 4, held: 2},
		{share: 0, named: 2, patience: 3, learnt: 4, held: 2},
		{share: 0.5, named: 1, learnt: 4, held: 1},
		{share: 0.5, patience: 3, learnt: 2, held: 2},
		{share: 0, patience: 3, wrong: "sft.patience"},
		{share: 0.9, wrong: "sft.validation"},
	} {
		validation := make([]dataset.Row, c.named)
		for i := range validation {
			validation[i].ID = fmt.Sprint("named", i)
		}
		h := Holding[dataset.Row]{"sft", "row", c.share, c.patience, 1, func(r dataset.Row) dataset.Row { return r }}
		learnt, held, err := h.Part(fakes.QuietHost(t), all, validation)
		if c.wrong != "" {
			if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || len(learnt) != c.learnt || len(held) != c.held || c.named > 0 && held[0].ID != "named0" {
			t.Errorf("%+v: %d learnt, %d held, %v", c, len(learnt), len(held), err)
		}
	}
}
