package engine_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/engine/stablehlo"
	"hone/internal/testing/learntest"
)

// ran is what programs computed, and what is known of them.
type ran struct {
	Compiled, Loaded int
	Bits             [][]uint32
	Aliased          []int64
	Memory           []engine.Memory
}

const numPrograms = 3

// runPrograms compiles a plain program, one that updates a donated buffer, and one for the last device alone, and
// runs each.
func runPrograms(t *testing.T, o engine.Options) ran {
	t.Helper()
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var r ran
	square := engine.F32(16, 16)
	run := func(e *engine.Engine, name string, donated bool, build func(in []*graph.Node) []*graph.Node) {
		p, err := e.Compile(name,
			[]engine.Param{{Name: "state", Shape: square, Donated: donated}, {Name: "x", Shape: square}}, build)
		if err != nil {
			t.Fatal(err)
		}
		in := []engine.Buffer{wave(t, e, 1), wave(t, e, 2)}
		out, err := p.Run(in...)
		if err != nil {
			t.Fatal(err)
		}
		flat, err := engine.Floats(out[0])
		if err != nil {
			t.Fatal(err)
		}
		bits := make([]uint32, len(flat))
		for i, x := range flat {
			bits[i] = math.Float32bits(x)
		}
		m, _ := p.Memory()
		if measured, err := e.Measure(p.HLO()); err != nil || measured != m {
			t.Errorf("%s: measured %+v, %v; compiled %+v", name, measured, err, m)
		}
		r.Bits, r.Aliased, r.Memory = append(r.Bits, bits), append(r.Aliased, p.NumAliased()), append(r.Memory, m)
		if _, err := engine.Floats(in[0]); (err != nil) != donated {
			t.Errorf("%s: the first input afterwards: %v", name, err)
		}
	}
	run(e, "plain", false, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{engine.AllReduce(graph.Sin(graph.Dot(in[0], in[1]).Product()))}
	})
	run(e, "donated", true, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Add(in[0], graph.Exp(in[1]))}
	})
	alone := e.On(e.NumDevices() - 1)
	run(alone, "alone", false, func(in []*graph.Node) []*graph.Node { return []*graph.Node{graph.Mul(in[0], in[1])} })
	r.Compiled, r.Loaded = e.NumCompiled, e.NumLoaded
	if alone != e {
		r.Compiled, r.Loaded = r.Compiled+alone.NumCompiled, r.Loaded+alone.NumLoaded
	}
	return r
}

func wave(t *testing.T, e *engine.Engine, by float64) engine.Buffer {
	t.Helper()
	flat := make([]float32, 256)
	for i := range flat {
		flat[i] = float32(math.Sin(by * float64(i)))
	}
	b, err := e.Upload(flat, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// options keep programs in a folder of the test, or of HONE_TEST_PROGRAMS.
func options(t *testing.T, folder string) engine.Options {
	t.Helper()
	plugin := learntest.Plugin()
	if plugin == "" {
		t.Skip("no plug-in is installed: hone engine install cpu")
	}
	return engine.Options{Plugin: plugin,
		Cache: engine.Cache{Folder: folder, Bytes: 1 << 30, Notice: func(text string) { t.Errorf("notice: %s", text) }}}
}

// kept returns the files of a folder of programs.
func kept(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// want checks that programs were compiled or loaded, and are those of an earlier run.
func want(t *testing.T, what string, got ran, compiled, loaded int, same ran) {
	t.Helper()
	if got.Compiled != compiled || got.Loaded != loaded {
		t.Errorf("%s: %d programs compiled and %d loaded, want %d and %d",
			what, got.Compiled, got.Loaded, compiled, loaded)
	}
	same.Compiled, same.Loaded = got.Compiled, got.Loaded
	if !reflect.DeepEqual(got, same) {
		t.Errorf("%s: the programs are others:\n%v\n%v", what, got, same)
	}
}

// Programs that are loaded compute, donate and hold what those do that were compiled: on one device and on two.
func TestKeptPrograms(t *testing.T) {
	for _, devices := range []int{1, 2} {
		o := options(t, filepath.Join(t.TempDir(), "programs"))
		o.Devices = devices
		var announced []string
		o.Compiling = func(program string, tokens int) func() {
			return func() { announced = append(announced, fmt.Sprint(program, " ", tokens)) }
		}
		first := runPrograms(t, o)
		want(t, "first", first, numPrograms, 0, first)
		if names := []string{"plain 0", "donated 0", "alone 0"}; !slices.Equal(announced, names) {
			t.Errorf("announced %q, want %q", announced, names)
		}
		announced = nil
		if first.Aliased[1] != 16*16*4 || first.Memory[1].Aliased != 16*16*4 || first.Memory[0].Inputs != 2*16*16*4 {
			t.Errorf("memory: %v, %v", first.Aliased, first.Memory)
		}
		want(t, "second", runPrograms(t, o), 0, numPrograms, first)
		if files := kept(t, o.Cache.Folder); len(files) != numPrograms || len(announced) > 0 {
			t.Errorf("files: %q; of programs that are loaded %q are announced", files, announced)
		}
	}
}

// Of rows behind a prefix it is said how many tokens they have, before they are compiled and after.
func TestCompilingSaysHowLongRowsAre(t *testing.T) {
	o := options(t, "")
	var announced []string
	o.Compiling = func(program string, tokens int) func() {
		announced = append(announced, fmt.Sprint(program, " ", tokens))
		return func() { announced = append(announced, "compiled "+program) }
	}
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	params := []engine.Param{
		{Name: "prefix", Shape: engine.I32(1, 3)},
		{Name: "ids", Shape: engine.I32(2, 7)},
		{Name: "target", Shape: engine.I32(5)},
		{Name: "x", Shape: engine.F32(2, 9)},
	}
	if _, err := e.Compile("rows", params, func(in []*graph.Node) []*graph.Node { return in }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"rows 7", "compiled rows"}; !slices.Equal(announced, want) {
		t.Errorf("announced %q, want %q", announced, want)
	}
}

// Two processes that begin at once share a folder, and leave it whole to a third.
func TestKeptByOtherProcesses(t *testing.T) {
	o := options(t, filepath.Join(t.TempDir(), "programs"))
	var others [2]ran
	var wait sync.WaitGroup
	for i := range others {
		wait.Go(func() { others[i] = inAnotherProcess(t, o.Cache.Folder) })
	}
	wait.Wait()
	third := runPrograms(t, o)
	want(t, "this process", third, 0, numPrograms, third)
	for _, r := range others {
		want(t, "another process", r, numPrograms-r.Loaded, r.Loaded, third)
	}
	if files := kept(t, o.Cache.Folder); len(files) != numPrograms {
		t.Errorf("files: %q", files)
	}
}

// What is damaged, and what the plug-in refuses, is compiled again and replaced; what was compiled elsewhere is left
// alone.
func TestKeptProgramsThatCannotBeUsed(t *testing.T) {
	o := options(t, filepath.Join(t.TempDir(), "programs"))
	first := runPrograms(t, o)
	files := kept(t, o.Cache.Folder)
	damage := func(i int, change func(text []byte) []byte) {
		text, err := os.ReadFile(files[i])
		if err == nil {
			err = os.WriteFile(files[i], change(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	damage(0, func(text []byte) []byte { return text[:len(text)/2] })
	damage(1, func(text []byte) []byte { text[len(text)/2] ^= 1; return text })
	want(t, "damaged", runPrograms(t, o), 2, numPrograms-2, first)
	want(t, "replaced", runPrograms(t, o), 0, numPrograms, first)

	told := 0
	o.Cache.Notice = func(text string) {
		if told++; !strings.Contains(text, "does not load") {
			t.Errorf("notice: %s", text)
		}
	}
	for i, code := range []string{"no program", ""} {
		key := strings.TrimSuffix(filepath.Base(files[i]), ".program")
		stablehlo.OpenPrograms(o.Cache.Folder, o.Cache.Bytes, nil).Put(key,
			stablehlo.Program{Code: []byte(code), About: []byte("{}")})
	}
	want(t, "refused", runPrograms(t, o), 2, numPrograms-2, first)
	if told != 1 {
		t.Errorf("%d notices", told)
	}
	o.Cache.Environment = "XLA_FLAGS=--xla_cpu_multi_thread_eigen=true"
	want(t, "another environment", runPrograms(t, o), numPrograms, 0, first)
	if files := kept(t, o.Cache.Folder); len(files) != 2*numPrograms {
		t.Errorf("files: %q", files)
	}
}

// A folder that cannot be made costs one notice, and a cache that is off costs nothing.
func TestProgramsThatAreNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t, filepath.Join(file, "programs"))
	told := 0
	o.Cache.Notice = func(text string) { told++ }
	r := runPrograms(t, o)
	want(t, "no folder", r, numPrograms, 0, r)
	if told != 1 {
		t.Errorf("%d notices", told)
	}
	o = options(t, filepath.Join(t.TempDir(), "programs"))
	o.Cache.Bytes = 0
	want(t, "off", runPrograms(t, o), numPrograms, 0, r)
	if _, err := os.Stat(o.Cache.Folder); err == nil {
		t.Error("a folder is made where none is used")
	}
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.CanKeepPrograms(); err != nil {
		t.Error(err)
	}
}

func inAnotherProcess(t *testing.T, folder string) (r ran) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "ran.json")
	c := exec.Command(os.Args[0], "-test.run=^TestInThisProcess$")
	c.Env = append(os.Environ(), "HONE_TEST_PROGRAMS="+folder, "HONE_TEST_RAN="+out)
	if text, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	text, err := os.ReadFile(out)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Error(err)
	}
	return r
}

// TestInThisProcess is the other process of TestKeptByOtherProcesses.
func TestInThisProcess(t *testing.T) {
	folder := os.Getenv("HONE_TEST_PROGRAMS")
	if folder == "" {
		t.Skip("it is a part of TestKeptByOtherProcesses")
	}
	text, err := json.Marshal(runPrograms(t, options(t, folder)))
	if err == nil {
		err = os.WriteFile(os.Getenv("HONE_TEST_RAN"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
