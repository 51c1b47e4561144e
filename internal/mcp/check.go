package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// mistake is one in what says how to reach a server, with the edit that mends it.
type mistake struct{ why, next string }

func (m mistake) Error() string { return m.why }

// Mending is what mends an error, such as an edit of the configuration; "" where nothing is known to.
func Mending(err error) string {
	if m, ok := errors.AsType[mistake](err); ok {
		return m.next
	}
	f, ok := errors.AsType[*Failure](err)
	switch {
	case ok && isOverBound(f.Said):
		return trajectory.Mending(f.Said, "")
	case ok:
		return trajectory.Mending(f.Err.Error(), "")
	}
	return ""
}

// wrongly is the error of a server's configuration, at a place in a file or of a flag. next is said where the mistake
// itself does not know better.
func wrongly(what, where string, err error, next string) error {
	if m, ok := errors.AsType[mistake](err); ok && m.next != "" {
		next = m.next
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fault.JSON(err)
		if example := exampleOf(wrong.Field); example != "" {
			next = "write " + example
		}
	}
	return &fault.Error{Code: fault.CodeUsage, What: what, Where: where, Err: err, Next: next}
}

// exampleOf shows a key of a server whose value is not plain text.
func exampleOf(key string) string {
	return map[string]string{
		"":           `{"command": "...", "args": []} or {"url": "https://..."}`,
		"args":       `"args": ["-y", "package"]`,
		"hosts":      `"hosts": ["api.example.com"]`,
		"env":        `"env": {"NAME": "value"}`,
		"headers":    `"headers": {"Authorization": "Bearer ${TOKEN}"}`,
		"oauth":      `"oauth": {"client_id": "...", "client_secret": "${SECRET}"}`,
		"reset":      `"reset": {"tool": "..."} or "reset": {"from": "...", "to": "..."}`,
		"disabled":   `"disabled": true, or leave it out`,
		"kubernetes": `"kubernetes": {"image": "registry/server:1"} beside "url": "http://pod:8000/mcp"`,
		"refusal":    `"refusal": ["^Error"] or "refusal": [{"status": "error"}]`,
		"isolation":  `"isolation": "process"; there are shared, session, process and reset`,
	}[key]
}

// check refuses what no server can be reached or isolated by.
func (s Server) check() error {
	switch {
	case (s.Command == "") == (s.URL == ""):
		return mistake{"exactly one of command and url is needed",
			`write "command" for a program that hone is to start, or "url" for a server that runs`}
	case !slices.Contains([]string{"", "stdio", "http", "streamable-http", "streamableHttp", "sse"}, s.Type):
		return mistake{fmt.Sprintf("type %q is none of stdio, http, sse", s.Type),
			"write one of them, or leave type out: it is found out"}
	case (s.Type == "stdio") != (s.Command != "") && s.Type != "":
		return mistake{fmt.Sprintf("type %s does not go with %s", s.Type, s.transport()),
			"leave type out: it is found out"}
	case s.URL != "" && !isHTTP(s.URL):
		// it is not shown: a secret may stand in it
		return mistake{"url is not an http or https URL", "write it as https://host/mcp"}
	case s.Timeout < 0:
		return mistake{fmt.Sprintf("timeout %s is negative", time.Duration(s.Timeout)),
			`write "30s" or a number of seconds; 0 is mcp.timeout of hone.yaml`}
	case len(s.Hosts) > 0 && s.URL != "":
		return mistake{"hosts needs a command: what runs behind a url is not held", "leave hosts out"}
	case s.Pod != nil && (s.URL == "" || s.Isolation != PerSession):
		return mistake{"kubernetes needs a url, of which port and path count, and isolation session",
			"write " + exampleOf("kubernetes") + ", without isolation"}
	case s.Pod != nil && s.Pod.Image == "" && s.Pod.Pool == "":
		return mistake{"kubernetes needs an image, or the pool of pods that have it",
			"write " + exampleOf("kubernetes")}
	case s.OAuth != nil && s.URL == "":
		return mistake{"oauth needs a url",
			"leave oauth out, or reach the server by url; a program is given its secrets in env"}
	case s.OAuth != nil && s.OAuth.byMachine() && s.OAuth.ClientID == "":
		return mistake{"oauth needs client_id beside a file",
			"write the id that the authorization server knows hone by"}
	case s.OAuth != nil && s.OAuth.IDTokenFile != "" && (!isHTTP(s.OAuth.IDPTokenURL) || s.OAuth.IDPClientID == ""):
		return mistake{"oauth: id_token_file needs idp_token_url and idp_client_id",
			"write the URL where the identity provider exchanges tokens, and hone's id there"}
	}
	if err := s.checkIsolation(); err != nil {
		return err
	}
	if err := s.checkTools(); err != nil {
		return err
	}
	return s.Reset.check()
}

func (s Server) checkIsolation() error {
	switch {
	case !slices.Contains([]Isolation{Shared, PerSession, PerProcess, PerReset}, s.Isolation):
		return mistake{fmt.Sprintf("isolation %q is none of shared, session, process, reset", s.Isolation),
			"write one of them, or leave isolation out: then it is process for a program and session for a url"}
	case s.URL != "" && s.Isolation == PerProcess:
		return mistake{"isolation process needs a command: the process behind a url is not ours",
			"write isolation session or, with the key reset, reset"}
	case (s.Isolation == PerReset) != (s.Reset != nil):
		return mistake{"isolation reset and the key reset go together",
			"add " + exampleOf("reset") + ", or write another isolation without it"}
	case s.Template != "" && (s.Command == "" || s.Isolation != PerProcess && s.Isolation != PerReset):
		return mistake{"a template needs a command, and isolation process or reset",
			"leave template out, or write isolation process"}
	}
	if s.Template != "" {
		if info, err := os.Stat(s.Template); err != nil || !info.IsDir() {
			return mistake{fmt.Sprintf("template %s is not a folder", s.Template),
				"make that folder, or correct the path (relative ones are from the configuration's folder)"}
		}
	}
	return nil
}

func (r *Reset) check() error {
	if r == nil {
		return nil
	}
	if (r.Tool == "") == (r.From == "") || (r.From == "") != (r.To == "") {
		return mistake{"reset needs either tool, or from and to", "write " + exampleOf("reset")}
	}
	if r.From == "" {
		return nil
	}
	if _, err := os.Stat(r.From); err != nil {
		return mistake{"reset: " + err.Error(),
			"make that file or folder, or correct from (relative paths are from the configuration's folder)"}
	}
	return nil
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
