// Package learntest gives tests a tiny random decoder on every device this machine has.
package learntest

import (
	"flag"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
)

// plugin is a flag of each test binary that imports this package: go test PACKAGE -args -plugin PATH.
var plugin = flag.String("plugin", "",
	"PJRT plug-in to test, such as one for CUDA (default: the installed one for CPUs)")

// Spec is a decoder of two layers with grouped queries; its numbers are all different, so that a mixed-up axis fails.
func Spec() model.Spec {
	return model.Spec{
		Config: modelfile.Config{Architecture: "llama", Name: "tiny", NumLayers: 2, Hidden: 24, Intermediate: 40,
			NumHeads: 6, NumKVHeads: 2, HeadDim: 4, VocabSize: 60, MaxContext: 256, Rope: modelfile.Rope{Theta: 10000},
			NormEps: 1e-5, TiedHead: true},
	}
}

// LoRA is a small adapter's shape.
func LoRA() model.LoRA { return model.LoRA{Rank: 3, Alpha: 6} }

// Weights uploads random weights as the spec has them, the same on every device.
func Weights(t testing.TB, e *engine.Engine, s model.Spec) []engine.Buffer {
	t.Helper()
	var buffers []engine.Buffer
	number, params := 0, s.WeightParams()
	for i, w := range s.Weights() {
		var flat []float32
		for _, x := range w.Tensors {
			size := 1
			for _, d := range x.Dims {
				size *= d
			}
			for j := range size {
				v := float32(math.Sin(float64(number*7919+j)*12.9898) * 0.3)
				if len(x.Dims) == 1 {
					v = 1 + v/3 // norms
				}
				flat = append(flat, v)
			}
			number++
		}
		b, err := e.UploadParam(params[i], flat)
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, b)
	}
	return buffers
}

// Plugin is the path that -plugin gives, else that of the installed CPU plug-in; empty where there is none.
func Plugin() string {
	if *plugin != "" {
		return *plugin
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	found, _ := fs.Glob(os.DirFS(cache), "hone/lammps-jax-pjrt-cpu-*/*.so") // the pattern is well-formed
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(cache, found[0])
}

// Options are how tests open the plug-in, whose path Plugin gives. XLA takes seconds to compile a program that runs for
// a millisecond, so what is compiled is optimised little and kept in a folder below os.UserCacheDir, for the next run
// of any test. Under the tag soak, and where -plugin names another, all is compiled as users have it.
func Options(t testing.TB) engine.Options {
	t.Helper()
	o := engine.Options{Plugin: Plugin(), DType: engine.DTypeF32}
	if Whole() {
		return o
	}
	if err := os.Setenv("XLA_FLAGS", flags); err != nil { // XLA reads it once in a process
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	o.Cache = engine.Cache{Folder: filepath.Join(cache, "hone", "test-programs"), Bytes: 512 << 20, Environment: flags}
	return o
}

const flags = "--xla_backend_optimization_level=0"

// Whole reports whether tests run on the plug-in that are the same on each device, and so run on pure Go alone
// elsewhere: under the tag soak, and where -plugin names one.
func Whole() bool { return soak || *plugin != "" }

// Devices opens the CPU plug-in with n devices, until the test ends; where it is not installed the test is skipped.
func Devices(t testing.TB, n int) *engine.Engine {
	t.Helper()
	if Plugin() == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	o := Options(t)
	o.Devices = n
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// EachDevice runs a test on the pure-Go backend and, where all is tested, on the plug-in: what differs between the two
// is the operations, which engine/stablehlo tests on both. BothDevices is for tests of what only a plug-in has.
func EachDevice(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	each(t, Whole(), f)
}

// BothDevices runs a test on the pure-Go backend and, where there is one, on the plug-in.
func BothDevices(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	each(t, true, f)
}

func each(t *testing.T, plugin bool, f func(t *testing.T, e *engine.Engine)) {
	run := func(name string, o engine.Options) {
		t.Run(name, func(t *testing.T) {
			e, err := engine.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			f(t, e)
		})
	}
	run("go", engine.Options{})
	if plugin && Plugin() != "" {
		run("plugin", Options(t))
	}
}
