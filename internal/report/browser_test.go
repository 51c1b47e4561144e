package report_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/report"
)

// In a browser the page's policy lets its own script and style work, and what servers wrote does nothing; a link to a
// case opens it, with two of its episodes side by side and the means to choose others. Skipped where no Chromium is
// installed: the other tests read the same page without one.
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
	for _, x := range []struct {
		name, part string
		page       report.Page
		want       string
		shown      int // of the episodes of the case
	}{
		{"hostile", "", writtenBy(strings.Join(hostile[:12], " ")), `<p class="tools"`, 0},
		{"several", "#case-task-0001", many(4, 12, 2, 0), `<p class="choose"><select`, 2},
	} {
		file := filepath.Join(dir, x.name+".html")
		if err := os.WriteFile(file, []byte(html(t, x.page)), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+filepath.Join(dir, "profile"),
			"--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom", "file://"+file+x.part)
		var said strings.Builder
		c.Stderr = &said
		dom, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", x.name, err, &said)
		}
		if page := string(dom); strings.Contains(page, `<p class="tools" hidden`) || !strings.Contains(page, x.want) {
			t.Errorf("%s: the page's script did not run", x.name)
		} else if x.shown > 0 {
			at := strings.Index(page, `<p class="choose">`)
			beside := page[at : at+strings.Index(page[at:], "</details>")]
			if shown := strings.Count(beside, "<article") -
				strings.Count(beside, `hidden="" style="order`); shown != x.shown {
				t.Errorf("%s: %d episodes are side by side, want %d", x.name, shown, x.shown)
			}
		}
		if strings.Contains(said.String(), "Content Security Policy") || strings.Contains(said.String(), "CONSOLE") {
			t.Errorf("%s: the browser says %s", x.name, &said)
		}
	}
}
