package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	"hone/internal/fault"
	"hone/internal/grade"
)

// checkKeys refuses keys a row cannot have, since a misspelt "checks" would silently score nothing.
func checkKeys(raw []byte) error {
	if _, err := grade.Decode(string(raw)); err != nil { // syntax and repeated keys, at any depth
		return err
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal(raw, &row); err != nil {
		return fmt.Errorf("the row is not a JSON object")
	}
	if err := checkKeyNames(row, keysOf(reflect.TypeFor[Scenario]())...); err != nil {
		return err
	}
	for key, of := range map[string]reflect.Type{
		"user":       reflect.TypeFor[User](),
		"provenance": reflect.TypeFor[Provenance](),
	} {
		if len(row[key]) == 0 {
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(row[key], &object) != nil || object == nil {
			return fmt.Errorf("%q is not a JSON object", key)
		}
		if err := checkKeyNames(object, keysOf(of)...); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	// see chat.Message
	message := []string{"role", "content", "reasoning_content", "reasoning", "thinking", "tool_calls",
		"tool_call_id", "name"}
	call, check := keysOf(reflect.TypeFor[Gold]()), keysOf(reflect.TypeFor[Check]())
	for _, list := range []struct {
		key  string
		keys []string
	}{
		{"setup", call}, {"checks", check}, {"gold", call}, {"slips", keysOf(reflect.TypeFor[Slip]())},
		{"messages", message},
	} {
		var entries []json.RawMessage
		if len(row[list.key]) > 0 && json.Unmarshal(row[list.key], &entries) != nil {
			return fmt.Errorf("%q is not a list", list.key)
		}
		for i, entry := range entries {
			var object map[string]json.RawMessage
			if json.Unmarshal(entry, &object) != nil || object == nil {
				return fmt.Errorf("%s[%d] is not a JSON object", list.key, i)
			}
			if err := checkKeyNames(object, list.keys...); err != nil {
				return fmt.Errorf("%s[%d]: %w", list.key, i, err)
			}
		}
	}
	return nil
}

func checkKeyNames(object map[string]json.RawMessage, keys ...string) error {
	var unknown []string
	for key := range object {
		if !slices.Contains(keys, key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	sort.Strings(unknown)
	for i, key := range unknown {
		text := fmt.Sprintf("unknown key %q", key)
		if near := fault.Nearest(key, keys); near != "" {
			text += fmt.Sprintf(" (did you mean %q?)", near)
		}
		unknown[i] = text
	}
	return fmt.Errorf("%s", strings.Join(unknown, ", "))
}
