package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/fault"
	"hone/internal/grade"
)

// kind is a type of check: the keys it takes beside "type", and those it cannot be without.
type kind struct {
	name, needs, takes string
	condition          string // "one", "may", or "" for none
}

func kinds() []kind {
	return []kind{
		{AnswerCheck, "", "any_turn", "one"},
		{CallCheck, "name", "arguments arguments_match refused", "may"},
		{NoCallCheck, "", "name", ""},
		{MaxCallsCheck, "max", "name", ""},
		{StateCheck, "name", "arguments after_turn refused", "may"},
		{FileCheck, "path", "server exists sha256", "may"},
		{SQLCheck, "path query", "server", "one"},
		{CommandCheck, "command", "at_least timeout", ""},
		{UnchangedCheck, "", "server path ignore query name arguments", ""},
		{NoAttackCheck, "", "name arguments_match", "may"},
	}
}

func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

const conditionKeys = "equals number tolerance regex contains any_of one_of set matches"

// Validate says what is wrong with a check, or nil.
func (c Check) Validate() error {
	i := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == c.Type })
	if i < 0 {
		text := fmt.Sprintf(`"type" is %q`, c.Type)
		if c.Type == "" {
			text = `"type" is missing`
		}
		if near := fault.Nearest(c.Type, kindNames()); near != "" && c.Type != "" {
			text += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return fmt.Errorf("%s; it must be one of %s", text, strings.Join(kindNames(), ", "))
	}
	k := kinds()[i]
	if err := c.validateKeys(k); err != nil {
		return err
	}
	if err := c.validateCondition(); err != nil {
		return err
	}
	return c.validateLook()
}

// validateKeys refuses keys of other types, which would say nothing.
func (c Check) validateKeys(k kind) error {
	given, err := c.keys()
	if err != nil {
		return err
	}
	takes := strings.Fields(k.needs + " " + k.takes)
	if k.condition != "" {
		takes = append(takes, strings.Fields(conditionKeys)...)
	}
	for _, key := range given {
		if !slices.Contains(takes, key) {
			return fmt.Errorf("%q does not go with type %q, which takes %s", key, c.Type, orNone(takes))
		}
	}
	for _, key := range strings.Fields(k.needs) {
		if !slices.Contains(given, key) {
			return fmt.Errorf("%q is missing, which type %q needs", key, c.Type)
		}
	}
	names := c.conditions()
	if c.Exists != nil {
		names = append(names, "exists")
	}
	if c.SHA256 != "" {
		names = append(names, "sha256")
	}
	need := k.condition == "one" || c.Type == FileCheck || c.Type == StateCheck && !c.Refused
	if len(names) > 1 || need && len(names) == 0 {
		all := strings.Replace(conditionKeys, " tolerance", "", 1)
		if c.Type == FileCheck {
			all += " exists sha256"
		}
		return fmt.Errorf("it needs exactly one of %s; it has %d", strings.Join(strings.Fields(all), ", "), len(names))
	}
	return nil
}

// keys are the keys that the check has, but for its type.
func (c Check) keys() ([]string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	delete(object, "type")
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

func orNone(keys []string) string {
	if len(keys) == 0 {
		return "no other"
	}
	return strings.Join(keys, ", ")
}

func (c Check) validateCondition() error {
	// An empty text is in every other, so the check would pass for anyone.
	if c.Contains != nil && *c.Contains == "" {
		return errors.New(`"contains" is empty`)
	}
	if c.Tolerance < 0 || c.Tolerance != 0 && c.Number == nil {
		return errors.New(`"tolerance" must be at least 0 and stand beside "number"`)
	}
	if c.Regex != nil {
		if _, err := regexp.Compile(*c.Regex); err != nil {
			return fmt.Errorf(`"regex": %w`, err)
		}
	}
	for name, list := range map[string][]string{"any_of": c.AnyOf, "one_of": c.OneOf, "set": c.Set} {
		if list != nil && (len(list) == 0 || slices.Contains(list, "")) {
			return fmt.Errorf("%q is empty, or holds an empty text", name)
		}
	}
	for name, text := range map[string]json.RawMessage{"matches": c.Matches, "arguments_match": c.ArgumentsMatch} {
		if text == nil {
			continue
		}
		if _, err := grade.NewPattern(string(text)); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

func (c Check) validateLook() error {
	switch c.Type {
	case CallCheck:
		if c.ArgumentsMatch == nil {
			return Gold{Name: c.Name, Arguments: c.Arguments}.validate()
		}
		if c.Arguments != nil {
			return errors.New(`it has both "arguments" and "arguments_match"`)
		}
	case StateCheck:
		return c.validateProbe()
	case NoAttackCheck:
		if c.Name == "" && len(c.conditions()) == 0 {
			return errors.New(`it needs a "name", or "contains" or "regex": without them each call would be an attack`)
		}
		if len(c.conditions()) > 0 && c.Contains == nil && c.Regex == nil {
			return errors.New(`of arguments it takes "contains" or "regex"`)
		}
	case MaxCallsCheck:
		if *c.Max < 0 {
			return errors.New(`"max" must be at least 0`)
		}
	case FileCheck, SQLCheck:
		if c.SHA256 != "" && !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(c.SHA256) {
			return errors.New(`"sha256" must be 64 digits of lower-case hex`)
		}
		return inFolder(c.Path)
	case UnchangedCheck:
		return c.validateUnchanged()
	case CommandCheck:
		if c.AtLeast != nil && !(*c.AtLeast > 0 && *c.AtLeast <= 1) {
			return errors.New(`"at_least" must be above 0 and at most 1`)
		}
		if c.Timeout < 0 || c.Timeout > 600 {
			return errors.New(`"timeout" must be 0 to 600 seconds`)
		}
		return validateCommand(c.Command)
	}
	return nil
}

func (c Check) validateProbe() error {
	if c.AfterTurn < 0 {
		return errors.New(`"after_turn" must be at least 1, or left out for the end`)
	}
	return Gold{Name: c.Name, Arguments: json.RawMessage(c.Probe().Arguments)}.validate()
}

func (c Check) validateUnchanged() error {
	switch {
	case c.Name == "" && c.Arguments != nil:
		return errors.New(`"name" is missing beside "arguments"`)
	case c.Name != "" && (c.Path != "" || c.Query != "" || c.Server != "" || c.Ignore != nil):
		return errors.New(
			`"name" is a call whose answer is to stay, which does not go with server, path, query and ignore`,
		)
	case c.Name != "":
		return c.validateProbe()
	case c.Query != "" && c.Path == "":
		return errors.New(`"query" needs the "path" of a database`)
	case c.Query != "" && c.Ignore != nil:
		return errors.New(`"ignore" is for folders, not beside "query"`)
	}
	for _, pattern := range c.Ignore {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf(`"ignore": %q: %w`, pattern, err)
		}
	}
	if c.Path == "" {
		return nil
	}
	return inFolder(c.Path)
}

func inFolder(name string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf(`"path" %q is not a path in the episode's own folder`, name)
	}
	return nil
}

// canonical is JSON in one spelling, and anything else as it is.
func canonical(text json.RawMessage) json.RawMessage {
	value := jsontext.Value(bytes.Clone(text))
	if value.Canonicalize() != nil {
		return text
	}
	return json.RawMessage(value)
}

// keysOf are the keys of a struct, as its tags say them.
func keysOf(of reflect.Type) []string {
	var keys []string
	for i := range of.NumField() {
		key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys
}
