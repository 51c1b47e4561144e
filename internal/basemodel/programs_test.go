package basemodel

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/engine/stablehlo"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
)

// Programs are kept beside the downloads, under what the compiler reads of the environment, and not where they are not
// to be.
func TestProgramCache(t *testing.T) {
	folder := t.TempDir()
	flags := filepath.Join(folder, "flags")
	if err := os.WriteFile(flags, []byte("--xla_of_the_file=1"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := config.Default().Engine
	h := &host.Host{Talk: sanitize.New(io.Discard), CacheDir: folder, LookupEnv: func(string) (string, bool) {
		return "", false
	},
		Environ: []string{"XLA_FLAGS=--xla_some=1", "HOME=/home", "TF_CPP_MIN_LOG_LEVEL=3", "NVIDIA_TF32_OVERRIDE=0",
			"TF_CUDNN_DETERMINISTIC=1"}}
	if c := ProgramCache(h, e); c.Folder != "" {
		t.Errorf("a test keeps programs: %+v", c)
	}
	h.KeepsPrograms = true
	c := ProgramCache(h, e)
	if c.Folder != filepath.Join(folder, "programs") || c.Bytes != 4<<30 ||
		c.Environment != "NVIDIA_TF32_OVERRIDE=0\nTF_CUDNN_DETERMINISTIC=1\nXLA_FLAGS=--xla_some=1" {
		t.Errorf("%+v", c)
	}
	h.Environ = []string{"XLA_FLAGS=" + flags}
	if c := ProgramCache(h, e); !strings.Contains(c.Environment, "--xla_of_the_file=1") {
		t.Errorf("%+v", c)
	}
	h.Environ = []string{"XLA_FLAGS=--xla_dump_to=/somewhere"}
	if c := ProgramCache(h, e); c.Folder != "" {
		t.Errorf("what is to be dumped is loaded: %+v", c)
	}
	h.Environ, e.ProgramCache = nil, 0
	if c := ProgramCache(h, e); c.Bytes != 0 {
		t.Errorf("%+v", c)
	}
	h.CacheDir, e.ProgramCache = "", 1
	if c := ProgramCache(h, e); c.Folder != "" {
		t.Errorf("without a cache folder: %+v", c)
	}
}

// Where programs cannot be kept that is one warning, with what to do.
func TestUnkeptProgramsAreAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	h := &host.Host{Talk: sanitize.New(&said), CacheDir: t.TempDir(), KeepsPrograms: true}
	c := ProgramCache(h, config.Default().Engine)
	s := stablehlo.OpenPrograms(filepath.Join(file, "programs"), c.Bytes, c.Notice)
	s.Put("key", stablehlo.Program{Code: []byte("code"), About: []byte("{}")})
	s.Put("other", stablehlo.Program{Code: []byte("code"), About: []byte("{}")})
	for _, want := range []string{
		"warning: compiled programs cannot be kept", "where: " + filepath.Join(file, "programs"), "why:   mkdir ",
		"not a directory", "next:  name a folder that can be written with --cache, or set engine.program_cache to 0",
	} {
		if strings.Count(said.String(), want) != 1 {
			t.Errorf("no one %q in %s", want, &said)
		}
	}
}

// The silence of compiling is told before it, of programs that take long, with the lengths of rows; --quiet leaves it
// out.
func TestCompilingIsSaid(t *testing.T) {
	var said bytes.Buffer
	h := &host.Host{Talk: sanitize.New(&said)}
	rows := &RowPrograms{}
	rows.Expect(2)
	says := Compiling(h, false, rows)
	for _, program := range []string{"rows", "checksum", "decode", "score", "rows", "rows"} {
		says(program, 192)()
	}
	Compiling(h, true, &RowPrograms{})("prefill", 0)()
	h.Quiet = true
	says("rows", 192)()
	var want strings.Builder
	for _, line := range []string{
		"program 1 of at most 2 for training rows of up to 192 tokens; each takes seconds to minutes, by the model " +
			"and how busy the cores are",
		"the program for completions", "the program for the logprobs of rows of up to 192 tokens",
		"program 2 of at most 2 for training rows of up to 192 tokens",
		"program 3 for training rows of up to 192 tokens",
		"the program for prompts", // on a GPU, where it takes seconds
	} {
		want.WriteString("compiling " + line + "\n")
	}
	if said.String() != want.String() {
		t.Errorf("it says\n%swant\n%s", &said, &want)
	}
}

// A program that compiles for long is told of while it does, and not when it is compiled.
func TestCompilingIsStillSaid(t *testing.T) {
	var said bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		h := &host.Host{Talk: sanitize.New(&said), Still: &host.Still{}}
		compiled := Compiling(h, false, &RowPrograms{})("rows", 192)
		time.Sleep(45 * time.Second)
		compiled()
		time.Sleep(time.Hour)
	})
	if want := "still compiling the program for training rows of up to 192 tokens, " +
		"for 30s\n"; strings.Count(said.String(), "still") != 1 || !strings.HasSuffix(said.String(), want) {
		t.Errorf("it says\n%swant at its end\n%s", &said, want)
	}
}

// Few steps pad to fewer lengths, many to as many as there are; what is given stays.
func TestRowMultiple(t *testing.T) {
	var rows []batch.Sequence
	for n := 70; n <= 500; n += 60 {
		rows = append(rows, batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)})
		rows[len(rows)-1].IDs[0], rows[len(rows)-1].Trained[n-1] = int32(n), true
	}
	steps := []batch.Batch{batch.New(rows)}
	settings := config.Engine{Packing: "off", Devices: 1}
	if n, _ := RowProgramsOf(settings, false, steps); n != 7 {
		t.Errorf("%d programs of rows", n)
	}
	for _, c := range []struct {
		times    float64
		change   func(e *config.Engine)
		multiple int
	}{
		{1, nil, 512},
		{12, nil, 128},
		{200, nil, 0},
		{1, func(e *config.Engine) { e.RowMultiple = 64 }, 0},
		{1, func(e *config.Engine) { e.MicroBatch = 2 }, 0},
	} {
		e := settings
		if c.change != nil {
			c.change(&e)
		}
		if got := RowMultiple(model.Spec{}, e, false, steps, c.times); got != c.multiple {
			t.Errorf("%v times %+v: a multiple of %d, want %d", c.times, e, got, c.multiple)
		}
	}
}

// A GPU computes a thousand rows while it compiles a program, so the rows of a hundred steps have few lengths too; the
// smaller the model, the fewer.
func TestRowMultipleOnAGPU(t *testing.T) {
	var steps []batch.Batch
	for i := range 100 {
		var rows []batch.Sequence
		for k := range 16 {
			n := 200 + (i*37+k*211)%3400
			rows = append(rows, batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)})
			rows[k].IDs[0], rows[k].Trained[n-1] = int32(n), true
		}
		steps = append(steps, batch.New(rows))
	}
	settings := config.Engine{Packing: "off", Devices: 1}
	before, _ := RowProgramsOf(settings, true, steps)
	for _, c := range []struct {
		layers, hidden, wide int
		times                float64
		programs             int // at most
	}{{28, 1536, 8960, 2, 5}, {24, 896, 4864, 2, 4}, {28, 1536, 8960, 2000, before}} {
		s, e := qwen(c.layers, c.hidden, c.wide), settings
		e.RowMultiple = RowMultiple(s, e, true, steps, c.times)
		got, _ := RowProgramsOf(e, true, steps)
		if got > c.programs || (e.RowMultiple == 0) != (c.programs == before) {
			t.Errorf("%+v: a multiple of %d, %d programs for %d", c, e.RowMultiple, got, before)
		}
	}
	if before < 8 {
		t.Errorf("%d programs as they are", before)
	}
}

// episodeRows are the rows of a minibatch as runs on the file server had them, 300 to 7,000 tokens, most about 1,000.
// One of fifty has a long completion, trained on whole.
func episodeRows(r *rand.Rand) (b batch.Batch, tokens int) {
	for range 40 {
		n := int(min(7000, max(300, 1000*math.Exp(0.6*r.NormFloat64()))))
		row := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)}
		from := n * 7 / 10
		if r.IntN(50) == 0 {
			from = n * 3 / 10
		}
		for i := from; i < n; i++ {
			row.Trained[i] = true
		}
		b.Rows, tokens = append(b.Rows, row), tokens+n
	}
	return b, tokens
}

// The rows of episodes need at most four programs in the first step of a GPU, and few in twenty: compiling takes a
// tenth of their time. An H200 took 12 s to compile one, 20 s a step to sample, and computed 33,000 tokens a second.
func TestEpisodesNeedFewProgramsSoon(t *testing.T) {
	const steps, minibatches = 20, 4
	c := config.Default()
	c.GRPO.GroupSize, c.GRPO.ScenariosPerStep, c.GRPO.Minibatches, c.GRPO.Steps = 16, 8, minibatches, 30
	lengths, _ := EpisodeLengths(qwen(28, 1536, 8960), c, true, 10977)
	r, tokens := rand.New(rand.NewPCG(1, 2)), 0
	var all []batch.Batch
	for range steps * minibatches {
		b, n := episodeRows(r)
		all, tokens = append(all, b), tokens+n
	}
	of := func(lengths []int) (first, programs int, padding, compiling float64) {
		o := rowOptions(c.Engine, true)
		o.Lengths = lengths
		first, _ = o.RowPrograms(all[:minibatches], 1)
		programs, positions := o.RowPrograms(all, 1)
		took := float64(programs) * 12
		return first, programs, 1 - float64(tokens)/float64(positions),
			took / (took + float64(positions)/33_000 + steps*20)
	}
	first, programs, padding, compiling := of(lengths)
	first0, programs0, padding0, compiling0 := of(nil)
	t.Logf("%v: %d programs, then %d, %.0f%% padding, %.0f%% compiling; of all lengths %d, %d, %.0f%%, %.0f%%", lengths,
		first, programs, 100*padding, 100*compiling, first0, programs0, 100*padding0, 100*compiling0)
	if first > 4 || programs > 5 || padding > 0.35 || compiling > 0.10 || first0 < 8 {
		t.Errorf("%v: %d programs in the first step, %d in all, %.1f%% padding, %.1f%% compiling", lengths, first,
			programs, 100*padding, 100*compiling)
	}
}

func TestEpisodeLengths(t *testing.T) {
	big, small := qwen(28, 1536, 8960), qwen(12, 256, 1024)
	for _, c := range []struct {
		name     string
		s        model.Spec
		gpu      bool
		multiple int
		steps    int
		few      bool
		until    int // optimiser steps
	}{
		{"few steps", big, true, 0, 30, true, 0},
		{"many steps", big, true, 0, 400, true, 80},
		{"many steps of a small model", small, true, 0, 400, true, 0},
		{"a CPU", big, false, 0, 30, false, 0},
		{"as the user says", big, true, 128, 30, false, 0},
	} {
		x := config.Default()
		x.Engine.RowMultiple, x.GRPO.Steps, x.GRPO.GroupSize, x.GRPO.ScenariosPerStep = c.multiple, c.steps, 16, 8
		lengths, until := EpisodeLengths(c.s, x, c.gpu, 16384)
		if (len(lengths) > 0) != c.few || until != c.until {
			t.Errorf("%s: %v for %d optimiser steps", c.name, lengths, until)
		}
	}
}

// qwen is a model's shape.
func qwen(layers, hidden, wide int) model.Spec {
	return model.Spec{Config: modelfile.Config{Architecture: "qwen2", NumLayers: layers, Hidden: hidden,
		Intermediate: wide, NumHeads: 12, NumKVHeads: 2, HeadDim: 128, VocabSize: 151936}}
}
