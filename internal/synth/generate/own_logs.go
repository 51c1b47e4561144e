package generate

import (
	"bytes"
	"context"
	"strings"
)

// learnLogs finds the files in which servers note each call, so that to be asked is no change of theirs.
func (m *maker) learnLogs(ctx context.Context) error {
	m.player.logs = map[string]bool{}
	for _, server := range m.player.servers() {
		for _, c := range m.bare() {
			s := m.byName[c.Tool]
			if s.Server != server {
				continue
			}
			files, err := m.logsOf(ctx, s)
			if err != nil {
				return err
			}
			if len(files) > 0 {
				for _, file := range files {
					m.player.logs[server+" "+file] = true
				}
				break
			}
		}
	}
	return nil
}

// logsOf are the files to which each of three calls in one session adds something at the end, though all are answered
// the same.
func (m *maker) logsOf(ctx context.Context, s *subject) (files []string, err error) {
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil { // who explores it says why
		return nil, ctx.Err()
	}
	defer func() { _ = session.Close() }() // the calls are made
	var answers []string
	var seen []folder
	for range 3 {
		text, answered := m.tryOn(ctx, session, s.bare())
		f, known := readFolder(session.Dir(s.Server))
		if !answered || !known || len(answers) > 0 && answers[0] != text {
			return nil, ctx.Err()
		}
		answers, seen = append(answers, text), append(seen, f)
	}
	for file := range seen[0] {
		if seen[0].grows(seen[1], file) && seen[1].grows(seen[2], file) {
			files = append(files, file)
		}
	}
	return files, nil
}

// grows reports whether a file has its content in a later state of the folder, and more behind it.
func (f folder) grows(later folder, file string) bool {
	return len(later[file]) > len(f[file]) && bytes.HasPrefix(later[file], f[file])
}

// isLog reports whether a change, as "changed PATH", is of a server's own log.
func (p *player) isLog(server, change string) bool {
	_, path, _ := strings.Cut(change, " ")
	return p.logs[server+" "+path]
}
