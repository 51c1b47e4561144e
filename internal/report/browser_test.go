package report_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// In a browser the page's policy lets its own script and style work, and what servers wrote does nothing. Skipped where no
// Chromium is installed: the other tests read the same page without one.
func TestInChromium(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" || testing.Short() {
		t.Skip("no Chromium on PATH")
	}
	dir := t.TempDir()
	for name, page := range map[string]string{"hostile": html(t, writtenBy(strings.Join(hostile[:12], " ")))} {
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"),
			"--enable-logging=stderr", "--dump-dom", "file://"+file)
		var said strings.Builder
		c.Stderr = &said
		dom, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, &said)
		}
		if strings.Contains(string(dom), `<p class="tools" hidden`) || !strings.Contains(string(dom), `<p class="tools"`) {
			t.Errorf("%s: the page's script did not run", name)
		}
		if strings.Contains(said.String(), "Content Security Policy") || strings.Contains(said.String(), "CONSOLE") {
			t.Errorf("%s: the browser says %s", name, &said)
		}
	}
}
