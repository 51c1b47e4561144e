//go:build linux

package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// runFetches says of each URL what a client of the standard library is answered through the proxy its environment
// names, and of each address what a connection past the proxy comes to.
func runFetches(what []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, "socket:") &&
			e.Name() > "2" {
			fmt.Println("open:", e.Name(), target)
		}
	}
	client := &http.Client{Timeout: 20 * time.Second}
	for _, each := range what {
		if !strings.HasPrefix(each, "http") {
			fmt.Println(connects("tcp", each) == nil)
			continue
		}
		r, err := client.Get(each)
		if err != nil {
			fmt.Println(err)
			continue
		}
		text, _ := io.ReadAll(r.Body)
		fmt.Println(r.StatusCode, string(text))
	}
}

// A process without network reaches the proxy, and the proxy alone; the proxy ends with the process.
func TestProxyInPlaceOfTheNetwork(t *testing.T) {
	tg, g := outside(t)
	s := at(t, Bubblewrap, options(tg))
	ended := make(chan string, 8)
	g.Proxy = func(l net.Listener) {
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "proxied %s", r.URL)
		})}
		_ = server.Serve(l)
		_ = server.Close()
		ended <- l.Addr().String()
	}
	for range 2 {
		cmd := exec.Command(os.Args[0], "fetch", "http://a.example/x", tg.TCP)
		cmd.Dir = tg.Own
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := s.Wrap(cmd, g); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Run(); err != nil || stdout.String() != "200 proxied http://a.example/x\nfalse\n" {
			t.Errorf("%v: %s%s", err, stdout.String(), stderr.String())
		}
		if at := <-ended; !strings.HasPrefix(at, "127.0.0.1:") {
			t.Errorf("it listened at %s", at)
		}
	}
}

// A process that never starts leaves nothing to wait for, and a level that cannot hold a process to a proxy does not
// pretend to.
func TestProxyThatIsNotUsed(t *testing.T) {
	tg, g := outside(t)
	g.Proxy = func(net.Listener) { t.Error("served") }
	s := at(t, Bubblewrap, options(tg))
	if err := s.Wrap(exec.Command("/bin/true"), g); err != nil {
		t.Fatal(err)
	}
	for _, level := range []Level{Landlock, None} {
		t.Run(string(level), func(t *testing.T) {
			if err := at(t, level, options(tg)).Wrap(exec.Command("/bin/true"), g); err == nil ||
				!strings.Contains(err.Error(), "needs bubblewrap") {
				t.Error(err)
			}
		})
	}
}

// What the user's own way out is, a package manager would ask in vain: the proxy is the only one.
func TestProxied(t *testing.T) {
	env := []string{
		"PATH=/bin", "HTTPS_PROXY=http://corp:1", "NO_PROXY=registry.corp", "no_proxy=*", "ALL_PROXY=socks://corp",
		"npm_config_proxy=http://corp:1",
		"npm_config_https_proxy=http://corp:1", "npm_config_registry=https://registry.corp",
	}
	got := proxyEnv(env, "http://127.0.0.1:9")
	want := []string{
		"PATH=/bin", "npm_config_registry=https://registry.corp", "HTTP_PROXY=http://127.0.0.1:9",
		"HTTPS_PROXY=http://127.0.0.1:9",
		"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9", "NODE_USE_ENV_PROXY=1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
