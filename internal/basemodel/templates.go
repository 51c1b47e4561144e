package basemodel

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/fault"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
)

// templates are the chat templates of a model by name. transformers takes "tool_use" for a conversation that has tools,
// if it is there, and else "default"; other names stand for nothing until one is asked for (get_chat_template of
// tokenization_utils_base.py).
type templates map[string]string

// The names that stand for something.
const (
	defaultTemplate = "default"
	toolTemplate    = "tool_use"
)

// read takes chat_template of tokenizer_config.json: a text, or a list of names and texts, or an object of them.
func (t templates) read(raw json.RawMessage) error {
	var text string
	var named []struct{ Name, Template *string }
	byName := map[string]string{}
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case json.Unmarshal(raw, &text) == nil:
		t[defaultTemplate] = text
	case json.Unmarshal(raw, &byName) == nil:
		maps.Copy(t, byName)
	default:
		if err := json.Unmarshal(raw, &named); err != nil {
			return fmt.Errorf("chat_template is neither text nor a list of templates: %w", err)
		}
		for i, n := range named {
			if n.Name == nil || n.Template == nil {
				return fmt.Errorf("chat_template[%d] has no name or no template", i)
			}
			t[*n.Name] = *n.Template
		}
	}
	return nil
}

// readFiles takes those of a folder, which come before all of tokenizer_config.json: chat_template.jinja is the
// default, NAME.jinja of additional_chat_templates another one.
func (t templates) readFiles(dir string) error {
	files := map[string]string{}
	if file := filepath.Join(dir, render.TemplateFile); isThere(file) {
		files[defaultTemplate] = file
	}
	more, err := fs.Glob(os.DirFS(dir), modelfile.TemplateFolder+"/*.jinja")
	if err != nil {
		return err
	}
	for _, name := range more {
		files[strings.TrimSuffix(path.Base(name), ".jinja")] = filepath.Join(dir, filepath.FromSlash(name))
	}
	if len(files) > 0 {
		clear(t)
	}
	for name, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return &fault.Error{Code: fault.CodeUsage, What: "cannot read the chat template", Where: file, Err: err,
				Next: "fetch the model again"}
		}
		t[name] = string(text)
	}
	return nil
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// text is the template that does what transformers does with all of them: it is the one for tools where there are
// tools. The error says that there are some, and none of them is meant.
func (t templates) text(where string) (string, error) {
	tools, hasTools := t[toolTemplate]
	plain, hasPlain := t[defaultTemplate]
	switch {
	case len(t) == 0:
		return "", nil
	case hasTools && hasPlain && tools != plain:
		// Each begins on a line of its own, whose break is dropped behind a tag; the empty texts keep its last blanks.
		return "{% if tools is not none %}\n" + ending(tools) + "{{ '' }}{% else %}\n" +
			ending(plain) + "{{ '' }}{% endif %}", nil
	case hasTools:
		return tools, nil
	case hasPlain:
		return plain, nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(t)), ", ")
	return "", &fault.Error{
		Code:  fault.CodeUsage,
		What:  "the model has several chat templates, and none is its default: " + names,
		Where: where,
		Why:   `transformers takes "tool_use" where there are tools and else "default", and refuses as well`,
		Next:  "put the text of the one that is meant into a file, and name it with model.chat_template",
	}
}

// ending is a template without its last line break, which Jinja drops where a template ends.
func ending(text string) string { return strings.TrimSuffix(text, "\n") }
