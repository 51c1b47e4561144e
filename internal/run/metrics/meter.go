package metrics

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Meter counts. It may be used from many goroutines. Make one with New.
type Meter struct {
	help map[string]string

	mu         sync.Mutex
	counters   map[series]float64
	gauges     map[series]float64
	histograms map[series]*histogram
}

// series is a metric of one set of labels, which are written as Prometheus does.
type series struct{ name, labels string }

type histogram struct {
	counts []int // by bucket, the last is all
	sum    float64
}

// buckets are vLLM's of times, in seconds.
func buckets() []float64 {
	return []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
		160, 640, 2560}
}

// NewMeter returns a meter that counts nothing yet. help says what each metric is, by its name.
func NewMeter(help map[string]string) *Meter {
	return &Meter{help: maps.Clone(help), counters: map[series]float64{}, gauges: map[series]float64{},
		histograms: map[series]*histogram{}}
}

// Labels writes pairs of a label and its value.
func Labels(pairs ...string) string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, pairs[i]+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(pairs[i+1])+`"`)
	}
	return strings.Join(out, ",")
}

// Add counts n more of a counter. labels are as Labels writes them.
func (m *Meter) Add(name, labels string, n float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counters[series{name, labels}] += n
}

// Describe says what a metric is that New was not told of.
func (m *Meter) Describe(name, help string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.help[name] = help
}

// Set says what a gauge is now.
func (m *Meter) Set(name, labels string, x float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gauges[series{name, labels}] = x
}

// Observe counts a time in a histogram of seconds.
func (m *Meter) Observe(name, labels string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := series{name, labels}
	h := m.histograms[key]
	if h == nil {
		h = &histogram{counts: make([]int, len(buckets())+1)}
		m.histograms[key] = h
	}
	seconds := took.Seconds()
	h.sum += seconds
	for i, bound := range buckets() {
		if seconds <= bound {
			h.counts[i]++
		}
	}
	h.counts[len(h.counts)-1]++
}

// Write writes all that was counted, in the order of names and labels.
func (m *Meter) Write(w io.Writer) {
	_, _ = w.Write(m.text()) // who does not read it has left
}

func (m *Meter) text() []byte {
	w := &bytes.Buffer{} // a reader may be slow, and nothing is to wait for it
	m.mu.Lock()
	defer m.mu.Unlock()
	sorted := func(all iter.Seq[series]) []series {
		list := slices.Collect(all)
		sort.Slice(list, func(i, j int) bool { return list[i].name+list[i].labels < list[j].name+list[j].labels })
		return list
	}
	last := ""
	head := func(name, kind string) {
		if name != last {
			_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, m.help[name], name, kind)
		}
		last = name
	}
	for _, key := range sorted(maps.Keys(m.counters)) {
		head(key.name, "counter")
		_, _ = fmt.Fprintf(w, "%s{%s} %v\n", key.name, key.labels, m.counters[key])
	}
	for _, key := range sorted(maps.Keys(m.gauges)) {
		head(key.name, "gauge")
		_, _ = fmt.Fprintf(w, "%s{%s} %v\n", key.name, key.labels, m.gauges[key])
	}
	for _, key := range sorted(maps.Keys(m.histograms)) {
		head(key.name, "histogram")
		h := m.histograms[key]
		for i, n := range h.counts {
			bound := "+Inf"
			if i < len(buckets()) {
				bound = strconv.FormatFloat(buckets()[i], 'g', -1, 64)
			}
			_, _ = fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", key.name, key.labels, bound, n)
		}
		_, _ = fmt.Fprintf(w, "%s_sum{%s} %v\n%s_count{%s} %d\n",
			key.name, key.labels, h.sum, key.name, key.labels, h.counts[len(h.counts)-1])
	}
	return w.Bytes()
}
