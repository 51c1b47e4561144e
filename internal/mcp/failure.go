package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Phase is what hone was doing with a server when something went wrong.
type Phase string

const (
	PhaseStart   Phase = "start"   // of its process, or of the way to it
	PhaseConnect Phase = "connect" // the handshake
	PhaseList    Phase = "list"    // of tools, resources and prompts
	PhaseReset   Phase = "reset"   // between two episodes
	PhaseCall    Phase = "call"
)

// Failure is trouble with one server. Its text also holds what the server sent or printed, cut and escaped.
type Failure struct {
	Server  string
	Phase   Phase
	Said    string             // by the server: stderr, exit status, text that was no message
	Outcome trajectory.Outcome // who failed: the environment (the server), or the infrastructure (we, the network)
	Err     error
}

// IsSilent reports whether the server said nothing: at most how its process ended is known.
func (f *Failure) IsSilent() bool {
	return f.Said == "" || strings.HasPrefix(f.Said, ended) && !strings.Contains(f.Said, "; ")
}

func (f *Failure) Error() string {
	text := "server " + f.Server + ", " + string(f.Phase) + ": " + f.Err.Error()
	if f.Said != "" {
		text += "; " + f.Said
	}
	return text
}

func (f *Failure) Unwrap() error { return f.Err }

// Blame implements environment.Blamer.
func (f *Failure) Blame() trajectory.Outcome { return f.Outcome }

// OutcomeOf returns whom err blames: a *Failure says it, and everything else is ours.
func OutcomeOf(err error) trajectory.Outcome {
	var f *Failure
	if errors.As(err, &f) {
		return f.Outcome
	}
	return trajectory.InfrastructureError
}

// secretsOf returns what must not come back from a server into errors, traces or prompts. Values shorter than 8 bytes
// are words, and those that name a file are paths: hiding them would garble what the model reads.
func secretsOf(s Server) []string {
	var found []string
	hide := func(value string) {
		if _, err := os.Stat(value); len(value) >= 8 && err != nil && !strings.Contains(value, EpisodeDir) {
			found = append(found, value)
		}
	}
	inURL := func(text string) {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return
		}
		if password, ok := u.User.Password(); ok {
			hide(password)
		}
		for name, values := range u.Query() {
			if isSecretName(name) {
				hide(values[0])
			}
		}
	}
	for _, key := range keysInOrder(s.Headers) {
		if name := strings.ToUpper(key); isSecretName(name) || strings.HasSuffix(name, "AUTHORIZATION") ||
			name == "COOKIE" {
			hide(s.Headers[key])
			_, token, _ := strings.Cut(s.Headers[key], " ")
			hide(token)
		}
	}
	env := []map[string]string{s.Env}
	if s.Pod != nil {
		env = append(env, s.Pod.Env)
	}
	for _, env := range env {
		for _, key := range keysInOrder(env) {
			if isSecretName(key) {
				hide(env[key])
			}
			inURL(env[key])
		}
	}
	for i, arg := range s.Args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "-"):
			inURL(arg)
		case isSecretName(flag) && joined:
			hide(value)
		case isSecretName(flag) && i+1 < len(s.Args):
			hide(s.Args[i+1])
		}
	}
	inURL(s.URL)
	if s.OAuth != nil {
		hide(s.OAuth.ClientSecret)
	}
	for _, value := range s.secrets {
		hide(value)
	}
	return found
}

// WritesOut reports whether a text, such as the file that names the server, holds a secret of the server's as it
// stands.
func (s Server) WritesOut(text string) bool {
	return slices.ContainsFunc(secretsOf(s), func(secret string) bool { return strings.Contains(text, secret) })
}

// redactor hides secrets in text, in whatever form they stand there; the longest first, for one may hold another.
func redactor(secrets []string) *strings.Replacer {
	var forms []string
	for _, one := range secrets {
		forms = append(forms, fault.SecretForms(one)...)
	}
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, hiddenText)
	}
	return strings.NewReplacer(pairs...)
}

const hiddenText = "[hidden]"

// inErrors are the secrets to be hidden in errors: there, every header may be one.
func inErrors(s Server, secrets []string) []string {
	for _, key := range keysInOrder(s.Headers) {
		if len(s.Headers[key]) >= 8 {
			secrets = append(secrets, s.Headers[key])
		}
	}
	return secrets
}

// hideIn hides secrets in the strings of JSON text, however they are escaped there, and in its numbers.
func hideIn(raw json.RawMessage, redact *strings.Replacer) json.RawMessage {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	d := jsontext.NewDecoder(bytes.NewReader(raw), lenient...)
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out, lenient...)
	changed := false
	for {
		token, err := d.ReadToken()
		if err == io.EOF && changed {
			return bytes.TrimSpace(out.Bytes())
		}
		if err == io.EOF {
			return raw
		}
		if err == nil && (token.Kind() == '"' || token.Kind() == '0') {
			if text := token.String(); redact.Replace(text) != text {
				token, changed = jsontext.String(redact.Replace(text)), true
			}
		}
		if err != nil || e.WriteToken(token) != nil { // what these cannot read the SDK may
			return json.RawMessage(redact.Replace(string(raw)))
		}
	}
}

func isSecretName(key string) bool {
	key = strings.ToUpper(key)
	for _, part := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "CREDENTIAL"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return key == "PAT" || strings.HasSuffix(key, "_PAT")
}
