package mcp

import (
	"context"
	"net/url"
	"strconv"

	"hone/internal/episode/trajectory"
)

// openInPod opens a session in a pod of its own, which ends with the session.
func (l *opener) openInPod(ctx context.Context, from start) (*session, error) {
	fail := func(err error) error {
		return &Failure{Server: l.name, Phase: PhaseStart, Outcome: trajectory.InfrastructureError, Err: err}
	}
	if l.o.Pod == nil {
		return nil, fail(mistake{"it runs in a pod, and hone does not run in a cluster",
			"hone cluster render writes the manifests that have it run there"})
	}
	port, err := l.server.Port()
	if err != nil {
		return nil, fail(err)
	}
	host, release, err := l.o.Pod(ctx, l.name, *l.server.Pod, port)
	if err != nil {
		return nil, fail(err)
	}
	from.host = host
	s, err := l.openSession(ctx, from)
	if err != nil {
		release()
		return nil, err
	}
	s.release = append([]func(){release}, s.release...) // at last
	return s, nil
}

// Port is the port of a server's URL.
func (s Server) Port() (int, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return 0, err
	case u.Port() != "":
		return strconv.Atoi(u.Port())
	case u.Scheme == "https":
		return 443, nil
	}
	return 80, nil
}

// inPod is a server's URL with the host and port of a pod.
func inPod(text, host string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text // which connecting says
	}
	u.Host = host
	return u.String()
}
