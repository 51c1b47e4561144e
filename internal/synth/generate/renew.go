package generate

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// renewed is environment.Tools whose sessions are used again, for servers that keep all they know in the folders of
// their sessions: to start a process costs a hundred times a call. When a session is closed, its folders are put back
// as they were, and the looks of the beginning are taken. If one answers otherwise than it did, the server keeps
// something elsewhere: then the session is ended, and from there on each has processes of its own. What no look shows
// may stay. So a candidate is proved by a second play that is never made in such a session, and what is not the same in
// both plays is no check.
type renewed struct {
	p    *player
	base *realm

	mu   sync.Mutex
	idle []*used
	off  bool
}

// used is a session with what its folders held when it was new.
type used struct {
	environment.Session
	of      *renewed
	folders map[string]folder // by server
	broken  bool              // a server of it was lost
}

// renew makes sessions that can be used again, nil where a server that changes has no look to see whether it is as new.
func (p *player) renew(base *realm) *renewed {
	seen := map[string]bool{} // servers
	for i, c := range base.looks {
		if s := base.before[i]; s.equal || len(s.leaves) > 0 {
			seen[p.server(c)] = true
		}
	}
	for _, s := range p.tool {
		if s.writes && !seen[s.Server] {
			return nil
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return &renewed{p: p, base: base}
}

// Open implements environment.Tools.
func (r *renewed) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	r.mu.Lock()
	off := r.off || len(templates) > 0
	if n := len(r.idle); n > 0 && !off {
		s := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return s, nil
	}
	r.mu.Unlock()
	session, err := r.p.from.Open(ctx, episode, templates...)
	if err != nil || off {
		return session, err
	}
	s := &used{Session: session, of: r, folders: map[string]folder{}}
	for _, server := range r.p.servers() {
		f, ok := readFolder(session.Dir(server))
		if !ok && r.p.changesNothing(server) {
			continue
		}
		if !ok {
			r.stop()
			return session, nil
		}
		s.folders[server] = f
	}
	return s, nil
}

// changesNothing reports whether no tool of a server is known to change something, or is untried.
func (p *player) changesNothing(server string) bool {
	for _, s := range p.tool {
		if s.Server == server && !s.pure {
			return false
		}
	}
	return true
}

// Call implements environment.Session.
func (s *used) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := s.Session.Call(ctx, calls)
	for _, x := range results {
		s.note(x)
	}
	return results
}

// Probe implements environment.Session.
func (s *used) Probe(ctx context.Context, c chat.ToolCall) trajectory.ToolResult {
	x := s.Session.Probe(ctx, c)
	s.note(x)
	return x
}

func (s *used) note(x trajectory.ToolResult) {
	s.broken = s.broken || x.Status == trajectory.CallTransportError || x.Status == trajectory.CallTimeout
}

// Close makes the session as new, or ends it.
func (s *used) Close() error {
	r := s.of
	if s.broken {
		return s.Session.Close()
	}
	r.mu.Lock()
	off := r.off
	r.mu.Unlock()
	if off || !s.asNew() {
		if !off && !s.broken {
			r.stop()
		}
		return s.Session.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.off {
		return s.Session.Close()
	}
	r.idle = append(r.idle, s)
	return nil
}

// asNew puts the folders back and reports whether the session then shows what a new one does.
func (s *used) asNew() bool {
	for server, f := range s.folders {
		if f.putBack(s.Dir(server)) != nil {
			return false
		}
	}
	for i, c := range s.of.base.looks {
		x := s.Probe(context.Background(), c.chat("renew")) // each call has a deadline of its own
		saw := answerOf(s, x, s.of.p.server(c))
		if !saw.ok() || !s.of.base.before[i].same(saw.Text) {
			return false
		}
	}
	return true
}

// stop has each session from now on have processes of its own, and ends those that wait.
func (r *renewed) stop() {
	r.mu.Lock()
	idle := r.idle
	r.idle, r.off = nil, true
	r.mu.Unlock()
	for _, s := range idle {
		_ = s.Session.Close() // it is not needed any more
	}
}

// folder is what a folder holds: the content of its files, by path. Folders in it have nil.
type folder map[string][]byte

// Bounds of a folder that is put back.
const (
	mostKept  = 500
	mostBytes = 8 << 20
)

// readFolder reads a folder, ok only where all in it can be put back: files and folders, few and small.
func readFolder(dir string) (f folder, ok bool) {
	if dir == "" {
		return nil, false
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	f = folder{}
	size := 0
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if d.IsDir() {
			f[path] = nil
		} else if !d.Type().IsRegular() {
			return fs.ErrInvalid
		} else if text, err := root.ReadFile(path); err != nil {
			return err
		} else {
			f[path] = append([]byte{}, text...) // not nil
		}
		if size += len(f[path]); len(f) > mostKept || size > mostBytes {
			return fs.ErrInvalid
		}
		return nil
	})
	return f, err == nil
}

// putBack makes a folder hold what it did. What the server has put there is followed nowhere.
func (f folder) putBack(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var others []string
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		content, was := f[path]
		switch {
		case err != nil || path == ".":
			return err
		case !was || d.IsDir() != (content == nil) || !d.IsDir() && !d.Type().IsRegular():
			others = append(others, path)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	for _, path := range others {
		if err == nil {
			err = root.RemoveAll(path)
		}
	}
	for path, content := range f {
		switch now, readErr := []byte(nil), error(nil); {
		case err != nil:
			return err
		case content == nil:
			err = root.MkdirAll(path, 0o755)
		default:
			if now, readErr = root.ReadFile(path); readErr == nil && bytes.Equal(now, content) {
				continue
			}
			if i := bytes.LastIndexByte([]byte(path), '/'); i > 0 {
				err = root.MkdirAll(path[:i], 0o755)
			}
			if err == nil {
				err = root.WriteFile(path, content, 0o600)
			}
		}
	}
	return err
}
