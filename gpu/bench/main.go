// Bench measures the engine at the shape of a large model with random weights, made on the device: one JSON line for each
// row. gpu/bench.sh runs it beside peer.py.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"hone/internal/learn/engine"
	"hone/internal/learn/model"
	"hone/internal/modelfile"
)

// row is one line of the table.
type row struct {
	Row     string             `json:"row"`
	Who     string             `json:"who"`
	Ms      float64            `json:"ms"`       // median
	Least   float64            `json:"least_ms"` // of all runs
	Runs    int                `json:"runs"`     // after warm-up
	Devices int                `json:"devices"`
	Compile float64            `json:"compile_s"`       // time until the first result
	More    map[string]float64 `json:"more,omitempty"`  // what else belongs to the row
	Error   string             `json:"error,omitempty"` // in place of numbers
}

// bench is an engine with a random model.
type bench struct {
	engine  *engine.Engine
	spec    model.Spec
	lora    model.LoRA
	weights []engine.Buffer
	repeat  int
	toy     bool
	file    string // of a real model, for the row that needs one
}

func main() {
	plugin := flag.String("plugin", "", "path of the PJRT plug-in")
	rows := flag.String("rows", "check,decode:1024,decode:2048,decode:4096,decode_single:4096,decode_shared:1024,train,tree,unshared", "what to measure")
	dtype := flag.String("dtype", "bf16", "auto, f32 or bf16")
	repeat := flag.Int("repeat", 5, "runs after warm-up")
	devices := flag.Int("devices", 1, "devices to use at once; CPUs are as many as are asked for")
	shard := flag.Bool("shard", false, "each of several devices holds a part of the linear maps")
	toy := flag.Bool("toy", false, "a tiny model and short texts: to see that all rows run")
	file := flag.String("model", "", "a real model, for the row mismatch")
	flag.Parse()
	if err := run(engine.Options{Plugin: *plugin, DType: engine.DType(*dtype), Devices: *devices}, strings.Split(*rows, ","), *repeat, *toy, *shard, *file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o engine.Options, rows []string, repeat int, toy, shard bool, file string) error {
	e, err := engine.Open(o)
	if err != nil {
		return err
	}
	b := &bench{engine: e, spec: shape(toy), lora: model.LoRA{Rank: 32, Alpha: 64}, repeat: repeat, toy: toy, file: file}
	if b.spec.BF16 = e.IsBF16(); shard {
		b.spec.Shards = e.NumDevices()
	}
	start := time.Now()
	if file == "" {
		b.weights, err = randomWeights(e, b.spec)
	} else {
		err = b.load()
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s, bf16 %v, weights in %.1f s\n", e.Description(), b.spec.BF16, time.Since(start).Seconds())
	out := json.NewEncoder(os.Stdout)
	for _, name := range rows {
		kind, size, _ := strings.Cut(name, ":")
		n, _ := strconv.Atoi(size) // 0 where the row has no size
		measure := map[string]func(int) (row, error){"check": b.check, "mismatch": b.mismatch, "train": b.train, "tree": b.tree, "unshared": b.unshared, "again": b.again, "long": b.long,
			"decode":        func(context int) (row, error) { return b.decode(2, 0, context) },
			"decode_single": func(context int) (row, error) { return b.decode(2, 1, context) },
			"decode_shared": func(context int) (row, error) { return b.decode(4096, 0, context) },
		}[kind]
		if measure == nil {
			return fmt.Errorf("there is no row %q", name)
		}
		r, err := measure(n)
		if err != nil {
			r.Error = fmt.Sprintf("%.2000s", err)
		}
		r.Row, r.Who, r.Devices = name, "hone", e.NumDevices()
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// shape is that of Qwen3-4B, or a toy's.
func shape(toy bool) model.Spec {
	c := modelfile.Config{Architecture: "qwen3", Name: "random", NumLayers: 36, Hidden: 2560, Intermediate: 9728, NumHeads: 32,
		NumKVHeads: 8, HeadDim: 128, VocabSize: 151936, MaxContext: 1 << 17, Rope: modelfile.Rope{Theta: 1e6}, NormEps: 1e-6,
		QKNorm: true, TiedHead: true}
	if toy {
		c.NumLayers, c.Hidden, c.Intermediate, c.NumHeads, c.NumKVHeads, c.HeadDim, c.VocabSize = 2, 64, 96, 4, 2, 16, 512
	}
	return model.Spec{Config: c}
}

// timed runs f until it has run repeat times after two runs that warm up, and returns the row of its times.
func (b *bench) timed(f func() error) (row, error) {
	var r row
	var times []float64
	for i := range b.repeat + 2 {
		start := time.Now()
		if err := f(); err != nil {
			return r, err
		}
		ms := time.Since(start).Seconds() * 1e3
		if i == 0 {
			r.Compile = ms / 1e3
		}
		if i > 1 {
			times = append(times, ms)
		}
	}
	slices.Sort(times)
	r.Ms, r.Least, r.Runs = times[len(times)/2], times[0], len(times)
	return r, nil
}

var background = context.Background()
