package model

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/fault"
	"hone/internal/learn/modelfile"
)

// SavePEFT writes an adapter, given as a flat vector, into a folder. dropout is what it was trained with, for those who
// train it on.
func SavePEFT(dir string, s Spec, l LoRA, dropout float64, flat []float32) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var tensors []modelfile.Matrix
	places, _ := l.places(s)
	for _, p := range places {
		tensors = append(tensors,
			modelfile.Matrix{Name: p.key, Rows: p.rows, Cols: p.cols, Data: flat[p.offset : p.offset+p.rows*p.cols]})
	}
	c := adapterConfig(s, l)
	c.Dropout = dropout
	return modelfile.SaveAdapter(dir, c, tensors)
}

// place is where a tensor of PEFT's lies in an adapter's flat vector.
type place struct {
	key                string
	rows, cols, offset int
}

// places are those of an adapter's matrices, and of its rows of tokens, with the vector's length.
func (l LoRA) places(s Spec) (all []place, size int) {
	pieces, size := l.Pieces(s)
	for _, p := range pieces {
		all = append(all, place{modelfile.AdapterKey(s.Path(p.Layer, p.Target), p.B), p.Rows, p.Cols, p.Offset})
	}
	for _, r := range l.Rows(s) {
		all = append(all, place{rowsKey(s, r), len(r.IDs), s.Hidden, r.Offset})
	}
	return all, size
}

// adapterConfig says in PEFT's words what an adapter is. Targets are always listed: PEFT's "all-linear" would take in
// more of another model.
func adapterConfig(s Spec, l LoRA) modelfile.AdapterConfig {
	l = l.Explicit(s)
	c := modelfile.AdapterConfig{Rank: l.Rank, Alpha: l.Alpha, UseRSLoRA: l.RankStabilized, TargetModules: l.Targets}
	c.SetBase(s.Name)
	if l.TargetPattern != "" {
		c.TargetModules = modelfile.TargetPattern(l.TargetPattern)
	}
	for _, p := range l.RankPattern {
		c.RankPattern = append(c.RankPattern, modelfile.Pattern[int]{Key: p.Pattern, Value: p.Value})
	}
	for _, p := range l.AlphaPattern {
		c.AlphaPattern = append(c.AlphaPattern, modelfile.Pattern[float64]{Key: p.Pattern, Value: p.Value})
	}
	if c.Tokens.Embedding = l.Tokens; len(l.HeadTokens) > 0 {
		c.Tokens = modelfile.TokenIndices{Modules: map[string][]int32{lastName(headPath): l.HeadTokens}}
		if len(l.Tokens) > 0 {
			c.Tokens.Modules[lastName(embeddingPath)] = l.Tokens
		}
	}
	return c
}

// Paths of the modules that have rows of tokens, in a model of text alone.
const embeddingPath, headPath = "model.embed_tokens", "lm_head"

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// rowsKey is PEFT's name of an adapter's rows of tokens. Inside a model of text and images the embedding has a path of
// its own, as Spec.Path says.
func rowsKey(s Spec, r TokenRows) string {
	switch {
	case strings.HasSuffix(r.Weight, headPath+".weight"):
		return modelfile.RowsKey(headPath)
	case s.Prefix != "":
		return modelfile.RowsKey("model." + s.Prefix + lastName(embeddingPath))
	default:
		return modelfile.RowsKey(embeddingPath)
	}
}

// tokensOf reads which tokens have rows of the embedding and of a head of its own. Where the head is the embedding,
// PEFT takes the same tokens for both.
func tokensOf(t modelfile.TokenIndices, tied bool) (embedding, head []int32, err error) {
	embedding = t.Embedding
	for _, name := range slices.Sorted(maps.Keys(t.Modules)) {
		switch lastName(name) {
		case lastName(embeddingPath):
			embedding = t.Modules[name]
		case lastName(headPath):
			head = t.Modules[name]
		default:
			return nil, nil,
				fmt.Errorf("its trainable_token_indices name %s; hone has rows of embed_tokens and lm_head alone", name)
		}
	}
	if tied && head != nil {
		if !slices.Equal(embedding, head) {
			return nil, nil, errors.New("its trainable_token_indices of embed_tokens and lm_head differ, " +
				"which are one matrix in this model")
		}
		head = nil
	}
	return embedding, head, nil
}

// loraOf is the reverse.
func loraOf(c modelfile.AdapterConfig) LoRA {
	l := LoRA{Rank: c.Rank, Alpha: c.Alpha, RankStabilized: c.UseRSLoRA, Targets: c.TargetModules}
	if p := c.TargetModules.Pattern(); p != "" {
		l.Targets, l.TargetPattern = nil, p
	}
	for _, p := range c.RankPattern {
		l.RankPattern = append(l.RankPattern, Pattern[int]{Pattern: p.Key, Value: p.Value})
	}
	for _, p := range c.AlphaPattern {
		l.AlphaPattern = append(l.AlphaPattern, Pattern[float64]{Pattern: p.Key, Value: p.Value})
	}
	return l
}

// LoadPEFT reads an adapter folder for a model and returns the adapter's shape and flat vector (model.LoRA.Pieces'
// layout).
func LoadPEFT(dir string, s Spec) (LoRA, []float32, error) {
	c, tensors, err := modelfile.LoadAdapter(dir)
	if err != nil {
		return LoRA{}, nil, err
	}
	return PEFTOf(dir, c, tensors, s)
}

// PEFTOf is Load of what was read from a folder.
func PEFTOf(
	dir string, c modelfile.AdapterConfig, tensors map[string]modelfile.Matrix, s Spec,
) (LoRA, []float32, error) {
	lora := loraOf(c).Fitting(s)
	bad := func(why string) error {
		return &fault.Error{Code: fault.CodeUsage, What: "the adapter does not fit the base model",
			Where: dir, Why: why, Next: "give the base model it was trained on with --base-model"}
	}
	var err error
	if lora.Tokens, lora.HeadTokens, err = tokensOf(c.Tokens, s.TiedHead); err != nil {
		return lora, nil, bad(err.Error())
	}
	if err := lora.Check(s); err != nil {
		return lora, nil, err
	}
	if lora, err = narrowTargets(lora, c, s); err != nil {
		return lora, nil, err
	}
	places, size := lora.places(s)
	flat := make([]float32, size)
	more := maps.Clone(tensors)
	for _, p := range places {
		x, ok := tensors[p.key]
		if !ok {
			return lora, nil, bad("it has no " + p.key)
		}
		if x.Rows != p.rows || x.Cols != p.cols {
			return lora, nil,
				bad(fmt.Sprintf("%s is %dx%d, the model needs %dx%d", p.key, x.Rows, x.Cols, p.rows, p.cols))
		}
		if i := slices.IndexFunc(x.Data, func(x float32) bool { return x-x != 0 }); i >= 0 { // NaN or infinite
			return lora, nil, bad(fmt.Sprintf("%s holds numbers that are not finite, the first at %d", p.key, i))
		}
		copy(flat[p.offset:], x.Data)
		delete(more, p.key)
	}
	if len(more) > 0 {
		return lora, nil, bad(fmt.Sprintf("it has %s for which the model's targets have no place, as %s",
			fault.Count(len(more), "tensor"), slices.Min(slices.Collect(maps.Keys(more)))))
	}
	return lora, flat, nil
}

// narrowTargets takes from an adapter's targets those that its configuration excludes, and those of other layers, as
// PEFT does (check_target_module_exists of tuners_utils.py).
func narrowTargets(l LoRA, c modelfile.AdapterConfig, s Spec) (LoRA, error) {
	if len(c.Exclude) == 0 && len(c.Layers) == 0 {
		return l, nil
	}
	before := []string{`[^.]*`}
	if p := c.LayersPattern.Pattern(); p != "" {
		before = []string{p}
	} else if len(c.LayersPattern) > 0 {
		before = c.LayersPattern
	}
	layer, err := regexp.Compile(`^.*\.(?:` + strings.Join(before, "|") + `)\.(\d+)\.`)
	if err != nil {
		return l, &fault.Error{Code: fault.CodeUsage, What: "the adapter does not fit the base model",
			Where: "layers_pattern", Err: err, Next: "correct layers_pattern in " + modelfile.ConfigFile}
	}
	excluded := LoRA{Rank: 1, Targets: c.Exclude}
	if p := c.Exclude.Pattern(); p != "" {
		excluded.Targets, excluded.TargetPattern = nil, p
	}
	out := map[string]bool{}
	if len(c.Exclude) > 0 {
		gone, _ := excluded.Fitting(s).Pieces(s) // none where nothing is excluded
		for _, p := range gone {
			out[s.Path(p.Layer, p.Target)] = true
		}
	}
	var kept []string
	pieces, _ := l.Pieces(s)
	for _, p := range pieces {
		path := s.Path(p.Layer, p.Target)
		at := layer.FindStringSubmatch(path)
		if p.B || out[path] || len(c.Layers) > 0 &&
			(at == nil || !slices.ContainsFunc(c.Layers, func(n int) bool { return strconv.Itoa(n) == at[1] })) {
			continue
		}
		kept = append(kept, path)
	}
	l.Targets, l.TargetPattern = kept, ""
	return l, l.Check(s)
}
