//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/run/metrics"
)

// metricLines are the lines of a run's metrics.jsonl, by stage and step.
func metricLines(t *testing.T, dir string) map[string]map[string]float64 {
	t.Helper()
	rows := map[string]map[string]float64{}
	for line := range strings.Lines(contents(t, dir+"/metrics.jsonl")) {
		var head struct {
			Stage string
			Step  int
		}
		values := map[string]any{}
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(line), &values); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%s %d", head.Stage, head.Step)
		if rows[key] != nil {
			t.Errorf("%s has %s twice", dir, key)
		}
		rows[key] = map[string]float64{}
		for name, x := range values {
			if f, ok := x.(float64); ok && name != "step" {
				rows[key][name] = f
			}
		}
	}
	return rows
}

// sameEvents wants a run's tfevents to have what its metrics.jsonl has, each step once, and each metric in the table of
// the docs.
func sameEvents(t *testing.T, dir, main string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/tfevents/*")
	if err != nil || len(files) != 1 {
		t.Fatalf("%s has the files %q, %v", dir, files, err)
	}
	got, want := map[string]float64{}, map[string]float64{}
	for text := []byte(contents(t, files[0])); len(text) > 0; {
		n := binary.LittleEndian.Uint64(text)
		step, scalars := scalarsOf(t, text[12:12+n])
		for tag, x := range scalars {
			key := fmt.Sprintf("%s %d", tag, step)
			if _, again := got[key]; again {
				t.Errorf("%s has %s twice", dir, key)
			}
			got[key] = x
		}
		text = text[16+n:]
	}
	for row, values := range metricLines(t, dir) {
		stage, step, _ := strings.Cut(row, " ")
		for name, x := range values {
			want[metrics.Tag(main, stage, name)+" "+step] = float64(float32(x))
			if metrics.Means(name) == "" {
				t.Errorf("the metric %s is not in metrics.Names", name)
			}
		}
	}
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("%s: %d events, %d metrics: %v\nwant %v",
			dir, len(got), len(want), slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// scalarsOf reads an event by its protocol buffer.
func scalarsOf(t *testing.T, event []byte) (step int64, scalars map[string]float64) {
	t.Helper()
	scalars = map[string]float64{}
	each(t, event, func(field int, number uint64, data []byte) {
		switch field {
		case 2:
			step = int64(number)
		case 5:
			each(t, data, func(_ int, _ uint64, value []byte) {
				var tag string
				var x float64
				each(t, value, func(field int, number uint64, data []byte) {
					if field == 1 {
						tag = string(data)
					} else {
						x = float64(math.Float32frombits(uint32(number)))
					}
				})
				scalars[tag] = x
			})
		}
	})
	return step, scalars
}

// each reads the fields of a message of protocol buffers.
func each(t *testing.T, message []byte, f func(field int, number uint64, data []byte)) {
	t.Helper()
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		var number uint64
		var data []byte
		switch message = message[n:]; tag & 7 {
		case 0:
			number, n = binary.Uvarint(message)
		case 1:
			number, n = binary.LittleEndian.Uint64(message), 8
		case 2:
			length, head := binary.Uvarint(message)
			n = head + int(length)
			data = message[head:n]
		case 5:
			number, n = uint64(binary.LittleEndian.Uint32(message)), 4
		default:
			t.Fatalf("a field of wire type %d", tag&7)
		}
		f(int(tag>>3), number, data)
		message = message[n:]
	}
}

// A run says at its end, and hone runs show says later, what took its time and when its target was reached.
func TestWhatARunTook(t *testing.T) {
	command, env, _ := toyRun(t, "train")
	var said bytes.Buffer
	if code := toyApp(&said, env).main(t.Context(), append(command, "out")); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	if !strings.Contains(said.String(), "\nbottleneck: ") || !strings.Contains(said.String(), "% of the time") {
		t.Errorf("%s", &said)
	}
	sameEvents(t, "out", "grpo")
	elapsed, parts := 0.0, map[metrics.Part]float64{}
	for _, row := range metricLines(t, "out") {
		elapsed = max(elapsed, row[metrics.Elapsed])
		for _, p := range metrics.Parts() {
			parts[p] += row[p.Metric()]
		}
	}
	sum := 0.0
	for p, x := range parts {
		if sum += x; x <= 0 && p != metrics.Score {
			t.Errorf("no time was spent on %s", p)
		}
	}
	if sum < elapsed*0.999 {
		t.Errorf("of %v seconds the parts have %v", elapsed, parts)
	}
	var shown bytes.Buffer
	a := toyApp(&said, env)
	a.Data = sanitize.New(&shown)
	if code := a.main(t.Context(), []string{"runs", "show", "./out"}); code != 0 ||
		!strings.Contains(shown.String(), "bottleneck: ") {
		t.Errorf("exit code %d, %s", code, &shown)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
