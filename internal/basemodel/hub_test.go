package basemodel

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
)

// The name of the model that can be installed is told where it was nearly written; a path that is another is left to
// who opens it.
func TestInstalledNameThatWasMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	const small, coder = "SmolLM2-135M-Instruct", "Qwen2.5-Coder-1.5B-Instruct"
	for name, near := range map[string]string{"SmolLM-135M": small, "smollm2-135m-instruct": small,
		"SmolLM2-135M-instuct": small, "Qwen2.5-coder-1.5b": coder, "Qwen3-0.6B": "", "./nothing": ""} {
		_, err := Path(&host.Host{}, name)
		if (err != nil) != (near != "") || near != "" && !strings.Contains(err.Error(), "did you mean "+near+"?") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := os.Mkdir("SmolLM-135M", 0o755); err != nil {
		t.Fatal(err)
	}
	if at, err := Path(&host.Host{}, "SmolLM-135M"); err != nil || at != "SmolLM-135M" {
		t.Errorf("a folder of a near name: %q, %v", at, err)
	}
}

// Of a path that may be a name on the Hub it is said first that nothing is there; that nothing was transferred needs no
// word.
func TestMistypedAdapter(t *testing.T) {
	t.Chdir(t.TempDir())
	h := &host.Host{
		Talk: sanitize.New(io.Discard),
		Data: sanitize.New(io.Discard),
		LookupEnv: func(name string) (string, bool) {
			return map[string]string{"HF_ENDPOINT": "http://127.0.0.1:1", "HOME": "home"}[name], true
		},
	}
	_, err := AdapterFolder(h, "nope/final")
	if text := fault.Whole(err); !strings.HasPrefix(text, "no file or folder nope/final is here") ||
		!strings.Contains(text, "look at its path") || strings.Contains(text, "transferred") {
		t.Errorf("it says %s", text)
	}
}

// The adapter of a run that has not ended is not looked for on the Hub: what goes on with the run is said. A run that
// has ended stands for its final adapter, a checkpoint for its own.
func TestAdapterOfARun(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{
		"begun/version.json", "begun/ledger.db", "ended/version.json", "ended/final/adapter_config.json",
		"ended/checkpoints/grpo_step_1/adapter/adapter_config.json", "plain/adapter_config.json",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	h := &host.Host{
		Talk: sanitize.New(&said),
		Data: sanitize.New(io.Discard),
		LookupEnv: func(name string) (string, bool) {
			return map[string]string{"HF_HUB_OFFLINE": "1", "HOME": "home"}[name], true
		},
	}
	for name, want := range map[string]string{
		"begun":                         "it has not ended|hone runs resume ./begun",
		"begun/final":                   "it has not ended|hone runs resume ./begun",
		"begun/checkpoints/step_2":      "it has not ended|hone runs resume ./begun",
		"ended/checkpoints/grpo_step_2": "|name ended/final", "org/model": "HF_HUB_OFFLINE|",
	} {
		_, err := AdapterFolder(h, name)
		why, next, _ := strings.Cut(want, "|")
		if err == nil || !strings.Contains(fault.Whole(err), why) || !strings.Contains(fault.Whole(err), next) {
			t.Errorf("%q: %v", name, err)
		}
	}
	lock, err := os.OpenFile(filepath.Join("begun", "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := AdapterFolder(h, "begun"); err == nil || !strings.Contains(fault.Whole(err), "wait for that process") {
		t.Errorf("a run that goes on: %v", err)
	}
	for name, want := range map[string]string{
		"ended": "ended/final", "ended/final": "ended/final",
		"ended/checkpoints/grpo_step_1": "ended/checkpoints/grpo_step_1/adapter", "plain": "plain", "": "",
	} {
		said.Reset()
		if in, err := AdapterFolder(h, name); err != nil || in != want {
			t.Errorf("%q: %q, %v", name, in, err)
		}
		if told := strings.Contains(said.String(), "the adapter of "+name+" is in "+want+"\n"); told != (name != want) {
			t.Errorf("%q: said %q", name, said.String())
		}
	}
}
