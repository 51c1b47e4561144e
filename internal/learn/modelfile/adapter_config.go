package modelfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Targets are target_modules: a list of names, or one regular expression.
type Targets []string

// Pattern returns the regular expression; empty where there are names.
func (t Targets) Pattern() string {
	if len(t) == 1 && strings.HasPrefix(t[0], patternMark) {
		return strings.TrimPrefix(t[0], patternMark)
	}
	return ""
}

// patternMark stands before a regular expression in memory; no module's name begins with it.
const patternMark = "regex:"

// TargetPattern returns targets given by a regular expression that whole paths must match.
func TargetPattern(expression string) Targets { return Targets{patternMark + expression} }

// MarshalJSON writes a list, or a string for a pattern, as PEFT does.
func (t Targets) MarshalJSON() ([]byte, error) {
	if p := t.Pattern(); p != "" {
		return json.Marshal(p)
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads either. PEFT's word for all linear maps, "all-linear", is the pattern that matches everything.
func (t *Targets) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err == nil {
		*t = names
		return nil
	}
	var pattern string
	if err := json.Unmarshal(text, &pattern); err != nil {
		return err
	}
	if *t = TargetPattern(pattern); strings.EqualFold(pattern, "all-linear") {
		*t = nil
	}
	return nil
}

// Layers are layers_to_transform: one number or several.
type Layers []int

// UnmarshalJSON reads either.
func (l *Layers) UnmarshalJSON(text []byte) error {
	var one *int
	if err := json.Unmarshal(text, &one); err != nil {
		return json.Unmarshal(text, (*[]int)(l))
	}
	if *l = nil; one != nil {
		*l = Layers{*one}
	}
	return nil
}

// Patterns are rank_pattern or alpha_pattern: an object whose order matters, since the first key that fits counts.
type Patterns[T any] []Pattern[T]

// Pattern gives what a regular expression matches a value of its own.
type Pattern[T any] struct {
	Key   string
	Value T
}

// MarshalJSON writes the object in order.
func (p Patterns[T]) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, x := range p {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(x.Key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads the object in order; null is empty.
func (p *Patterns[T]) UnmarshalJSON(text []byte) error {
	*p = nil
	if string(text) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("a pattern is an object, not %s", text)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		x := Pattern[T]{Key: key.(string)}
		if err := d.Decode(&x.Value); err != nil {
			return err
		}
		*p = append(*p, x)
	}
	return nil
}

// unsupportedKeys lists keys of PEFT's configuration that are set and change what an adapter computes, beyond what
// Config has. A key that is not known counts among them, unless it is null, false or empty and so switches nothing on.
func unsupportedKeys(text []byte) ([]string, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	var own map[string]json.RawMessage
	if known, err := json.Marshal(AdapterConfig{}); err != nil {
		return nil, err
	} else if err := json.Unmarshal(known, &own); err != nil {
		return nil, err
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := string(bytes.Join(bytes.Fields(values[key]), nil))
		switch {
		case key == "bias":
			if value != `"none"` && value != "null" {
				found = append(found, key)
			}
		case own[key] != nil || slices.Contains(strings.Fields(harmlessAdapter), key):
		case slices.Contains([]string{"null", "false", "{}", "[]", `""`}, value), slices.Contains(optional(), key):
		case key == "init_lora_weights" &&
			slices.Contains([]string{"true", `"gaussian"`, `"orthogonal"`, `"eva"`}, value):
			// The others change the base weights, or have their own ways of saving.
		default:
			found = append(found, key)
		}
	}
	return found, nil
}

// optional are keys of Config that are written only where they are set.
func optional() []string {
	return []string{"exclude_modules", "layers_to_transform", "layers_pattern"}
}

// nulls lists the numbers by which an adapter is scaled that are null, which PEFT cannot compute with. Read into a
// number, null would leave it as it is without a word.
func nulls(text []byte) (found []string) {
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return nil
	}
	for _, key := range []string{"r", "lora_alpha", "rank_pattern", "alpha_pattern"} {
		var inner map[string]json.RawMessage
		switch {
		case string(values[key]) == "null" && !strings.HasSuffix(key, "_pattern"):
			found = append(found, key)
		case json.Unmarshal(values[key], &inner) == nil:
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				if string(inner[name]) == "null" {
					found = append(found, key+" of "+name)
				}
			}
		}
	}
	return found
}

// harmlessAdapter are keys of how an adapter was made or is to be run, and those that Config writes only where they are
// set.
const harmlessAdapter = `auto_mapping revision trainable_token_indices peft_version megatron_core qalora_group_size runtime_config num_virtual_tokens
	token_dim num_transformer_submodules num_attention_heads num_layers`
