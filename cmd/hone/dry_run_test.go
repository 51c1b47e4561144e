package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/basemodel/inspect"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/plan"
	"hone/internal/serve/local"
)

// invoked runs one command line with a toy model beside it, in pure Go unless the configuration says otherwise.
func invoked(t *testing.T, conf, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	write(t, "hone.yaml", conf)
	var out, said bytes.Buffer
	a := toyApp(&said, nil)
	a.Stdin, a.Data = strings.NewReader(stdin), sanitize.New(&out)
	code = a.main(t.Context(), args)
	return code, out.String(), said.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const oneRow = `{"messages": [{"role": "user", "content": "Say a."}, {"role": "assistant", "content": "a"}]}` + "\n"

// What cannot work is refused by one clear error before anything is computed, and no run directory is left.
func TestRefusedBeforeCompute(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	whole, err := os.ReadFile("toy.gguf")
	if err != nil {
		t.Fatal(err)
	}
	notANumber := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(notANumber[len(notANumber)-400:], math.Float32bits(float32(math.NaN())))
	key := "llama.feed_forward_length\x04\x00\x00\x00" // its value follows
	lie := strings.Replace(string(whole), key+"\x28", key+"\x30", 1)
	if lie == string(whole) {
		t.Fatal("the toy has another width")
	}
	write(t, "half.gguf", string(whole[:len(whole)-5000]))
	write(t, "nan.gguf", string(notANumber))
	write(t, "lie.gguf", lie)
	write(t, "notes.so", "this is no library")
	write(t, "row.jsonl", oneRow)
	write(t, "long.jsonl", strings.Replace(oneRow, "Say a.", strings.Repeat("ab", 4200), 1))
	toyAdapter(t, "toy.gguf", "nan")
	file := filepath.Join("nan", modelfile.WeightsFile)
	weights, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS("half", os.DirFS("nan")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join("half", modelfile.WeightsFile), string(weights[:len(weights)-100]))
	binary.LittleEndian.PutUint32(weights[len(weights)-400:], math.Float32bits(float32(math.Inf(1))))
	write(t, file, string(weights))
	long := `{"ids": [1` + strings.Repeat(", 1", 8192) + "]}"
	sft := func(data, model string) []string {
		return []string{"sft", "--data", data, "--base-model", model, "--output-dir", "out"}
	}
	logprobs := []string{"inspect", "logprobs", "--model", "toy.gguf"}
	for _, c := range []struct {
		name, engine, stdin string
		args                []string
		code                int
		want                []string
	}{
		{"memory", "backend: go, memory: 0.0001", "", sft("row.jsonl", "toy.gguf"), 6,
			[]string{"the memory does not hold this run", "engine.memory", "it takes 0.0", "hone inspect memory"}},
		{"positions of a row", "backend: go", "", sft("long.jsonl", "toy.gguf"), 2, []string{"positions for 8192", "lower model.context"}},
		{"positions of a text", "backend: go", long, logprobs, 3, []string{"there are 8193 ids; the model has positions for 8192"}},
		{"half a model", "backend: go", "", sft("row.jsonl", "half.gguf"), 2, []string{"half.gguf"}},
		{"NaN", "backend: go", "", sft("row.jsonl", "nan.gguf"), 2, []string{"nan.gguf: model.layers.1.", "not finite"}},
		{"a configuration that lies", "backend: go", "", sft("row.jsonl", "lie.gguf"), 2,
			[]string{"lie.gguf: model.layers.0.mlp", "the configuration says [48 24]"}},
		{"NaN in an adapter", "backend: go", "", append(slices.Clone(logprobs), "--adapter", "nan"), 2, []string{"where: nan", "lora_", "not finite"}},
		{"half an adapter", "backend: go", "", append(slices.Clone(logprobs), "--adapter", "half"), 2,
			[]string{"half/adapter_model.safetensors", "tensor base_model"}},
		{"no plug-in", "plugin: none.so", "", logprobs, 2, []string{"the accelerator plug-in is not there", "none.so", "hone engine install cpu"}},
		{"a plug-in that is none", "plugin: notes.so", "", logprobs, 6,
			[]string{"cannot use the accelerator plug-in", "it cannot be loaded as a shared library"}},
		{"a plug-in that is none, to train on", "plugin: notes.so", "", sft("row.jsonl", "toy.gguf"), 6,
			[]string{"cannot use the accelerator plug-in", "notes.so"}},
		{"NaN in an adapter to go on with", "backend: go", "", append(sft("row.jsonl", "toy.gguf"), "--adapter", "nan"),
			2, []string{"where: nan", "lora_", "not finite"}},
		{"more devices than there are", "backend: go, devices: 2", "", sft("row.jsonl", "toy.gguf"), 2,
			[]string{"there are not 2 devices but 1", "engine.devices: 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, said := invoked(t, "model: {context: 20000}\nengine: {"+c.engine+"}\n", c.stdin, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, said)
			}
			for _, want := range c.want {
				if !strings.Contains(stdout+said, want) {
					t.Errorf("no %q in %s%s", want, stdout, said)
				}
			}
			// a dry run reads no weight
			if c.args[0] == "sft" && c.name != "NaN" && c.name != "a configuration that lies" {
				_, refusal, _ := strings.Cut(said, "hone: ") // before it stands how much memory is free now
				if dry, _, text := invoked(t, "model: {context: 20000}\nengine: {"+c.engine+"}\n",
					"", append(slices.Clone(c.args), "--dry-run")...); dry != code ||
					!strings.HasSuffix(text, "hone: "+refusal) {
					t.Errorf("a dry run: exit code %d, %s", dry, text)
				}
			}
			if _, err := os.Stat("out"); err == nil {
				t.Error("a run directory is left behind")
			}
		})
	}
}

// A dry run of SFT says what would be trained on, without opening a device or writing anything.
func TestSFTDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	write(t, "rows.jsonl", oneRow+oneRow+strings.Replace(oneRow, "Say a.", strings.Repeat("ab", 400), 1))
	code, stdout, said := invoked(t, "model: {context: 300}\nengine: {backend: go}\nsft: {batch_size: 1, epochs: 3}\n",
		"", "sft", "--data", "rows.jsonl", "--base-model", "toy.gguf", "--output-dir", "out", "--dry-run")
	// "a" and <|im_end|>, twice
	for _, want := range []string{
		"left out rows.jsonl:3: ", "GiB planned", "would take 6 steps over 2 rows of at most ",
		" tokens, 4 of them trained, in out",
	} {
		if code != 0 || stdout != "" || !strings.Contains(said, want) {
			t.Errorf("exit code %d, no %q in %s", code, want, said)
		}
	}
	if _, err := os.Stat("out"); err == nil {
		t.Error("a run directory is made")
	}
}

// A model whose slots the memory does not hold is not served, and is told how many it holds; with those it would be.
func TestServeIsPlanned(t *testing.T) {
	workFolder(t, nil)
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base", "lora")
	a := toyApp(io.Discard, nil)
	c := config.Default()
	c.Engine.Backend = "go"
	m, err := basemodel.Find(a.Host, c, "base", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o := local.Options{Context: 512, Slots: 16}
	lora, err := m.AdapterShape(c, "lora")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		mib  float64
		code fault.Code
		next string
	}{{100, 0, ""}, {3, fault.CodeExhausted, "give --slots "}, {0.1, fault.CodeExhausted, "lower --context"}} {
		c.Engine.Memory = x.mib / 1024
		err := m.FitServing(c, &lora, 2, o.Context, o.Slots)
		f, ok := err.(*fault.Error)
		if ok != (x.code != 0) || err != nil &&
			(!ok || f.Code != x.code || !strings.Contains(f.Next, x.next) || !strings.Contains(f.Why, "it takes ")) {
			t.Errorf("%g MiB: %v", x.mib, err)
		}
		if n := regexp.MustCompile(`--slots (\d+)`).FindStringSubmatch(fmt.Sprint(err)); n != nil {
			smaller := o
			if smaller.Slots, err = strconv.Atoi(n[1]); err != nil ||
				m.FitServing(c, &lora, 2, o.Context, smaller.Slots) != nil {
				t.Errorf("%g MiB: %d slots do not fit, %v", x.mib, smaller.Slots, err)
			}
		}
	}
	o.Context = 8193
	if err := m.FitServing(c, &lora, 2, o.Context, o.Slots); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "it was trained on 8192 tokens") {
		t.Errorf("too long: %v", err)
	}
	code, _, said := invoked(t, "engine: {backend: go, memory: 0.0001}\n", "", "serve", "--model", "lora",
		"--base-model", "base", "--listen", "127.0.0.1:0")
	if code != 6 || !strings.Contains(said, "the memory does not hold the served model") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// inspect memory shows what the plan settles.
func TestInspectMemoryShowsWhatIsSettled(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	s := shapeOfToy(t)
	c := config.Default()
	c.Engine.MicroBatch, c.Engine.Recompute = 4, "layer"
	p, err := plan.Make(s, basemodel.SettingsOf(c, model.LoRA{Rank: 2, Alpha: 2}, false, 1, 0, 500))
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, text := invoked(t,
		fmt.Sprintf("engine: {backend: go, micro_batch: 4, slots: 1, memory: %g}\nlora: {rank: 2}\n",
			float64(p.Peak().Peak+200<<10)/(1<<30)), "",
		"inspect", "memory", "--json", "--model", "toy.gguf", "--prefix", "1", "--private", "500")
	var r inspect.MemoryReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || r.Recompute != "layer" || !r.Fits ||
		r.MicroBatch != 4 || !strings.Contains(text, "engine.recompute: layer") {
		t.Errorf("exit code %d, %+v, %s; %v", code, r, text, err)
	}
}

// inspect memory and plan take base model, adapter and scenarios as train does: a longer task takes more room,
// whichever flag names the model.
func TestInspectTakesTrainsFlags(t *testing.T) {
	task := func(words int) string {
		return `[{"id": "a", "task": "a", "gold": [{"name": "f", "arguments": {}}], "checks": [{"type": "answer", "equals": "x"}]}, {"id": "b", "task": "` +
			strings.Repeat("b", 1+words) +
			`", "gold": [{"name": "g", "arguments": {}}], "checks": [{"type": "answer", "equals": "x"}]}]`
	}
	workFolder(t, map[string]string{"short.json": task(0), "long.json": task(40)})
	toyModel(t, "toy.gguf")
	conf := "engine: {backend: go, slots: 1}\nlora: {rank: 2}\n" +
		"rollout: {max_turns: 1, max_tokens: 300, max_result: 16}\n"
	room := func(args ...string) int {
		code, stdout, said := invoked(t, conf, "",
			append([]string{"inspect", "memory", "--json", "--prefix", "1"}, args...)...)
		var r inspect.MemoryReport
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 && code != 3 {
			t.Fatalf("%v: exit code %d, %v, %s", args, code, err, said)
		}
		return r.Private
	}
	none, short, long := room("--model", "toy.gguf"), room("--base-model", "toy.gguf", "--dataset", "short.json"),
		room("--base-model", "toy.gguf", "--dataset", "long.json")
	if none >= short || long != short+40 {
		t.Errorf("room for %d tokens without scenarios, %d with short and %d with long tasks", none, short, long)
	}
	if code, _, said := invoked(t, conf, "", "inspect", "plan", "--hlo", "programs", "--base-model", "toy.gguf",
		"--dataset", "none.json"); code != 2 || !strings.Contains(said, "none.json") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, _, said := invoked(t, conf, "", "inspect", "memory", "--base-model", "toy.gguf", "--adapter",
		"none"); code != 2 || !strings.Contains(said, "none") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

func TestInspectMemoryAndPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	conf := "engine: {backend: go, slots: 4, memory: 1}\nlora: {rank: 2}\n"
	lengths := []string{"--model", "toy.gguf", "--prefix", "20", "--private", "64"}
	code, stdout, said := invoked(t, conf, "", append([]string{"inspect", "memory", "--json"}, lengths...)...)
	var r inspect.MemoryReport
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v, %s", code, err, said)
	}
	kv := int64(2 * 2 * 2 * 4 * (20 + 4*64) * 4) // K and V of 2 layers, 2 heads of 4, in float32
	aside := int64(2 * 2 * 2 * 4 * 4 * 64 * 4)   // of one more episode in each slot
	if r.Held[2] != (plan.Item{Name: plan.SetAside, Bytes: aside}) ||
		r.Held[3] != (plan.Item{Name: "keys and values", Bytes: kv}) || !r.Fits || r.Available != 1<<30 ||
		r.During != "rows" || r.Peak <= kv {
		t.Errorf("%+v", r)
	}
	if code, stdout, said := invoked(t, conf, "",
		append([]string{"inspect", "memory", "--row", "-1"}, lengths...)...); code != 0 ||
		strings.Contains(stdout, "rows ") || !strings.Contains(stdout, "decode") || !strings.Contains(said,
		"4 slots of 64 tokens") {
		t.Errorf("exit code %d, %s%s", code, stdout, said)
	}
	lengths[3] = "0" // nothing is shared: the trainer has no programs for a prefix, and the sampler none
	if code, stdout, said := invoked(t, conf, "", append([]string{"inspect", "memory"}, lengths...)...); code != 0 ||
		!strings.Contains(stdout, "decode") || !strings.Contains(stdout, "rows, training") ||
		strings.Contains(stdout, "prefix") {
		t.Errorf("without a prefix: exit code %d, %s%s", code, stdout, said)
	}
	lengths[3] = "20"
	code, _, said = invoked(t, conf, "", append([]string{"inspect", "plan", "--hlo", "programs"}, lengths...)...)
	files, _ := filepath.Glob("programs/*.mlir")
	if code != 0 || len(files) != len(r.Programs) {
		t.Fatalf("exit code %d, %v, %s", code, files, said)
	}
	text, err := os.ReadFile("programs/03_decode.mlir")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"// %p0: model.embed_tokens.weight\n", ": cache0, donated\n", "module @decode", "stablehlo.dot_general",
		"jax.buffer_donor",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the program", want)
		}
	}
	for _, args := range [][]string{
		{"inspect", "plan", "--model", "toy.gguf"},
		{"inspect", "memory", "--prefix", "-1"},
		{"inspect", "memory", "--model", "none.gguf"},
	} {
		if code, _, said := invoked(t, conf, "", args...); code != 2 {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}
	if r.Programs[0].Name != "prefix" || r.Programs[3].Name != "write" {
		t.Errorf("%+v", r.Programs)
	}
}

// A program's row is a sum: what is held throughout, what programs leave to each other, what it needs while it runs.
func TestInspectMemoryAddsUp(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	code, stdout, said := invoked(t, "engine: {backend: go, slots: 4, memory: 1}\nlora: {rank: 2}\n", "",
		"inspect", "memory", "--plain", "--model", "toy.gguf", "--prefix", "2000", "--private", "640")
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	held, programs, left := 0.0, 0, false
	for line := range strings.Lines(stdout) {
		var numbers []float64
		for _, cell := range strings.Split(strings.TrimSuffix(line, "\n"), "\t")[1:] {
			if x, err := strconv.ParseFloat(cell, 64); err == nil {
				numbers = append(numbers, x)
			}
		}
		switch {
		case len(numbers) == 1 && programs == 0:
			held += numbers[0]
		case len(numbers) == 4:
			programs++
			left = left || numbers[1] > 0
			// each is rounded to a tenth
			if math.Abs(numbers[0]-held) > 0.21 || numbers[1] < 0 ||
				math.Abs(numbers[0]+numbers[1]+numbers[2]-numbers[3]) > 0.16 {
				t.Errorf("%q: %.1f are held", line, held)
			}
		}
	}
	if programs < 6 || !left {
		t.Errorf("%d programs, something is left from one to another: %v\n%s", programs, left, stdout)
	}
}

// inspect memory ends as the run would: with 3 where its memory or its positions do not suffice, and says both. Rows
// whose length is only the longest there can be are a warning, as for a run.
func TestInspectMemoryRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "toy.gguf")
	lengths := func(prefix, private string, more ...string) []string {
		return append([]string{"inspect", "memory", "--json", "--model", "toy.gguf", "--prefix", prefix, "--private",
			private}, more...)
	}
	const want = "engine: {backend: go, slots: 1, micro_batch: 1, recompute: none, memory: %g}\nlora: {rank: 2}\n"
	code, stdout, said := invoked(t, fmt.Sprintf(want, 1.0), "", lengths("20", "640")...)
	var r inspect.MemoryReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || !r.Fits || r.Tokens != 660 ||
		r.Positions != 8192 || !strings.Contains(said, "it fits") {
		t.Fatalf("exit code %d, %+v, %v, %s", code, r, err, said)
	}
	short := float64(r.Peak-1<<10) / (1 << 30)
	for name, x := range map[string]struct {
		gib    float64
		args   []string
		code   int
		want   []string
		refute string
	}{
		"longest rows": {short, lengths("20", "640"), 0, []string{"it does not fit: 0.0 MiB are missing", "warning: training rows of 640 tokens"}, "it fits"},
		"rows that are known": {
			short, lengths("20", "640", "--row", "640"), 3, []string{"this run would be refused",
				"the memory does not hold this run: it takes", "next:  set engine."}, "positions reach",
		},
		"no memory":          {0.00001, lengths("20", "640"), 3, []string{"this run would be refused", "use a smaller base model"}, "positions reach"},
		"positions of a row": {1, lengths("7600", "64", "--row", "593"), 3, []string{"there can be 8193 tokens"}, "it fits"},
		"every position": {64, lengths("7600", "592"), 0,
			[]string{"it fits", "the longest sequence has 8192 tokens, and the model positions for 8192"}, "refused"},
		"both": {0.00001, lengths("7600", "600"), 3, []string{"positions for 8192", "the memory does not hold this run", "engine.memory overrides"}, "it fits"},
	} {
		code, stdout, said := invoked(t, fmt.Sprintf(want, x.gib), "", x.args...)
		var r inspect.MemoryReport
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != x.code ||
			strings.Contains(said, x.refute) || strings.Contains(said, "hone inspect memory shows") {
			t.Errorf("%s: exit code %d, %v, %s", name, code, err, said)
		}
		for _, part := range x.want {
			if !strings.Contains(said, part) {
				t.Errorf("%s: no %q in %s", name, part, said)
			}
		}
	}
}
