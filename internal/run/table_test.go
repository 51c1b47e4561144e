package run

import (
	"fmt"
	"testing"
)

// Some steps stand for all: the first, the last, and none twice.
func TestMetricTable(t *testing.T) {
	for n, want := range map[int]string{
		0: "[]", 1: "[s step 0]", 2: "[s step 0 1]", 7: "[s step 0 1 2 3 4 5 6]", 8: "[s step 0 1 2 3 4 5 7]",
		100: "[s step 0 16 33 49 66 82 99]",
	} {
		var rows []MetricRow
		for step := range n {
			rows = append(rows, MetricRow{Stage: "s", Step: step, JSON: []byte(`{"loss":1}`)})
		}
		table, err := MetricTable("s", rows)
		head := []string{}
		if len(table) > 0 {
			head = table[0]
		}
		if err != nil || fmt.Sprint(head) != want {
			t.Errorf("%d: %v, %v, want %s", n, head, err, want)
		}
	}
}
