//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"hone/internal/fault"
)

// The test's own binary is the helper and, in the sandbox, the server that is up to no good.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "sandbox-exec":
			fmt.Fprintln(os.Stderr, Exec(os.Args[2:], os.Environ()))
			os.Exit(99)
		case "attack":
			runAttacks()
			return
		case "writable":
			if err := json.NewEncoder(os.Stdout).Encode(writable()); err != nil {
				panic(err)
			}
			return
		case "fetch":
			runFetches(os.Args[2:])
			return
		}
	}
	goleak.VerifyTestMain(m)
}

// outcome is what became of one attack or deed: "" where it got through, else why not.
type outcome map[string]string

func runAttacks() {
	var t target
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		panic(err)
	}
	out := outcome{"capabilities": status("CapEff") + " " + status("NoNewPrivs")}
	skip, _ := os.ReadFile(os.Getenv("SKIP")) // there only where nothing is to keep them from harm
	for _, list := range []map[string]attack{deeds, attacks} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if slices.Contains(strings.Split(string(skip), "\n"), name) {
				continue
			}
			out[name] = ""
			if err := list[name](t); err != nil {
				out[name] = err.Error()
			}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}

// outside is a target and what belongs to it, and the grants for its Own.
func outside(t *testing.T) (target, Grants) {
	t.Helper()
	t.Cleanup(func() { os.Remove("/etc/planted-by-a-test") }) // there only where the sandbox failed, to root
	base := t.TempDir()
	here, err := os.MkdirTemp(".", "outside-") // not in /tmp, which is hidden anyway
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(here) })
	if here, err = filepath.Abs(here); err != nil {
		t.Fatal(err)
	}
	victim := exec.Command("sleep", "600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	tg := target{
		Home:   filepath.Join(here, "home"),
		Hidden: filepath.Join(here, "hidden"),
		Other:  filepath.Join(base, "other"),
		Own:    filepath.Join(base, "own"),
		Shared: filepath.Join(here, "shared"),
		PID:    os.Getpid(),
		Victim: victim.Process.Pid, Secret: "s3cret-value",
	}
	for path, text := range map[string]string{
		tg.Home + "/.ssh/id": "key", tg.Hidden + "/secret": "key", tg.Other + "/state": "state",
		tg.Own + "/home/.keep": "", here + "/project/.env": "KEY=1", tg.Shared: "shared",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	tg.Leaked = "leaked"
	if err := os.WriteFile(filepath.Join(tg.Other, tg.Leaked), []byte("leak"), 0o644); err != nil {
		t.Fatal(err)
	}
	// without O_CLOEXEC, as a careless parent
	for path, how := range map[string]int{tg.Other: unix.O_DIRECTORY, tg.Other + "/" + tg.Leaked: unix.O_RDWR} {
		fd, err := unix.Open(path, how, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
	}
	tg.TCP, tg.UDP = listenTCP(t), listenUDP(t)
	tg.Unix = filepath.Join(here, "s")
	for _, address := range []string{tg.Unix, "@" + tg.Unix} {
		answer(t, "unix", address)
	}
	return tg, Grants{Write: []string{tg.Own}, Env: []string{"GRANTED"}}
}

func listenTCP(t *testing.T) string { return answer(t, "tcp", "127.0.0.1:0") }

// answer listens and answers every connection with a byte.
func answer(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1)) // an answer before the question would close on the writer
			_, _ = c.Write([]byte("!"))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func listenUDP(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 16)
		for {
			_, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte("!"), from)
		}
	}()
	t.Cleanup(func() { c.Close(); <-done })
	return c.LocalAddr().String()
}

func options(tg target) Options {
	return Options{Helper: []string{os.Args[0], "sandbox-exec"}, Path: os.Getenv("PATH"), Home: tg.Home,
		Hide: []string{tg.Hidden}, Limits: Limits{OpenFiles: 100, FileBytes: 1 << 20, DataBytes: 1 << 30}}
}

// at returns a sandbox of exactly this level, or skips and says why.
func at(t *testing.T, level Level, o Options) *Sandbox {
	t.Helper()
	switch level {
	case Landlock:
		o.Without = []Level{Bubblewrap}
	case None:
		o.Mode = Off
	}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.Level() != level {
		t.Skipf("no %s here: %s", level, s)
	}
	return s
}

// run runs a command of this binary inside and returns what it printed.
func run(t *testing.T, s *Sandbox, tg target, g Grants, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = tg.Own
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	input, err := json.Marshal(tg)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := s.Wrap(cmd, g); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s\n%q", err, stderr.String(), cmd.Args)
	}
	return stdout.Bytes()
}

func attackAt(t *testing.T, s *Sandbox, tg target, g Grants, env ...string) outcome {
	t.Helper()
	var out outcome
	text := run(t, s, tg, g, append([]string{"GRANTED=value", "API_KEY=" + tg.Secret}, env...), "attack")
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// private are attacks that may seem to get through and change nothing outside, which is checked on the files
// themselves: a home of its own under bubblewrap, and a /tmp, should the tests lie there; what of a file Landlock's
// filter pretends to have changed.
var private = []string{
	"write to the home folder", "write a file open to everyone", "change a file's mode", "change an open file's mode",
	"change a file's times", "set a file's attribute",
}

// seen is what the package says of Landlock that it does not hide.
const seen = "read a process's command line"

func TestNothingEscapes(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			out := attackAt(t, s, tg, g, "HOME="+tg.Home)
			for name := range attacks {
				why, tried := out[name]
				if !tried || why == "" && !slices.Contains(private, name) && (level != Landlock || name != seen) {
					t.Errorf("%s: it got through", name)
				}
				t.Logf("%s: %s", name, why)
			}
			for name := range deeds {
				if why, tried := out[name]; !tried || why != "" {
					t.Errorf("a harmless server cannot %s: %s", name, why)
				}
			}
			if got, want := out["capabilities"], "0000000000000000 1"; got != want {
				t.Errorf("capabilities and no_new_privs are %q, want %q", got, want)
			}
			untouched(t, tg)
			if data, err := os.ReadFile(tg.Own + "/made"); string(data) != "planted" {
				t.Errorf("what it wrote to its folder is not there: %v", err)
			}
		})
	}
}

func untouched(t *testing.T, tg target) {
	t.Helper()
	for path, want := range map[string]string{
		tg.Other + "/state":        "state",
		tg.Other + "/" + tg.Leaked: "leak",
		tg.Shared:                  "shared",
		tg.Home + "/.ssh/id":       "key",
	} {
		if data, err := os.ReadFile(path); string(data) != want {
			t.Errorf("%s was changed: %q, %v", path, data, err)
		}
	}
	if info, err := os.Stat(tg.Shared); err != nil || info.Mode() != 0o644 || info.ModTime().Unix() < 1000 {
		t.Errorf("a mode or a time was changed: %v, %v, %v", info.Mode(), info.ModTime(), err)
	}
	if n, err := unix.Getxattr(tg.Shared, "user.planted", make([]byte, 8)); err == nil {
		t.Errorf("an attribute of %d bytes was set", n)
	}
	for _, path := range []string{tg.Home + "/.profile", tg.Home + "/made", "/etc/planted-by-a-test"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
}

// Without a sandbox the attacks do get through: the checks above can fail. Those that need root are left out elsewhere,
// as are those that would harm this machine.
func TestAttacksAreReal(t *testing.T) {
	tg, g := outside(t)
	harmful := []string{"write to the root", "mount", "change the root", "set the host's name", "become another user",
		"make a device"}
	s := at(t, None, options(tg))
	g.Env = append(g.Env, "API_KEY", "SKIP")
	input := filepath.Join(tg.Own, "skip")
	if err := os.WriteFile(input, []byte(strings.Join(harmful, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	out := attackAt(t, s, tg, g, "HOME="+tg.Home, "TMPDIR="+tg.Own, "SKIP="+input)
	through := 0
	for name := range attacks {
		why, tried := out[name]
		if tried && why == "" {
			through++
		}
		t.Logf("tried %v, %s: %s", tried, name, why)
	}
	if through < 25 {
		t.Errorf("only %d of %d attacks work at all", through, len(attacks))
	}
}

// At every level a server has the three standard streams and no other open file, whatever hone's parent left open.
func TestOpenFilesAreNotInherited(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock, None} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			cmd := exec.Command("/bin/ls", "/proc/self/fd")
			cmd.Dir = tg.Own
			if err := s.Wrap(cmd, g); err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.Output(); string(out) != "0\n1\n2\n3\n" || err != nil { // 3 is the folder that ls lists
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}

func TestGrants(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			g.Network, g.Read = true, []string{tg.Hidden}
			g.Env = append(g.Env, "API_KEY")
			out := attackAt(t, s, tg, g, "HOME="+tg.Own+"/home")
			for _, name := range []string{"connect by TCP", "send by UDP", "read a hidden folder", "inherit a key"} {
				if out[name] != "" {
					t.Errorf("%s is granted and fails: %s", name, out[name])
				}
			}
			for _, name := range []string{
				"read a key in the home folder", "read another episode's folder", "write to the root",
				"write to another episode's", "connect to a local socket", "connect to an abstract socket",
				"reach the virtual machine's host",
			} {
				if out[name] == "" {
					t.Errorf("%s was not granted", name)
				}
			}
			if _, err := os.Stat(tg.Own + "/home/made"); err != nil {
				t.Errorf("a HOME in a granted folder is not kept: %v", err)
			}
			untouched(t, tg)
		})
	}
}

func TestMissingGrantIsAnError(t *testing.T) {
	tg, _ := outside(t)
	for _, level := range []Level{Bubblewrap, Landlock} {
		t.Run(string(level), func(t *testing.T) {
			s := at(t, level, options(tg))
			for _, bad := range []Grants{{Write: []string{tg.Own + "/none"}}, {Read: []string{tg.Own + "/none"}}} {
				if err := s.Wrap(exec.Command("/bin/true"), bad); err == nil ||
					!strings.Contains(err.Error(), "/none") {
					t.Errorf("%+v: %v", bad, err)
				}
			}
		})
	}
}

// What the process prints and how it ends pass through the helper.
func TestStreamsAndExitCode(t *testing.T) {
	for _, level := range []Level{Bubblewrap, Landlock, None} {
		t.Run(string(level), func(t *testing.T) {
			tg, g := outside(t)
			s := at(t, level, options(tg))
			cmd := exec.Command("/bin/sh", "-c", `read line; echo "got $line $1"; echo oops >&2; exit 3`, "sh", "a b")
			cmd.Dir = tg.Own
			if err := s.Wrap(cmd, g); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("hello\n"), &stdout, &stderr
			err := cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != 3 || stdout.String() != "got hello a b\n" ||
				stderr.String() != "oops\n" {
				t.Errorf("exit code %d (%v), stdout %q, stderr %q", code, err, &stdout, &stderr)
			}
		})
	}
}

// When bubblewrap is killed, so is all that was started in it, also what left its process group.
func TestNoOrphans(t *testing.T) {
	tg, g := outside(t)
	s := at(t, Bubblewrap, options(tg))
	cmd := exec.Command("/bin/sh", "-c", "setsid sleep 600 & echo ready; sleep 600")
	cmd.Dir = tg.Own
	if err := s.Wrap(cmd, g); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil { // ends when the last process that holds the pipe is gone
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
}

func TestNew(t *testing.T) {
	helper := []string{os.Args[0], "sandbox-exec"}
	broken := t.TempDir()
	if err := os.WriteFile(broken+"/bwrap", []byte("#!/bin/sh\necho no namespaces >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	both := []Level{Bubblewrap, Landlock}
	for _, tc := range []struct {
		name  string
		o     Options
		level Level
		says  string
		err   string
	}{
		{"off", Options{Mode: Off, Helper: helper, Path: os.Getenv("PATH")}, None, "none (it is switched off)", ""},
		{"no helper", Options{Path: os.Getenv("PATH")}, None, "no helper command", ""},
		{"nothing to be used", Options{Helper: helper, Without: both}, None, "bubblewrap: not to be used; landlock: not to be used", ""},
		{"no bwrap, required", Options{Helper: helper, Mode: Require, Path: broken + "/none"}, "", "", "bwrap is not on PATH"},
		{"broken bwrap, required", Options{Helper: helper, Mode: Require, Path: broken}, "", "", "no namespaces"},
		{"nothing, required", Options{Helper: helper, Mode: Require, Without: both}, "", "", "none (bubblewrap: not to be used"},
		{"unknown", Options{Mode: "strict"}, "", "", `"strict" is none of`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := New(t.Context(), tc.o)
			if tc.err != "" {
				var f *fault.Error
				if !errors.As(err, &f) || f.Code != fault.CodeUsage || !strings.Contains(f.Error(), tc.err) {
					t.Errorf("%v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Level() != tc.level || !strings.Contains(s.String(), tc.says) {
				t.Errorf("%s, want %s with %q", s, tc.level, tc.says)
			}
		})
	}
}

// What an older kernel does not keep in is said where the level is.
func TestGapsOfLandlock(t *testing.T) {
	for v, want := range map[int]string{3: "signals", 5: "signals", 6: "", 7: ""} {
		if got := gapsOf(v); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("version %d: %q", v, got)
		}
	}
}

func TestExecRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"{}"}, {"{}", "--"}, {"{", "--", "/bin/true"}, {"{}", "x", "/bin/true"}} {
		if err := Exec(args, nil); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestAllowedEnv(t *testing.T) {
	got := filterEnv([]string{"PATH=/bin", "OPENAI_API_KEY=x", "LC_ALL=C", "X=1", "HOMEX=2", "HOME=/h",
		"LD_PRELOAD=evil"}, []string{"X"})
	if want := []string{"PATH=/bin", "LC_ALL=C", "X=1", "HOME=/h"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if filterEnv(nil, nil) == nil {
		t.Error("nil would inherit")
	}
}

func BenchmarkStart(b *testing.B) {
	for _, mode := range []struct {
		name string
		o    Options
	}{{"none", Options{Mode: Off}}, {"landlock", Options{Without: []Level{Bubblewrap}}}, {"bubblewrap", Options{}}} {
		b.Run(mode.name, func(b *testing.B) {
			o := mode.o
			o.Helper, o.Path = []string{os.Args[0], "sandbox-exec"}, os.Getenv("PATH")
			s, err := New(context.Background(), o)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if string(s.Level()) != mode.name {
				b.Skip(s)
			}
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				if err := s.Wrap(cmd, Grants{}); err != nil {
					b.Fatal(err)
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
