package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// mostColumns is how many steps a table of metrics shows: the first, the last, and some between.
const mostColumns = 7

// MetricTable has a row for each metric of a stage, and a column for each of some steps. It is nil where there are
// none.
func MetricTable(stage string, rows []MetricRow) ([][]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var picked []MetricRow
	for i := range min(mostColumns, len(rows)) {
		picked = append(picked, rows[i*(len(rows)-1)/max(1, min(mostColumns, len(rows))-1)])
	}
	head, names := []string{stage + " step"}, map[string]bool{}
	var values []map[string]float64
	for _, r := range picked {
		m := map[string]float64{}
		if err := json.Unmarshal(r.JSON, &m); err != nil {
			return nil, fmt.Errorf("reading the metrics of %s step %d: %w", stage, r.Step, err)
		}
		for name := range m {
			names[name] = true
		}
		head, values = append(head, fmt.Sprint(r.Step)), append(values, m)
	}
	table := [][]string{head}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		line := []string{"  " + name}
		for _, m := range values {
			cell := "-"
			if x, ok := m[name]; ok {
				cell = fmt.Sprintf("%.4g", x)
			}
			line = append(line, cell)
		}
		table = append(table, line)
	}
	return table, nil
}
