package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/episode/trajectory"
)

// protected is a server and the authorization server that guards it, which issues the token "issued-N".
type protected struct {
	url    string
	issued atomic.Int64
	short  atomic.Int64 // seconds less that tokens live
	seen   sync.Map     // what was asked for a token, as its form's text
}

func protect(t *testing.T) *protected {
	t.Helper()
	p := &protected{}
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newFixture(nil) }, nil)
	answer := func(w http.ResponseWriter, value map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(value)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"resource": p.url + "/mcp", "authorization_servers": []string{p.url}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": p.url, "authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token",
			"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code",
				"client_credentials"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
			"code_challenge_methods_supported":      []string{"S256"},
		})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		id, secret, _ := r.BasicAuth()
		p.seen.Store(r.Form.Get("grant_type"), id+" "+secret+" "+r.Form.Get("code"))
		p.seen.Store("form", r.Form)
		answer(w, map[string]any{"access_token": fmt.Sprintf("issued-%d", p.issued.Add(1)), "token_type": "Bearer",
			"expires_in": max(1, 3600-p.short.Load())})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer issued-") {
			w.Header().Set("WWW-Authenticate",
				`Bearer resource_metadata="`+p.url+`/.well-known/oauth-protected-resource"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func TestOAuthClientCredentials(t *testing.T) {
	guarded := protect(t)
	s := Server{URL: guarded.url + "/mcp", Isolation: PerSession,
		OAuth: &OAuth{ClientID: "hone", ClientSecret: "sesame"}}
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
	after := guarded.issued.Load() // Discover has got one
	together(context.Background(), t, p, 6, func(_ int, e *Episode) {
		if r := ask(e, "add", `{"A":1,"B":1}`); r.Status != trajectory.CallOK {
			t.Errorf("%+v", r)
		}
	})
	if n := guarded.issued.Load() - after; n != 1 {
		t.Errorf("six sessions got %d tokens, want one between them", n)
	}
	if sent, _ := guarded.seen.Load("client_credentials"); sent != "hone sesame " {
		t.Errorf("the token was asked for with %q", sent)
	}
}

func TestOAuthWithAPerson(t *testing.T) {
	guarded := protect(t)
	s := Server{URL: guarded.url + "/mcp", Isolation: PerSession,
		OAuth: &OAuth{ClientID: "hone", ClientSecret: "sesame"}}
	var refuse atomic.Bool
	o := Options{Authorize: func(_ context.Context, at string) (string, error) {
		u, err := url.Parse(at)
		if err != nil {
			return "", err
		}
		if refuse.Load() {
			return defaultRedirect + "?error=access_denied&error_description=not+today", nil
		}
		return defaultRedirect + "?code=c0de&state=" + url.QueryEscape(u.Query().Get("state")), nil
	}}
	if _, err := Discover(context.Background(), configOf(t, map[string]Server{"s": s}), o); err != nil {
		t.Fatal(err)
	}
	if sent, _ := guarded.seen.Load("authorization_code"); sent != "hone sesame c0de" {
		t.Errorf("the token was asked for with %q", sent)
	}
	refuse.Store(true)
	if _, err := Discover(context.Background(), configOf(t, map[string]Server{"s": s}), o); err == nil ||
		!strings.Contains(err.Error(), "access_denied") {
		t.Errorf("a refusal: %v", err)
	}
}
