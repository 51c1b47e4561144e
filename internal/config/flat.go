package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Flat is the text of a configuration as values by the paths of their keys, as "lora.rank". A list is one value.
func Flat(text []byte) (map[string]string, error) {
	var all map[string]any
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	out := map[string]string{}
	var walk func(path string, x any)
	walk = func(path string, x any) {
		section, ok := x.(map[string]any)
		if !ok {
			out[path] = fmt.Sprint(x)
			return
		}
		for key, below := range section {
			if path != "" {
				key = path + "." + key
			}
			walk(key, below)
		}
	}
	walk("", all)
	return out, nil
}
