package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
)

// From the first moment every route answers: until the model is there with 503, when to ask again, and an error in its
// protocol's form.
func TestEarly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	release, isOpen, ended := make(chan bool), make(chan bool), make(chan error, 1)
	o := Options{Models: []Model{model(&sampler{says: "hi"})}, Keys: []string{"key"}}
	go func() {
		ended <- Early(ctx, l, Options{Keys: o.Keys}, func(_ context.Context, open func(*Server)) error {
			<-release
			s, err := New(o)
			if err != nil {
				return err
			}
			open(s)
			close(isOpen)
			return nil
		})
	}()
	call := func(method, path, key string) (status int, retry string, body map[string]any) {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+l.Addr().String()+path, strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return answer.StatusCode, answer.Header.Get("Retry-After"), body
	}
	for _, route := range (&Server{}).routes() {
		status, retry, body := call(route.Method,
			strings.NewReplacer("{id}", "x", "{id...}", "x").Replace(route.Path), "key")
		problem, _ := body["error"].(map[string]any)
		if status != http.StatusServiceUnavailable || retry != "5" ||
			!strings.Contains(problem["message"].(string), "is loading") ||
			(body["type"] == "error") != strings.HasPrefix(route.Path, "/v1/messages") {
			t.Errorf("%s %s: %d, Retry-After %q, %v", route.Method, route.Path, status, retry, body)
		}
	}
	if status, _, _ := call("GET", "/v1/models", "guess"); status != http.StatusUnauthorized {
		t.Errorf("without the key: %d", status)
	}
	if status, _, _ := call("GET", "/health", ""); status != http.StatusServiceUnavailable {
		t.Errorf("health, which needs no key: %d", status)
	}
	close(release)
	<-isOpen
	if status, _, body := call("GET", "/health", ""); status != http.StatusOK || body["status"] != "ok" {
		t.Errorf("%d %v", status, body)
	}
	if status, _, body := call("GET", "/v1/models/m", "key"); status != http.StatusOK || body["id"] != "m" {
		t.Errorf("%d %v", status, body)
	}
	stop()
	http.DefaultClient.CloseIdleConnections()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What fails while it loads ends the server with its error, and a listener that fails is not waited for.
func TestEarlyEnds(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	broken := errors.New("no such model")
	if err := Early(t.Context(), listen(), Options{},
		func(context.Context, func(*Server)) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	l := listen()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Early(t.Context(),
		l, Options{}, func(ctx context.Context, _ func(*Server)) error { <-ctx.Done(); return nil }); err == nil ||
		!strings.Contains(err.Error(), "the server stopped") {
		t.Errorf("%v", err)
	}
}
