package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hone/internal/fault"
	"hone/internal/mcp/sandbox"
)

// otherHosts are keys of a server in the files of Claude, Cursor, VS Code and hosts that read the same form, which hone
// has no use for. They are here because some are near keys of ours.
func otherHosts() []string {
	return []string{
		"alwaysAllow", "auth", "autoApprove", "description", "dev", "disabledTools", "enabled", "enabledTools",
		"gallery", "icon", "includeTools", "initTimeout", "name", "note", "transport", "trust", "version",
	}
}

// checkKeys refuses a key of a server that is nearly one of ours: it would be ignored, and what it says with it. Keys
// that are near none are taken for another host's.
func checkKeys(entry json.RawMessage) error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(entry, &keys) != nil {
		return nil // it is no object, which is said elsewhere
	}
	if err := checkNames(keys, reflect.TypeFor[Server](), ""); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		of   reflect.Type
	}{
		{"oauth", reflect.TypeFor[OAuth]()}, {"reset", reflect.TypeFor[Reset]()},
		{"kubernetes", reflect.TypeFor[sandbox.Pod]()},
	} {
		var inner map[string]json.RawMessage
		if json.Unmarshal(keys[part.name], &inner) != nil {
			continue
		}
		if err := checkNames(inner, part.of, part.name+"."); err != nil {
			return err
		}
	}
	return nil
}

func checkNames(keys map[string]json.RawMessage, of reflect.Type, prefix string) error {
	known := keysOf(of)
	for _, key := range keysInOrder(keys) {
		same := func(name string) bool { return strings.EqualFold(name, key) } // as encoding/json has it
		if slices.ContainsFunc(known, same) || slices.ContainsFunc(otherHosts(), same) {
			continue
		}
		near := fault.Nearest(key, known)
		if key == "cmd" {
			near = "command"
		}
		if near != "" {
			return mistake{fmt.Sprintf("unknown key %q; did you mean %q?", prefix+key, prefix+near),
				fmt.Sprintf("rename it to %q, or take it out", near)}
		}
	}
	return nil
}

// keysOf are the names of a type's fields in JSON.
func keysOf(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
