package mcp

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Identity says which server an entry reaches, whatever the entry is called: its command line, in which files have
// their whole path, or its address. Secrets are hidden in it, and EpisodeDir stands for the folder of each episode, so
// it is the same in each.
func (s Server) Identity() string {
	hide := redactor(secretsOf(s))
	if s.URL != "" {
		address := s.URL
		if u, err := url.Parse(s.URL); err == nil { // without a query or a user
			address = u.Host + u.Path
		}
		if s.Pod != nil { // whose host is none
			address = s.Pod.Image + " " + s.Pod.Pool + " " + address
		}
		return hide.Replace(address)
	}
	parts := []string{s.Command}
	secret := false // the flag before asks for one
	for _, arg := range s.Args {
		flag, _, joined := strings.Cut(arg, "=")
		named := strings.HasPrefix(arg, "-") && isSecretName(flag)
		switch {
		case secret && !strings.HasPrefix(arg, "-"):
			arg = hiddenText
		case named && joined:
			arg = flag + "=" + hiddenText
		default:
			arg = hide.Replace(s.wholePath(arg))
		}
		secret = named && !joined
		parts = append(parts, arg)
	}
	return strings.Join(parts, "\x00")
}

// Hide hides the server's secrets in a text for people: values of variables among them, which its words may hold.
func (s Server) Hide(text string) string { return redactor(secretsOf(s)).Replace(text) }

// wholePath is an argument, with the folder that the server starts in before it where it names a file there: two
// projects may each have a server.py.
func (s Server) wholePath(arg string) string {
	path, err := filepath.Abs(filepath.Join(s.Cwd, arg))
	if err != nil || arg == "" || filepath.IsAbs(arg) || strings.HasPrefix(arg, "-") {
		return arg
	}
	if _, err := os.Stat(path); err != nil {
		return arg
	}
	return path
}
