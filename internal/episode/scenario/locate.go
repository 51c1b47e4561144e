package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Templates are folders that the episode's own folders are copies of when it begins, by server. In a file it is one
// folder, as "shop-empty", for the one server that has such a folder, or {"shop": "shop-empty"}.
type Templates map[string]string

// UnmarshalJSON reads a folder, or folders by server.
func (t *Templates) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Templates{"": one}
		return nil
	}
	var all map[string]string
	if err := json.Unmarshal(data, &all); err != nil {
		return errors.New(`"template" must be a folder, or folders by server`)
	}
	*t = all
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (t Templates) MarshalJSON() ([]byte, error) {
	if one, ok := t[""]; ok && len(t) == 1 {
		return json.Marshal(one)
	}
	return json.Marshal(map[string]string(t))
}

func (t Templates) validate() error {
	for server, folder := range t {
		if folder == "" {
			return errors.New(`"template" is empty`)
		}
		if server == "" && len(t) > 1 {
			return errors.New(`"template" has a folder without the name of its server`)
		}
	}
	return nil
}

// validateCommand refuses a program that could be any file: it is one beside the scenarios, or a name on PATH.
func validateCommand(command []string) error {
	if len(command) == 0 || command[0] == "" {
		return errors.New(`"command" is empty`)
	}
	return nil
}

// locate makes the paths of a scenario, which are written from the folder dir of its file, absolute. A scenario file
// may come from anywhere, so they lead to nothing outside that folder.
func (s *Scenario) locate(dir string) error {
	for server, folder := range s.Template {
		path, err := within(dir, folder)
		if err != nil {
			return fmt.Errorf(`"template": %w`, err)
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return fmt.Errorf(`"template" %q is not a folder beside the scenarios`, folder)
		}
		s.Template[server] = path
	}
	for i, c := range s.Checks {
		if c.Type != CommandCheck || !strings.ContainsRune(c.Command[0], filepath.Separator) {
			continue
		}
		path, err := within(dir, c.Command[0])
		if err != nil {
			return fmt.Errorf(`checks[%d]: "command": %w`, i, err)
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return fmt.Errorf(`checks[%d]: "command": %s is not a program beside the scenarios that can be run`,
				i, c.Command[0])
		}
		s.Checks[i].Command = append([]string{path}, c.Command[1:]...)
	}
	return nil
}

// within is a relative path from dir, absolute, also where it leads over links.
func within(dir, name string) (string, error) {
	refused := fmt.Errorf("%q is not in the folder of the scenarios", name)
	if !filepath.IsLocal(name) {
		return "", refused
	}
	base, err := filepath.Abs(dir) // before links are followed: a shell's working folder may be one
	if err != nil {
		return "", err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return "", err
	}
	path, err := filepath.EvalSymlinks(filepath.Join(base, name))
	if err != nil {
		return "", err
	}
	if inside, err := filepath.Rel(base, path); err != nil || !filepath.IsLocal(inside) {
		return "", refused
	}
	return path, nil
}

// Programs are the programs that the command checks of scenarios name.
func Programs(scenarios []Scenario) []string {
	var names []string
	for _, s := range scenarios {
		for _, c := range s.Checks {
			if c.Type == CommandCheck {
				names = append(names, c.Command[0])
			}
		}
	}
	return names
}
