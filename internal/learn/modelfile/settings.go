package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// settings reads a JSON object key by key and remembers which keys were asked for: what nobody asked for is not
// understood, and may change the maths.
type settings struct {
	values map[string]json.RawMessage
	asked  map[string]bool
	errs   []error
}

func parseSettings(text []byte) (*settings, error) {
	s := &settings{asked: map[string]bool{}}
	if err := json.Unmarshal(text, &s.values); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if s.values == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return s, nil
}

// read decodes a key's value into to and reports whether there is one; null counts as absent.
func (s *settings) read(key string, to any) bool {
	s.asked[key] = true
	raw, ok := s.values[key]
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, to); err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", key, err))
		return false
	}
	return true
}

// value returns a key's value, or the value given where the key is absent or null.
func value[T any](s *settings, key string, absent T) T {
	var x T
	if s.read(key, &x) {
		return x
	}
	return absent
}

// nullable is value for a key where null means none, not the default.
func nullable[T any](s *settings, key string, absent T) T {
	var none T
	if string(s.values[key]) == "null" {
		absent = none
	}
	return value(s, key, absent)
}

// need is value for a key that must be there.
func need[T any](s *settings, key string) T {
	var x T
	if !s.read(key, &x) && len(s.errs) == 0 {
		s.errs = append(s.errs, fmt.Errorf("it does not say %s", key))
	}
	return x
}

// only refuses a key whose value is none of those that hone computes.
func only[T comparable](s *settings, key string, allowed ...T) {
	var x T
	if s.read(key, &x) && !slices.Contains(allowed, x) {
		s.errs = append(s.errs, fmt.Errorf("%s is %v, which is not supported", key, x))
	}
}

// object returns the settings under a key; nil where there are none.
func (s *settings) object(key string) *settings {
	sub := &settings{asked: map[string]bool{}}
	if !s.read(key, &sub.values) {
		return nil
	}
	return sub
}

// harmless are keys that say nothing of the forward pass: tokens, training, bookkeeping of transformers.
var harmless = strings.Fields(`_name_or_path architectures attention_dropout auto_map bos_token_id cache_implementation
	dtype embd_pdrop eos_token_id id2label initializer_range is_llama_config label2id name_or_path num_labels
	output_attentions output_hidden_states pad_token_id pretraining_tp problem_type resid_pdrop return_dict
	rope_scaling_source task_specific_params torch_dtype transformers.js_config transformers_version unk_token_id
	use_cache`)

// finish returns the first thing wrong: a value of another type, or keys that nobody asked for. A key that is null or
// false switches nothing on.
func (s *settings) finish() error {
	if len(s.errs) > 0 {
		return s.errs[0]
	}
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		off := string(s.values[key]) == "null" || string(s.values[key]) == "false"
		if !s.asked[key] && !off && !slices.Contains(harmless, key) && !strings.HasPrefix(key, "unsloth_") {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("it sets what hone does not know, and would compute wrong: %s", strings.Join(unknown, ", "))
	}
	return nil
}
