// Bench measures the engine at the shape of a large model with random weights, made on the device: one JSON line for
// each row. experiments/gpu/bench.sh runs it beside peer.py.
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

	"hone/internal/engine"
	"hone/internal/learn/model"
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
	Flop    float64            `json:"flop,omitempty"`  // floating-point operations of a run, as work.go counts them
	Bytes   float64            `json:"bytes,omitempty"` // that a run must read, as work.go counts them
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
	shard   bool
	file    string // of a real model, for the row that needs one

	shape                       string // of the weights
	started                     time.Time
	openSeconds, weightsSeconds float64
	measured                    int // rows so far
}

func main() {
	started := time.Now()
	plugin := flag.String("plugin", "", "path of the PJRT plug-in")
	rows := flag.String("rows",
		"check,decode:1024,decode:2048,decode:4096,decode_single:4096,decode_shared:1024,train,tree,unshared",
		"what to measure: KIND[:SIZE][@SHAPE], by commas; the shapes are 0.6B, 1.7B, 4B (where none is said) and 8B")
	dtype := flag.String("dtype", "bf16", "auto, f32 or bf16")
	repeat := flag.Int("repeat", 5, "runs after warm-up")
	devices := flag.Int("devices", 1, "devices to use at once; CPUs are as many as are asked for")
	shard := flag.Bool("shard", false, "each of several devices holds a part of the linear maps")
	programs := flag.String("programs", "", "folder that keeps compiled programs")
	toy := flag.Bool("toy", false, "tiny models and short texts: to see that all rows run")
	file := flag.String("model", "", "a real model, for the row mismatch")
	flag.Parse()
	b := &bench{lora: model.LoRA{Rank: 32, Alpha: 64}, repeat: *repeat, shard: *shard, toy: *toy, file: *file,
		started: started}
	if err := b.run(engine.Options{Plugin: *plugin, DType: engine.DType(*dtype), Devices: *devices,
		Cache: engine.Cache{Folder: *programs, Bytes: cacheBytes(*programs)}}, strings.Split(*rows, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (b *bench) run(o engine.Options, rows []string) (err error) {
	if b.engine, err = engine.Open(o); err != nil {
		return err
	}
	b.openSeconds = time.Since(b.started).Seconds()
	fmt.Fprintf(os.Stderr, "%s, bf16 %v\n", b.engine.Description(), b.engine.IsBF16())
	out := json.NewEncoder(os.Stdout)
	failed := 0
	for _, name := range rows {
		r, err := b.measure(name)
		if err != nil {
			r.Error = fmt.Sprintf("%.2000s", err)
			failed++
		}
		r.Row, r.Who, r.Devices = name, "hone", b.engine.NumDevices()
		if err := out.Encode(r); err != nil {
			return err
		}
		b.measured++
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d rows failed", failed, len(rows))
	}
	return nil
}

// measure runs the row KIND[:SIZE][@SHAPE].
func (b *bench) measure(name string) (row, error) {
	name, shape, _ := strings.Cut(name, "@")
	kind, size, _ := strings.Cut(name, ":")
	n, _ := strconv.Atoi(size) // 0 where the row has no size
	measure := map[string]func(int) (row, error){"check": b.check, "mismatch": b.mismatch, "startup": b.startup,
		"train": b.train, "again": b.again, "train_long": b.trainLong, "tree": b.tree, "unshared": b.repeatPrefix,
		"prefill": b.prefill, "chunks": b.chunks,
		"decode_lora": func(context int) (row, error) {
			return b.decode(decoding{slots: 64, context: context, adapted: true})
		},
		"decode_shared_lora": func(context int) (row, error) {
			return b.decode(decoding{slots: 64, prefix: 4096, context: context, adapted: true})
		},
		"sample":      func(tokens int) (row, error) { return b.sample(tokens, false) },
		"sample_lora": func(tokens int) (row, error) { return b.sample(tokens, true) },
		"serve":       b.serving, "serve_shared": b.shared, "serve_spread": b.spread, "multiturn": b.multiturn,
		"slope": b.slope, "checksum": b.checksum,
		"decode":   func(context int) (row, error) { return b.decode(decoding{slots: 64, context: context}) },
		"decode16": func(context int) (row, error) { return b.decode(decoding{slots: 16, context: context}) },
		"decode_single": func(context int) (row, error) {
			return b.decode(decoding{slots: 64, context: context, atOnce: 1})
		},
		"decode_shared": func(context int) (row, error) {
			return b.decode(decoding{slots: 64, prefix: 4096, context: context})
		},
	}[kind]
	if measure == nil {
		return row{}, fmt.Errorf("there is no row %q", kind)
	}
	if err := b.use(shape); err != nil {
		return row{}, err
	}
	return measure(n)
}

func cacheBytes(folder string) int64 {
	if folder == "" {
		return 0
	}
	return 4 << 30
}

// use has weights of a shape on the device, in place of those that are there.
func (b *bench) use(shape string) (err error) {
	if shape == "" {
		shape = "4B"
	}
	if b.weights != nil && shape == b.shape {
		return nil
	}
	engine.Free(b.weights...)
	b.weights = nil
	start := time.Now()
	if b.file != "" {
		err = b.load()
	} else if b.spec, err = specOf(shape, b.toy); err == nil {
		if b.spec.BF16 = b.engine.IsBF16(); b.shard {
			b.spec.Shards = b.engine.NumDevices()
		}
		b.weights, err = randomWeights(b.engine, b.spec)
	}
	b.shape, b.weightsSeconds = shape, time.Since(start).Seconds()
	return err
}

// timeRuns runs f until it has run repeat times after runs that warm up, and returns the row of its times.
func timeRuns(warm, repeat int, f func() error) (row, error) {
	var r row
	var times []float64
	for i := range warm + repeat {
		start := time.Now()
		if err := f(); err != nil {
			return r, err
		}
		ms := time.Since(start).Seconds() * 1e3
		if i == 0 {
			r.Compile = ms / 1e3
		}
		if i >= warm {
			times = append(times, ms)
		}
	}
	slices.Sort(times)
	r.Ms, r.Least, r.Runs = times[len(times)/2], times[0], len(times)
	return r, nil
}

var background = context.Background()
