package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// route is one of what a server answers. All else is refused.
type route struct {
	method, path string
	open         bool // to anyone who can reach the server
	handle       http.HandlerFunc
}

func (s *Server) routes() []route {
	return []route{
		{"GET", "/health", true, func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
		}},
		{"GET", "/metrics", false, s.showMetrics},
		{"GET", "/v1/models", false, s.listModels},
		{"POST", "/v1/chat/completions", false, s.generating(chatDialect{})},
		{"POST", "/v1/completions", false, s.generating(completionsDialect{})},
		{"POST", "/v1/messages", false, s.generating(messagesDialect{})},
		{"POST", "/v1/messages/count_tokens", false, s.countTokens},
		{"POST", "/v1/responses", false, s.generating(responsesDialect{s.responses})},
		{"GET", "/v1/responses/{id}", false, s.getResponse},
		{"DELETE", "/v1/responses/{id}", false, s.deleteResponse},
		{"POST", "/tokenize", false, s.tokenize},
		{"POST", "/detokenize", false, s.detokenize},
		{"POST", "/v1/load_lora_adapter", false, s.loadAdapter},
		{"POST", "/v1/unload_lora_adapter", false, s.unloadAdapter},
	}
}

// Handler answers all routes, for tests and for mounting under a server of the caller's.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		h := http.Handler(r.handle)
		if !r.open {
			h = s.guarded(r.handle)
		}
		mux.Handle(r.method+" "+r.path, s.named(h))
	}
	mux.Handle("/", s.named(s.guarded(func(w http.ResponseWriter, r *http.Request) {
		refuseAt(w, r, &apiError{http.StatusNotFound, "invalid_request_error", "", "not_found", "no route " + r.Method + " " + r.URL.Path})
	})))
	return mux
}

// requestID is the header that names a request, in the answer and in the log.
const requestID = "X-Request-Id"

// named gives a request a name: the client's own where it sends one that can be written, else a new one.
func (s *Server) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestID)
		if strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:") != "" || id == "" || len(id) > 128 {
			id = newID("req")
		}
		w.Header().Set(requestID, id)
		next.ServeHTTP(w, r)
	})
}

// refuseAt answers with an error in the form of the protocol that the path belongs to.
func refuseAt(w http.ResponseWriter, r *http.Request, e *apiError) {
	if strings.HasPrefix(r.URL.Path, "/v1/messages") {
		refuseAs(w, e, messagesDialect{}.failure(e))
		return
	}
	refuse(w, e)
}

// guarded lets through who has a key. Without keys only loopback is served, and then the request must also be
// meant for it: a web page elsewhere can make a browser send requests here, by a name it has pointed at 127.0.0.1.
func (s *Server) guarded(next http.HandlerFunc) http.Handler {
	var keys [][sha256.Size]byte // equal lengths, so that the comparison tells nothing of the keys'
	for _, key := range s.o.Keys {
		keys = append(keys, sha256.Sum256([]byte(key)))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case keys == nil && !(loopback(r.Host) && localOrigin(r.Header.Get("Origin"))):
			refuseAt(w, r, &apiError{http.StatusForbidden, "invalid_request_error", "", "forbidden", "only requests from this machine to localhost are answered"})
		case keys != nil && !known(keys, r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuseAt(w, r, &apiError{http.StatusUnauthorized, "invalid_request_error", "", "invalid_api_key", "missing or wrong API key"})
		default:
			next(w, r)
		}
	})
}

// known reports whether a request has one of the keys, as OpenAI's clients send it, or as Anthropic's do.
func known(keys [][sha256.Size]byte, r *http.Request) bool {
	key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		if key = r.Header.Get("X-Api-Key"); key == "" {
			return false
		}
	}
	got, found := sha256.Sum256([]byte(key)), 0
	for _, want := range keys { // all of them, so that the time tells nothing
		found |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return found == 1
}

func loopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func localOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && loopback(u.Host)
}

func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}
