package basemodel

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/text/render"
)

// AdapterPrompting is how the adapter in a folder was prompted; nil without an adapter, and for those that do not say.
// It returns the configuration with which the adapter is prompted too: one that is measured or served is prompted as it
// was trained, whatever the configuration says; one that is trained further, as the configuration says where it says
// something.
func AdapterPrompting(
	h *host.Host, c config.Config, folder string, trains bool,
) (config.Config, *render.Prompting, error) {
	if folder == "" {
		return c, nil, nil
	}
	p, found, err := render.ReadPrompting(folder)
	if err != nil || !found {
		return c, nil, err
	}
	other, err := otherPrompting(c, p)
	if err != nil {
		return c, nil, err
	}
	if !trains {
		if len(other) > 0 {
			h.Say("%s: %s was trained under another, which is used", strings.Join(other, ", "), folder)
		}
		c.Rollout.System, c.Model.ChatTemplate, c.Model.ToolFormat, c.Model.TemplateVariables =
			p.System, "", "", config.Variables{}
		return c, &p, nil
	}
	if len(other) > 0 {
		h.Say("%s: %s was trained under another, and goes on under the configuration's",
			strings.Join(other, ", "), folder)
	}
	c.Rollout.System = cmp.Or(c.Rollout.System, p.System)
	if c.Model.ChatTemplate != "" {
		return c, nil, nil
	}
	return c, &p, nil
}

// Alike reports whether two adapters have one shape and are prompted alike, so that one sampler serves both. An empty
// folder is the base model alone.
func (m *Model) Alike(c config.Config, x, y string) (bool, error) {
	if x == y {
		return true, nil
	}
	var shapes [2]model.LoRA
	var prompts [2]render.Prompting
	var said [2]bool
	for i, folder := range []string{x, y} {
		var err error
		if shapes[i], err = m.AdapterShape(c, folder); err == nil && folder != "" {
			prompts[i], said[i], err = render.ReadPrompting(folder)
		}
		if err != nil {
			return false, err
		}
	}
	return said[0] == said[1] && reflect.DeepEqual(shapes[0], shapes[1]) &&
		reflect.DeepEqual(prompts[0], prompts[1]), nil
}

// otherPrompting names the keys that the configuration sets to something other than an adapter was trained under.
func otherPrompting(c config.Config, p render.Prompting) (keys []string, err error) {
	if s := c.Rollout.System; s != "" && s != p.System {
		keys = append(keys, "rollout.system")
	}
	if path := c.Model.ChatTemplate; path != "" {
		t := &Text{}
		if err := t.ReplaceTemplate(path); err != nil {
			return nil, err
		}
		if t.Template != p.Template {
			keys = append(keys, "model.chat_template")
		}
	}
	if f := c.Model.ToolFormat; f != "" && f != p.ToolFormat {
		keys = append(keys, "model.tool_format")
	}
	set := templateVariables(c.Model.TemplateVariables)
	for i := range set.Len() {
		name, value := set.At(i)
		if p.Variables != nil {
			if was, ok := p.Variables.Get(name); ok && sameText(was, value) {
				continue
			}
		}
		keys = append(keys, "model.template_variables."+name)
	}
	return keys, nil
}

func sameText(x, y chat.Value) bool {
	a, errA := chat.AppendJSON(nil, x, chat.Format{})
	b, errB := chat.AppendJSON(nil, y, chat.Format{})
	return errA == nil && errB == nil && string(a) == string(b)
}

// SaveAdapter writes an adapter with what it was trained under.
func SaveAdapter(dir string, t Steps, r render.Renderer) error {
	if err := t.SaveAdapter(dir); err != nil {
		return err
	}
	return render.Save(dir, r)
}

// SaveState writes a trainer's whole state; its adapter can be served as it is.
func SaveState(dir string, t Steps, r render.Renderer) error {
	if err := t.Save(dir); err != nil {
		return err
	}
	return render.Save(filepath.Join(dir, "adapter"), r)
}

// CopyPrompting copies what an adapter was trained under beside a merged model's weights, which are to be prompted so
// too.
func CopyPrompting(from, to string) error {
	for _, name := range []string{render.PromptingFile, render.TemplateFile} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
