package modelfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"hone/internal/fault"
)

// AdapterConfig is the part of PEFT's LoraConfig that hone uses; the field names in JSON are PEFT's.
type AdapterConfig struct {
	PEFTType      string            `json:"peft_type"`
	TaskType      string            `json:"task_type"`
	BaseModel     string            `json:"base_model_name_or_path"`
	Revision      string            `json:"revision,omitempty"` // of a base model of the Hub
	Rank          int               `json:"r"`
	Alpha         float64           `json:"lora_alpha"`
	Dropout       float64           `json:"lora_dropout"`
	UseRSLoRA     bool              `json:"use_rslora"`
	TargetModules Targets           `json:"target_modules"`
	RankPattern   Patterns[int]     `json:"rank_pattern"`
	AlphaPattern  Patterns[float64] `json:"alpha_pattern"`
	Exclude       Targets           `json:"exclude_modules,omitempty"`     // of those that TargetModules names
	Layers        Layers            `json:"layers_to_transform,omitempty"` // nil: all
	LayersPattern Targets           `json:"layers_pattern,omitempty"`      // what stands before a layer's number
	Bias          string            `json:"bias"`
	InferenceMode bool              `json:"inference_mode"`
	Tokens        TokenIndices      `json:"trainable_token_indices,omitzero"`
}

// TokenIndices are tokens whose rows an adapter has of its own: of the embedding, or by the names of modules.
type TokenIndices struct {
	Embedding []int32
	Modules   map[string][]int32
}

// MarshalJSON writes a list, or an object of lists, as PEFT does.
func (t TokenIndices) MarshalJSON() ([]byte, error) {
	if t.Modules != nil {
		return json.Marshal(t.Modules)
	}
	return json.Marshal(t.Embedding)
}

// UnmarshalJSON reads either; null is neither.
func (t *TokenIndices) UnmarshalJSON(text []byte) error {
	if *t = (TokenIndices{}); json.Unmarshal(text, &t.Embedding) == nil {
		return nil
	}
	return json.Unmarshal(text, &t.Modules)
}

// SetBase names the base model by its path or its name; of "org/name@commit" the commit is the revision.
func (c *AdapterConfig) SetBase(name string) {
	c.BaseModel, c.Revision = name, ""
	if m := ofHub.FindStringSubmatch(name); m != nil {
		c.BaseModel, c.Revision = m[1], m[2]
	}
}

// Base is the name that SetBase was given.
func (c AdapterConfig) Base() string {
	if name := c.BaseModel + "@" + c.Revision; c.Revision != "" && ofHub.MatchString(name) {
		return name
	}
	return c.BaseModel
}

// ofHub is a model of the Hub at a commit.
var ofHub = regexp.MustCompile(`^([^/@]+/[^/@]+)@([0-9a-f]{40})$`)

// Files of an adapter folder.
const (
	ConfigFile  = "adapter_config.json"
	WeightsFile = "adapter_model.safetensors"
)

// AdapterKey returns PEFT's name of a matrix: of module "model.layers.0.mlp.up_proj",
// "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight".
func AdapterKey(module string, b bool) string {
	letter := "A"
	if b {
		letter = "B"
	}
	return "base_model.model." + module + ".lora_" + letter + ".weight"
}

// RowsKey returns PEFT's name of the rows of tokens of a module: of "model.embed_tokens",
// "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta".
func RowsKey(module string) string {
	return "base_model.model." + module + ".token_adapter.trainable_tokens_delta"
}

// SaveAdapter writes an adapter into an existing folder.
func SaveAdapter(dir string, c AdapterConfig, tensors []Matrix) error {
	c.PEFTType, c.TaskType, c.Bias, c.InferenceMode = "LORA", "CAUSAL_LM", "none", true
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ConfigFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return WriteMatrices(filepath.Join(dir, WeightsFile), tensors, map[string]string{"format": "pt"})
}

// LoadAdapter reads an adapter folder. What would change the maths and is not supported is refused.
func LoadAdapter(dir string) (AdapterConfig, map[string]Matrix, error) {
	c := AdapterConfig{Rank: 8, Alpha: 8} // PEFT's defaults, where the file leaves them out
	bad := func(file, why string, err error) *fault.Error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the adapter", Where: filepath.Join(dir, file),
			Why: why, Err: err, Next: "name the folder that holds " + ConfigFile + " and " + WeightsFile}
	}
	text, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return c, nil, bad(ConfigFile, "", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, nil, bad(ConfigFile, "it is not PEFT's configuration", err)
	}
	switch unknown, err := unsupportedKeys(text); {
	case err != nil:
		return c, nil, bad(ConfigFile, "it is not PEFT's configuration", err)
	case c.PEFTType != "LORA":
		f := bad(ConfigFile, "its peft_type is "+c.PEFTType+"; only LORA is supported", nil)
		f.Next = mergeIt
		return c, nil, f
	case len(unknown) > 0:
		f := bad(ConfigFile, "it sets what hone does not compute: "+strings.Join(unknown, ", "), nil)
		f.Next = instead(unknown)
		return c, nil, f
	case nulls(text) != nil:
		return c, nil, bad(ConfigFile, "null where a number must stand: "+strings.Join(nulls(text), ", "), nil)
	case c.Rank < 1:
		return c, nil, bad(ConfigFile, "its rank is not positive", nil)
	}
	tensors, err := ReadMatrices(filepath.Join(dir, WeightsFile))
	if err != nil {
		f := bad(WeightsFile, "", err)
		if _, missing := os.Stat(f.Where); missing != nil && isFile(filepath.Join(dir, pickleFile)) {
			f.Why, f.Next = "its weights are in "+pickleFile+", a pickle: reading one may run any program",
				convertIt(dir)
		}
		return c, nil, f
	}
	return c, tensors, nil
}

// pickleFile is where older versions of PEFT keep the weights.
const pickleFile = "adapter_model.bin"

// mergeIt is what helps where an adapter is of another kind: PEFT can make a whole model of nearly all of them.
const mergeIt = "merge it with PEFT: " +
	"AutoPeftModelForCausalLM.from_pretrained(FOLDER).merge_and_unload().save_pretrained(OUT), " +
	"and name OUT with --base-model"

// instead is what helps where an adapter has keys that hone does not compute.
func instead(keys []string) string {
	for _, key := range keys {
		if key == "init_lora_weights" {
			return "save it as a plain adapter with PEFT's save_pretrained(OUT, " +
				"path_initial_model_for_weight_conversion=INITIAL), or " + mergeIt
		}
	}
	return mergeIt + "; or train one without " + strings.Join(keys, ", ")
}

// convertIt is a command that writes the weights of a folder anew. weights_only lets no program run.
func convertIt(dir string) string {
	return fmt.Sprintf(`cd %s && python3 -c "import torch, safetensors.torch as s; s.save_file({k: v.contiguous() for k, v in torch.load('%s', map_location='cpu', weights_only=True).items()}, '%s')"`,
		"'"+strings.ReplaceAll(dir, "'", `'\''`)+"'", pickleFile, WeightsFile)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
