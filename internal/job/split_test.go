package job

import (
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// Where a split has no scenario, the error says first what the file has, and which split to try.
func TestEmptySplit(t *testing.T) {
	rows := func(splits ...string) (out []scenario.Scenario) {
		for _, s := range splits {
			out = append(out, scenario.Scenario{Split: s})
		}
		return out
	}
	for _, x := range []struct {
		list        []scenario.Scenario
		split, want string
		tries       bool
	}{
		{rows("test", "test", "test", "test"), "validation", "why:   all 4 rows are test", true},
		{rows("test", "train", "test"), "validation", "why:   the rows are 1 train and 2 test", false},
		{rows("test", "test"), "train", "why:   all 2 rows are test", false},
	} {
		_, err := OfSplit(x.list, x.split, "small.jsonl")
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "next:  try --split test") != x.tries {
			t.Errorf("%+v: %v", x, err)
		}
	}
	if kept, err := OfSplit(rows("test", "train"), "test", "x"); err != nil || len(kept) != 1 {
		t.Errorf("%v, %v", kept, err)
	}
}
