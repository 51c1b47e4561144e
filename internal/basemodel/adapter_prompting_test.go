package basemodel

import (
	"os"
	"path/filepath"
	"testing"

	"hone/internal/text/render"
)

// The files of a merged model name no system message of the configuration's, but what the adapter says.
func TestPromptingFilesAreThere(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := CopyPrompting(from, to); err != nil {
		t.Error(err)
	}
	for _, name := range []string{render.PromptingFile, render.TemplateFile} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyPrompting(from, to); err != nil {
		t.Error(err)
	}
	for _, name := range []string{render.PromptingFile, render.TemplateFile} {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != name {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
