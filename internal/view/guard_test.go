package view

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Only the page itself and a person who opens its address are answered, whatever a site elsewhere makes a browser send.
func TestGuard(t *testing.T) {
	const address, token = "127.0.0.1:7000", "secret"
	guard := guard(token, address,
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("in " + r.URL.Path)) }))
	for name, c := range map[string]struct {
		method, path, host string
		headers            map[string]string
		status             int
	}{
		"opened":                  {"GET", "/secret/", address, nil, 200},
		"by another of its names": {"GET", "/secret/", "localhost:7000", nil, 200},
		"a link elsewhere":        {"GET", "/secret/", address, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200},
		"asks":                    {"GET", "/secret/api/runs", address, map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
		"changes": {
			"POST", "/secret/api/curate", address, map[string]string{"Origin": "http://127.0.0.1:7000",
				"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}, 200,
		},
		"no token":                {"GET", "/", address, nil, 403},
		"another token":           {"GET", "/guess/", address, nil, 403},
		"a name that points here": {"GET", "/secret/", "evil.example:7000", nil, 403},
		"another port":            {"GET", "/secret/", "127.0.0.1:7001", nil, 403},
		"a site's script":         {"GET", "/secret/api/runs", address, map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}, 403},
		"a site's picture":        {"GET", "/secret/api/runs", address, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		"another page of this host": {"GET", "/secret/api/runs", address,
			map[string]string{"Origin": "http://127.0.0.1:9999", "Sec-Fetch-Site": "same-site"}, 403},
		"a page from a file": {"POST", "/secret/api/curate", address, map[string]string{"Origin": "null", "Content-Type": "application/json"}, 403},
		"a site's form": {
			"POST", "/secret/api/curate", address, map[string]string{"Origin": "http://evil.example",
				"Content-Type": "application/x-www-form-urlencoded"}, 403,
		},
		"who does not say from where": {"POST", "/secret/api/curate", address, map[string]string{"Content-Type": "application/json"}, 403},
		"a form of its own":           {"POST", "/secret/api/curate", address, map[string]string{"Origin": "http://127.0.0.1:7000", "Content-Type": "text/plain"}, 415},
	} {
		r := httptest.NewRequest(c.method, "http://"+address+c.path, nil)
		r.Host = c.host
		for key, value := range c.headers {
			r.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Code != c.status || (w.Code == 200) != strings.HasPrefix(w.Body.String(), "in /") {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.status)
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(p,
			"default-src 'none'; script-src 'self';") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: the policy is %q", name, p)
		}
	}
}

// It is never shown to other machines.
func TestListensHereAlone(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "192.0.2.1:0": false,
		"nowhere": false,
	} {
		l, err := Listen(address)
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			_ = l.Close()
		}
	}
}
