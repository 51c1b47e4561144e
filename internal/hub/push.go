package hub

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"hone/internal/fault"
)

// Upload is a folder on its way into a repository.
type Upload struct {
	Folder  string
	Message string            // of the commit
	Private bool              // of a repository that the push makes
	Extra   map[string][]byte // files beside the folder's, in place of those of the same path
	Mirror  bool              // remove what the repository has and the folder has not

	// tells of a file of the folder, by its path on this machine, that it is sent nowhere; nil of none
	LeaveOut func(file string) bool
}

// Pushed is what a push did.
type Pushed struct {
	Commit  string `json:"commit"`
	URL     string `json:"url"`
	Files   int    `json:"files"`   // that the commit adds or changes
	Bytes   int64  `json:"bytes"`   // of these
	Same    int    `json:"same"`    // that the repository had already
	Removed int    `json:"removed"` // by Mirror
}

// Push makes a repository have the files of a folder, by one commit: it has all of them or what it had. It makes the
// repository, or the branch, where there is none. Files that the Hub has already are not sent again, so a push that was
// cut off goes on. A commit of somebody else's in the meantime is not undone: the push is planned anew on top of it.
func (c *Client) Push(ctx context.Context, r Repo, u Upload) (Pushed, error) {
	files, err := c.localFiles(u)
	if err != nil {
		return Pushed{}, err
	}
	for i := range files {
		if err := files[i].sum(); err != nil {
			return Pushed{}, cannotPush(u, err)
		}
	}
	for again := 0; ; again++ {
		head, err := c.headToPush(ctx, r, u.Private)
		if err != nil {
			return Pushed{}, err
		}
		done, err := c.pushOn(ctx, r, u, head, files)
		if a, ok := errors.AsType[*answered](err); ok &&
			(a.status == http.StatusPreconditionFailed || a.status == http.StatusConflict) && again < tries {
			c.say("somebody else pushed to %s: looking at it anew", r)
			continue
		}
		return done, err
	}
}

// Plan is what a push of a folder would send, and what Mirror would remove for it. Only for that the Hub is asked.
func (c *Client) Plan(ctx context.Context, r Repo, u Upload) (files []File, removed []string, err error) {
	list, err := c.localFiles(u)
	if err != nil {
		return nil, nil, err
	}
	mine := map[string]bool{}
	for _, f := range list {
		files, mine[f.Path] = append(files, f.File), true
	}
	if !u.Mirror {
		return files, nil, nil
	}
	head, err := c.Head(ctx, r)
	if a, ok := errors.AsType[*answered](err); ok &&
		(a.code == "RepoNotFound" || a.code == "RevisionNotFound" || a.status == http.StatusNotFound) {
		return files, nil, nil // it is made by the push
	}
	if err != nil {
		return nil, nil, err
	}
	there, err := c.Files(ctx, r, head)
	return files, besides(there, mine), err
}

// besides are the files that a repository has and a folder has not, but for those that the Hub makes.
func besides(there []File, mine map[string]bool) (others []string) {
	for _, f := range there {
		if !mine[f.Path] && f.Path != ".gitattributes" && f.Path != "README.md" {
			others = append(others, f.Path)
		}
	}
	return others
}

// headToPush is the commit to push onto, of a repository and a branch that are made where they are not there.
func (c *Client) headToPush(ctx context.Context, r Repo, private bool) (string, error) {
	if commitForm.MatchString(r.Revision) {
		return "", &fault.Error{Code: fault.CodeUsage, What: "cannot push to a commit", Where: r.String(),
			Next: "name a branch behind @, or leave it out"}
	}
	head, err := c.Head(ctx, r)
	a, ok := errors.AsType[*answered](err)
	if !ok {
		return head, err
	}
	what := "cannot make the " + string(r.Kind)
	if a.code == "RevisionNotFound" && r.Revision != "" {
		_, err = c.call(ctx, request{method: "POST", address: c.api(r, "branch", r.Revision), repo: r,
			what: "cannot make the branch " + r.Revision}, struct{}{}, nil)
	} else if a.code == "RepoNotFound" || a.status == http.StatusNotFound ||
		a.status == http.StatusUnauthorized && c.Token != "" && !strings.Contains(a.reason, "Invalid credentials") {
		organization, name, _ := strings.Cut(r.ID, "/")
		visibility := "public"
		if private {
			visibility = "private"
		}
		_, err = c.call(ctx, request{method: "POST", address: c.Endpoint + "/api/repos/create", repo: r, what: what},
			map[string]string{"type": string(r.Kind), "name": name, "organization": organization,
				"visibility": visibility}, nil)
		// made in this moment by somebody else
		if was, ok := errors.AsType[*answered](err); ok && was.status == http.StatusConflict {
			err = nil
		}
		if err == nil && r.Revision != "" {
			_, err = c.call(ctx, request{method: "POST", address: c.api(r, "branch", r.Revision), repo: r, what: what},
				struct{}{}, nil)
		}
	}
	if err != nil {
		return "", err
	}
	return c.Head(ctx, r)
}

// local is a file to push.
type local struct {
	File
	Mode string // regular or lfs, as the Hub says
	open func() (io.ReadSeekCloser, error)
}

func cannotPush(u Upload, err error) error {
	return &fault.Error{Code: fault.CodeUsage, What: "cannot push the folder", Where: u.Folder, Err: err,
		Next: "hone push --help"}
}

// localFiles are the files of a folder, without their hashes. Hidden folders and files are left out, but for
// .gitattributes, and those that are to be, which is said.
func (c *Client) localFiles(u Upload) ([]local, error) {
	bad := func(err error) error { return cannotPush(u, err) }
	if info, err := os.Stat(u.Folder); err != nil || !info.IsDir() {
		return nil, bad(errors.Join(err, errors.New("it is no folder")))
	}
	var files []local
	for _, path := range walk(u.Folder) {
		if _, replaced := u.Extra[path]; replaced || isHidden(path) {
			continue
		}
		at := filepath.Join(u.Folder, filepath.FromSlash(path))
		info, err := os.Stat(at)
		if err != nil {
			return nil, bad(err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if u.LeaveOut != nil && u.LeaveOut(at) {
			c.say("left out %s: it is a ledger of curation, and holds what was redacted", path)
			continue
		}
		files = append(files, local{File: File{Path: path, Size: info.Size()}, open: func() (io.ReadSeekCloser, error) {
			return os.Open(at)
		}})
	}
	for path, text := range u.Extra {
		files = append(files, local{File: File{Path: path, Size: int64(len(text))},
			open: func() (io.ReadSeekCloser, error) { return nothingToClose{bytes.NewReader(text)}, nil }})
	}
	if len(files) == 0 {
		return nil, bad(errors.New("it holds no files"))
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files, nil
}

type nothingToClose struct{ io.ReadSeeker }

func (nothingToClose) Close() error { return nil }

func isHidden(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, ".") && part != ".gitattributes" {
			return true
		}
	}
	return false
}

// sum takes both hashes: which of them counts, the Hub says.
func (l *local) sum() error {
	f, err := l.open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	if l.LFS, err = digestOf(f, File{LFS: "sha256"}); err == nil {
		l.OID, err = digestOf(f, File{Size: l.Size})
	}
	return err
}

// is tells whether a repository's file is this one.
func (l local) is(f File) bool { return f.LFS != "" && f.LFS == l.LFS || f.LFS == "" && f.OID == l.OID }

// pushOn pushes onto a commit.
func (c *Client) pushOn(ctx context.Context, r Repo, u Upload, head string, files []local) (Pushed, error) {
	there, err := c.Files(ctx, r, head)
	if err != nil {
		return Pushed{}, err
	}
	has, mine := map[string]File{}, map[string]bool{}
	for _, f := range there {
		has[f.Path] = f
	}
	var changed []local
	for _, f := range files {
		mine[f.Path] = true
		if old, ok := has[f.Path]; !ok || !f.is(old) {
			changed = append(changed, f)
		}
	}
	others := besides(there, mine)
	if len(others) > 0 && !u.Mirror {
		c.say("the repository has %s that the folder has not: %s; --mirror removes them",
			fault.Count(len(others), "file"), few(others))
		others = nil
	}
	done := Pushed{Commit: head, URL: c.Page(r), Same: len(files) - len(changed), Removed: len(others)}
	if changed, err = c.modes(ctx, r, changed); err != nil || len(changed)+len(others) == 0 {
		return done, err
	}
	if err := c.sendLarge(ctx, r, changed); err != nil {
		return done, err
	}
	for _, f := range changed {
		done.Files, done.Bytes = done.Files+1, done.Bytes+f.Size
	}
	done.Commit, err = c.commit(ctx, r, u.Message, head, changed, others)
	return done, err
}

// batchSize is how many files a request may name.
const batchSize = 256

// modes asks how each file is kept: in git, or outside as a large file. Those that the repository ignores are left out.
func (c *Client) modes(ctx context.Context, r Repo, files []local) ([]local, error) {
	type entry struct {
		Path   string `json:"path"`
		Sample string `json:"sample"` // of the beginning, in base64
		Size   int64  `json:"size"`
	}
	var out []local
	for batch := range slices.Chunk(files, batchSize) {
		var ask struct {
			Files []entry `json:"files"`
		}
		for _, f := range batch {
			text, err := f.sample()
			if err != nil {
				return nil, &fault.Error{Code: fault.CodeError, What: "cannot read a file to push",
					Where: f.Path, Err: err}
			}
			ask.Files = append(ask.Files, entry{f.Path, base64.StdEncoding.EncodeToString(text), f.Size})
		}
		var say struct {
			Files []struct {
				Path, UploadMode string
				ShouldIgnore     bool
			}
		}
		if _, err := c.call(ctx, request{method: "POST", address: c.api(r, "preupload", r.revision()), repo: r,
			what: "cannot push"}, ask, &say); err != nil {
			return nil, err
		}
		modes := map[string]string{}
		for _, f := range say.Files {
			if modes[f.Path] = f.UploadMode; f.ShouldIgnore {
				modes[f.Path] = "ignored"
			}
		}
		for _, f := range batch {
			switch f.Mode = modes[f.Path]; {
			case f.Mode == "ignored":
				c.say("left out %s: the repository ignores it", f.Path)
				continue
			case f.Size == 0: // stores refuse empty files
				f.Mode = "regular"
			case f.Mode != "lfs" && f.Mode != "regular":
				return nil, &fault.Error{
					Code:  fault.CodeUnavailable,
					What:  "cannot push",
					Where: f.Path,
					Why:   fmt.Sprintf("the Hub does not say how it is to be sent, but %q", f.Mode),
					Next:  "look at HF_ENDPOINT",
				}
			}
			out = append(out, f)
		}
	}
	return out, nil
}

func (l local) sample() ([]byte, error) {
	f, err := l.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return io.ReadAll(io.LimitReader(f, 512))
}

// commit makes the one commit, and returns its name. Where its answer is lost, the next push finds that nothing is left
// to do.
func (c *Client) commit(
	ctx context.Context, r Repo, message, parent string, files []local, removed []string,
) (string, error) {
	var body bytes.Buffer
	line := json.NewEncoder(&body)
	type value = map[string]any
	put := func(key string, v value) error { return line.Encode(value{"key": key, "value": v}) }
	err := put("header", value{"summary": message, "description": "", "parentCommit": parent})
	for _, f := range files {
		if f.Mode == "lfs" {
			err = errors.Join(err,
				put("lfsFile", value{"path": f.Path, "algo": "sha256", "oid": f.LFS, "size": f.Size}))
			continue
		}
		text, readErr := f.whole()
		err = errors.Join(err, readErr, put("file",
			value{"path": f.Path, "encoding": "base64", "content": base64.StdEncoding.EncodeToString(text)}))
	}
	for _, path := range removed {
		err = errors.Join(err, put("deletedFile", value{"path": path}))
	}
	if err != nil {
		return "", &fault.Error{Code: fault.CodeError, What: "cannot read a file to push", Err: err}
	}
	var made struct{ CommitOID string }
	q := request{method: "POST", address: c.api(r, "commit", r.revision()), repo: r, what: "cannot push",
		header: http.Header{"Content-Type": {"application/x-ndjson"}}}
	q.body = func() (io.Reader, int64, error) { return bytes.NewReader(body.Bytes()), int64(body.Len()), nil }
	_, err = c.call(ctx, q, nil, &made)
	return made.CommitOID, err
}

// whole is a small file, as it was when its hash was taken.
func (l local) whole() ([]byte, error) {
	f, err := l.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(f)
	if sum, _ := digestOf(bytes.NewReader(text), File{Size: int64(len(text))}); err == nil && sum != l.OID {
		err = fmt.Errorf("%s changed while it was pushed", l.Path)
	}
	return text, err
}

// few names some of many files.
func few(paths []string) string {
	if len(paths) > 5 {
		return strings.Join(paths[:5], ", ") + fmt.Sprintf(" and %d more", len(paths)-5)
	}
	return strings.Join(paths, ", ")
}
