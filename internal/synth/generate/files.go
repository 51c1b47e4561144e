package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/environment"
	"hone/internal/synth/folders"
)

// fileServer is a server whose tools read and change text files in the folder of its session, and which of them does
// what.
type fileServer struct {
	server string
	root   string              // what its tools call the folder itself
	tools  map[string]fileTool // by operation of package folders
	logs   []string            // paths that it changes itself when something is only read
}

// fileTool is a tool with arguments that worked, and where in them the path stands, and the others of an operation.
type fileTool struct {
	tool     *subject
	sample   json.RawMessage
	path, to string
	old, new string
	word     string
}

// What an argument of a file tool is for, by the words of its name.
const (
	isPath = "path"
	isTo   = "to"
	isOld  = "old"
	isNew  = "new"
	isWord = "word" // that is searched for
)

// fileRole says what an argument is for; "" where its name tells nothing.
func fileRole(name string) string {
	w := words(name)
	has := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(one string) bool { return slices.Contains(w, one) })
	}
	switch {
	case has("destination dest to target") || has("new") && has("path name file"):
		return isTo
	case has("content contents data body") || has("new replace replacement"):
		return isNew
	case has("pattern query regex keyword"):
		return isWord
	case has("old search find") || slices.Equal(w, []string{"match"}):
		return isOld
	case has("path paths file files filename filepath dir directory folder source src from"):
		return isPath
	case has("text"):
		return isNew
	}
	return ""
}

// withRoles are the least arguments of a tool, and where those with a role stand; ok is false where one without a role
// must be given, or two have the same.
func (s *subject) withRoles() (arguments json.RawMessage, at map[string]string, ok bool) {
	at = map[string]string{}
	raw, ok := rolesOf(s.schema.fields, "", s.Description, at)
	return raw, at, ok && at[isPath] != "" && s.takes(string(raw))
}

// rolesOf are the least arguments of some parameters, in their order.
func rolesOf(fields []param, under, description string, at map[string]string) (json.RawMessage, bool) {
	values := json.RawMessage("{")
	set := func(name string, value json.RawMessage) {
		if len(values) > 1 {
			values = append(values, ',')
		}
		values = slices.Concat(values, quote(name), json.RawMessage(":"), value)
	}
	note := func(role, pointer string) bool {
		if role == "" || at[role] != "" {
			return false
		}
		at[role] = pointer
		return true
	}
	for _, p := range fields {
		role := fileRole(p.name)
		switch {
		case p.kind == "string" && len(p.choices) == 0 &&
			(p.required || slices.Contains([]string{isOld, isNew, isPath}, role) && at[role] == ""):
			if !note(role, under+p.name) {
				return nil, false
			}
			set(p.name, quote("x"))
		case p.kind == "array" && p.items != nil && p.items.kind == "string" && p.required:
			if !note(role, under+p.name+"/0") {
				return nil, false
			}
			set(p.name, json.RawMessage(`["x"]`))
		case p.kind == "array" && p.items != nil && p.items.kind == "object" && p.required:
			of := p.items.fields
			if len(of) == 0 { // what is in one, the description alone says
				of = statedMembers(description)
			}
			one, ok := rolesOf(of, under+p.name+"/0/", "", at)
			ok = ok && len(of) > 0
			if !ok {
				return nil, false
			}
			set(p.name, slices.Concat(json.RawMessage("["), one, json.RawMessage("]")))
		case p.required:
			return nil, false
		}
	}
	return append(values, '}'), true
}

var statedPair = regexp.MustCompile(`\{\s*"?(\w+)"?(?:: [^,}]*)?,\s*"?(\w+)"?`)

// statedMembers are the two members of an object that a description names as a text and what takes its place:
// "{oldText, newText}".
func statedMembers(description string) []param {
	for _, m := range statedPair.FindAllStringSubmatch(description, -1) {
		if fileRole(m[1]) == isOld && fileRole(m[2]) == isNew {
			return []param{{name: m[1], kind: "string", required: true}, {name: m[2], kind: "string", required: true}}
		}
	}
	return nil
}

// The folder in which the tools of a file server are tried.
const (
	tryDir  = "hone-probe"
	tryText = "alpha line\nbeta line\ngamma line\n"
)

// tryFolder is what stands in it: a file of a size that a listing shows, and one further down.
func tryFolder() folder {
	return folder{
		"first.txt":         []byte(tryText),
		"second.txt":        []byte(strings.Repeat("omega\n", 778) + "end"),
		"below":             nil,
		"below/further.txt": []byte("zeta line\n"),
	}
}

// secondSizes are ways to write the size of the second file.
func secondSizes() []string { return []string{"4671", "4.56", "4.6", "4.67"} }

// fileServers finds the servers whose tools read and write files in their session's folder.
func (m *maker) fileServers(ctx context.Context) (list []*fileServer, err error) {
	for _, server := range m.player.servers() {
		session, err := m.player.open(ctx, m.player.from, nil)
		if err != nil { // who plays next says so better
			continue
		}
		var found *fileServer
		if dir := session.Dir(server); dir != "" {
			for _, root := range []string{".", "/", ""} {
				t := fileTrial{m: m, session: session, dir: dir, of: &fileServer{server: server, root: root,
					tools: map[string]fileTool{}}}
				if t.all(ctx); t.of.usable() {
					found = t.of
					found.logs = t.logged(ctx)
					break
				}
			}
		}
		_ = session.Close() // the calls are made
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if found != nil {
			list = append(list, found)
		}
	}
	return list, nil
}

// usable reports whether its tools show what there is, and read and write it.
func (f *fileServer) usable() bool {
	can := f.can()
	return (can[folders.Tree] || can[folders.List]) && can[folders.Show] && can[folders.Write]
}

// can says which operations there are tools for.
func (f *fileServer) can() folders.Can {
	can := folders.Can{}
	for do := range f.tools {
		can[do] = true
	}
	return can
}

// fileTrial tries the tools of one server in a session.
type fileTrial struct {
	m       *maker
	session environment.Session
	dir     string
	of      *fileServer
}

// all tries each tool with the arguments that its roles allow, on a folder that is made anew for each call. Where paths
// begin at the root, one that shows a file has to show one of that folder first: without a sandbox the root may be the
// machine's, which nobody is to write to.
func (t *fileTrial) all(ctx context.Context) {
	if t.of.root == "/" {
		if t.each(ctx, (*subject).shows); len(t.of.tools) == 0 {
			return
		}
	}
	t.each(ctx, func(*subject) bool { return true })
}

// shows reports whether a tool is called after showing something, and after nothing else.
func (s *subject) shows() bool {
	return !s.creates() && !s.destroys() && s.hasVerb("read", "get", "list", "show", "view", "cat", "open", "load",
		"fetch", "tree", "ls", "search", "find", "grep", "info", "stat")
}

// each tries those tools of which may says so.
func (t *fileTrial) each(ctx context.Context, may func(*subject) bool) {
	for _, s := range t.m.tools {
		if s.Server != t.of.server || !s.mayTry() || !may(s) || ctx.Err() != nil {
			continue
		}
		arguments, at, ok := s.withRoles()
		if !ok {
			continue
		}
		one := fileTool{tool: s, sample: arguments, path: at[isPath], to: at[isTo], old: at[isOld], new: at[isNew],
			word: at[isWord]}
		many := strings.HasSuffix(one.path, "/0")
		for _, do := range t.does(ctx, one, len(at), many) {
			before, there := t.of.tools[do]
			if !there || strings.Contains(strings.ToLower(before.tool.Description), "deprecated") {
				t.of.tools[do] = one
			}
		}
	}
	_ = os.RemoveAll(filepath.Join(t.dir, tryDir)) // of a session that ends
}

// does are the operations that a tool was seen to do.
func (t *fileTrial) does(ctx context.Context, one fileTool, roles int, many bool) []string {
	at := func(file string) string { return path.Join(tryDir, file) }
	switch {
	case many && roles == 1:
		said, _ := t.try(ctx, one,
			folders.Op{Do: folders.ShowAll, Paths: []string{at("first.txt"), at("below/further.txt")}})
		if strings.Contains(said, "beta line") && strings.Contains(said, "zeta line") {
			return []string{folders.ShowAll}
		}
	case many:
	case roles == 1:
		return t.doesWithPath(ctx, one)
	case roles == 2 && one.to != "":
		_, after := t.try(ctx, one, folders.Op{Do: folders.Move, Path: at("first.txt"), To: at("below/moved.txt")})
		if _, there := after["first.txt"]; string(after["below/moved.txt"]) == tryText && !there {
			return []string{folders.Move}
		}
	case roles == 2 && one.word != "":
		said, _ := t.try(ctx, one, folders.Op{Do: folders.Search, Path: tryDir, Old: "zeta"})
		if strings.Contains(said, "further.txt") && strings.Contains(said, "zeta") && strings.Contains(said, " line") &&
			!strings.Contains(said, "second.txt") {
			return []string{folders.Search}
		}
	case roles == 2 && one.new != "":
		for _, file := range []string{"third.txt", "second.txt"} {
			_, after := t.try(ctx, one, folders.Op{Do: folders.Write, Path: at(file), New: "new\n"})
			if strings.TrimSpace(string(after[file])) != "new" {
				return nil
			}
		}
		return []string{folders.Write}
	case roles == 3 && one.old != "" && one.new != "":
		_, after := t.try(ctx, one, folders.Op{Do: folders.Edit, Path: at("first.txt"), Old: "beta line\ngamma",
			New: "delta line\nmore\ngamma"})
		if string(after["first.txt"]) == "alpha line\ndelta line\nmore\ngamma line\n" {
			return []string{folders.Edit}
		}
	}
	return nil
}

// doesWithPath are the operations of a tool that takes a path alone.
func (t *fileTrial) doesWithPath(ctx context.Context, one fileTool) []string {
	said, after := t.try(ctx, one, folders.Op{Do: folders.Show, Path: path.Join(tryDir, "first.txt")})
	switch _, there := after["first.txt"]; {
	case !there && len(after) == len(tryFolder())-1:
		return []string{folders.Delete}
	case len(after) == len(tryFolder()) && strings.Contains(said, "beta line"):
		return []string{folders.Show}
	}
	said, _ = t.try(ctx, one, folders.Op{Do: folders.List, Path: tryDir})
	switch has := func(text string) bool { return strings.Contains(said, text) }; {
	case has("first.txt") && has("further.txt"):
		return []string{folders.Tree}
	case has("first.txt") && has("below") && slices.ContainsFunc(secondSizes(), has):
		return []string{folders.Sizes, folders.List}
	case has("first.txt") && has("below"):
		return []string{folders.List}
	}
	said, _ = t.try(ctx, one, folders.Op{Do: folders.Size, Path: path.Join(tryDir, "second.txt")})
	if strings.Contains(said, "4671") && !strings.Contains(said, "omega") {
		return []string{folders.Size}
	}
	_, after = t.try(ctx, one, folders.Op{Do: folders.MakeDir, Path: path.Join(tryDir, "made")})
	if content, there := after["made"]; there && content == nil {
		return []string{folders.MakeDir}
	}
	return nil
}

// logged are the paths that change where the folder is only looked at: a server may keep its log there.
func (t *fileTrial) logged(ctx context.Context) []string {
	before, known := readFolder(t.dir)
	_, _ = t.m.tryOn(ctx, t.session, t.of.call(folders.Op{Do: t.of.shallow(), Path: "."})) // of a tool that answers
	after, ok := readFolder(t.dir)
	if !known || !ok {
		return nil
	}
	return before.changed(after)
}

// changed are the paths at which two folders differ, sorted.
func (f folder) changed(after folder) (paths []string) {
	for file := range after {
		if was, there := f[file]; !there || !bytes.Equal(was, after[file]) || (was == nil) != (after[file] == nil) {
			paths = append(paths, filepath.ToSlash(file))
		}
	}
	for file := range f {
		if _, there := after[file]; !there {
			paths = append(paths, filepath.ToSlash(file))
		}
	}
	slices.Sort(paths)
	return paths
}

// try makes one call on the folder as it is at the beginning, and returns what it says and what the folder then holds.
func (t *fileTrial) try(ctx context.Context, one fileTool, o folders.Op) (said string, after folder) {
	dir := filepath.Join(t.dir, tryDir)
	if os.MkdirAll(dir, 0o755) != nil || tryFolder().putBack(dir) != nil {
		return "", nil
	}
	said, ok := t.m.tryOn(ctx, t.session, t.of.callOf(one, o))
	if !ok {
		said = ""
	}
	after, _ = readFolder(dir)
	return said, after
}

// call is the call of an operation.
func (f *fileServer) call(o folders.Op) Call { return f.callOf(f.tools[o.Do], o) }

func (f *fileServer) callOf(t fileTool, o folders.Op) Call {
	arguments := t.sample
	if o.Do == folders.ShowAll {
		list, _ := json.Marshal(f.paths(o.Paths)) // of texts
		arguments, _ = withMember(arguments, strings.TrimSuffix(t.path, "/0"), list)
		return Call{Tool: t.tool.Name, Arguments: arguments}
	}
	arguments = withLeaf(arguments, t.path, f.paths([]string{o.Path})[0])
	for pointer, value := range map[string]string{t.to: f.paths([]string{o.To})[0], t.old: o.Old, t.new: o.New,
		t.word: o.Old} {
		if pointer != "" {
			arguments = withLeaf(arguments, pointer, value)
		}
	}
	return Call{Tool: t.tool.Name, Arguments: arguments}
}

// paths are paths as the server's tools take them.
func (f *fileServer) paths(list []string) (out []string) {
	for _, file := range list {
		switch {
		case file == ".":
			file = f.root
		case f.root == "/":
			file = path.Join("/", file)
		}
		out = append(out, file)
	}
	return out
}
