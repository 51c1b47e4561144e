package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/serve/local"
)

// Options are the flags of hone chat.
type Options struct {
	Endpoint    string // base URL of a server, up to and including /v1; "" is a model of this machine
	Model       string // of the endpoint; else an adapter's folder, or local.Base
	KeyEnv      string // variable that holds the endpoint's key
	System      string
	Temperature float64
	MaxTokens   int // of an answer; 0: the server's default
	Agent       local.Agency
}

// Run talks until the input ends.
func Run(ctx context.Context, h *host.Host, c config.Config, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	t := &talk{host: h, options: o, lines: NewLines(h), client: http.DefaultClient,
		url: strings.TrimSuffix(o.Endpoint, "/"), model: o.Model}
	t.key, _ = h.LookupEnv(o.KeyEnv)
	if o.Endpoint == "" {
		folder := o.Model
		if folder == local.Base {
			folder = ""
		}
		o.Agent.Attended = true
		served, err := local.OpenAgent(ctx, h, c, folder, 1, o.Agent)
		if err != nil {
			return err
		}
		defer served.Close()
		t.client, t.url, t.model, t.key =
			&http.Client{Transport: inProcess{served}}, "http://localhost/v1", served.ID, ""
	}
	t.begin()
	return t.run(ctx)
}

func (o Options) check() error {
	wrong := ""
	switch {
	case o.Model == "":
		wrong = "--model is missing: give an adapter folder, base, or with --endpoint a model of it"
	case o.Endpoint != "" && o.Agent.On:
		wrong = "--agent calls tools for a model of this machine; an endpoint decides by itself (hone serve --agent)"
	default:
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: wrong, Next: "hone chat --help"}
}

// talk is a conversation.
type talk struct {
	host    *host.Host
	options Options
	lines   *Lines
	client  *http.Client
	url     string
	model   string
	key     string

	messages []chat.Message // that are sent: the server knows the calls between them
	said     []chat.Message // all there were, with an agent's calls and their results
	parts    []chat.Message // of the answer that comes
	session  string         // on the tools' servers
}

// begin forgets what was said.
func (t *talk) begin() {
	t.messages, t.session = nil, rand.Text()
	if t.options.System != "" {
		t.messages = append(t.messages, chat.Message{Role: chat.System, Content: t.options.System})
	}
	t.said = slices.Clone(t.messages)
}

func (t *talk) run(ctx context.Context) error {
	for {
		text, err := t.lines.Next(ctx, Prompt)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(text, "/") {
			err = t.command(text)
		} else {
			err = t.ask(ctx, text)
		}
		if err != nil && (!t.lines.IsTerminal() || ctx.Err() != nil) { // a person reads it and goes on
			return err
		}
		if err != nil {
			t.host.Say("%v", err)
		}
	}
}

func (t *talk) command(text string) error {
	name, rest, _ := strings.Cut(text, " ")
	switch name {
	case "/new":
		t.begin()
		t.host.Say("a new conversation")
	case "/save":
		if rest = strings.TrimSpace(rest); rest == "" {
			return &fault.Error{Code: fault.CodeUsage, What: "/save needs a file"}
		}
		data, err := json.MarshalIndent(map[string]any{"messages": t.said}, "", "  ")
		if err == nil {
			err = os.WriteFile(rest, append(data, '\n'), 0o600)
		}
		if err != nil {
			return err
		}
		t.host.Say("%s has %s", rest, fault.Count(len(t.said), "message"))
	default:
		t.host.Say("/new begins anew, /save FILE writes the conversation, /quit ends")
	}
	return nil
}

// ask sends what was said, and shows the answer while it comes.
func (t *talk) ask(ctx context.Context, text string) error {
	asked := append(t.messages[:len(t.messages):len(t.messages)], chat.Message{Role: chat.User, Content: text})
	answer, err := t.complete(ctx, asked)
	if err != nil {
		return err // and what was asked is no part of the conversation
	}
	t.messages = append(asked, answer)
	t.said = append(append(t.said, asked[len(asked)-1]), t.parts...)
	return nil
}
