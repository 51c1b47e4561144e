package hub_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hone/internal/fault"
	"hone/internal/hub"
	"hone/internal/testing/fakes"
)

// hangUp ends the connection of a request without an answer.
func hangUp(w http.ResponseWriter) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close() // that is the fault
	}
	return true
}

// cut ends connections from the n-th request on: before it is looked at, in the middle of what it sends, or when it has
// been done and is to be answered. So everything that comes after is lost, as for a client that is killed.
type cut struct {
	at      int
	how     string
	mu      sync.Mutex
	seen    []string
	touched bool
}

func (x *cut) before(w http.ResponseWriter, r *http.Request) bool {
	x.mu.Lock()
	x.seen = append(x.seen, r.Host+" "+r.Method+" "+r.URL.Path)
	n := len(x.seen)
	x.mu.Unlock()
	switch {
	case n < x.at:
		return false
	case n > x.at || x.how == "before":
		return hangUp(w)
	case x.how == "within":
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2) // half of what it sends
		return hangUp(w)
	}
	x.touched = true
	return false // served, and its answer lost by the client's transport
}

// lostAnswer is a transport that loses the answer of the n-th request.
type lostAnswer struct {
	x *cut
	http.RoundTripper
}

func (l lostAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := l.RoundTripper.RoundTrip(r)
	l.x.mu.Lock()
	defer l.x.mu.Unlock()
	if err == nil && l.x.touched {
		_ = a.Body.Close() // nobody reads it
		return nil, errors.New("connection reset by peer")
	}
	return a, err
}

// A push that is cut off anywhere, before, within or behind any of its requests, leaves what was there or all that is
// new. The next push goes on, sends no large file again that the Hub has, and makes the one commit.
func TestPushCutAnywhere(t *testing.T) {
	old := map[string]string{"config.json": "old", "stays.txt": "x"}
	want := maps.Clone(example())
	want["stays.txt"] = "x"
	requests := 0
	for at := 1; requests == 0 || at <= requests; at++ {
		for _, how := range []string{"before", "within", "behind"} {
			s, c := hubOf(t)
			s.PartSize = 300
			s.Put("model", "org/m", old)
			dir, repo := folderOf(t, example()), hub.Repo{Kind: hub.Model, ID: "org/m"}
			x := &cut{at: at, how: how}
			s.Intercept(x.before)
			killed := *c
			killed.HTTP = &http.Client{Transport: lostAnswer{x, c.HTTP.Transport}}
			_, err := killed.Push(t.Context(), repo, hub.Upload{Folder: dir, Message: "m"})
			if err == nil {
				if requests = len(x.seen); requests < 10 || at <= requests {
					t.Fatalf("%d requests, cut %s %d: no error", requests, how, at)
				}
				break
			}
			if fault.CodeOf(err) != fault.CodeUnavailable {
				t.Errorf("cut %s %v: %v", how, x.seen, err)
			}
			files, commits := s.Files("model", "org/m", "main")
			if !sameFiles(files, old) && !sameFiles(files, want) || commits > 2 {
				t.Fatalf("cut %s %v: half a commit: %v", how, x.seen, files)
			}
			kept, _ := os.ReadDir(s.Dir)
			resent := 0
			s.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == "PUT" && slices.ContainsFunc(kept,
					func(e os.DirEntry) bool { return strings.Contains(r.URL.Path, e.Name()) }) {
					resent++
				}
				return false
			})
			if _, err := c.Push(t.Context(), repo, hub.Upload{Folder: dir, Message: "m"}); err != nil {
				t.Fatalf("cut %s %v, then: %v", how, x.seen, err)
			}
			files, commits = s.Files("model", "org/m", "main")
			if !sameFiles(files, want) || commits != 2 || resent > 0 {
				t.Errorf("cut %s %v: %d commits, %d objects sent again, %v", how, x.seen, commits, resent, files)
			}
		}
		if requests == 0 && at > 100 {
			t.Fatal("it never ends")
		}
	}
}

// Errors that pass are tried again; where the answer to a commit is lost, there is still one commit.
func TestPushTriesAgain(t *testing.T) {
	s, c := hubOf(t)
	seen := map[string]int{}
	s.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		key := r.Method + r.URL.Path
		if seen[key]++; seen[key] > 1 {
			return false
		}
		switch len(seen) % 3 {
		case 0:
			return hangUp(w)
		case 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return true
	})
	if _, err := c.Push(t.Context(), hub.Repo{Kind: hub.Model, ID: "org/m"},
		hub.Upload{Folder: folderOf(t, example()), Message: "m"}); err != nil {
		t.Fatal(err)
	}
	if files, commits := s.Files("model", "org/m", "main"); !sameFiles(files, example()) || commits != 2 {
		t.Errorf("%d commits, %v", commits, files)
	}
}

func TestCommitWhoseAnswerIsLost(t *testing.T) {
	s, c := hubOf(t)
	s.Put("model", "org/m", map[string]string{"a": "old"})
	x := &cut{at: -1}
	once := true
	s.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		x.mu.Lock()
		x.touched = once && strings.Contains(r.URL.Path, "/commit/")
		once = once && !x.touched
		x.mu.Unlock()
		return false
	})
	c.HTTP = &http.Client{Transport: lostAnswer{x, c.HTTP.Transport}}
	if _, err := c.Push(t.Context(), hub.Repo{Kind: hub.Model, ID: "org/m"},
		hub.Upload{Folder: folderOf(t, map[string]string{"a": "new"}), Message: "m"}); err != nil {
		t.Fatal(err)
	}
	if files, commits := s.Files("model", "org/m", "main"); files["a"] != "new" || commits != 2 {
		t.Errorf("%d commits, %v", commits, files)
	}
}

// What somebody else commits meanwhile stays.
func TestPushBesideAnother(t *testing.T) {
	s, c := hubOf(t)
	s.Put("model", "org/m", map[string]string{"theirs": "1"})
	once := sync.Once{}
	s.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/commit/") {
			once.Do(func() { s.Put("model", "org/m", map[string]string{"theirs": "2"}) })
		}
		return false
	})
	if _, err := c.Push(t.Context(), hub.Repo{Kind: hub.Model, ID: "org/m"},
		hub.Upload{Folder: folderOf(t, map[string]string{"mine": "m"}), Message: "m"}); err != nil {
		t.Fatal(err)
	}
	if files, commits := s.Files("model", "org/m",
		"main"); !sameFiles(files, map[string]string{"theirs": "2", "mine": "m"}) || commits != 3 {
		t.Errorf("%d commits, %v", commits, files)
	}
}

// A download that is cut off at any byte goes on there: by itself, and in the next process.
func TestDownloadGoesOn(t *testing.T) {
	text := noise(100)
	for _, inProcess := range []bool{true, false} {
		for _, at := range []int{0, 1, 50, 99} {
			s, c := hubOf(t)
			s.Put("model", "org/m", map[string]string{"model.safetensors": text, "small.txt": text[:90]})
			var mu sync.Mutex
			var ranges []string
			cuts := 0
			s.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Host != "store" {
					return false
				}
				mu.Lock()
				defer mu.Unlock()
				if ranges = append(ranges, r.Header.Get("Range")); cuts > 0 && (inProcess || cuts > 100) {
					return false
				}
				cuts++
				w.Header().Set("Content-Length", strconv.Itoa(len(text)))
				if r.Header.Get("Range") != "" { // of a later try of the first process
					return hangUp(w)
				}
				_, _ = io.WriteString(w, text[:at])
				_ = http.NewResponseController(w).Flush()
				return hangUp(w)
			})
			repo := hub.Repo{Kind: hub.Model, ID: "org/m"}
			dir, _, err := c.Download(t.Context(), repo, everything)
			if !inProcess {
				if err == nil || dir != "" {
					t.Fatal("it was cut off")
				}
				if cached, _ := c.FromCache(repo, everything); cached != "" {
					t.Error("half of it is found")
				}
				mu.Lock()
				cuts, ranges = 101, nil
				mu.Unlock()
				dir, _, err = c.Download(t.Context(), repo, everything)
			}
			if err != nil || contents(t, dir)["model.safetensors"] != text ||
				contents(t, dir)["small.txt"] != text[:90] {
				t.Fatalf("cut at %d: %v", at, err)
			}
			want := ""
			if at > 0 {
				want = fmt.Sprintf("bytes=%d-", at)
			}
			mu.Lock()
			got := ranges[len(ranges)-1]
			mu.Unlock()
			if got != want {
				t.Errorf("cut at %d: asked for %q", at, got)
			}
		}
	}
}

// A file whose content has another hash is downloaded once more, and is never there with the wrong content.
func TestHashMismatch(t *testing.T) {
	text := noise(100)
	for _, file := range []string{"model.safetensors", "small.txt"} {
		for _, wrong := range []int{1, 9} {
			s, c := hubOf(t)
			s.Put("model", "org/m", map[string]string{file: text})
			n := 0
			s.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Host == "store" || strings.HasSuffix(r.URL.Path, "/small.txt") {
					if n++; n <= wrong {
						_, _ = io.WriteString(w, strings.Repeat("?", len(text)))
						return true
					}
				}
				return false
			})
			dir, _, err := c.Download(t.Context(), hub.Repo{Kind: hub.Model, ID: "org/m"}, everything)
			if wrong == 1 {
				if err != nil || contents(t, dir)[file] != text {
					t.Errorf("%s: %v", file, err)
				}
				continue
			}
			if fault.CodeOf(err) != fault.CodeUnavailable || !strings.Contains(err.Error(), "hash") {
				t.Errorf("%s: %v", file, err)
			}
			if left := contents(t,
				filepath.Join(c.Cache, "models--org--m")); slices.Contains(slices.Collect(maps.Values(left)),
				strings.Repeat("?", len(text))) {
				t.Errorf("%s: the wrong content was kept", file)
			}
		}
	}
}

// A damaged part of an earlier download is noticed at the end, and the whole comes anew. A server without ranges sends
// the whole.
func TestDamagedPart(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		for _, part := range []string{"?????", strings.Repeat("?", 200)} {
			s, c := hubOf(t)
			text := noise(100)
			commit := s.Put("model", "org/m", map[string]string{"model.safetensors": text})
			repo := hub.Repo{Kind: hub.Model, ID: "org/m"}
			files, err := c.Files(t.Context(), repo, commit)
			if err != nil {
				t.Fatal(err)
			}
			blobs := filepath.Join(c.Cache, "models--org--m", "blobs")
			if err := os.MkdirAll(blobs, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(blobs, files[0].LFS+".incomplete"), []byte(part), 0o644); err != nil {
				t.Fatal(err)
			}
			if !ranges {
				s.Intercept(func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("Range"); return false })
			}
			dir, _, err := c.Download(t.Context(), repo, everything)
			if err != nil || contents(t, dir)["model.safetensors"] != text {
				t.Errorf("ranges %v: %v", ranges, err)
			}
		}
	}
}

// A full disk, which a limit of a file's size stands for, is told as one; what came is kept.
func TestDownloadOntoAFullDisk(t *testing.T) {
	s, c := hubOf(t)
	text := noise(9000)
	s.Put("model", "org/m", map[string]string{"model.safetensors": text})
	out, err := helper(s, c, "full").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "exit code 6") ||
		!strings.Contains(string(out), "free some space") {
		t.Fatalf("%v: %s", err, out)
	}
	first := ""
	s.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Host == "store" {
			first = r.Header.Get("Range")
		}
		return false
	})
	dir, _, err := c.Download(t.Context(), hub.Repo{Kind: hub.Model, ID: "org/m"}, everything)
	if err != nil || contents(t, dir)["model.safetensors"] != text || first != "bytes=5000-" {
		t.Errorf("%v, asked for %q", err, first)
	}
}

// helper is another process that downloads. In one that is full, no file may have more than 5000 bytes.
func helper(s *fakes.Hub, c *hub.Client, how string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$")
	cmd.Env = append(os.Environ(), "HONE_HUB_TEST="+s.URL+" "+how+" "+c.Cache)
	return cmd
}

// TestHelper is the process that helper starts.
func TestHelper(t *testing.T) {
	endpoint, cache, _ := strings.Cut(os.Getenv("HONE_HUB_TEST"), " ")
	if endpoint == "" {
		t.Skip("it is part of other tests")
	}
	how, cache, _ := strings.Cut(cache, " ")
	c := &hub.Client{Endpoint: endpoint, Cache: cache, Token: "secret"}
	if how == "full" {
		signal.Ignore(unix.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 5000, Max: 5000}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Download(t.Context(), hub.Repo{Kind: hub.Model, ID: "org/m"}, everything); err != nil {
		t.Fatalf("exit code %d: %v", fault.CodeOf(err), err)
	}
}

// Processes that want the same files at once get them, and each blob is sent once.
func TestTwoProcesses(t *testing.T) {
	s, c := hubOf(t)
	want := map[string]string{"model.safetensors": noise(5000), "other.safetensors": noise(300), "config.json": "{}"}
	s.Put("model", "org/m", want)
	var mu sync.Mutex
	sent := map[string]int{}
	s.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Host == "store" {
			mu.Lock()
			sent[r.URL.Path]++
			mu.Unlock()
			time.Sleep(100 * time.Millisecond) // long enough for the others to come and wait
		}
		return false
	})
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if out, err := helper(s, c, "waits").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wait.Wait()
	dir, _ := c.FromCache(hub.Repo{Kind: hub.Model, ID: "org/m"}, everything)
	if dir == "" || !sameFiles(contents(t, dir), want) {
		t.Error("they are not there")
	}
	for path, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", path, n)
		}
	}
}

// A list of files that would write outside the cache is refused.
func TestHostileList(t *testing.T) {
	for _, path := range []string{"../x", "/etc/x", "a/../../x"} {
		s, c := hubOf(t)
		s.Put("model", "org/m", map[string]string{path: "x"})
		if _, _, err := c.Download(t.Context(), hub.Repo{Kind: hub.Model, ID: "org/m"}, everything); err == nil ||
			!strings.Contains(err.Error(), "no file that can be written") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
