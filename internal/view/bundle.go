package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/blob"
	"hone/internal/fault"
	"hone/internal/run"
)

// bundlePolicy is the content security policy of a page that opens from a file: its own scripts and styles, and nothing
// from elsewhere.
const bundlePolicy = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src data:; " +
	"base-uri 'none'; form-action 'none'"

// inChunk is about how many trajectories share a file of a bundle.
const inChunk = 32

// Bundle writes the page with all that it would ask of the runs into a folder, which must be empty or not there:
// index.html opens from a file, without a server. Nothing can be curated in it.
func (s *Server) Bundle(ctx context.Context, dir string) error {
	files, err := pageFiles()
	if err != nil {
		return err
	}
	if list, err := os.ReadDir(dir); len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Code: fault.CodeUsage, What: "the folder for the files is not empty", Where: dir, Err: err,
			Next: "name another one, or one that is not there"}
	}
	s.open()
	b := &bundle{server: s, files: map[string]string{}, put: inFolder(dir)}
	b.keep("runs", "data/runs.js", s.list())
	for i, f := range s.all() {
		b.run(ctx, i, f)
	}
	b.keep("files", "data/index.js", b.files)
	b.keep("chunks", "data/index.js", b.chunks)
	for _, name := range []string{pageFile, scriptFile, styleFile} {
		text, err := fs.ReadFile(files, name)
		if name == pageFile {
			text = []byte(strings.Replace(string(text), "<meta charset",
				`<meta http-equiv="Content-Security-Policy" content="`+bundlePolicy+`">`+"\n<meta charset", 1))
		}
		if err == nil {
			err = b.err
		}
		if err == nil {
			err = blob.Write(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return &fault.Error{Code: fault.CodeError, What: "cannot write the files of the page", Where: dir, Err: err,
				Next: "make room there, and give the command again with another folder"}
		}
	}
	return nil
}

// bundle gathers the answers to what a page without a server asks.
type bundle struct {
	server *Server
	put    func(file, question string, answer []byte) error
	files  map[string]string // by question: its file
	chunks []chunked
	err    error // the first
}

// inFolder writes answers into files of a folder, each behind the others of its file. They are scripts: a page from a
// file may load these, and may ask nothing else.
func inFolder(dir string) func(file, question string, answer []byte) error {
	return func(file, question string, answer []byte) error {
		key, err := json.Marshal(question)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "honeAnswers.put(%s,%s)\n", key, answer)
		return errors.Join(err, out.Close())
	}
}

// chunked is how many files the trajectories of a run are in. Which one a question is in follows from its hash.
type chunked struct {
	Run    string `json:"run"`
	Folder string `json:"folder"`
	Num    int    `json:"num"`
}

// keep puts an answer into a file.
func (b *bundle) keep(question, file string, answer any) {
	if b.err != nil {
		return
	}
	text, err := json.Marshal(answer)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", question, err)
		return
	}
	if b.err = b.put(file, question, text); question != "files" && question != "chunks" {
		b.files[question] = file
	}
}

// ask asks a question of a run and keeps the answer, or leaves it out where there is none: the page says so then.
func (b *bundle) ask(f *followed, name, file string, of map[string]string) {
	answer, err := b.server.questions()[name](f, func(key string) string { return of[key] })
	if err == nil {
		b.keep(questionKey(f.Key, name, of), file, answer)
	}
}

// questionKey is how the page names a question in a bundle.
func questionKey(key, name string, of map[string]string) string {
	all := maps.Clone(of)
	if all == nil {
		all = map[string]string{}
	}
	all["run"] = key
	parts := []string{}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, k+"="+all[k])
	}
	return name + "?" + strings.Join(parts, "&")
}

func (b *bundle) run(ctx context.Context, number int, f *followed) {
	if b.err = cmp.Or(b.err, ctx.Err()); b.err != nil {
		return
	}
	folder := fmt.Sprintf("data/%d", number)
	if f.File {
		b.ask(f, "tasks", folder+"/tasks.js", nil)
		return
	}
	l, err := run.LedgerOf(f.Path)
	if err != nil {
		return // the list of runs says why
	}
	defer func() { _ = l.Close() }() // read only
	if _, err := f.index.read(l, func() {}); err != nil {
		b.err = err
		return
	}
	b.ask(f, "evaluation", folder+"/evaluation.js", nil)
	b.screens(f, folder)
	var known Known
	for seq, more := int64(0), true; more; {
		page := f.index.Since(seq, mostRows, known)
		b.keep(questionKey(f.Key, "rows", map[string]string{"since": fmt.Sprint(seq)}),
			fmt.Sprintf("%s/rows-%d.js", folder, seq), page)
		for i, names := range [][]string{
			page.Stages, page.Scenarios, page.Outcomes, page.Stops, page.Tools, page.TermNames,
		} {
			known[i] += len(names)
		}
		seq, more = page.Seq, page.More
	}
	b.trajectories(ctx, f, chunked{f.Key, folder, 1 + len(f.index.rows)/inChunk})
}

// screens keeps what the screens of a run ask of it as a whole.
func (b *bundle) screens(f *followed, folder string) {
	for _, name := range []string{"overview", "tasks", "servers"} {
		b.ask(f, name, folder+"/"+name+".js", nil)
	}
	if o, err := b.server.overview(f); err == nil {
		for i, stage := range o.Stages {
			b.ask(f, "series", fmt.Sprintf("%s/series-%d.js", folder, i), map[string]string{"stage": stage.Name})
		}
	}
}

// trajectories keeps each trajectory, its tokens, and what its group compares.
func (b *bundle) trajectories(ctx context.Context, f *followed, c chunked) {
	b.chunks = append(b.chunks, c)
	files := b.files
	b.files = map[string]string{} // a hash finds these
	defer func() { b.files = files }()
	groups := map[string]bool{}
	for i := range f.index.rows {
		if b.err = cmp.Or(b.err, ctx.Err()); b.err != nil {
			return
		}
		r := &f.index.rows[i]
		for _, name := range []string{"episode", "tokens"} {
			b.chunk(f, c, name, map[string]string{"id": r.id})
		}
		of := map[string]string{"stage": f.index.stages.names[r.stage], "step": fmt.Sprint(r.step),
			"scenario": f.index.scenarios.names[r.scenario]}
		if key := questionKey(f.Key, "group", of); !groups[key] {
			groups[key] = true
			b.chunk(f, c, "group", of)
		}
	}
}

func (b *bundle) chunk(f *followed, c chunked, name string, of map[string]string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(questionKey(f.Key, name, of))) // never fails
	b.ask(f, name, fmt.Sprintf("%s/c%d.js", c.Folder, h.Sum32()%uint32(c.Num)), of)
}
