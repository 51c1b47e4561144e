package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/run"
	"hone/internal/text/render"
)

// TrainingContext is model.context of the run that the adapter lies in: in longer conversations it was never trained.
// Where no run says it, it is 1024.
func TrainingContext(folder string) int {
	const usual = 1024
	if folder == "" {
		return usual
	}
	dir := run.Around(folder)
	file := filepath.Join(dir, run.ConfigFile)
	text, err := os.ReadFile(file)
	if dir == "" || err != nil {
		return usual
	}
	c, err := config.Parse(file, text)
	if err != nil || c.Model.Context == 0 {
		return usual
	}
	return c.Model.Context
}

// Prompting says how the adapter was prompted in training, and the configuration with which it is prompted so. Of an
// adapter that does not say, template is the chat template beside it, in which hone's own form is recognised.
func Prompting(
	h *host.Host, c config.Config, folder string,
) (trained *render.Prompting, template string, own config.Config, err error) {
	c.Rollout.System = ""
	if folder == "" {
		return nil, "", c, nil
	}
	if c, trained, err = basemodel.AdapterPrompting(h, c, folder, false); trained != nil || err != nil {
		return trained, "", c, err
	}
	c.Rollout.System, template, err = readTemplate(folder)
	return nil, template, c, err
}

// readTemplate reads the chat template beside the adapter, if there is one, and the system message that stands in it:
// the adapter must be prompted as it was trained.
func readTemplate(folder string) (system, template string, err error) {
	text, err := os.ReadFile(filepath.Join(folder, render.TemplateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	return templateSystem(string(text)), string(text), err
}

// templateSystem is the default system message of a template that render.NewChatML wrote; empty where it finds none.
func templateSystem(template string) string {
	for line := range strings.Lines(template) {
		literal, ok := strings.CutPrefix(strings.TrimSpace(line), "{%- set system = '")
		if literal, isText := strings.CutSuffix(literal, "' %}"); ok && isText {
			return strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\n`, "\n", `\r`, "\r").Replace(literal)
		}
	}
	return ""
}
