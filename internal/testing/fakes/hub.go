package fakes

import (
	"crypto/sha1" //nolint:gosec // git's
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// HubAccount is who has a token.
type HubAccount struct {
	Name  string
	Reads bool     // has no right to write
	Gates []string // gated repositories that it may read
}

// Hub is one on this machine, for tests and tutorials: the part of the Hugging Face Hub's published API by which
// repositories are made, listed, downloaded and pushed to, with large files in a store of its own address. That it is
// one is proved by huggingface_hub as its client (hub's TestPeer, which make parity runs). Its fields are set before
// the first request.
type Hub struct {
	URL      string // of the Hub
	Store    string // address of its large files, another host
	Dir      string // where large files are kept
	Tokens   map[string]HubAccount
	PartSize int64 // large files of more bytes are uploaded in parts of that size; 0: never
	PageSize int   // of lists of files; 0: 1000

	before  atomic.Pointer[HubInterceptor]
	mu      sync.Mutex
	repos   map[string]*repository // by kind, "s/" and name
	visible map[string]string      // what was asked for where a repository was made
	parts   map[string][][]byte    // of uploads in parts, by object
	hub     *httptest.Server
	store   *httptest.Server
}

// HubInterceptor is asked before a request: where it answers itself, it is true. Requests of the store come with the
// host "store".
type HubInterceptor func(w http.ResponseWriter, r *http.Request) bool

// Intercept lets f see all requests from now on.
func (s *Hub) Intercept(f HubInterceptor) { s.before.Store(&f) }

// repository is one, with its commits.
type repository struct {
	private, gated bool
	commits        map[string]map[string]file // files by path, by commit
	parents        map[string]string
	branches       map[string]string
}

// file is one at a commit. Its content is text, or that of a large file, by its SHA-256.
type file struct {
	text string
	lfs  string
	size int64
}

// oid is git's name of what git has: the content, or the pointer to a large file.
func (f file) oid() string {
	text := f.text
	if f.lfs != "" {
		text = fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", f.lfs, f.size)
	}
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)) //nolint:gosec // git's
	return hex.EncodeToString(sum[:])
}

// NewHub starts a Hub that keeps large files in dir. All who have the token "secret" may write.
func NewHub(dir string) *Hub {
	s := &Hub{Dir: dir, Tokens: map[string]HubAccount{"secret": {Name: "ada"}}, repos: map[string]*repository{},
		visible: map[string]string{}, parts: map[string][][]byte{}}
	s.hub = httptest.NewServer(s.guard("hub", s.routes()))
	s.store = httptest.NewServer(s.guard("store", s.storeRoutes()))
	s.URL, s.Store = s.hub.URL, s.store.URL // one host name, so that clients must tell them apart by themselves
	return s
}

// Close stops it.
func (s *Hub) Close() {
	s.hub.Close()
	s.store.Close()
}

func (s *Hub) guard(host string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = host
		if f := s.before.Load(); f != nil && (*f)(w, r) {
			return
		}
		h.ServeHTTP(w, r)
	})
}

// routes are the API's. Revisions may hold slashes, escaped.
func (s *Hub) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST /api/repos/create", s.create)
	m.HandleFunc("GET /api/whoami-v2", s.whoami)
	m.HandleFunc("POST /api/validate-yaml", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"errors": []string{}, "warnings": []string{}})
	})
	m.HandleFunc("GET /api/{kind}/{org}/{name}", s.reading(s.info))
	m.HandleFunc("GET /api/{kind}/{org}/{name}/revision/{rev}", s.reading(s.info))
	m.HandleFunc("GET /api/{kind}/{org}/{name}/tree/{rev}", s.reading(s.tree))
	m.HandleFunc("POST /api/{kind}/{org}/{name}/branch/{rev}", s.writing(s.branch))
	m.HandleFunc("POST /api/{kind}/{org}/{name}/preupload/{rev}", s.writing(s.preupload))
	m.HandleFunc("POST /api/{kind}/{org}/{name}/commit/{rev}", s.writing(s.commit))
	// what no pattern can tell apart: datasets/ may stand before a name
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
		kind := "models"
		if rest, ok := strings.CutPrefix(path, "datasets/"); ok {
			kind, path = "datasets", rest
		}
		org, rest, _ := strings.Cut(path, "/")
		name, rest, _ := strings.Cut(rest, "/")
		r.SetPathValue("kind", kind)
		r.SetPathValue("org", org)
		r.SetPathValue("name", strings.TrimSuffix(name, ".git"))
		if at, ok := strings.CutPrefix(rest, "resolve/"); ok && (r.Method == "GET" || r.Method == "HEAD") {
			rev, at, _ := strings.Cut(at, "/")
			r.SetPathValue("rev", unescape(rev))
			r.SetPathValue("path", unescape(at))
			s.reading(s.resolve)(w, r)
			return
		}
		switch r.Method + " " + rest {
		case "POST info/lfs/objects/batch":
			s.writing(s.batch)(w, r)
		case "POST info/lfs/verify":
			s.writing(s.verify)(w, r)
		case "POST info/lfs/complete":
			s.complete(w, r)
		default:
			refuse(w, http.StatusNotFound, "", "Sorry, we can't find the page you are looking for.")
		}
	})
	return m
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a client that is gone reads nothing
}

// refuse answers as the Hub does: the code is in a header.
func refuse(w http.ResponseWriter, status int, code, message string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	w.Header().Set("X-Error-Message", message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message}) // as above
}

// object is where a large file is kept.
func (s *Hub) object(oid string) string { return filepath.Join(s.Dir, filepath.Base(oid)) }

func (s *Hub) has(oid string, size int64) bool {
	info, err := os.Stat(s.object(oid))
	return err == nil && info.Size() == size
}
