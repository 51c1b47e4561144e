package hub_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/fault"
	"hone/internal/hub"
	"hone/internal/testing/fakes"
)

var everything = hub.Selection{Keep: func(string) bool { return true }}

// hubOf is a Hub, and a client of it with a cache of its own that tries again without a wait.
func hubOf(t *testing.T) (*fakes.Hub, *hub.Client) {
	s := fakes.NewHub(t.TempDir())
	t.Cleanup(s.Close)
	return s, clientOf(t, s)
}

func clientOf(t *testing.T, s *fakes.Hub) *hub.Client {
	return &hub.Client{Endpoint: s.URL, Token: "secret", Cache: filepath.Join(t.TempDir(), "hub"),
		Pause: time.Microsecond, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// noise is text of a size without a pattern, so that a part in another's place is another file.
func noise(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		_, _ = fmt.Fprintf(&b, "%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	return b.String()[:size]
}

// example are files of each way: in git, large whole, large in parts, empty, in a folder, of a name to be escaped.
func example() map[string]string {
	return map[string]string{"config.json": "{}\n", "model.safetensors": noise(40), "big.safetensors": noise(1000),
		"empty.txt": "", "data/train-00000-of-00001.parquet": noise(77), "a b#?.txt": "odd"}
}

func folderOf(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for path, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// contents are a folder's files, through links.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameFiles compares files, but for .gitattributes, which the Hub makes.
func sameFiles(got, want map[string]string) bool {
	got = maps.Clone(got)
	delete(got, ".gitattributes")
	return maps.Equal(got, want)
}

func TestPushAndDownload(t *testing.T) {
	for _, kind := range []hub.Kind{hub.Model, hub.Dataset} {
		s, c := hubOf(t)
		s.PartSize, s.PageSize = 300, 2
		repo := hub.Repo{Kind: kind, ID: "org/thing"}
		dir := folderOf(t, example())
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		done, err := c.Push(t.Context(), repo,
			hub.Upload{Folder: dir, Message: "all", Extra: map[string][]byte{"README.md": []byte("# thing\n")}})
		if err != nil {
			t.Fatal(err)
		}
		want := example()
		want["README.md"] = "# thing\n"
		if got, commits := s.Files(string(kind), "org/thing", "main"); !sameFiles(got, want) || commits != 2 ||
			done.Files != len(want) {
			t.Fatalf("%s: %d commits, %v", kind, commits, got)
		}
		// Again: nothing is left to do.
		again, err := c.Push(t.Context(), repo,
			hub.Upload{Folder: dir, Message: "again", Extra: map[string][]byte{"README.md": []byte("# thing\n")}})
		if err != nil || again.Files != 0 || again.Same != len(want) || again.Commit != done.Commit {
			t.Errorf("%+v, %v", again, err)
		}
		got, commit, err := c.Download(t.Context(), repo, everything)
		if err != nil || commit != done.Commit || !sameFiles(contents(t, got), want) {
			t.Fatalf("%v, %v", contents(t, got), err)
		}
		// The layout that all clients share.
		home := filepath.Join(c.Cache, string(kind)+"s--org--thing")
		if got != filepath.Join(home, "snapshots", commit) {
			t.Errorf("the snapshot is at %s", got)
		}
		if ref, err := os.ReadFile(filepath.Join(home, "refs", "main")); err != nil || string(ref) != commit {
			t.Errorf("refs/main is %q, %v", ref, err)
		}
		link, err := os.Readlink(filepath.Join(got, "data", "train-00000-of-00001.parquet"))
		if want := fmt.Sprintf("../../../blobs/%x", sha256.Sum256([]byte(noise(77)))); err != nil || link != want {
			t.Errorf("the link is %q, want %q, %v", link, want, err)
		}
		offline := *c
		offline.Offline, offline.Endpoint = true, "http://127.0.0.1:1"
		if dir, _, err := offline.Download(t.Context(), repo, everything); err != nil || dir != got {
			t.Errorf("offline: %s, %v", dir, err)
		}
		if err := os.Remove(filepath.Join(got, "config.json")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := offline.Download(t.Context(), repo, everything); fault.CodeOf(err) != fault.CodeUnavailable ||
			!strings.Contains(err.Error(), "HF_HUB_OFFLINE") {
			t.Errorf("offline, and not all is there: %v", err)
		}
	}
}

// A branch is made by the push to it, and what main has stays.
func TestPushToABranch(t *testing.T) {
	s, c := hubOf(t)
	s.Put("model", "org/m", map[string]string{"a": "main"})
	repo, ok := hub.Parse(hub.Model, "org/m@v1/try")
	if !ok {
		t.Fatal("not read")
	}
	if _, err := c.Push(t.Context(), repo,
		hub.Upload{Folder: folderOf(t, map[string]string{"a": "branch"}), Message: "m"}); err != nil {
		t.Fatal(err)
	}
	main, _ := s.Files("model", "org/m", "main")
	branch, _ := s.Files("model", "org/m", "v1/try")
	if main["a"] != "main" || branch["a"] != "branch" {
		t.Errorf("%v, %v", main, branch)
	}
	dir, commit, err := c.Download(t.Context(), repo, everything)
	if err != nil || contents(t, dir)["a"] != "branch" {
		t.Fatal(err)
	}
	pinned := repo
	pinned.Revision = commit
	if at, _ := c.FromCache(pinned, everything); at != dir {
		t.Errorf("by its commit: %q", at)
	}
}

// What the repository has beside the folder stays, unless it is to be a mirror of it.
func TestMirror(t *testing.T) {
	s, c := hubOf(t)
	repo := hub.Repo{Kind: hub.Dataset, ID: "org/d"}
	s.Put("dataset", "org/d", map[string]string{"old.txt": "x", "README.md": "mine", "same.txt": "s"})
	dir := folderOf(t, map[string]string{"new.txt": "y", "same.txt": "s"})
	for _, x := range []struct {
		mirror bool
		want   map[string]string
	}{
		{false, map[string]string{"old.txt": "x", "README.md": "mine", "same.txt": "s", "new.txt": "y"}},
		{true, map[string]string{"README.md": "mine", "same.txt": "s", "new.txt": "y"}},
	} {
		if _, err := c.Push(t.Context(), repo, hub.Upload{Folder: dir, Message: "m", Mirror: x.mirror}); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Files("dataset", "org/d", "main"); !sameFiles(got, x.want) {
			t.Errorf("mirror %v: %v", x.mirror, got)
		}
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]hub.Repo{
		"org/name": {ID: "org/name"}, "Qwen/Qwen3-0.6B@main": {ID: "Qwen/Qwen3-0.6B", Revision: "main"},
		"a/b@refs/pr/1": {ID: "a/b", Revision: "refs/pr/1"}, "name": {}, "": {}, "./org/name": {}, "/org/name": {},
		"a/b/c": {}, "../b": {}, "a/b@": {}, "a/b.git": {}, "a/b--c": {}, "a/..": {}, "a/b@../x": {}, "a/b@x/": {},
		"a b/c": {},
	} {
		if got, ok := hub.Parse("", name); got != want || ok != (want.ID != "") {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
}

func TestFromEnv(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("of-the-login\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		env  map[string]string
		want hub.Client
	}{
		{map[string]string{"HOME": "/h"}, hub.Client{Endpoint: "https://huggingface.co", Cache: "/h/.cache/huggingface/hub"}},
		{map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/x"}, hub.Client{Endpoint: "https://huggingface.co", Cache: "/x/huggingface/hub"}},
		{map[string]string{"HF_HOME": home}, hub.Client{Endpoint: "https://huggingface.co", Cache: home + "/hub", Token: "of-the-login"}},
		{
			map[string]string{"HF_HOME": home, "HF_TOKEN": "t", "HF_HUB_CACHE": "/c",
				"HF_ENDPOINT": "http://hub.example/", "HF_HUB_OFFLINE": "1"},
			hub.Client{Endpoint: "http://hub.example", Cache: "/c", Token: "t", Offline: true},
		},
		{
			map[string]string{"HF_HOME": home, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "yes"},
			hub.Client{Endpoint: "https://huggingface.co", Cache: home + "/hub"},
		},
	} {
		got, err := hub.FromEnv(func(name string) (string, bool) { value, ok := x.env[name]; return value, ok })
		if err != nil || got.Endpoint != x.want.Endpoint || got.Cache != x.want.Cache || got.Token != x.want.Token ||
			got.Offline != x.want.Offline {
			t.Errorf("%v: %+v, %v", x.env, got, err)
		}
	}
	for _, env := range []map[string]string{{}, {"HOME": "/h", "HF_ENDPOINT": "nowhere"}} {
		if _, err := hub.FromEnv(func(name string) (string,
			bool) {
			value, ok := env[name]
			return value, ok
		}); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%v: %v", env, err)
		}
	}
}

// Those who may not, or ask for what is not there, are told which it is and what helps. The token stands in no error.
func TestRefusals(t *testing.T) {
	s, _ := hubOf(t)
	s.Tokens["reader"] = fakes.HubAccount{Name: "bob", Reads: true}
	s.Tokens["member"] = fakes.HubAccount{Name: "eve", Reads: true, Gates: []string{"org/gated"}}
	s.Put("model", "org/open", map[string]string{"a": "b"})
	s.Put("model", "org/gated", map[string]string{"a": "b"})
	s.Gate("model", "org/gated")
	push := func(c *hub.Client, repo hub.Repo) error {
		_, err := c.Push(context.Background(), repo,
			hub.Upload{Folder: folderOf(t, map[string]string{"a": "c"}), Message: "m"})
		return err
	}
	pull := func(c *hub.Client, repo hub.Repo) error {
		_, _, err := c.Download(context.Background(), repo, everything)
		return err
	}
	for _, x := range []struct {
		token, name string
		do          func(*hub.Client, hub.Repo) error
		want        []string // nil: it goes
	}{
		{"", "org/open", pull, nil},
		{"member", "org/gated", pull, nil},
		{"", "org/none", pull, []string{"no such model", "private", "set HF_TOKEN"}},
		{"secret", "org/none", pull, []string{"no such model", "a token is sent"}},
		{"wrong", "org/open", pull, []string{"does not know the token", "HF_TOKEN"}},
		{"", "org/gated", pull, []string{"give access to those who ask", "ask for access at " + s.URL + "/org/gated", "no token is sent"}},
		{"reader", "org/gated", pull, []string{"give access to those who ask", "a token is sent"}},
		{"", "org/open@v9", pull, []string{"no branch, tag or commit v9"}},
		{"", "org/open", push, []string{"no token is sent", "HF_TOKEN"}},
		{"reader", "org/open", push, []string{"403", "give the token write access to org/open"}},
		{"reader", "org/new", push, []string{"403", "cannot make the model"}},
		{"secret", "org/open@" + strings.Repeat("a", 40), push, []string{"cannot push to a commit"}},
	} {
		c := clientOf(t, s)
		c.Token = x.token
		repo, _ := hub.Parse(hub.Model, x.name)
		err := x.do(c, repo)
		if x.want == nil {
			if err != nil {
				t.Errorf("%s as %q: %v", x.name, x.token, err)
			}
			continue
		}
		if fault.CodeOf(err) != fault.CodeUsage ||
			slices.ContainsFunc(x.want, func(part string) bool { return !strings.Contains(err.Error(), part) }) {
			t.Errorf("%s as %q: %v, want %q", x.name, x.token, err, x.want)
		}
		if x.token == "wrong" && strings.Contains(err.Error(), "wrong") {
			t.Errorf("the token is shown: %v", err)
		}
	}
}
