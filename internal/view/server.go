// Package view is the page on runs in a browser: a server on this machine alone, whose data come straight from the
// ledgers, and the same as files that open without it. The page itself is web/, which is built into the binary.
package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/text/tokenizer"
)

// Server answers what pages ask. Env and Runs must be set.
type Server struct {
	Env  job.Env
	Runs []string // their folders, or files of tasks
	// Today is the configuration as it is now: what it denies is denied in the playground. nil denies nothing more.
	Today func() (config.Config, error)

	ends bool // the process that asks is the run's own, and writes its report as the last thing

	shown sync.RWMutex // of runs
	runs  []*followed

	playing  sync.Mutex
	talks    map[string]*talk // of the playground, by run
	numTalks int

	mu         sync.Mutex
	tokenizers map[string]*tokenizer.Tokenizer // by base model
	desks      map[string]*desk                // of curation, by run
	reviews    map[string]*review              // of tasks, by run
}

// Listen listens at an address of this machine; other machines reach none of it.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the page is for this machine alone",
			Where: "--listen " + address,
			Next:  "give 127.0.0.1:PORT; from elsewhere, ssh -L PORT:127.0.0.1:PORT brings it there"}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUnavailable, What: "cannot listen", Where: address, Err: err,
			Next: "give another --listen; port 0 takes a free one"}
	}
	return l, nil
}

// Serve answers on a listener until ctx is over. said is called once with the address to open.
func (s *Server) Serve(ctx context.Context, l net.Listener, said func(address string)) error {
	defer s.close()
	s.open()
	token := newToken()
	handler, err := s.handler(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{Handler: guard(token, l.Addr().String(), handler), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // pages that wait are told by the closing
	defer stop()
	said("http://" + l.Addr().String() + "/" + token + "/")
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// open gives each run a key: its folder's name, with a number behind it where several have one.
func (s *Server) open() {
	for _, path := range s.Runs {
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		s.add(path)
	}
}

// add shows one more.
func (s *Server) add(path string) *followed {
	s.shown.Lock()
	defer s.shown.Unlock()
	same := 0
	for _, f := range s.runs {
		if filepath.Base(f.Path) == filepath.Base(path) {
			same++
		}
	}
	key := filepath.Base(path)
	if same > 0 {
		key = fmt.Sprintf("%s~%d", key, same+1)
	}
	info, err := os.Stat(path)
	f := &followed{Key: key, Path: path, File: err == nil && !info.IsDir()}
	s.runs = append(s.runs, f)
	return f
}

// all are those that are shown.
func (s *Server) all() []*followed {
	s.shown.RLock()
	defer s.shown.RUnlock()
	return slices.Clone(s.runs)
}

func (s *Server) close() {
	s.closeTalks()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.desks {
		d.Close()
	}
}

// run is the one of a key.
func (s *Server) run(key string) (*followed, error) {
	for _, f := range s.all() {
		if f.Key == key {
			return f, nil
		}
	}
	return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("no run %q is shown here", key),
		Next: "start hone view with it"}
}

// handler are the page's files and its questions.
func (s *Server) handler(ctx context.Context) (http.Handler, error) {
	files, err := pageFiles()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", pages(files))
	mux.HandleFunc("GET /api/runs", answer(func(*http.Request) (any, error) { return s.list(), nil }))
	for path, ask := range s.questions() {
		mux.HandleFunc("GET /api/"+path, answer(func(r *http.Request) (any, error) {
			f, err := s.run(r.FormValue("run"))
			if err != nil {
				return nil, err
			}
			if !ofMetrics[path] {
				f.begin(ctx)
			}
			return ask(f, r.FormValue)
		}))
	}
	mux.HandleFunc("GET /api/events", func(w http.ResponseWriter, r *http.Request) { s.events(ctx, w, r) })
	mux.HandleFunc("POST /api/curate", answer(s.curationOp))
	mux.HandleFunc("POST /api/review", answer(s.reviewed))
	mux.HandleFunc("GET /api/playground", answer(s.playground))
	mux.HandleFunc("POST /api/playground", answer(func(r *http.Request) (any, error) { return s.makeMove(ctx, r) }))
	return mux, nil
}

// ofMetrics are the questions that no trajectory's row is read for. They are what a page shows first, so whoever asks
// them does not begin to read the rows too: that takes seconds, and the page asks for it next.
var ofMetrics = map[string]bool{"overview": true, "series": true}

// question answers what a page asks of a run; of is the value of a parameter.
type question func(f *followed, of func(name string) string) (any, error)

// questions are all, by their path. The bundle has the answers to them as files.
func (s *Server) questions() map[string]question {
	return map[string]question{
		"overview": func(f *followed, _ func(string) string) (any, error) { return s.overview(f) },
		"series": func(f *followed, of func(string) string) (any, error) {
			return s.series(f, of("stage"), strings.FieldsFunc(of("names"), func(r rune) bool { return r == ',' }))
		},
		"rows": func(f *followed, of func(string) string) (any, error) {
			since, _ := strconv.ParseInt(of("since"), 10, 64) // what is no number asks from the beginning
			var known Known
			for i, n := range strings.Split(of("known"), ",") {
				if i < len(known) {
					known[i], _ = strconv.Atoi(n)
				}
			}
			return f.index.Since(since, mostRows, known), nil
		},
		"search": func(f *followed, of func(string) string) (any, error) { return f.index.Search(of("text")), nil },
		"episode": func(f *followed, of func(string) string) (any, error) {
			return s.episode(f, of("id"), of("whole") != "")
		},
		"group": func(f *followed, of func(string) string) (any, error) {
			step, err := strconv.Atoi(of("step"))
			if err != nil {
				return nil, &fault.Error{Code: fault.CodeUsage, What: "a step is a number", Where: of("step")}
			}
			return f.group(of("stage"), step, of("scenario"))
		},
		"tokens":     func(f *followed, of func(string) string) (any, error) { return s.tokens(f, of("id")) },
		"evaluation": func(f *followed, _ func(string) string) (any, error) { return s.evaluation(f) },
		"tasks":      func(f *followed, _ func(string) string) (any, error) { return s.tasks(f) },
		"servers":    func(f *followed, _ func(string) string) (any, error) { return s.servers(f) },
		"traces":     func(f *followed, _ func(string) string) (any, error) { return s.traces(f) },
		"trace":      func(f *followed, of func(string) string) (any, error) { return s.trace(f, of("id")) },
		"preview":    func(f *followed, of func(string) string) (any, error) { return s.preview(f, of("id")) },
	}
}

// mostRows is how many rows of the index one answer has: about 2 MB.
const mostRows = 20_000

// Listed is a run in the list of runs.
type Listed struct {
	Key     string    `json:"key"`
	Path    string    `json:"path"`
	Created time.Time `json:"created,omitzero"`
	State   string    `json:"state"`
	Live    bool      `json:"live"`
	Verb    string    `json:"verb"`
	Base    string    `json:"base"`
	Steps   int       `json:"steps"`
	Rows    int       `json:"rows"` // trajectories
	Error   string    `json:"error,omitempty"`
	Tasks   bool      `json:"tasks,omitempty"` // it is a file of tasks, and no run
}

func (s *Server) list() []Listed {
	out := []Listed{}
	for _, f := range s.all() {
		if f.File {
			out = append(out, Listed{Key: f.Key, Path: f.Path, State: "a file of tasks", Tasks: true})
			continue
		}
		x := Listed{Key: f.Key, Path: f.Path}
		o, err := s.outline(f)
		if err != nil {
			x.Error = err.Error()
		}
		x.Created, x.State, x.Live, x.Verb, x.Base = o.Created, o.State, o.Live, o.Verb, o.config.Model.Base
		main := mainStage(o.summary.Stages)
		for _, stage := range o.summary.Stages {
			x.Rows += stage.NumTrajectories
			if stage.Name == main {
				x.Steps = stage.NumSteps
			}
		}
		out = append(out, x)
	}
	return out
}

// events tells a page when a run has changed: its number rises, and trouble says why it cannot be read.
func (s *Server) events(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	f, err := s.run(r.FormValue("run"))
	if err != nil {
		fail(w, err)
		return
	}
	f.begin(ctx)
	changes, stop := f.listen()
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	alive := time.NewTicker(15 * time.Second) // a connection that nobody reads is found by writing
	defer alive.Stop()
	for {
		version, trouble := f.state()
		text, err := json.Marshal(struct {
			Version int64  `json:"version"`
			Trouble string `json:"trouble"`
		}{version, trouble})
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", text)
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changes:
		case <-alive.C:
		}
	}
}

// answer writes what a question gives as JSON, or its error.
func answer(ask func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := ask(r)
		if err != nil {
			fail(w, err)
			return
		}
		text, err := json.Marshal(value)
		if err != nil { // a number that is none
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // whoever asked may be gone
	}
}

// fail tells a page what went wrong, in the words of the command line.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusUnprocessableEntity
	if errors.Is(err, fs.ErrNotExist) {
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(failureOf(err))
}

func failureOf(err error) failure {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return failure{What: err.Error()}
	}
	out := failure{f.What, f.Where, f.Why, f.Next}
	if f.Err != nil {
		out.Why = strings.TrimPrefix(out.Why+"; "+f.Err.Error(), "; ")
	}
	return out
}

type failure struct {
	What  string `json:"what"`
	Where string `json:"where,omitempty"`
	Why   string `json:"why,omitempty"`
	Next  string `json:"next,omitempty"`
}

// IsRun is an error where there is neither a run nor a file of tasks.
func IsRun(path string) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		_, err := scenario.LoadRows(path)
		return err
	}
	if _, err := run.Summarize(path); err != nil {
		if _, there := os.Stat(filepath.Join(path, run.ConfigFile)); there != nil {
			return err
		}
	}
	return nil // what is wrong with a run is said on its page
}
