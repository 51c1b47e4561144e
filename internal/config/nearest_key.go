package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hone/internal/fault"
)

// mostMeant is how many keys are offered for one that is unknown.
const mostMeant = 4

// nearestKey returns `; did you mean "x"?` for a key that the section t, at prefix, does not have. In this order:
// hone's name for what other trainers call so; the key in a section below; a near name; the key in other sections.
func nearestKey(written, prefix string, t reflect.Type) string {
	var keys []string
	for _, f := range fieldsOf(t) {
		keys = append(keys, f.key)
	}
	if own := fault.Alias(written, keys); own != "" {
		return fmt.Sprintf("; did you mean %q?", own)
	}
	places := sameKeys(written, prefix, t)
	if len(places) == 0 {
		if near := didYouMean(written, keys); near != "" {
			return near
		}
		places = sameKeys(written, "", reflect.TypeFor[Config]())
	}
	if len(places) == 0 || len(places) > mostMeant {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(places, " or "))
}

// sameKeys are the keys in the sections of t, and below these, that a key names by hone's name or by another trainer's.
func sameKeys(written, prefix string, t reflect.Type) (found []string) {
	for _, f := range fieldsOf(t) {
		switch {
		case f.typ.Kind() == reflect.Struct:
			found = append(found, sameKeys(written, prefix+f.key+".", f.typ)...)
		case f.key == written, fault.Alias(written, []string{f.key}) != "":
			found = append(found, fmt.Sprintf("%q", prefix+f.key))
		}
	}
	return found
}

// NearestFlag says why a verb ("train") does not know a flag, and what helps: the flag of flags that another trainer
// calls so, the key that says it, or the flag that was nearly written. help is the command that lists the flags.
func NearestFlag(verb, flag string, flags []string, help string) (why, next string) {
	own := fault.Alias(flag, flags)
	if key := flagKey(verb, flag); own == "" && key != "" {
		return "it is a key of the configuration: " + key, "set " + key + " in hone.yaml; " + help + " lists the flags"
	}
	if near := cmp.Or(own, fault.Nearest(flag, flags)); near != "" {
		return "did you mean --" + near + "?", help
	}
	return "", help
}

// flagKey is the key that says what a flag was to say which a verb ("train") does not have: the flag's own name, or
// another trainer's; "" where there is none, or several. Of a section's own key and one further below its own is meant.
func flagKey(verb, flag string) string {
	written := strings.ReplaceAll(flag, "-", "_")
	for own, key := range insteadOf()[verb] {
		if own == written || fault.Alias(written, []string{own}) != "" {
			return key
		}
	}
	for _, section := range sectionsOf()[verb] {
		f, _ := reflect.TypeFor[Config]().FieldByNameFunc(func(name string) bool {
			return strings.EqualFold(name, section)
		})
		found := sameKeys(written, section+".", f.Type)
		if len(found) == 0 {
			continue
		}
		depth := func(key string) int { return strings.Count(key, ".") }
		slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
		if len(found) > 1 && depth(found[0]) == depth(found[1]) {
			return ""
		}
		return strings.Trim(found[0], `"`)
	}
	return ""
}

// sectionsOf are the sections that a verb goes by, in the order in which a flag is looked for there.
func sectionsOf() map[string][]string {
	return map[string][]string{
		"train": {"grpo", "rollout", "engine", "model"}, "sft": {"sft", "engine", "model"}, "dpo": {"dpo",
			"engine", "model"},
		"eval": {"eval", "rollout", "engine", "model"}, "collect": {"rollout", "model"},
	}
}

// insteadOf are keys of other words, by verb and by what others call them: of GRPO a pass is no measure, and a step is
// of groups.
func insteadOf() map[string]map[string]string {
	return map[string]map[string]string{"train": {"epochs": "grpo.steps", "batch_size": "grpo.scenarios_per_step"}}
}
