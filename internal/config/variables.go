package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Variables are what a chat template is given beside the conversation: YAML values by name.
type Variables map[string]any

// check refuses names that a template could not write or that the conversation has, and values without a JSON form.
func (v Variables) check() error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		path := "model.template_variables"
		switch name {
		case "messages", "tools", "add_generation_prompt":
			return &ValueError{path, fmt.Sprintf("%q is the conversation's own", name)}
		}
		if !isIdentifier(name) {
			return &ValueError{path, fmt.Sprintf("%q is no name of a variable: letters, digits and _", name)}
		}
		if why := unusable(v[name]); why != "" {
			return &ValueError{path, fmt.Sprintf("%q: %s", name, why)}
		}
	}
	return nil
}

func isIdentifier(name string) bool {
	const letters = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return name != "" && strings.IndexByte(letters, name[0]) >= 0 && strings.Trim(name, letters+"0123456789") == ""
}

// unusable says why a value, or one inside it, is not one of JSON's.
func unusable(v any) string {
	switch v := v.(type) {
	case nil, bool, string, int, int64, uint64:
		return ""
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "it is not a finite number"
		}
		return ""
	case []any:
		for _, item := range v {
			if why := unusable(item); why != "" {
				return why
			}
		}
		return ""
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if why := unusable(v[key]); why != "" {
				return why
			}
		}
		return ""
	}
	return fmt.Sprintf("a value of type %T is not supported", v)
}
