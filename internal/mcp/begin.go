package mcp

import (
	"fmt"
	"os"
	"strings"

	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// Dir is the episode's own folder on a server, "" where it has none: where checks on files look before Close. With ""
// for the server it is that of the one server that has one.
func (e *Episode) Dir(server string) string {
	found := ""
	for i, s := range e.pool.servers {
		if e.own[i] == nil || e.own[i].dir == "" || server != "" && s.opener.name != server {
			continue
		}
		if found != "" {
			return ""
		}
		found = e.own[i].dir
	}
	return found
}

// Folders are the servers on which an episode has a folder of its own, and of them those whose folder can begin as
// another template than the server's: a process must start in it.
func (p *Pool) Folders() (own, templates []string) {
	for _, s := range p.servers {
		l := s.opener
		alone := l.server.Isolation == PerProcess || l.server.Isolation == PerReset ||
			l.server.Isolation == PerSession && l.usesDir()
		if l.server.URL != "" || !alone {
			continue
		}
		own = append(own, l.name)
		if l.server.Isolation == PerProcess {
			templates = append(templates, l.name)
		}
	}
	return own, templates
}

// templates gives each template its server, where it names none: the only one that takes one.
func (p *Pool) templates(given []environment.Template) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	_, takers := p.Folders()
	folders := map[string]string{}
	for _, t := range given {
		name, err := OneOf(t.Server, takers)
		if err == nil {
			var info os.FileInfo
			if info, err = os.Stat(t.Folder); err == nil && !info.IsDir() {
				err = fmt.Errorf("%s is not a folder", t.Folder)
			}
		}
		if err != nil {
			return nil, &Failure{Server: t.Server, Phase: PhaseStart, Outcome: trajectory.InfrastructureError,
				Err: fmt.Errorf("template: %w", err)}
		}
		folders[name] = t.Folder
	}
	return folders, nil
}

// OneOf is the server that is meant by name: one of those, or with "" the only one of them.
func OneOf(name string, servers []string) (string, error) {
	for _, s := range servers {
		if s == name || name == "" && len(servers) == 1 {
			return s, nil
		}
	}
	switch {
	case len(servers) == 0:
		return "", fmt.Errorf("no server can have one")
	case name == "":
		return "", fmt.Errorf("it names no server, and these could be meant: %s", strings.Join(servers, ", "))
	}
	return "", fmt.Errorf("server %q is none of those that can have one: %s", name, strings.Join(servers, ", "))
}
