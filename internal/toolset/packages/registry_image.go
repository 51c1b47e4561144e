package packages

import (
	"net/url"
	"slices"
	"strings"
)

// image is the whole name of a package's image. Older entries have its tag, or its digest, as their version, and its
// host as the registry's URL.
func (p Package) image() string {
	name := p.Identifier
	first, _, several := strings.Cut(name, "/")
	if u, err := url.Parse(p.RegistryBaseURL); err == nil && u.Host != "" && !strings.HasSuffix(u.Host, "docker.io") &&
		(!several || !strings.ContainsAny(first, ".:")) {
		name = u.Host + "/" + name
	}
	tagged := strings.Contains(name[strings.LastIndex(name, "/")+1:], ":")
	switch {
	case tagged || p.Version == "" || strings.Contains(name, "@"):
	case strings.HasPrefix(p.Version, "sha256:"):
		name += "@" + p.Version
	default:
		name += ":" + p.Version
	}
	whole, _ := ImageName(name)
	return whole
}

// wrongImage says why a package's image cannot be used.
func (p Package) wrongImage() string {
	if len(p.RuntimeArguments) > mostInputs {
		return "it has too many arguments"
	}
	if _, ok := ImageName(p.image()); !ok || len(p.image()) > mostText {
		return "its name is none of an image: " + p.Identifier
	}
	for _, a := range p.RuntimeArguments {
		if why := a.Input.wrong(); why != "" {
			return why
		}
	}
	return badKeyValues(p.engineVariables())
}

// engineVariables are the variables that a package has its engine set: -e NAME=VALUE.
func (p Package) engineVariables() (list []KeyValue) {
	for _, a := range p.RuntimeArguments {
		if a.Name != "-e" && a.Name != "--env" {
			continue
		}
		v := KeyValue{Input: a.Input}
		if v.Name, v.Value, _ = strings.Cut(a.Value, "="); v.Name == "" || strings.Contains(v.Name, "{") {
			continue
		}
		list = append(list, v)
	}
	return list
}

// otherArguments are the other arguments: a stranger's list does not decide on folders, networks and rights of this
// machine.
func (p Package) otherArguments() (list []string) {
	for _, a := range p.RuntimeArguments {
		if slices.Contains([]string{"-e", "--env", "-i", "--interactive", "--rm", "-it", "run"}, a.Name+a.Value) ||
			a.Name == "-e" || a.Name == "--env" {
			continue
		}
		list = append(list, strings.TrimSpace(a.Name+" "+a.Value+a.ValueHint))
	}
	return list
}
