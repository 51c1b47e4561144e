package model_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
)

// keptTargets are the last names of the linear maps that an adapter has, by layer.
func keptTargets(s model.Spec, l model.LoRA) (out []string) {
	pieces, _ := l.Pieces(s)
	for _, p := range pieces {
		if path := strings.Split(s.Path(p.Layer, p.Target), "."); !p.B {
			out = append(out, path[2]+path[len(path)-1][:1])
		}
	}
	return out
}

// Which linear maps an adapter has is what PEFT makes of its configuration; all of its tensors must have a place.
func TestTargetsOfAnAdapter(t *testing.T) {
	s := learntest.Spec()
	for config, want := range map[string]string{
		`"target_modules": ["q_proj", "v_proj"]`:                                                     "0q 0v 1q 1v",
		`"target_modules": ["q_proj", "c_attn"]`:                                                     "0q 1q",
		`"target_modules": ["c_attn", "query_key_value", "q_proj"], "rank_pattern": {"c_attn": 4}`:   "0q 1q",
		`"target_modules": ["q_proj"], "alpha_pattern": {"gate": 4, "k_proj": 1}`:                    "0q 1q",
		`"target_modules": ["c_attn"]`:                                                               "error",
		`"target_modules": ["q_proj", "v_proj"], "exclude_modules": ["v_proj"]`:                      "0q 1q",
		`"target_modules": ["q_proj", "v_proj"], "exclude_modules": ["layers.0.self_attn.v_proj"]`:   "0q 1q 1v",
		`"target_modules": ["q_proj", "v_proj"], "exclude_modules": ["lm_head"]`:                     "0q 0v 1q 1v",
		`"target_modules": ["q_proj", "v_proj"], "exclude_modules": ".*\\.1\\..*"`:                   "0q 0v",
		`"target_modules": ["q_proj"], "exclude_modules": ["q_proj"]`:                                "error",
		`"target_modules": ["q_proj", "v_proj"], "layers_to_transform": [1]`:                         "1q 1v",
		`"target_modules": ["q_proj", "v_proj"], "layers_to_transform": 0`:                           "0q 0v",
		`"target_modules": ["q_proj"], "layers_to_transform": [0, 1], "layers_pattern": "layers"`:    "0q 1q",
		`"target_modules": ["q_proj"], "layers_to_transform": [1], "layers_pattern": ["h","layers"]`: "1q",
		`"target_modules": ["q_proj"], "layers_to_transform": [1], "layers_pattern": ["h"]`:          "error",
		`"target_modules": ["q_proj"], "layers_to_transform": [7]`:                                   "error",
		`"target_modules": ["q_proj"], "layers_to_transform": null, "exclude_modules": null`:         "0q 1q",
		`"target_modules": ["q_proj"], "layers_to_transform": [], "exclude_modules": []`:             "0q 1q",
	} {
		tensors := map[string]modelfile.Matrix{}
		full := model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"q_proj", "v_proj"}}
		pieces, _ := full.Pieces(s)
		for _, p := range pieces {
			path := s.Path(p.Layer, p.Target)
			name := strings.Split(path, ".")
			if want == "error" || strings.Contains(want, name[2]+name[len(name)-1][:1]) {
				key := modelfile.AdapterKey(path, p.B)
				tensors[key] = modelfile.Matrix{Name: key, Rows: p.Rows, Cols: p.Cols,
					Data: make([]float32, p.Rows*p.Cols)}
			}
		}
		dir := t.TempDir()
		if err := modelfile.WriteMatrices(filepath.Join(dir, modelfile.WeightsFile),
			slices.Collect(maps.Values(tensors)), nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, modelfile.ConfigFile),
			[]byte(`{"peft_type": "LORA", "r": 2, `+config+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
		l, _, err := model.LoadPEFT(dir, s)
		if got := strings.Join(keptTargets(s, l), " "); want == "error" && err == nil ||
			want != "error" && (err != nil || got != want) {
			t.Errorf("%s: %s, want %s, %v", config, got, want, err)
			continue
		}
		if err != nil { // what is left over is named
			continue
		}
		extra := "base_model.model.lm_head.lora_A.weight"
		tensors[extra] = modelfile.Matrix{Name: extra, Rows: 2, Cols: 2, Data: make([]float32, 4)}
		c, _, err := modelfile.LoadAdapter(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := model.PEFTOf(dir, c, tensors, s); err == nil || !strings.Contains(err.Error(), extra) {
			t.Errorf("%s: a tensor without a place: %v", config, err)
		}
	}
}
