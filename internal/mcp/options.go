package mcp

import (
	"context"
	"encoding/json"
	"os/exec"
	"time"

	"hone/internal/mcp/sandbox"
)

// Options are the limits of sessions, and what the host lends them; the zero value of each is its default.
type Options struct {
	Timeout        time.Duration // of one call; 60 s
	ConnectTimeout time.Duration // of one connect; 60 s, since npx and uvx may download first
	ProbeTimeout   time.Duration // of the first try, where the server's protocol era is not known; 10 s
	MaxResult      int           // bytes of one result that the model is shown; 8000
	MaxRecord      int           // bytes of one binary part kept in the record; 256 KiB, a hash stands for the rest
	MaxFrame       int           // bytes of one message from a server; 16 MiB
	MaxBytes       int64         // of memory that the processes of a session take together, and of its folder; 2 GiB
	Parallel       int           // calls of one turn that run at once; 8
	Retries        int           // of a call that cannot have been carried out twice; 2, negative for none
	Warm           int           // ready sessions kept per stdio server; 1, negative for none
	// a server's resources are offered to the model as two tools, list_resources and read_resource
	ResourceTools bool

	// Folder is where the episodes' folders are made, at paths that server and episode determine, for a server may show
	// its path to the model. It belongs to this run alone. Without it each is made in TMPDIR, at a random path.
	Folder string

	// Wrap changes the command of a server's process before it starts, for example to put it into a sandbox. folder is
	// the episode's own, "" where it has none. Its error fails the start.
	Wrap func(server, folder string, cmd *exec.Cmd) error
	// Pod makes a pod for one session of a server that has one: address is host and port, release ends it. Without it
	// no session of such a server can be opened.
	Pod func(ctx context.Context, server string, p sandbox.Pod, port int) (address string, release func(), err error)
	// Authorize has a person open url and returns the URL the browser was sent to afterwards (OAuth).
	Authorize func(ctx context.Context, url string) (redirected string, err error)
	// Elicit answers a server's question with an action (accept, decline, cancel) and content for schema. Without it
	// servers are told that nobody can be asked.
	Elicit func(ctx context.Context, server, message string,
		schema json.RawMessage) (action string, content map[string]any, err error)
	// Progress is told of progress that servers report; total is 0 where it is not known.
	Progress func(server, tool string, done, total float64, message string)
	// Stderr is told, when an episode ends, what each server with a process wrote to stderr meanwhile: the last 8 KiB,
	// with secrets hidden and without control characters; "" where it wrote nothing. Of a server that episodes share it
	// is what the server wrote during the episode, for whomever.
	Stderr func(episode, server, text string)
	// Changed is told, between episodes, what a server changed about its tools since the catalog was made; of sessions
	// that one episode has, once. Over HTTP only a server that says so beside an answer is heard.
	Changed func(server string, changes []Change)
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 60 * time.Second
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 60 * time.Second
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = 10 * time.Second
	}
	if o.MaxResult <= 0 {
		o.MaxResult = 8000
	}
	if o.MaxRecord <= 0 {
		o.MaxRecord = 256 << 10
	}
	if o.MaxFrame <= 0 {
		o.MaxFrame = defaultMaxFrame
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = leastBound
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.Retries == 0 {
		o.Retries = 2
	}
	if o.Warm == 0 {
		o.Warm = 1
	}
	return o
}
