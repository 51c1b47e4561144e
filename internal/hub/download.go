package hub

import (
	"context"
	"crypto/sha1" //nolint:gosec // git names its blobs so
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"hone/internal/fault"
)

// Selection are the files of a repository that are wanted.
type Selection struct {
	Keep   func(path string) bool
	Enough func(paths []string) bool // whether files are enough where nothing lists all there are; nil: never
}

// atOnce are the files downloaded at the same time.
const atOnce = 4

// Download brings the wanted files of a repository into the cache, and returns their folder and their commit. A file
// that was cut off goes on where it ended. Each is checked against its hash before it is there.
func (c *Client) Download(ctx context.Context, r Repo, want Selection) (dir, commit string, err error) {
	if c.Offline {
		if dir, commit = c.FromCache(r, want); dir != "" {
			return dir, commit, nil
		}
		return "", "", &fault.Error{Code: fault.CodeUnavailable, What: "the " + string(r.Kind) + " is not in the cache",
			Where: r.String(), Why: "HF_HUB_OFFLINE is set, so the Hub is not asked; the cache is " + c.Cache,
			Next: "unset HF_HUB_OFFLINE, or bring the repository's folder into the cache"}
	}
	if commit = r.revision(); !commitForm.MatchString(commit) {
		if commit, err = c.Head(ctx, r); err != nil {
			return "", "", err
		}
	}
	files, err := c.Files(ctx, r, commit)
	if err != nil {
		return "", "", err
	}
	files = slices.DeleteFunc(slices.Clone(files), func(f File) bool { return !want.Keep(f.Path) })
	if len(files) == 0 {
		return "", "", &fault.Error{
			Code:  fault.CodeUsage,
			What:  "the " + string(r.Kind) + " has none of the files that are wanted",
			Where: r.String() + " on " + c.Endpoint,
			Next:  "look at " + c.Page(r) + "/tree/" + r.revision(),
		}
	}
	missing, bytes := c.missing(r, files)
	if missing > 0 {
		if c.Agree != nil {
			if err := c.Agree(r, missing, bytes); err != nil {
				return "", "", err
			}
		}
		if err := c.room(r, bytes); err != nil {
			return "", "", err
		}
	}
	if err := c.fetchAll(ctx, r, commit, files, &meter{of: bytes, told: c.Progress}); err != nil {
		return "", "", err
	}
	// The branch is the commit only now: until all is there, the files of the commit before are found.
	if err := c.keepRef(r, commit); err != nil {
		return "", "", c.diskError("cannot keep what was downloaded", err)
	}
	return c.snapshot(r, commit), commit, nil
}

// missing is how many files the cache lacks, and how many bytes of them.
func (c *Client) missing(r Repo, files []File) (n int, bytes int64) {
	for _, f := range files {
		blob := filepath.Join(c.folder(r), "blobs", f.etag())
		if info, err := os.Stat(blob); err == nil && info.Size() == f.Size {
			continue
		}
		n, bytes = n+1, bytes+f.Size
		if part, err := os.Stat(blob + ".incomplete"); err == nil {
			bytes -= min(part.Size(), f.Size)
		}
	}
	return n, bytes
}

// room fails early where the disk has no room for what is missing.
func (c *Client) room(r Repo, need int64) error {
	var free syscall.Statfs_t
	if err := os.MkdirAll(c.Cache, 0o755); err != nil {
		return c.diskError("cannot download", err)
	}
	if err := syscall.Statfs(c.Cache, &free); err != nil {
		return nil // a system that does not tell: writing will
	}
	if have := int64(free.Bavail) * int64(free.Bsize); have < need {
		return c.diskError("cannot download the "+string(r.Kind)+" "+r.String(),
			fmt.Errorf("%d MB are free, %d MB are needed: %w", have>>20, need>>20, syscall.ENOSPC))
	}
	return nil
}

// fetchAll downloads files, some at once. The first error stops the others.
func (c *Client) fetchAll(ctx context.Context, r Repo, commit string, files []File, m *meter) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	var first error
	var once sync.Once
	next := make(chan File)
	for range min(atOnce, len(files)) {
		wait.Go(func() {
			for f := range next {
				if err := c.fetch(ctx, r, commit, f, m); err != nil {
					once.Do(func() { first = err; stop() })
				}
			}
		})
	}
	for _, f := range files {
		next <- f
	}
	close(next)
	wait.Wait()
	return first
}

// fetch brings one file into the cache, and links it into its snapshot.
func (c *Client) fetch(ctx context.Context, r Repo, commit string, f File, m *meter) error {
	what := "cannot download " + f.Path
	blob := filepath.Join(c.folder(r), "blobs", f.etag())
	if err := os.MkdirAll(filepath.Dir(blob), 0o755); err != nil {
		return c.diskError(what, err)
	}
	if info, err := os.Stat(blob); err != nil || info.Size() != f.Size {
		unlock, err := c.lock(ctx, r, f.etag())
		if err != nil {
			return err
		}
		defer unlock()
		if info, err = os.Stat(blob); err != nil || info.Size() != f.Size { // by the process that had the lock
			if err := c.transfer(ctx, request{method: "GET", address: c.fileAddress(r, commit, f.Path), repo: r,
				what: what}, f, blob, m); err != nil {
				return err
			}
		}
	}
	if err := link(blob, filepath.Join(c.snapshot(r, commit), filepath.FromSlash(f.Path))); err != nil {
		return c.diskError(what, err)
	}
	return nil
}

// transfer downloads a blob beside its place, and renames it once its hash is right. A part that is there is gone on
// with: its name is the hash of the whole, so it is of this content. Where the whole has another hash, the part was
// damaged, and all is downloaded once more.
func (c *Client) transfer(ctx context.Context, q request, f File, blob string, m *meter) error {
	part := blob + ".incomplete"
	for damaged := 0; ; {
		file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return c.diskError(q.what, err)
		}
		err = c.receive(ctx, q, f, file, m)
		sum := ""
		if err == nil {
			sum, err = digestOf(file, f)
		}
		if err == nil && sum == f.etag() {
			err = file.Sync()
		}
		if err = errors.Join(err, file.Close()); err != nil {
			if _, told := errors.AsType[*fault.Error](err); told {
				return err
			}
			return c.diskError(q.what, err)
		}
		if sum == f.etag() {
			if err := os.Rename(part, blob); err != nil {
				return c.diskError(q.what, err)
			}
			return nil
		}
		if err := os.Remove(part); err != nil {
			return c.diskError(q.what, err)
		}
		if damaged++; damaged == 2 {
			return &fault.Error{Code: fault.CodeUnavailable, What: q.what, Where: q.repo.String() + " on " + c.Endpoint,
				Why: fmt.Sprintf("what came has the hash %s, the Hub says %s",
					sum, f.etag()), Next: "try again later; nothing of it was kept"}
		}
		c.say("%s does not have the hash that the Hub says: it is downloaded again", f.Path)
	}
}

// receive appends to a part until it is as long as the file, by as many requests as that takes.
func (c *Client) receive(ctx context.Context, q request, f File, part *os.File, m *meter) error {
	for stuck := 0; ; {
		have, err := part.Seek(0, io.SeekEnd)
		if err != nil || have == f.Size {
			return err
		}
		if have > f.Size {
			if err := part.Truncate(0); err != nil {
				return err
			}
			continue
		}
		q.header = http.Header{}
		if have > 0 {
			q.header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		}
		a, err := c.do(ctx, q)
		if err != nil {
			return err
		}
		if a.StatusCode != http.StatusPartialContent && have > 0 { // the server knows no ranges, or not this one
			have = 0
			if err := part.Truncate(0); err != nil {
				_ = a.Body.Close() // not read
				return err
			}
			if a.StatusCode == http.StatusRequestedRangeNotSatisfiable {
				_ = a.Body.Close() // says nothing
				continue
			}
		}
		n, writeErr, readErr := appendTo(part, a.Body, f, have, m)
		_ = a.Body.Close() // all of it was read, or reading failed
		if writeErr != nil {
			return writeErr
		}
		if readErr == nil && have+n == f.Size {
			return nil
		}
		if readErr == nil {
			readErr = fmt.Errorf("%d bytes came of %d", have+n, f.Size)
		}
		if stuck++; n > 0 {
			stuck = 0
		}
		if ctx.Err() != nil || stuck == tries || have+n > f.Size {
			return c.requestError(q, errors.Join(readErr, ctx.Err()))
		}
		c.say("%s was cut off (%v): going on at byte %d", f.Path, readErr, have+n)
	}
}

// appendTo copies a body to the end of a part, and tells an error of the disk from one of the network.
func appendTo(part *os.File, body io.Reader, f File, have int64, m *meter) (n int64, writeErr, readErr error) {
	if _, err := part.Seek(have, io.SeekStart); err != nil {
		return 0, err, nil
	}
	buffer := make([]byte, 1<<20)
	for {
		got, err := body.Read(buffer)
		if got > 0 {
			if _, err := part.Write(buffer[:got]); err != nil {
				return n, err, nil
			}
			n += int64(got)
			m.add(got)
		}
		if errors.Is(err, io.EOF) {
			return n, nil, nil
		}
		if err != nil || have+n > f.Size {
			return n, nil, err
		}
	}
}

// digestOf is the hash by which the Hub knows the content of a file.
func digestOf(r io.ReadSeeker, f File) (string, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	var sum hash.Hash = sha256.New()
	if f.LFS == "" {
		sum = gitBlob(f.Size)
	}
	_, err := io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// gitBlob is git's hash of a file of a size.
func gitBlob(size int64) hash.Hash {
	h := sha1.New() //nolint:gosec // git's
	_, _ = fmt.Fprintf(h, "blob %d\x00", size)
	return h
}
