package view

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
)

// newToken is what a page's address must have: who does not know it is told nothing.
func newToken() string {
	var b [18]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// policy is the content security policy of each answer (https://www.w3.org/TR/CSP3/): a page runs its own script alone,
// loads from nowhere else, and stands in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// guard lets through only what this page's own browser tab asks for: to this address by its own name, with the token,
// from no other site. A site elsewhere may point a name of its own at 127.0.0.1, so the host is looked at first.
func guard(token, address string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	hosts := []string{address, "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // the address holds the token
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		given, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !oneOf(r.Host, hosts):
			refuse(w, http.StatusForbidden, "this page answers only to its own address on this machine")
		case !ownOrigin(r, hosts):
			refuse(w, http.StatusForbidden, "this page answers only to itself, and not to another site")
		case subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			refuse(w, http.StatusForbidden,
				"open the address that hone view printed: it holds a token, and this one does not, or an old one")
		case r.Method != http.MethodGet && r.Header.Get("Content-Type") != "application/json":
			refuse(w, http.StatusUnsupportedMediaType, "what is changed is sent as JSON")
		default:
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = "/"+rest, ""
			next.ServeHTTP(w, r)
		}
	})
}

func oneOf(host string, hosts []string) bool {
	for _, h := range hosts {
		if strings.EqualFold(host, h) {
			return true
		}
	}
	return false
}

// ownOrigin reports whether a request comes from the page itself, or from a person who opened the address. What changes
// something must say that it comes from the page.
func ownOrigin(r *http.Request, hosts []string) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin == "" {
		opened := site == "" || site == "same-origin" || site == "none" ||
			site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
		return r.Method == http.MethodGet && opened
	}
	host, ok := strings.CutPrefix(origin, "http://")
	return ok && oneOf(host, hosts) && (site == "" || site == "same-origin")
}

func refuse(w http.ResponseWriter, status int, says string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(says + "\n")) // whoever asked may be gone
}
