package hub_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/hub"
	"hone/internal/testing/fakes"
)

// peer is a Python with testdata/requirements.txt; make parity gives one.
var peer = flag.String("peer", "", "Python with huggingface_hub, to be compared with")

// python runs testdata/peer.py as a client of s with a cache, and reads what it prints.
func python(t *testing.T, s *fakes.Hub, cache, token string, out any, args ...string) {
	t.Helper()
	cmd := pythonCommand(s, cache, token, args...)
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatalf("peer.py %v: %v\n%s%s", args, err, text, said.String())
	}
}

func pythonCommand(s *fakes.Hub, cache, token string, args ...string) *exec.Cmd {
	cmd := exec.Command(*peer, append([]string{"testdata/peer.py"}, args...)...)
	cmd.Env = append(os.Environ(), "HF_ENDPOINT="+s.URL, "HF_HUB_CACHE="+cache, "HF_HOME="+filepath.Dir(cache),
		"HF_TOKEN="+token, "HF_HUB_DISABLE_XET=1", "HF_HUB_DISABLE_TELEMETRY=1", "HF_HUB_DISABLE_UPDATE_CHECK=1",
		"HF_HUB_DISABLE_PROGRESS_BARS=1")
	return cmd
}

func needsPeer(t *testing.T) {
	if *peer == "" {
		t.Skip("make parity gives a Python with huggingface_hub")
	}
}

// huggingface_hub pushes to the stand-in, and hone downloads that; and the other way round. So the stand-in is a Hub to
// both.
func TestPeer(t *testing.T) {
	needsPeer(t)
	for _, kind := range []hub.Kind{hub.Model, hub.Dataset} {
		s, c := hubOf(t)
		s.PartSize, s.PageSize = 300, 2
		repo := hub.Repo{Kind: kind, ID: "org/thing"}
		var up struct {
			OID   string
			Files []string
		}
		python(t, s, filepath.Join(t.TempDir(), "hub"), "secret", &up, "upload", string(kind), "org/thing",
			folderOf(t, example()))
		want := example()
		delete(want, "a b#?.txt")
		want["more.txt"] = "more"
		dir, _, err := c.Download(t.Context(), repo, everything)
		if err != nil || !sameFiles(contents(t, dir), want) || len(up.Files) != len(want)+1 {
			t.Fatalf("hone of what huggingface_hub pushed: %v, %v", up, err)
		}
		before := hub.Repo{Kind: kind, ID: "org/thing", Revision: up.OID}
		if dir, _, err = c.Download(t.Context(), before, everything); err != nil ||
			!sameFiles(contents(t, dir), example()) {
			t.Fatalf("hone of its first commit: %v", err)
		}

		// The other way round, into one cache that both use.
		mine := maps.Clone(example())
		mine["more.txt"] = "of hone"
		if _, err := c.Push(t.Context(), repo, hub.Upload{Folder: folderOf(t, mine), Message: "m"}); err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		theirs := filepath.Join(t.TempDir(), "hub")
		python(t, s, theirs, "", &got, "snapshot", string(kind), "org/thing")
		if !sameFiles(got, mine) {
			t.Errorf("huggingface_hub of what hone pushed: %v", got)
		}
		reader := clientOf(t, s)
		reader.Cache, reader.Offline = theirs, true
		if dir, _, err := reader.Download(t.Context(), repo, everything); err != nil ||
			!sameFiles(contents(t, dir), mine) {
			t.Errorf("hone offline, of huggingface_hub's cache: %v", err)
		}

		cache := filepath.Join(t.TempDir(), "hub")
		writer := clientOf(t, s)
		writer.Cache = cache
		if _, _, err := writer.Download(t.Context(), repo, everything); err != nil {
			t.Fatal(err)
		}
		python(t, s, cache, "", &got, "offline", string(kind), "org/thing")
		delete(got, "one")
		if !sameFiles(got, mine) {
			t.Errorf("huggingface_hub offline, of hone's cache: %v", got)
		}
	}
}

// The stand-in refuses in the words by which huggingface_hub knows why.
func TestPeerIsRefused(t *testing.T) {
	needsPeer(t)
	s, _ := hubOf(t)
	s.Put("model", "org/open", map[string]string{"a": "b"})
	s.Put("model", "org/gated", map[string]string{"a": "b"})
	s.Gate("model", "org/gated")
	var got []string
	python(t, s, filepath.Join(t.TempDir(), "hub"), "", &got, "refused")
	if want := []string{"RepositoryNotFoundError", "GatedRepoError",
		"RevisionNotFoundError"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// While huggingface_hub holds the lock of a blob, hone waits.
func TestPeerLocks(t *testing.T) {
	needsPeer(t)
	s, c := hubOf(t)
	commit := s.Put("model", "org/m", map[string]string{"config.json": "{}"})
	repo := hub.Repo{Kind: hub.Model, ID: "org/m"}
	files, err := c.Files(t.Context(), repo, commit)
	if err != nil {
		t.Fatal(err)
	}
	locks := filepath.Join(c.Cache, ".locks", "models--org--m")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := pythonCommand(s, c.Cache, "", "lock", filepath.Join(locks, files[0].OID+".lock"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	waits := make(chan struct{})
	c.Say = func(format string, _ ...any) {
		if strings.Contains(format, "waiting for it") {
			close(waits)
		}
	}
	done := make(chan error)
	go func() {
		_, _, err := c.Download(t.Context(), repo, everything)
		done <- err
	}()
	select {
	case <-waits: // only now may it go on
	case err := <-done:
		_ = cmd.Process.Kill()
		t.Fatalf("it did not wait: %v", err)
	}
	_, _ = io.WriteString(in, "\n")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// huggingface_hub reads the card of a model that hone pushes.
func TestPeerReadsTheCard(t *testing.T) {
	needsPeer(t)
	s, _ := hubOf(t)
	path := filepath.Join(t.TempDir(), "README.md")
	m := hub.Card{Name: "ada/shop", Adapter: true, Base: "Qwen/Qwen3-0.6B", OnHub: true, License: "apache-2.0",
		Datasets: []string{"ada/rows"}, System: "Be brief.\nAnd: kind", Systems: []hub.CardSystem{
			{Name: "base"},
			{Name: "model", Whole: hub.CardRate{Mean: 0.5, Low: 0.25, High: 0.75}, Scenarios: 12, IsThis: true},
		}}
	if err := os.WriteFile(path, m.Markdown(), 0o644); err != nil {
		t.Fatal(err)
	}
	var got struct {
		BaseModel   string   `json:"base_model"`
		LibraryName string   `json:"library_name"`
		License     string   `json:"license"`
		Datasets    []string `json:"datasets"`
		Index       []struct {
			Name    string
			Results []struct {
				Dataset struct{ Name string }
				Metrics []struct{ Value float64 }
			}
		} `json:"model-index"`
	}
	python(t, s, t.TempDir(), "", &got, "card", path)
	if got.BaseModel != m.Base || got.LibraryName != "peft" || got.License != m.License ||
		!slices.Equal(got.Datasets, m.Datasets) || len(got.Index) != 1 ||
		got.Index[0].Results[0].Metrics[0].Value != 50 ||
		got.Index[0].Results[0].Dataset.Name != "12 held-out scenarios" {
		t.Errorf("%+v of\n%s", got, m.Markdown())
	}
}
