package modelfile_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
	"hone/internal/learn/modelfile"
)

func TestKeyIsPEFTs(t *testing.T) {
	if got := modelfile.AdapterKey("model.layers.0.mlp.up_proj",
		false); got != "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight" {
		t.Error(got)
	}
	if got := modelfile.AdapterKey("model.layers.0.mlp.up_proj",
		true); got != "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight" {
		t.Error(got)
	}
}

func example() (modelfile.AdapterConfig, []modelfile.Matrix) {
	c := modelfile.AdapterConfig{BaseModel: "tiny", Rank: 2, Alpha: 4, UseRSLoRA: true,
		TargetModules: []string{"q_proj"}}
	return c, []modelfile.Matrix{
		{Name: modelfile.AdapterKey("q_proj", false), Rows: 2, Cols: 3, Data: []float32{1, -2, 3e-39, float32(math.Inf(1)), 0, math.MaxFloat32}},
		{Name: modelfile.AdapterKey("q_proj", true), Rows: 1, Cols: 2, Data: []float32{7, 8}},
	}
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	c, tensors := example()
	if err := modelfile.SaveAdapter(dir, c, tensors); err != nil {
		t.Fatal(err)
	}
	gotConfig, got, err := modelfile.LoadAdapter(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.PEFTType, c.TaskType, c.Bias, c.InferenceMode = "LORA", "CAUSAL_LM", "none", true
	if !reflect.DeepEqual(gotConfig, c) {
		t.Errorf("got %+v, want %+v", gotConfig, c)
	}
	if len(got) != len(tensors) {
		t.Errorf("%d tensors, want %d", len(got), len(tensors))
	}
	for _, want := range tensors {
		if !reflect.DeepEqual(got[want.Name], want) {
			t.Errorf("got %+v, want %+v", got[want.Name], want)
		}
	}
}

func TestWriteRefusesAnotherSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	err := modelfile.WriteMatrices(path, []modelfile.Matrix{{Name: "odd", Rows: 2, Cols: 2, Data: []float32{1}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "odd") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written")
	}
}

func TestLoadRefuses(t *testing.T) {
	c, tensors := example()
	for config, want := range map[string]string{
		`{"peft_type": "LORA", "r": 2, "bias": "none", "use_dora": false, "rank_pattern": {}}`: "", // the control
		`{"peft_type": "LOHA", "r": 2}`:                                 "LOHA",
		`{"peft_type": "LORA", "r": 2, "use_dora": true}`:               "use_dora",
		`{"peft_type": "LORA", "r": 2, "bias": "all"}`:                  "bias",
		`{"peft_type": "LORA", "r": 2, "rank_pattern": [4]}`:            "PEFT's configuration",
		`{"peft_type": "LORA", "r": 2, "layers_to_transform": "all"}`:   "PEFT's configuration",
		`{"peft_type": "LORA", "r": 2, "modules_to_save": ["lm_head"]}`: "modules_to_save",
		`{"peft_type": "LORA", "r": 2, "init_lora_weights": "pissa"}`:   "init_lora_weights",
		`{"peft_type": "LORA", "r": 2, "of_next_year": 1}`:              "of_next_year",
		`{"peft_type": "LORA", "r": 0}`:                                 "rank",
		`{"peft_type": "LORA", "r": null}`:                              "null where a number must stand: r",
		`{"peft_type": "LORA", "r": 2, "lora_alpha": null}`:             "null where a number must stand: lora_alpha",
		`{"peft_type": "LORA", "alpha_pattern": {"v": 1, "q": null}}`:   "alpha_pattern of q",
		`{"peft_type": "LORA", "rank_pattern": {"q": null}}`:            "rank_pattern of q",
		`{"peft_type": "LORA", "lora_alpha": "16"}`:                     "PEFT's configuration",
		`{"peft_type": "LORA", "r": "two"}`:                             "PEFT's configuration",
		`{"peft_type"`:                                                  "PEFT's configuration",
	} {
		dir := t.TempDir()
		if err := modelfile.SaveAdapter(dir, c, tensors); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, modelfile.ConfigFile)
		if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := modelfile.LoadAdapter(dir)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", config, err)
			}
			continue
		}
		wantFault(t, err, path, want)
	}
}

// What a configuration leaves out is what PEFT 0.18's LoraConfig has by default.
func TestLoadTakesDefaults(t *testing.T) {
	c, tensors := example()
	for config, want := range map[string]modelfile.AdapterConfig{
		`{"peft_type": "LORA", "r": 2}`:                                       {Rank: 2, Alpha: 8},
		`{"peft_type": "LORA", "lora_alpha": 32}`:                             {Rank: 8, Alpha: 32},
		`{"peft_type": "LORA"}`:                                               {Rank: 8, Alpha: 8},
		`{"peft_type": "LORA", "r": 4, "lora_alpha": 0}`:                      {Rank: 4, Alpha: 0},
		`{"peft_type": "LORA", "r": 4, "lora_alpha": 0.5}`:                    {Rank: 4, Alpha: 0.5},
		`{"peft_type": "LORA", "alpha_pattern": null, "rank_pattern": null}`:  {Rank: 8, Alpha: 8},
		`{"peft_type": "LORA", "use_rslora": null, "lora_dropout": null}`:     {Rank: 8, Alpha: 8},
		`{"peft_type": "LORA", "use_rslora": true, "alpha_pattern": {"q":1}}`: {Rank: 8, Alpha: 8, UseRSLoRA: true},
	} {
		dir := t.TempDir()
		if err := modelfile.SaveAdapter(dir, c, tensors); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, modelfile.ConfigFile), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		got, _, err := modelfile.LoadAdapter(dir)
		if err != nil || got.Rank != want.Rank || got.Alpha != want.Alpha || got.UseRSLoRA != want.UseRSLoRA {
			t.Errorf("%s: %+v, %v", config, got, err)
		}
	}
}

func TestLoadNamesTheMissingFile(t *testing.T) {
	c, tensors := example()
	for _, name := range []string{modelfile.ConfigFile, modelfile.WeightsFile} {
		dir := t.TempDir()
		if err := modelfile.SaveAdapter(dir, c, tensors); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		_, _, err := modelfile.LoadAdapter(dir)
		wantFault(t, err, filepath.Join(dir, name), "")
	}
}

func wantFault(t *testing.T, err error, where, why string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.CodeUsage || f.Where != where || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want a fault at %s that says %q", err, where, why)
	}
}

// file is a safetensors file of a header and so many bytes of data.
func file(header string, size int) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(data, header...), make([]byte, size)...)
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string // empty where the file is good
	}{
		"good":           {file(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, 8), ""},
		"vector":         {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), ""},
		"metadata":       {file(`{"__metadata__":{"format":"pt"}}`, 0), ""},
		"empty":          {nil, "too short"},
		"seven bytes":    {make([]byte, 7), "too short"},
		"huge header":    {slices.Repeat([]byte{0xff}, 64), "claims"},
		"longer header":  {file(`{}`, 0)[:9], "claims"},
		"no JSON":        {file(`{"a":`, 0), "not JSON"},
		"a list":         {file(`[]`, 0), "not JSON"},
		"null":           {file(`null`, 0), "not JSON"},
		"entry":          {file(`{"a":7}`, 0), "tensor a"},
		"dtype":          {file(`{"a":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]}}`, 16), "I64"},
		"no shape":       {file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4), "shape"},
		"3 dimensions":   {file(`{"a":{"dtype":"F32","shape":[1,1,1],"data_offsets":[0,4]}}`, 4), "shape"},
		"zero":           {file(`{"a":{"dtype":"F32","shape":[0,1],"data_offsets":[0,0]}}`, 0), "shape"},
		"negative":       {file(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, 4), "shape"},
		"overflow":       {file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0), "shape"},
		"truncated":      {file(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, 7), "does not fit"},
		"wrong size":     {file(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,4]}}`, 8), "bytes 0 to 4"},
		"before":         {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, 8), "bytes -4 to 0"},
		"backwards":      {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}}`, 8), "bytes 8 to 4"},
		"overlap":        {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), "overlap"},
		"same bytes":     {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), "overlap"},
		"hole":           {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "hole"},
		"trailing bytes": {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 8), "holds 8"},
	} {
		_, err := read(t, c.data)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func read(t testing.TB, data []byte) (map[string]modelfile.Matrix, error) {
	path := filepath.Join(t.TempDir(), modelfile.WeightsFile)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return modelfile.ReadMatrices(path)
}

// Every prefix of a good file is refused.
func TestReadRefusesTruncatedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), modelfile.WeightsFile)
	_, tensors := example()
	if err := modelfile.WriteMatrices(path, tensors, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := modelfile.ReadMatrices(path); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(whole))
		}
	}
}

// What hone does not compute is refused with what helps.
func TestRefusalsHelp(t *testing.T) {
	c, tensors := example()
	for config, want := range map[string]string{
		`{"peft_type": "LORA", "use_dora": true}`:                    "merge_and_unload",
		`{"peft_type": "LORA", "bias": "lora_only"}`:                 "or train one without bias",
		`{"peft_type": "LORA", "modules_to_save": ["embed_tokens"]}`: "or train one without modules_to_save",
		`{"peft_type": "LOHA"}`:                                      "merge_and_unload",
		`{"peft_type": "LORA", "init_lora_weights": "olora"}`:        "path_initial_model_for_weight_conversion",
	} {
		dir := t.TempDir()
		if err := modelfile.SaveAdapter(dir, c, tensors); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, modelfile.ConfigFile), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := modelfile.LoadAdapter(dir)
		if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Next, want) {
			t.Errorf("%s: %v", config, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "it's")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		modelfile.ConfigFile: `{"peft_type": "LORA"}`,
		"adapter_model.bin":  "PK",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := modelfile.LoadAdapter(dir)
	if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Why, "pickle") ||
		!strings.Contains(f.Next, `it'\''s`) || !strings.Contains(f.Next, "weights_only=True") {
		t.Errorf("a pickle: %v", err)
	}
}
