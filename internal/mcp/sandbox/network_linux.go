package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process without network that is to have a proxy listens for it itself: the helper, inside, opens a socket on the
// loop-back of the process's own network, sends it out over a pair of sockets, and becomes the program. What is sent is
// served from outside, and nothing of it stays open in the program.

// handTime bounds the wait for the socket from inside.
const handTime = 30 * time.Second

// offer prepares a command for it and serves what comes with g.Proxy until the process has ended. fd is the descriptor
// that the helper has.
func (s *Sandbox) offer(cmd *exec.Cmd, serve func(net.Listener)) (fd int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "proxy"), os.NewFile(uintptr(pair[1]), "proxy")
	defer ours.Close() // FileConn has its own
	if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		theirs.Close()
		return 0, err
	}
	c, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return 0, err
	}
	// closed when nothing refers to cmd any more: only who starts it knows when it has been read
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	s.proxies.Go(func() {
		stop := context.AfterFunc(s.ctx, func() { c.Close() })
		l, process, err := receive(c.(*net.UnixConn))
		stop()
		c.Close()
		if err != nil {
			return // the process did not start, which is said elsewhere
		}
		ended := make(chan struct{})
		go func() {
			awaitEnd(process)
			l.Close()
			close(ended)
		}()
		serve(l)
		<-ended
	})
	return 2 + len(cmd.ExtraFiles), nil
}

// receive returns the listening socket that comes from inside, and a handle of the process that sent it.
func receive(c *net.UnixConn) (net.Listener, int, error) {
	if err := c.SetDeadline(time.Now().Add(handTime)); err != nil {
		return nil, 0, err
	}
	oob := make([]byte, 256)
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, 0, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return nil, 0, err
	}
	var l net.Listener
	process := -1
	for _, m := range messages {
		if credentials, err := unix.ParseUnixCredentials(&m); err == nil {
			if process, err = unix.PidfdOpen(int(credentials.Pid), 0); err != nil {
				return nil, 0, err
			}
		} else if fds, err := unix.ParseUnixRights(&m); err == nil && len(fds) == 1 {
			unix.CloseOnExec(fds[0])
			f := os.NewFile(uintptr(fds[0]), "listener")
			if l, err = net.FileListener(f); err != nil {
				return nil, 0, err
			}
			f.Close()
		}
	}
	if l == nil || process < 0 {
		return nil, 0, fmt.Errorf("no socket came from inside")
	}
	_, err = c.Write([]byte{1}) // the process may go on: its handle is held
	return l, process, err
}

func awaitEnd(process int) {
	defer unix.Close(process)
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			return
		}
	}
}

// hand listens, sends the socket over fd, and returns the environment with the proxy's address.
func hand(fd int, env []string) ([]string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	if err := unix.Sendmsg(fd, []byte{1}, unix.UnixRights(int(f.Fd())), nil, 0); err != nil {
		return nil, err
	}
	if n, err := unix.Read(fd, make([]byte, 1)); n != 1 {
		return nil, fmt.Errorf("nobody serves the proxy: %w", err)
	}
	return proxyEnv(env, "http://"+l.Addr().String()), nil
}

// proxyEnv is the environment in which programs ask a proxy, and no other, for all hosts: there is no other way out.
func proxyEnv(env []string, url string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"no_proxy", "all_proxy", "npm_config_proxy", "npm_config_https_proxy",
			"npm_config_noproxy"}, strings.ToLower(name))
	})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env = setEnv(env, name, url)
	}
	return setEnv(env, "NODE_USE_ENV_PROXY", "1") // of Node 24 and later
}
