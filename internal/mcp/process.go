package mcp

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
)

const (
	stderrKept = 8 << 10                // bytes of stderr shown in errors: the last ones
	exitGrace  = 300 * time.Millisecond // after stdin closes, and again after TERM; KILL follows
	drainGrace = 200 * time.Millisecond // for what the process wrote just before it died
)

// markerEnv marks a server's process and all it starts, wherever they go: a daemon leaves its group and its parent, but
// keeps its environment.
const markerEnv = "HONE_MCP_PROCESS"

// process is a server's process, the leader of a process group that is killed as a whole.
type process struct {
	stdin  *os.File // our ends
	stdout *os.File
	stderr *tail
	pid    int
	marker string
	ours   atomic.Bool            // it ends because we end it
	bound  int64                  // bytes, of its memory and of its folder
	folder string                 // the episode's, "" where it has none
	over   atomic.Pointer[string] // that it took more than its bound

	inMemory atomic.Int64 // bytes of files that are in memory

	done chan struct{} // closed once the leader is gone, its group killed and its stderr read

	closing sync.Once
}

// startProcess runs argv[0] without a shell. env is all the process sees, besides markerEnv. wrap, if any, may change
// the command before it starts, for example to put it into a sandbox. folder is the episode's, "" where it has none;
// neither it nor the memory of the processes may take more than bound bytes.
func startProcess(
	argv []string, env map[string]string, cwd, folder string, bound int64, wrap func(*exec.Cmd) error,
) (*process, error) {
	if err := checkCwd(cwd); err != nil {
		return nil, err
	}
	path, err := lookPath(argv[0], env["PATH"], cwd)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: argv, Dir: cwd, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	// the npx of a version manager asks for the node beside it
	if strings.ContainsRune(argv[0], filepath.Separator) && env["PATH"] != "" {
		env = maps.Clone(env)
		env["PATH"] += string(filepath.ListSeparator) + filepath.Dir(path)
	}
	cmd.Env = []string{} // a nil Env would inherit ours
	for _, key := range keysInOrder(env) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	marker := markerEnv + "=" + rand.Text()
	cmd.Env = append(cmd.Env, marker)
	if wrap != nil {
		if err := wrap(cmd); err != nil {
			return nil, err
		}
	}
	// Pipes of our own: exec's would make Wait hang for as long as a grandchild holds them open.
	var pipes [3][2]*os.File // stdin, stdout, stderr; reading end, writing end
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closeAll(pipes)
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	if err := cmd.Start(); err != nil {
		closeAll(pipes)
		return nil, err
	}
	for _, theirs := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		theirs.Close()
	}
	p := &process{stdin: pipes[0][1], stdout: pipes[1][0], stderr: &tail{}, pid: cmd.Process.Pid, marker: marker,
		bound: bound, folder: folder, done: make(chan struct{})}
	watched.add(p)
	go p.reap(cmd, pipes[2][0])
	return p, nil
}

func closeAll(pipes [3][2]*os.File) {
	for _, pipe := range pipes {
		pipe[0].Close() // of nil: an error, no harm
		pipe[1].Close()
	}
}

// reap waits for the leader, then kills what is left of its group: what it started must not outlive it.
func (p *process) reap(cmd *exec.Cmd, stderr *os.File) {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(p.stderr, stderr)
		stderr.Close()
	}()
	cmd.Wait()
	watched.remove(p)
	if over := p.over.Load(); over != nil {
		p.stderr.exit(*over)
	} else if !p.ours.Load() { // before anything that takes time: who waits for the end may close it meanwhile
		p.stderr.exit(cmd.ProcessState.String())
	}
	syscall.Kill(-p.pid, syscall.SIGKILL)
	killByMarker(p.marker)
	// A descendant that left the group may still hold the pipes; what is in them now is read, no more.
	deadline := time.Now().Add(drainGrace)
	p.stdout.SetReadDeadline(deadline)
	stderr.SetReadDeadline(deadline)
	<-copied
	close(p.done)
}

// close ends the process group and returns when it is gone: stdin closed, then TERM, then KILL, within a second.
func (p *process) close() {
	p.closing.Do(func() {
		p.ours.Store(true)
		p.stdin.Close()
		if !p.waitFor(exitGrace) {
			syscall.Kill(-p.pid, syscall.SIGTERM)
			if !p.waitFor(exitGrace) {
				syscall.Kill(-p.pid, syscall.SIGKILL)
			}
		}
		<-p.done
		p.stdout.Close()
	})
}

// killByMarker kills what a server started outside its process group. It looks again until it finds nothing, since what
// is being killed may still fork. Where there is no /proc it does nothing.
func killByMarker(marker string) {
	for range 10 {
		found := false
		all, _ := os.ReadDir("/proc")
		for _, entry := range all {
			pid, err := strconv.Atoi(entry.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			env, err := os.ReadFile("/proc/" + entry.Name() + "/environ") // empty once it has ended
			if err != nil || !bytes.Contains(env, []byte(marker)) {
				continue
			}
			found = true
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (p *process) waitFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// checkCwd refuses a folder that no process can start in. The system's own error would name the program, or the
// sandbox's.
func checkCwd(cwd string) error {
	if cwd == "" {
		return nil
	}
	const next = `make that folder, or correct "cwd" of the server (a relative one is from the configuration's folder)`
	switch info, err := os.Stat(cwd); {
	case errors.Is(err, fs.ErrNotExist):
		return mistake{fmt.Sprintf("cwd %q is not there", cwd), next}
	case err != nil:
		return mistake{fmt.Sprintf("cwd %q: %v", cwd, err), next}
	case !info.IsDir():
		return mistake{fmt.Sprintf("cwd %q is a file, not a folder", cwd), next}
	}
	const search = 1 // X_OK
	if err := syscall.Access(cwd, search); err != nil {
		return mistake{fmt.Sprintf("cwd %q cannot be entered: %v", cwd, err), next}
	}
	return nil
}

// lookPath finds a program as the child's PATH says, not ours: a server's declared PATH must count. A path is taken
// from cwd, and looked at because in a sandbox it is another program that would fail to start it.
func lookPath(name, path, cwd string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		file := name
		if !filepath.IsAbs(name) {
			file = filepath.Join(cwd, name)
		}
		if _, err := os.Stat(file); err != nil {
			return "", fmt.Errorf("the program is not there: %w", err)
		}
		return filepath.Abs(file)
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("the program %q is not on PATH", name)
}

// tail keeps the last bytes written to it, and how the process ended.
type tail struct {
	mu    sync.Mutex
	bytes []byte
	total int64 // bytes that were written in all
	ended string
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes, t.total = append(t.bytes, p...), t.total+int64(len(p))
	if extra := len(t.bytes) - stderrKept; extra > 0 {
		t.bytes = append(t.bytes[:0], t.bytes[extra:]...)
	}
	return len(p), nil
}

// numWritten is how many bytes were written up to now.
func (t *tail) numWritten() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

func (t *tail) exit(how string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = how
}

const ended = "the process ended: "

// String says how the process ended, if it did, and what it last wrote to stderr.
func (t *tail) String() string {
	var parts []string
	if t.mu.Lock(); t.ended != "" {
		parts = append(parts, ended+t.ended)
	}
	t.mu.Unlock()
	if text := t.since(0); text != "" {
		parts = append(parts, "stderr: "+text)
	}
	return strings.Join(parts, "; ")
}

// since is what is kept of the text written after the first bytes.
func (t *tail) since(first int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin := t.total - int64(len(t.bytes)) // of what is kept
	kept := t.bytes[max(0, first-begin):]
	if _, after, found := bytes.Cut(kept, []byte("\n")); begin > first && found {
		kept = after // half a line may hold half a secret, which nobody would know to hide
	}
	return strings.TrimSpace(printable(string(kept)))
}

// printable replaces what would drive a terminal: a server's stderr is shown to people.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		if r == '\r' {
			return -1
		}
		return '\ufffd'
	}, text)
}
