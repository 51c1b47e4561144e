package view

import (
	"time"

	"github.com/go-json-experiment/json"

	"hone/internal/run"
	"hone/internal/run/metrics"
)

// measured are the metrics of a run as they were read last. Of a ledger that grew only what is new is parsed.
type measured struct {
	places []int64
	sums   []string
	rows   []metrics.Row
}

// series are all metrics of a run, in the order in which each step was first put.
func (f *followed) series(l *run.Ledger, began time.Time) ([]metrics.Row, error) {
	f.measuring.Lock()
	defer f.measuring.Unlock()
	m := &f.measured
	var places []int64
	var sums []string
	err := l.EachMetricSum(func(place int64, sum string) {
		places, sums = append(places, place), append(sums, sum)
	})
	if err != nil {
		return nil, err
	}
	same := 0
	for same < len(places) && same < len(m.places) && places[same] == m.places[same] && sums[same] == m.sums[same] {
		same++
	}
	if same == len(places) && same == len(m.places) {
		return m.rows, nil
	}
	rows := m.rows[:same:same]
	if same < len(places) {
		list, err := l.MetricsFrom(places[same])
		if err != nil {
			return nil, err
		}
		for _, x := range list[:min(len(list), len(places)-same)] { // what was put meanwhile comes the next time
			r := metrics.Row{Stage: x.Stage, Step: x.Step, At: began}
			if json.Unmarshal(x.JSON, &r.Values) != nil {
				r.Values = nil // of another form: it is in metrics.jsonl
			}
			rows = append(rows, r)
		}
	}
	m.places, m.sums, m.rows = places[:len(rows)], sums[:len(rows)], rows
	return rows, nil
}
