package serve

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// harmless are parameters of other servers, at the value at which they change no answer.
func harmless() map[string]string {
	return map[string]string{
		"repetition_penalty": "1", "repeat_penalty": "1", "length_penalty": "1", "typical_p": "1", "tfs_z": "1",
		"best_of": "1", "min_tokens": "0", "top_a": "0", "epsilon_cutoff": "0", "eta_cutoff": "0", "mirostat": "0",
		"xtc_probability": "0", "dry_multiplier": "0", "dynatemp_range": "0", "no_repeat_ngram_size": "0",
		"use_beam_search": "false", "early_stopping": "false", "ignore_eos": "false", "echo": "false",
		"include_stop_str_in_output": "false", "skip_special_tokens": "true", "spaces_between_special_tokens": "true",
		"add_generation_prompt": "true", "continue_final_message": "false", "add_special_tokens": "false",
		"cache_prompt": "true", "include_reasoning": "true", "chat_template_kwargs": "{}", "extra_body": "{}",
		"extra_headers": "{}", "mm_processor_kwargs": "{}", "functions": "[]", "function_call": `"auto"`,
		"modalities": `["text"]`, "background": "false", "truncation": `"disabled"`, "bad_words": "[]",
		"allowed_token_ids": "[]", "priority": "0", "suffix": `""`, "top_logprobs": "0", "logprobs": "false",
		"web_search_options": "{}",
	}
}

// isHarmless reports whether a parameter has such a value.
func isHarmless(name string, value json.RawMessage) bool {
	want, ok := harmless()[strings.ToLower(name)]
	if !ok {
		return false
	}
	var a, b any
	return json.Unmarshal(plain(value, reflect.TypeFor[float64]()), &a) == nil &&
		json.Unmarshal([]byte(want), &b) == nil && reflect.DeepEqual(a, b)
}

// plainly gives the numbers and truths of a request the form that its fields have: clients that keep them as texts
// write "0.5" and "true", and those of languages with one kind of number 100.0. What is none stays, and is refused.
func plainly(body []byte, t reflect.Type) []byte {
	var given map[string]json.RawMessage
	if json.Unmarshal(body, &given) != nil {
		return body
	}
	changed := false
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for key, value := range given {
			if !strings.EqualFold(key, name) {
				continue
			}
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			if out := plain(value, of); !bytes.Equal(out, value) {
				given[key], changed = out, true
			}
		}
	}
	if !changed {
		return body
	}
	out, err := json.Marshal(given)
	if err != nil {
		return body
	}
	return out
}

// plain is a value as a field of a kind takes it.
func plain(value json.RawMessage, of reflect.Type) json.RawMessage {
	text := string(value)
	var inner string
	if json.Unmarshal(value, &inner) == nil {
		text = strings.TrimSpace(inner)
	}
	switch of.Kind() {
	case reflect.Bool:
		if word := strings.ToLower(text); word == "true" || word == "false" {
			return json.RawMessage(word)
		}
	case reflect.Float64:
		if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) &&
			json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case reflect.Int, reflect.Int64:
		if _, err := strconv.ParseInt(text, 10, 64); err == nil && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
		if x, err := strconv.ParseFloat(text, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 &&
			json.Valid([]byte(text)) {
			return json.RawMessage(strconv.FormatFloat(x, 'f', -1, 64))
		}
	}
	return value
}
