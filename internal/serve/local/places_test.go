package local

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/learn/modelfile"
	"hone/internal/text/render"
)

// Of a path without an adapter a client is told one thing, whatever is there: it does not learn which files this
// machine has, and no file keeps it waiting. The reason stands in the log.
func TestPathsTellNothing(t *testing.T) {
	root := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	config := `{"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["q_proj"]}`
	folder := func(name string, files map[string]string) {
		t.Helper()
		if err := os.MkdirAll(in(name), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			var err error
			switch text {
			case "pipe":
				err = syscall.Mkfifo(in(name, file), 0o600)
			case "folder":
				err = os.Mkdir(in(name, file), 0o755)
			case "loop", "missing", "/dev/zero":
				err = os.Symlink(text, in(name, file))
			default:
				err = os.WriteFile(in(name, file), []byte(text), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	folder("empty", nil)
	folder("weights", map[string]string{modelfile.WeightsFile: "x"})
	folder("config", map[string]string{modelfile.ConfigFile: config})
	folder("text", map[string]string{modelfile.ConfigFile: "a secret", modelfile.WeightsFile: "x"})
	folder("other", map[string]string{modelfile.ConfigFile: `{"peft_type": "IA3"}`, modelfile.WeightsFile: "x"})
	folder("broken", map[string]string{modelfile.ConfigFile: config, modelfile.WeightsFile: "x"})
	folder("zero", map[string]string{modelfile.ConfigFile: "/dev/zero", modelfile.WeightsFile: "x"})
	folder("link", map[string]string{modelfile.ConfigFile: "missing", modelfile.WeightsFile: "x"})
	folder("loop", map[string]string{"loop": "loop"})
	folder("inside", map[string]string{modelfile.ConfigFile: "folder", modelfile.WeightsFile: "x"})
	for _, file := range []string{
		modelfile.ConfigFile, modelfile.WeightsFile, render.PromptingFile, render.TemplateFile,
	} {
		files := map[string]string{modelfile.ConfigFile: config, modelfile.WeightsFile: "x"}
		files[file] = "pipe"
		folder("pipe of "+file, files)
	}
	paths, err := filepath.Glob(in("*"))
	if err != nil {
		t.Fatal(err)
	}
	paths = append(paths, in("gone"), in("gone", "deeper"), in("text", modelfile.ConfigFile), in("loop", "loop"),
		in("pipe of "+modelfile.ConfigFile, modelfile.ConfigFile), "/dev/zero", "/root", "relative", ".", in("a\x00b"),
		in(strings.Repeat("n", 300)))
	var log strings.Builder
	p := &places{host: &host.Host{Talk: sanitize.New(&log)}}
	want := ""
	for _, path := range paths {
		log.Reset()
		_, err := p.Load(t.Context(), "a", path)
		if err == nil {
			t.Errorf("%s: loaded", path)
			continue
		}
		got := strings.Replace(err.Error(), path, "PATH", 1)
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(log.String(), "cannot read the adapter") {
			t.Errorf("%s: %s\nlog: %s", path, err, log.String())
		}
	}
}
