package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"hone/internal/blob"
	"hone/internal/fault"
)

// The cache, as huggingface_hub has it:
//
//	models--org--name/blobs/ETAG                    the content of files
//	models--org--name/snapshots/COMMIT/PATH         links to them
//	models--org--name/refs/REVISION                 the commit that a branch or tag was, when it was last asked for
//	models--org--name/trees/COMMIT.json             the list of a commit's files
//	.locks/models--org--name/ETAG.lock              held while a blob is downloaded

// folder is where the cache has a repository.
func (c *Client) folder(r Repo) string { return filepath.Join(c.Cache, folderName(r)) }

func folderName(r Repo) string {
	return string(r.Kind) + "s--" + strings.ReplaceAll(r.ID, "/", "--")
}

func (c *Client) snapshot(r Repo, commit string) string {
	return filepath.Join(c.folder(r), "snapshots", commit)
}

// commitInCache is the commit that the cache knows a revision as; "" where it knows none.
func (c *Client) commitInCache(r Repo) string {
	if commitForm.MatchString(r.revision()) {
		return r.revision()
	}
	text, err := os.ReadFile(filepath.Join(c.folder(r), "refs", filepath.FromSlash(r.revision())))
	if commit := strings.TrimSpace(string(text)); err == nil && commitForm.MatchString(commit) {
		return commit
	}
	return ""
}

// FromCache is the folder of a repository's files in the cache, and their commit. It is "" where the cache lacks one
// that want chooses. Where another client left no list of the files, enough tells by their paths whether they are
// enough.
func (c *Client) FromCache(r Repo, want Selection) (dir, commit string) {
	commit = c.commitInCache(r)
	if commit == "" {
		return "", ""
	}
	dir = c.snapshot(r, commit)
	files, known := c.readTree(r, commit)
	if !known {
		if paths := walk(dir); want.Enough == nil || !want.Enough(paths) {
			return "", ""
		}
		return dir, commit
	}
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path))); want.Keep(f.Path) &&
			(err != nil || info.Size() != f.Size) {
			return "", ""
		}
	}
	return dir, commit
}

// walk are the paths of a folder's files, with slashes.
func walk(dir string) (paths []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // what cannot be read is not there
		if rel, relErr := filepath.Rel(dir, path); err == nil && relErr == nil && !e.IsDir() {
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return paths
}

// keepRef remembers what commit a branch or tag was.
func (c *Client) keepRef(r Repo, commit string) error {
	if commit == r.revision() {
		return nil
	}
	path := filepath.Join(c.folder(r), "refs", filepath.FromSlash(r.revision()))
	if c.commitInCache(r) == commit {
		return nil
	}
	return replace(path, []byte(commit))
}

// replace writes a file whole or not at all.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return blob.Write(path, text, 0o644)
}

// link makes a snapshot's file: a link to its blob, relative, so that the cache can be moved.
func link(blob, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return err
	}
	if have, err := os.Readlink(path); err == nil && have == to {
		return nil
	}
	tmp := path + "." + rand.Text() + ".hone-link" // another process may make the same one
	if err := os.Symlink(to, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// lock holds a blob's lock, as huggingface_hub's FileLock does: flock, which a killed process lets go of.
func (c *Client) lock(ctx context.Context, r Repo, etag string) (unlock func(), err error) {
	path := filepath.Join(c.Cache, ".locks", folderName(r), etag+".lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, c.diskError("cannot lock a file of the cache", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o664)
	if err != nil {
		return nil, c.diskError("cannot lock a file of the cache", err)
	}
	for tries := 0; ; tries++ {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		if tries == 20 {
			c.say("another process downloads a file of %s: waiting for it", r)
		}
		select {
		case <-ctx.Done():
			_ = f.Close() // not held
			return nil, &fault.Error{Code: fault.CodeStopped, What: "stopped while another process downloads",
				Where: r.String(), Err: ctx.Err(), Next: "give the command again"}
		case <-time.After(50 * time.Millisecond):
		}
	}
	// a file system without locks: the hash still says what is whole
	if err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS) {
		_ = f.Close() // not held
		return nil, c.diskError("cannot lock a file of the cache", err)
	}
	return func() { _ = f.Close() }, nil // which lets go of it; the file stays, as other clients leave it
}

func sortFiles(files []File) []File {
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files
}
