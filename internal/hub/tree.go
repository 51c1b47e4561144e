package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"hone/internal/fault"
)

// File is one of a repository's files.
type File struct {
	Path string
	Size int64  // bytes
	OID  string // SHA-1 of it as a blob of git
	LFS  string // SHA-256, of a file that is kept outside git; else ""
}

// etag is what the Hub and the cache call its content.
func (f File) etag() string {
	if f.LFS != "" {
		return f.LFS
	}
	return f.OID
}

// Head is the commit of a repository's revision.
func (c *Client) Head(ctx context.Context, r Repo) (commit string, err error) {
	var info struct{ SHA string }
	_, err = c.call(ctx, request{method: "GET", address: c.api(r, "revision", r.revision()), repo: r,
		what: "cannot read the " + string(r.Kind), looks: true}, nil, &info)
	if err == nil && !commitForm.MatchString(info.SHA) {
		err = &fault.Error{
			Code:  fault.CodeUnavailable,
			What:  "cannot read the " + string(r.Kind),
			Where: r.String() + " on " + c.Endpoint,
			Why:   fmt.Sprintf("%q is no commit", info.SHA),
			Next:  "look at HF_ENDPOINT",
		}
	}
	return info.SHA, err
}

// nextPage is the address of the rest of a list, in a header Link.
var nextPage = regexp.MustCompile(`<([^>]+)>;\s*rel="next"`)

// Files are the files of a commit. Lists are kept in the cache: a commit never changes.
func (c *Client) Files(ctx context.Context, r Repo, commit string) ([]File, error) {
	if files, ok := c.readTree(r, commit); ok {
		return files, nil
	}
	var files []File
	address := c.api(r, "tree", commit) + "?" + url.Values{"recursive": {"true"}, "expand": {"false"}}.Encode()
	for address != "" {
		var page []struct {
			Type, Path, OID string
			Size            int64
			LFS             *struct {
				OID  string
				Size int64
			}
		}
		header, err := c.call(ctx,
			request{method: "GET", address: address, repo: r, what: "cannot list the files", looks: true}, nil, &page)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			f := File{Path: e.Path, Size: e.Size, OID: e.OID}
			if e.LFS != nil {
				f.LFS, f.Size = e.LFS.OID, e.LFS.Size
			}
			if e.Type != "file" {
				continue
			}
			if !filepath.IsLocal(filepath.FromSlash(f.Path)) || !digestForm.MatchString(f.etag()) {
				return nil, &fault.Error{
					Code:  fault.CodeUnavailable,
					What:  "cannot list the files",
					Where: r.String() + " on " + c.Endpoint,
					Why:   fmt.Sprintf("%q is no file that can be written", f.Path),
					Next:  "look at " + c.Page(r),
				}
			}
			files = append(files, f)
		}
		address = ""
		if m := nextPage.FindStringSubmatch(header.Get("Link")); m != nil && strings.HasPrefix(m[1], c.Endpoint+"/") {
			address = m[1]
		}
	}
	return files, c.writeTree(r, commit, files)
}

// digestForm is a SHA-1 or a SHA-256: it becomes the name of a file.
var digestForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// tree is how huggingface_hub keeps a commit's list of files, in trees/COMMIT.json of a repository's folder.
type tree struct {
	Version int                 `json:"format_version"`
	Files   map[string]treeFile `json:"files"`
}

type treeFile struct {
	Size    int64  `json:"size"`
	BlobID  string `json:"blob_id"`
	LFS     string `json:"lfs_sha256,omitempty"`
	LFSSize int64  `json:"lfs_size,omitempty"`
}

func (c *Client) readTree(r Repo, commit string) ([]File, bool) {
	text, err := os.ReadFile(filepath.Join(c.folder(r), "trees", commit+".json"))
	var t tree
	if err != nil || json.Unmarshal(text, &t) != nil || t.Version != 1 {
		return nil, false // it is asked for again
	}
	var files []File
	for path, f := range t.Files {
		x := File{Path: path, Size: f.Size, OID: f.BlobID, LFS: f.LFS}
		if !filepath.IsLocal(filepath.FromSlash(path)) || !digestForm.MatchString(x.etag()) {
			return nil, false
		}
		files = append(files, x)
	}
	return sortFiles(files), true
}

func (c *Client) writeTree(r Repo, commit string, files []File) error {
	t := tree{Version: 1, Files: map[string]treeFile{}}
	for _, f := range files {
		x := treeFile{Size: f.Size, BlobID: f.OID, LFS: f.LFS}
		if f.LFS != "" {
			x.LFSSize = f.Size
		}
		t.Files[f.Path] = x
	}
	text, err := json.MarshalIndent(t, "", " ")
	if err == nil {
		err = replace(filepath.Join(c.folder(r), "trees", commit+".json"), text)
	}
	if err != nil {
		return c.diskError("cannot keep the list of files", err)
	}
	return nil
}
