package generate

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"hone/internal/episode/scenario"
	"hone/internal/synth/folders"
	"hone/internal/synth/programs"
)

// filing is a folder in which programs are played.
type filing struct {
	setting
	seat
	files *fileServer
	of    *folders.Folder
	asked []folders.WrittenTask // requests that somebody wrote, in place of drawn ones
}

// leastDocs is how many files a folder must have, so that tasks are made of it.
const leastDocs = 3

// folderPrograms makes tasks from programs over folders of files: the server's own, and invented ones.
func (m *maker) folderPrograms(ctx context.Context) ([]draftOf, error) {
	servers, err := m.fileServers(ctx)
	if err != nil {
		return nil, err
	}
	return playAll(ctx, m, "programs over files", servers, m.filings)
}

// filings are the folders of a server: what is there first, with half of the tasks, then invented ones. Nobody asks for
// what its other tools do by their own words, so all of its tasks are programs.
func (m *maker) filings(ctx context.Context, server *fileServer) (list []statePlays, err error) {
	m.asks[server.server] = map[string]bool{}
	for _, s := range m.tools {
		if s.Server == server.server {
			m.asks[server.server][s.Name] = true
		}
	}
	left := int(float64(m.N)/float64(len(m.player.servers())) + 0.5)
	add := func(s setting, of *folders.Folder, asked []folders.WrittenTask) {
		of.Shown = m.MaxResult
		list = append(list, &filing{s, seat{m: m, server: server.server, keeps: true}, server, of, asked})
		left -= s.want
	}
	live, err := m.liveFolder(ctx, server)
	if err != nil {
		return nil, err
	}
	own := "" // what is there: other folders draw other ones beside them
	if live != nil && len(live.Docs) >= leastDocs {
		own = fmt.Sprint(live.State())
		add(setting{World: &programs.World{Name: "live"}, realm: m.worlds[0], want: left / 2}, live, nil)
	}
	m.writtenFolders(server, own, m.written(left), add)
	random := m.random("folders", server.server+own)
	order := businesses(random)
	for n := 0; left > 0; n++ {
		business := order[n%len(order)]
		of := folders.Invent(random, business)
		setup, ok := server.setup(of)
		if !ok {
			break
		}
		add(m.invented(&programs.World{Name: fmt.Sprint("folder ", n)}, n, business, left, setup), of, nil)
	}
	return list, nil
}

// writtenFolders adds the folders of n requests that somebody wrote.
func (m *maker) writtenFolders(
	server *fileServer, own string, n int, add func(setting, *folders.Folder, []folders.WrittenTask),
) {
	random, written := m.random("written", server.server+own), folders.WrittenFolders()
	of := writtenOf(random, n, written, func(w *folders.WrittenFolder) (int, string) {
		return len(w.Tasks), writtenSplit(slices.Index(written, w))
	})
	for i, n := range of {
		folder := written[i].Folder()
		if setup, ok := server.setup(folder); ok && n > 0 {
			add(setting{World: &programs.World{Name: written[i].Name}, split: writtenSplit(i), want: n,
				realm: m.realmOf(setup)}, folder, shuffled(random, written[i].Tasks))
		}
	}
}

// setup are the calls that make a folder; ok is false where a server has no tool for it.
func (f *fileServer) setup(of *folders.Folder) (calls []Call, ok bool) {
	for _, dir := range of.Dirs {
		if !f.can()[folders.MakeDir] {
			return nil, false
		}
		calls = append(calls, f.call(folders.Op{Do: folders.MakeDir, Path: dir}))
	}
	for _, doc := range of.Docs {
		calls = append(calls, f.call(folders.Op{Do: folders.Write, Path: doc.Path, New: doc.Text}))
	}
	return calls, true
}

// liveFolder reads the folder that a session of a server begins with; nil where it holds more than can be put back.
func (m *maker) liveFolder(ctx context.Context, server *fileServer) (*folders.Folder, error) {
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // nothing was changed
	all, ok := readFolder(session.Dir(server.server))
	if !ok {
		return nil, ctx.Err()
	}
	for _, file := range server.logs {
		delete(all, file)
	}
	return all.docs(), ctx.Err()
}

// docs is a folder as people see it: its files of text, and none that are hidden.
func (f folder) docs() *folders.Folder {
	files, dirs, unread := map[string]string{}, []string(nil), []string(nil)
	for _, file := range slices.Sorted(maps.Keys(f)) {
		hidden := strings.HasPrefix(file, ".") || strings.Contains(file, "/.")
		switch content := f[file]; {
		case content == nil && hidden:
		case content == nil:
			dirs = append(dirs, file)
		case !hidden && utf8.Valid(content) && !slices.Contains(content, 0):
			files[file] = string(content)
		default:
			unread = append(unread, file)
		}
	}
	of := folders.Of(files, dirs)
	of.Unread = unread
	return of
}

// overdrawnFiles is how many programs are drawn for one task at most: of a small folder many have been drawn before.
const overdrawnFiles = 3

// tasks draws, plays and words the programs of one folder.
func (s *filing) tasks(ctx context.Context, index int) (
	list []draftOf, reasons map[string]int, tried int, err error,
) {
	random := s.m.random("file programs", s.Name, index)
	reasons = map[string]int{}
	seen, used := map[string]bool{}, fileUse{map[string]int{}, map[string]int{}}
	for p := range s.requests(random, seen, used) {
		if len(list) == s.want {
			break
		}
		if p == nil {
			continue
		}
		seen[p.Key()] = true
		tried++
		c := s.candidate(s.m, p.Program)
		switch {
		case s.asked != nil:
		case c.Split != scenario.Train:
			p.Straight()
		case random.Float64() < shareSlips:
			p.Guess()
		}
		plain := slices.Clone(p.Ops)
		if s.asked == nil && c.Split == scenario.Train && random.Float64() < shareMisedits {
			p.Misedit(random)
		}
		c.Calls = s.callsOf(p.Ops)
		states, why, err := s.prove(ctx, p, c)
		if why != "" && len(plain) < len(p.Ops) { // a server may take an edit whose spaces do not fit
			p.Ops, c.Calls = plain, s.callsOf(plain)
			states, why, err = s.prove(ctx, p, c)
		}
		if err != nil {
			return nil, nil, 0, err
		}
		if why != "" {
			reasons[why]++
			continue
		}
		used.note(p)
		list = append(list, s.m.wordProgram(s.setting, c, states))
	}
	return list, reasons, tried, nil
}

// callsOf are the calls of some operations.
func (s *filing) callsOf(ops []folders.Op) (calls []Call) {
	for _, o := range ops {
		call := s.files.call(o)
		call.Why, call.Slip = o.Why, o.Slip
		calls = append(calls, call)
	}
	return calls
}

// requests are those that somebody wrote, or drawn ones, nil where one comes to nothing.
func (s *filing) requests(r *rand.Rand, seen map[string]bool, used fileUse) iter.Seq[*folders.Plan] {
	return func(yield func(*folders.Plan) bool) {
		for _, t := range s.asked {
			if !yield(t.Plan(s.of, s.files.can())) {
				return
			}
		}
		if s.asked != nil {
			return
		}
		turn := int(r.Uint32()) // so that folders begin with other structures
		for i, kind := range drawn(r, folders.Shares(), overdrawnFiles*s.want) {
			p := (*folders.Plan)(nil)
			if i%everyStructure == 0 {
				p = folders.DrawStructure(r, s.of, s.files.can(), turn+i/everyStructure)
			}
			if p == nil || seen[p.Key()] {
				p = s.draw(r, kind, seen, used)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// everyStructure is how many programs come for one of the next structure, so that each comes out where a folder has it.
const everyStructure = 3

// drawsOfKind is how many programs are drawn for one task, so that no pattern and no file becomes that of most tasks.
const drawsOfKind = 5

// fileUse is how many tasks of a folder have a pattern, and are about a file.
type fileUse struct{ patterns, files map[string]int }

// of is how often a pattern and, in the mean, the files of a program were used.
func (u fileUse) of(p *folders.Plan) (pattern int, files float64) {
	for _, file := range p.About {
		files += float64(u.files[file]) / float64(len(p.About))
	}
	return u.patterns[p.Pattern()], files
}

func (u fileUse) note(p *folders.Plan) {
	u.patterns[p.Pattern()]++
	for _, file := range p.About {
		u.files[file]++
	}
}

// draw draws programs of a kind, and returns of the new ones one of the pattern that fewest tasks have, and of these
// one over the files that fewest are about in the mean; nil where there is none.
func (s *filing) draw(r *rand.Rand, kind string, seen map[string]bool, used fileUse) (best *folders.Plan) {
	pattern, files := 0, 0.0
	for range drawsOfKind {
		p := folders.Draw(r, s.of, s.files.can(), kind)
		if p == nil {
			return best
		}
		if seen[p.Key()] {
			continue
		}
		if n, m := used.of(p); best == nil || n < pattern || n == pattern && m < files {
			best, pattern, files = p, n, m
		}
	}
	return best
}

// prove plays a program: what the folder then holds must be what was computed. It returns the checks of that.
func (s *filing) prove(ctx context.Context, p *folders.Plan, c *Candidate) (
	states []scenario.Check, why string, err error,
) {
	before := s.of.State()
	after, ok := before.Apply(p.Ops)
	if !ok {
		return nil, "an operation cannot be made", nil
	}
	x := play{Setup: s.realm.setup, Calls: c.Calls}
	c.Proof = []string{x.name()}
	got, err := s.m.once(x, func() (*Played, error) { return s.play(ctx, x) })
	if err != nil {
		return nil, "", err
	}
	if why, err := s.m.fails(c.Calls, got, "a slip goes well"); why != "" {
		return nil, why, err
	}
	switch paths := changes(before, after); {
	case p.Changes() && len(paths) == 0:
		return nil, "a call that is to change something changes nothing", nil
	case !slices.Equal(got.Changed, paths) || !holds(got.Files, after, paths):
		return nil, "the folder is not as it was computed", nil
	case p.Changes() || p.LeavesAll() || s.asked != nil:
		return s.checks(after, paths), "", nil
	}
	return nil, "", nil
}

// changes are the paths at which two states differ.
func changes(before, after folders.State) (paths []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for file := range all {
		was, wasThere := before[file]
		is, isThere := after[file]
		if was != is || wasThere != isThere {
			paths = append(paths, file)
		}
	}
	slices.Sort(paths)
	return paths
}

// holds reports whether files hold what a state says, but for blank lines at their ends.
func holds(files map[string]string, after folders.State, paths []string) bool {
	return !slices.ContainsFunc(paths, func(file string) bool {
		text, there := files[file]
		want, wanted := after[file]
		return there != wanted || strings.TrimSpace(text) != strings.TrimSpace(want)
	})
}

// checks are what must be there in the end: each file that changes, and else all as it was.
func (s *filing) checks(after folders.State, paths []string) (checks []scenario.Check) {
	yes, no := true, false
	server := ""
	if len(s.m.player.servers()) > 1 {
		server = s.files.server
	}
	rest := scenario.Check{Type: scenario.UnchangedCheck, Server: server}
	for _, file := range s.files.logs {
		rest.Ignore = append(rest.Ignore, literalPattern(file))
	}
	for _, file := range paths {
		rest.Ignore = append(rest.Ignore, literalPattern(file))
		_, there := after[file]
		switch check := (scenario.Check{Type: scenario.FileCheck, Server: server, Path: file}); {
		case after.IsDir(file) && slices.ContainsFunc(paths, func(o string) bool { return path.Dir(o) == file }):
			// the files in it show that it is there
		case after.IsDir(file):
			name := path.Base(file)
			look := s.files.call(folders.Op{Do: s.files.shallow(), Path: path.Dir(file)})
			checks = append(checks, scenario.Check{Type: scenario.StateCheck, Name: look.Tool,
				Arguments: look.Arguments, Contains: &name})
		case !there:
			check.Exists = &no
			checks = append(checks, check)
		case strings.TrimSpace(after[file]) == "":
			check.Exists = &yes
			checks = append(checks, check)
		default:
			for _, text := range s.of.Texts(file, after[file]) {
				check.Regex = &text
				checks = append(checks, check)
			}
		}
	}
	return append(checks, rest)
}

// literalPattern is a pattern that fits one path alone.
func literalPattern(file string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(file)
}

// shallow is the operation that shows what is in one folder.
func (f *fileServer) shallow() string {
	if f.can()[folders.List] {
		return folders.List
	}
	return folders.Tree
}

// play makes the calls, notes what they changed, and puts the folder back.
func (s *filing) play(ctx context.Context, x play) (*Played, error) {
	got := &Played{}
	if !s.open(ctx, s.realm.setup, got) {
		return got, ctx.Err()
	}
	dir := s.session.Dir(s.files.server)
	s.m.make(ctx, s.session, x.Calls, got)
	after, ok := readFolder(dir)
	got.Changed = slices.DeleteFunc(s.before.changed(after), func(file string) bool {
		return slices.Contains(s.files.logs, file)
	})
	for _, file := range got.Changed {
		if content, there := after[file]; there {
			if got.Files == nil {
				got.Files = map[string]string{}
			}
			got.Files[file] = string(content)
			if content == nil {
				got.Files[file] = folders.IsDir
			}
		}
	}
	if got.Lost != "" || !ok || s.before.putBack(dir) != nil {
		s.close()
	}
	return got, ctx.Err()
}
