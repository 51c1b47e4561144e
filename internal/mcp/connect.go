package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	modernEra  = "2026-07-28" // stateless, opened by server/discover
	legacyEra  = "2025-11-25" // opened by initialize; servers negotiate down from it
	probeLimit = 10 * time.Second
)

// launcher opens sessions on one server.
type launcher struct {
	name   string
	server Server
	base   map[string]string
	limit  time.Duration // of one connect
	probe  time.Duration // of the first try, where the era is not known
	era    string        // the negotiated protocol version where it is known, else ""
	listed bool          // list the tools first: the SDK copies some arguments into headers from its own list
}

// session is one open session, and what it owns: the process and the episode's folder, or the HTTP connections.
type session struct {
	client *mcp.ClientSession
	tap    *tap
	conn   *stdioConn // nil on HTTP
	dir    string     // the episode's folder, "" without one
	gone   chan struct{}

	release []func() // in reverse order
	closing sync.Once
}

// open connects. Where the era is not known, a server that fails or hangs when probed for the modern one gets a
// fresh start in the legacy one, for some die of the probe.
func (l *launcher) open(ctx context.Context) (*session, error) {
	switch {
	case l.era >= modernEra:
		return l.try(ctx, l.limit, "")
	case l.era != "":
		return l.try(ctx, l.limit, legacyEra)
	}
	s, err := l.try(ctx, min(l.probe, l.limit), "")
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	s, legacyErr := l.try(ctx, l.limit, legacyEra)
	if legacyErr != nil {
		return nil, legacyErr
	}
	return s, nil
}

func (l *launcher) try(ctx context.Context, limit time.Duration, version string) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := &session{tap: &tap{}, gone: make(chan struct{})}
	transport, err := l.start(s)
	if err != nil {
		s.close()
		return nil, fmt.Errorf("server %s: %w", l.name, err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "hone", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // nobody is there to be asked: advertise nothing
		Logger:       slog.New(slog.DiscardHandler),
	})
	// The SDK does not end a connect that hangs on a write, so the process is ended at the deadline.
	stop := context.AfterFunc(ctx, func() {
		if s.conn != nil {
			s.conn.p.close()
		}
	})
	defer stop()
	s.client, err = client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil && l.listed {
		_, err = listTools(ctx, s)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer in %s", limit)
		}
		s.close() // first, so that stderr is complete
		return nil, fmt.Errorf("server %s: %w", l.name, s.explain(err))
	}
	go func() {
		s.client.Wait()
		close(s.gone)
	}()
	s.release = append(s.release, func() { <-s.gone })
	return s, nil
}

// start makes the transport, and everything under it that the session has to release.
func (l *launcher) start(s *session) (mcp.Transport, error) {
	if l.server.URL != "" {
		t, closeIdle, err := httpTransport(l.server, s.tap)
		if err == nil {
			s.release = append(s.release, closeIdle)
		}
		return t, err
	}
	env := maps.Clone(l.base)
	if env == nil {
		env = map[string]string{}
	}
	place := func(text string) string { return text }
	if l.server.Isolation == PerProcess || l.usesDir() {
		root, work, err := l.makeDir()
		if root != "" {
			s.release = append(s.release, func() { removeAll(root) })
		}
		if err != nil {
			return nil, err
		}
		s.dir = work
		place = func(text string) string { return strings.ReplaceAll(text, EpisodeDir, work) }
		if l.server.Isolation == PerProcess {
			env["HOME"] = filepath.Join(root, "home")
		}
	}
	for key, value := range l.server.Env {
		env[key] = place(value)
	}
	argv := []string{place(l.server.Command)}
	for _, arg := range l.server.Args {
		argv = append(argv, place(arg))
	}
	p, err := startProcess(argv, env, place(l.server.Cwd))
	if err != nil {
		return nil, err
	}
	s.release = append(s.release, p.close)
	s.conn = newStdioConn(p, s.tap)
	return s.conn, nil
}

func (l *launcher) usesDir() bool {
	texts := append([]string{l.server.Command, l.server.Cwd}, l.server.Args...)
	for _, value := range l.server.Env {
		texts = append(texts, value)
	}
	return strings.Contains(strings.Join(texts, "\n"), EpisodeDir)
}

// makeDir makes root, with root/home and root/work, the latter a copy of the template.
func (l *launcher) makeDir() (root, work string, err error) {
	if root, err = os.MkdirTemp(l.base["TMPDIR"], "hone-episode-*"); err != nil {
		return "", "", err
	}
	// Servers compare resolved paths with the folder they were given.
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return root, "", err
	}
	work = filepath.Join(resolved, "work")
	if err := os.Mkdir(filepath.Join(resolved, "home"), 0o700); err != nil {
		return root, "", err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return root, "", err
	}
	if l.server.Template != "" {
		if err := os.CopyFS(work, os.DirFS(l.server.Template)); err != nil {
			return root, "", fmt.Errorf("copying the template: %w", err)
		}
	}
	return root, work, nil
}

// removeAll also removes folders that a server made read-only.
func removeAll(root string) {
	if os.RemoveAll(root) == nil {
		return
	}
	filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(root)
}

// explain adds to err what the process last said.
func (s *session) explain(err error) error {
	if s.conn == nil {
		return err
	}
	if said := s.conn.p.stderr.String(); said != "" {
		return fmt.Errorf("%w; %s", err, said)
	}
	return err
}

func (s *session) dead() bool {
	select {
	case <-s.gone:
		return true
	default:
	}
	if s.conn == nil {
		return false
	}
	select {
	case <-s.conn.p.done:
		return true
	default:
		return false
	}
}

// close ends the session and releases what it owns. It may be called more than once, and waits each time.
func (s *session) close() {
	s.closing.Do(func() {
		if s.conn != nil {
			s.conn.p.close() // first: the SDK waits for calls in flight, which only the end of the process ends
		}
		if s.client != nil {
			s.client.Close()
		}
		for i := len(s.release) - 1; i >= 0; i-- {
			s.release[i]()
		}
	})
}
