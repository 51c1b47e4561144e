//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/fakes"
)

// withHub runs a command line against a Hub, with a cache of its own.
func withHub(
	t *testing.T, s *fakes.Hub, home string, more map[string]string, args ...string,
) (code int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	env := map[string]string{"HF_ENDPOINT": s.URL, "HF_HOME": home, "HF_TOKEN": "secret", "HF_HUB_CACHE": "",
		"HF_HUB_OFFLINE": ""}
	for name, value := range more {
		env[name] = value
	}
	a := toyApp(&said, env)
	a.Data = sanitize.New(&out)
	code = a.main(t.Context(), args)
	return code, out.String(), said.String()
}

// From an adapter that was trained here to one that another machine trains further: adapter, merged model and data set
// go to the Hub with their cards, and come back by their names alone.
func TestHubBothWays(t *testing.T) {
	t.Chdir(t.TempDir())
	s := fakes.NewHub(t.TempDir())
	defer s.Close()
	toyModel(t, "base/toy.gguf")
	write(t, "hone.yaml", "engine: {backend: go}\nsft: {batch_size: 1, epochs: 1}\nlora: {rank: 2}\n")
	write(t, "rows.jsonl", oneRow+oneRow)
	must := func(home string, args ...string) string {
		t.Helper()
		code, out, said := withHub(t, s, home, nil, args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, out, said)
		}
		return out + said
	}
	must("here", "sft", "--data", "rows.jsonl", "--base-model", "base/toy.gguf", "--output-dir", "out")
	must("here", "merge", "--adapter", "out/final", "--output-dir", "merged", "--dtype", "f32")
	must("here", "data", "convert", "rows.jsonl", "--to", "hf", "--out", "dataset")
	must("here", "push", "out/final", "--to", "ada/adapter", "--license", "apache-2.0")
	must("here", "push", "merged", "--run", "out", "--to", "ada/merged", "--private")
	must("here", "push", "dataset", "--to", "ada/rows")

	if a, b := s.Visibility("model", "ada/adapter"), s.Visibility("model", "ada/merged"); a != "public" ||
		b != "private" {
		t.Errorf("made as %q and %q", a, b)
	}
	files, _ := s.Files("model", "ada/adapter", "main")
	for _, part := range []string{
		"license: \"apache-2.0\"\n", "library_name: peft\n", "- lora\n", "hone serve --model ada/adapter",
		"`hone sft`: 2 steps on 2 conversations.", "of steps, 54 tokens trained",
	} {
		if !strings.Contains(files["README.md"], part) {
			t.Errorf("the adapter's card lacks %q:\n%s", part, files["README.md"])
		}
	}
	if strings.Contains(files["README.md"], "base_model:") { // a file of this machine is no model of the Hub
		t.Errorf("the card names a base:\n%s", files["README.md"])
	}

	// Another machine, by names alone.
	said := must("there", "sft", "--data", "ada/rows", "--base-model", "ada/merged", "--output-dir", "further")
	if !strings.Contains(said, "download") || strings.Contains(said, "secret") {
		t.Error(said)
	}
	c, _, err := modelfile.LoadAdapter("further/final")
	if err != nil || c.BaseModel != "ada/merged" || !regexp.MustCompile("^[0-9a-f]{40}$").MatchString(c.Revision) {
		t.Fatalf("%+v, %v", c, err)
	}
	must("there", "push", "further/final", "--to", "ada/further@v1")
	card, _ := s.Files("model", "ada/further", "v1")
	for _, part := range []string{
		"base_model: \"ada/merged\"\nbase_model_relation: adapter\n", "datasets:\n- \"ada/rows\"\n",
		"on 2 conversations of ada/rows", "Base model: `ada/merged` at `" + c.Revision + "`",
	} {
		if !strings.Contains(card["README.md"], part) {
			t.Errorf("the card lacks %q:\n%s", part, card["README.md"])
		}
	}

	// A third machine: the adapter brings its base, at the commit that it was trained on, whatever main is by now.
	s.Put("model", "ada/merged", map[string]string{"config.json": "{}"})
	ids := `{"ids": [1, 20, 33]}`
	write(t, "ids.jsonl", ids)
	must("third", "merge", "--adapter", "ada/further@v1", "--output-dir", "again", "--dtype", "f32")
	if _, err := os.Stat("third/hub/models--ada--merged/snapshots/" + c.Revision + "/config.json"); err != nil {
		t.Error(err)
	}

	// Offline: what is in the cache is found, what is not is said.
	offline := map[string]string{"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:1"}
	if code, out, said := withHub(t, s, "there", offline, "data", "validate", "ada/rows"); code != 0 {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	for name, args := range map[string][]string{
		"ada/merged": {"sft", "--data", "rows.jsonl", "--base-model", "ada/merged", "--output-dir", "none"},
		"ada/rows":   {"data", "validate", "ada/rows"},
	} {
		if code, _, said := withHub(t, s, "empty", offline, args...); code != 5 || !strings.Contains(said,
			"no file or folder "+name+" is here") || !strings.Contains(said, "HF_HUB_OFFLINE is set") {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}

	// pull prints the folder, and takes the newest.
	var got struct{ Folder, Commit string }
	if err := json.Unmarshal([]byte(firstLines(must("there", "pull", "ada/rows", "--kind", "dataset", "--json"))),
		&got); err != nil || filepath.Base(got.Folder) != got.Commit {
		t.Errorf("%+v, %v", got, err)
	}
}

// firstLines is what comes before talk.
func firstLines(text string) string {
	end := strings.LastIndex(text, "}")
	return text[:end+1]
}

// What cannot be pushed or pulled is refused before the Hub is asked.
func TestPushAndPullRefuse(t *testing.T) {
	t.Chdir(t.TempDir())
	s := fakes.NewHub(t.TempDir())
	defer s.Close()
	for _, dir := range []string{"empty", "data"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "empty/notes.txt", "x")
	write(t, "data/train.jsonl", oneRow)
	for _, x := range []struct {
		want string
		args []string
	}{
		{"neither an adapter, nor a model, nor a data set", []string{"push", "empty", "--to", "a/b"}},
		{"no repository's name", []string{"push", "data", "--to", "b"}},
		{"no repository's name", []string{"pull", "b"}},
		{`of the kind "space"`, []string{"push", "data", "--to", "a/b", "--kind", "space"}},
		{`of the kind "space"`, []string{"pull", "a/b", "--kind", "space"}},
		{"the pattern cannot be read", []string{"pull", "a/b", "--file", "["}},
		{"no such model, or it is private", []string{"pull", "a/b"}},
		{"no weights as safetensors", []string{"inspect", "tokens", "--model", "ada/onlytext"}},
	} {
		s.Put("model", "ada/onlytext", map[string]string{"config.json": "{}"})
		if code, _, said := withHub(t, s, "home", nil, x.args...); code != 2 || !strings.Contains(said, x.want) {
			t.Errorf("%v: exit code %d, %s", x.args, code, said)
		}
	}
	code, out, said := withHub(t, s, "home", nil, "push", "data", "--to", "a/b", "--dry-run")
	if files, _ := s.Files("dataset", "a/b", "main"); code != 0 || files != nil ||
		!strings.Contains(said, "would push data to the dataset a/b") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
}
