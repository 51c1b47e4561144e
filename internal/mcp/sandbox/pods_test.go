package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// api is a cluster's API as far as hone speaks to it: what it was asked, and what it says of the one object.
type api struct {
	t      *testing.T
	refuse []int    // statuses of the first requests to make something; then 201
	events []string // of a watch, "" for one that ends; the watch of the last stays open

	mu      sync.Mutex
	asked   []string // METHOD path
	made    map[string]any
	deletes []int // statuses of the first requests to delete it; then 200
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer of-the-account" {
		a.t.Errorf("%s %s has no token of the account", r.Method, r.URL)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	switch r.Method {
	case http.MethodPost:
		if err := json.NewDecoder(r.Body).Decode(&a.made); err != nil {
			a.t.Error(err)
		}
		if len(a.refuse) > 0 {
			status := a.refuse[0]
			a.refuse = a.refuse[1:]
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"kind":"Status","message":"exceeded quota: pods"}`))
			return
		}
		w.WriteHeader(http.StatusCreated)
	case http.MethodGet:
		name := a.made["metadata"].(map[string]any)["name"].(string)
		if q := r.URL.Query(); q.Get("watch") == "" || q.Get("fieldSelector") != "metadata.name="+name {
			a.t.Errorf("watches %s, want the object %s", r.URL.RawQuery, name)
		}
		w.WriteHeader(http.StatusOK)
		for len(a.events) > 0 {
			event := a.events[0]
			a.events = a.events[1:]
			if event == "" {
				return
			}
			_, _ = w.Write([]byte(event + "\n"))
		}
		w.(http.Flusher).Flush()
		a.mu.Unlock()
		<-r.Context().Done()
		a.mu.Lock()
	case http.MethodDelete:
		if len(a.deletes) > 0 {
			w.WriteHeader(a.deletes[0])
			a.deletes = a.deletes[1:]
		}
	}
}

// numDeleted is how often the one object was deleted.
func (a *api) numDeleted() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, asked := range a.asked {
		if strings.HasPrefix(asked, "DELETE ") {
			n++
		}
	}
	return n
}

// cluster is a client of the API, in a pod of its own.
func cluster(t *testing.T, a *api) *Cluster {
	t.Helper()
	s := httptest.NewTLSServer(a)
	t.Cleanup(s.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{"token": "of-the-account\n", "namespace": "team", "ca.crt": string(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"KUBERNETES_SERVICE_HOST": at.Hostname(), "KUBERNETES_SERVICE_PORT": at.Port(),
		"HONE_POD_NAME": "hone-env-0", "HONE_POD_UID": "1234"}
	c, err := InCluster(func(name string) (string, bool) { value, is := env[name]; return value, is }, dir)
	if err != nil {
		t.Fatal(err)
	}
	c.pause, c.Patience = time.Millisecond, 300*time.Millisecond
	return c
}

const (
	pulling = `{"type":"ADDED","object":{"status":{"phase":"Pending","containerStatuses":[` +
		`{"state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}]}}}`
	starting = `{"type":"MODIFIED","object":{"status":{"phase":"Running","podIP":"10.1.2.3",` +
		`"conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"}]}}}`
	podReady = `{"type":"MODIFIED","object":{"status":{"phase":"Running","podIP":"10.1.2.3",` +
		`"conditions":[{"type":"Ready","status":"True"}]}}}`
	claimPending = `{"type":"ADDED","object":{"status":{"conditions":[` +
		`{"type":"Ready","status":"False","reason":"SandboxNotReady","message":"starting"}]}}}`
	claimReady = `{"type":"MODIFIED","object":{"status":{"sandbox":{"podIPs":["fd00::7","10.1.2.4"]},` +
		`"conditions":[{"type":"Ready","status":"True","reason":"SandboxReady"}]}}}`
	noPool = `{"type":"ADDED","object":{"status":{"conditions":[{"type":"Ready","status":"False",` +
		`"reason":"WarmPoolNotFound","message":"SandboxWarmPool \"files\" not found"}]}}}`
	crashed = `{"type":"MODIFIED","object":{"status":{"phase":"Failed","containerStatuses":[` +
		`{"state":{"terminated":{"reason":"OOMKilled"}}}]}}}`
	deleting = `{"type":"MODIFIED","object":{"metadata":{"deletionTimestamp":"2026-11-29T10:00:00Z"},` +
		`"status":{"podIP":"10.1.2.3","conditions":[{"type":"Ready","status":"True"}]}}}`
	gone = `{"type":"DELETED","object":{}}`
)

func TestSessionHasAPod(t *testing.T) {
	pod, claim := Pod{Image: "files:1"}, Pod{Pool: "files"}
	for _, c := range []struct {
		name    string
		pod     Pod
		refuse  []int
		events  []string
		address string
		err     string // "" where the pod gets ready
	}{
		{"a pod is made", pod, nil, []string{pulling, podReady}, "10.1.2.3:8000", ""},
		{"a pod has an address and is not ready", pod, nil, []string{starting}, "", "300ms: ContainersNotReady"},
		{"a claim is ready", claim, nil, []string{claimPending, claimReady}, "[fd00::7]:8000", ""},
		{"a watch that ends is begun again", pod, nil, []string{pulling, "", "", podReady}, "10.1.2.3:8000", ""},
		{"a busy API is asked again", claim, []int{429, 503}, []string{claimReady}, "[fd00::7]:8000", ""},
		{"the answer that it is made was lost", pod, []int{504, 409}, []string{podReady}, "10.1.2.3:8000", ""},
		{"the quota refuses a pod", pod, []int{403}, nil, "", "HTTP 403: exceeded quota: pods"},
		{"the first to have the name is another", pod, []int{409}, nil, "", "HTTP 409"},
		{"the pool is missing", claim, nil, []string{noPool}, "", `WarmPoolNotFound: SandboxWarmPool "files" not found`},
		{"the server crashes", pod, nil, []string{pulling, crashed}, "", "it has ended: OOMKilled"},
		{"the pod is late", pod, nil, []string{pulling}, "",
			"it is not ready after 300ms: ImagePullBackOff: no such image"},
		{"the pod is evicted", pod, nil, []string{deleting}, "", "it is being deleted"},
		{"the claim is deleted", claim, nil, []string{claimPending, gone}, "", "it was deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := &api{t: t, refuse: c.refuse, events: c.events}
			address, release, err := cluster(t, a).Open(t.Context(), "Files", c.pod, 8000)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q", err, c.err)
				}
				if a.numDeleted() == 0 {
					t.Error("nothing was deleted after the failure")
				}
				return
			}
			if err != nil || address != c.address {
				t.Fatalf("address %q and error %v, want %q", address, err, c.address)
			}
			if n := a.numDeleted(); n != 0 {
				t.Errorf("%d deleted before the session ends", n)
			}
			release()
			if n := a.numDeleted(); n != 1 {
				t.Errorf("%d deleted when the session ends, want 1", n)
			}
		})
	}
}

// What hone asks the API for is in testdata, where kubeconform reads it too (scripts/manifests.sh).
func TestWhatIsMade(t *testing.T) {
	for _, c := range []struct {
		golden, path string
		pod          Pod
	}{
		{"pod.json", "/api/v1/namespaces/team/pods", Pod{Image: "files:1", Args: []string{"--http"}, Secret: "keys",
			Env: map[string]string{"B": "${HOME}", "A": "1"}, Memory: "1Gi", CPU: "2", Runtime: "gvisor"}},
		{"claim.json", "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team/sandboxclaims",
			Pod{Image: "files:1", Pool: "files"}},
	} {
		t.Run(c.golden, func(t *testing.T) {
			a := &api{t: t, events: []string{podReady}}
			if _, _, err := cluster(t, a).Open(t.Context(), "Files_2", c.pod, 8000); err != nil {
				t.Fatal(err)
			}
			if want := "POST " + c.path; a.asked[0] != want {
				t.Errorf("asks %s, want %s", a.asked[0], want)
			}
			got, err := json.MarshalIndent(a.made, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = randomName.ReplaceAll(got, []byte(`0123456789"`))
			got = append(aTime.ReplaceAll(got, []byte("2026-01-02T03:04:05Z")), '\n')
			path := filepath.Join("testdata", c.golden)
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("not as in %s; go test ./internal/mcp/sandbox -run Made -update rewrites it:\n%s", path, got)
			}
		})
	}
}

var (
	update     = flag.Bool("update", false, "write the requests that are expected anew")
	randomName = regexp.MustCompile(`[0-9a-f]{10}"`)
	aTime      = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
)

func TestRelease(t *testing.T) {
	for _, c := range []struct {
		name    string
		deletes []int
		number  int
		said    string
	}{
		{"it is there", nil, 1, ""},
		{"it is gone already", []int{404}, 1, ""},
		{"the API is busy", []int{429, 500}, 3, ""},
		{"the account may not", []int{403}, 1, "could not be deleted, and ends by itself within 4h0m0s: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &api{t: t, events: []string{podReady}, deletes: c.deletes}
			cluster := cluster(t, a)
			said := ""
			cluster.Say = func(format string, args ...any) { said += fmt.Sprintf(format, args...) }
			_, release, err := cluster.Open(t.Context(), "files", Pod{Image: "files:1"}, 8000)
			if err != nil {
				t.Fatal(err)
			}
			release()
			if n := a.numDeleted(); n != c.number {
				t.Errorf("asks %d times that it be deleted, want %d", n, c.number)
			}
			if !strings.Contains(said, c.said) || c.said == "" && said != "" {
				t.Errorf("said %q, want %q", said, c.said)
			}
		})
	}
}

func TestWhoLeavesMeanwhileLeavesNoPod(t *testing.T) {
	a := &api{t: t, events: []string{pulling}}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := cluster(t, a).Open(ctx, "files", Pod{Image: "files:1"}, 8000)
	if err == nil || strings.Contains(err.Error(), "after") {
		t.Errorf("error %v, want one that blames no time of the cluster's", err)
	}
	if n := a.numDeleted(); n != 1 {
		t.Errorf("%d deleted, want 1", n)
	}
}

func TestOutsideOfACluster(t *testing.T) {
	_, err := InCluster(func(string) (string, bool) { return "", false }, t.TempDir())
	if !errors.Is(err, ErrOutside) {
		t.Errorf("error %v, want %v", err, ErrOutside)
	}
}
