package mcp

import (
	"errors"
	"strings"

	"hone/internal/episode/trajectory"
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

func (f *Failure) Error() string {
	text := "server " + f.Server + ", " + string(f.Phase) + ": " + f.Err.Error()
	if f.Said != "" {
		text += "; " + f.Said
	}
	return text
}

func (f *Failure) Unwrap() error { return f.Err }

// Blame implements rollout.Blamer.
func (f *Failure) Blame() trajectory.Outcome { return f.Outcome }

// OutcomeOf returns whom err blames: a *Failure says it, and everything else is ours.
func OutcomeOf(err error) trajectory.Outcome {
	var f *Failure
	if errors.As(err, &f) {
		return f.Outcome
	}
	return trajectory.InfrastructureError
}

// redactor hides a server's secrets in text that people or traces see.
func redactor(s Server) *strings.Replacer {
	var pairs []string
	hide := func(value string) {
		if len(value) >= 8 { // shorter ones are words: hiding them would garble the text
			pairs = append(pairs, value, "[hidden]")
		}
	}
	for _, key := range sortedKeys(s.Headers) {
		_, token, found := strings.Cut(s.Headers[key], " ")
		hide(s.Headers[key])
		if found {
			hide(token)
		}
	}
	for _, key := range sortedKeys(s.Env) {
		if isSecretName(key) {
			hide(s.Env[key])
		}
	}
	if s.OAuth != nil {
		hide(s.OAuth.ClientSecret)
	}
	return strings.NewReplacer(pairs...)
}

func isSecretName(key string) bool {
	key = strings.ToUpper(key)
	for _, part := range []string{"TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}
