package packages

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of an entry: what is longer is left out, for a list must not fill memory or a screen.
const (
	mostName   = 200 // server.json's own bound
	mostText   = 4096
	mostInputs = 64 // arguments, variables, packages or remotes of one entry
)

var (
	namePattern    = regexp.MustCompile(`^@?[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?$`)
	npmPattern     = regexp.MustCompile(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$`)
	pypiPattern    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+!_-]*$`)
	namedPattern   = regexp.MustCompile(`^[A-Za-z_-][A-Za-z0-9_.-]*$`) // a flag or a variable
	shaPattern     = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// wrong says why an entry cannot be used as it is; "" where it can. An entry whose package cannot be installed here is
// right all the same: what can be done with it Choose tells.
func (e Entry) wrong() string {
	if len(e.Name) > mostName || !namePattern.MatchString(e.Name) {
		return "its name is not of the form namespace/name"
	}
	if len(e.Packages) > mostInputs || len(e.Remotes) > mostInputs || len(e.Asks) > mostInputs {
		return "it has too many packages or URLs"
	}
	for _, text := range []string{e.Title, e.Description, e.Version, e.Repository.URL, e.Status} {
		if why := badText(text); why != "" {
			return why
		}
	}
	for _, p := range e.Packages {
		if why := p.wrong(); why != "" {
			return why
		}
	}
	for _, r := range e.Remotes {
		if why := r.wrong(); why != "" {
			return why
		}
	}
	return badKeyValues(e.Asks)
}

func badText(text string) string {
	switch {
	case len(text) > mostText:
		return fmt.Sprintf("a text of it is longer than %d bytes", mostText)
	case !utf8.ValidString(text):
		return "a text of it is no UTF-8"
	}
	return ""
}

// badValue also refuses what hone would expand when it reads the entry back: ${AWS_SECRET_ACCESS_KEY} in a header would
// send the user's key to whoever wrote the list.
func badValue(text string) string {
	// a dollar may come to stand before the brace of another
	if strings.Contains(text, "${") || strings.HasSuffix(text, "$") {
		return "a value of it asks for a variable of this machine: " + text
	}
	if strings.ContainsAny(text, "\x00\r\n") {
		return "a value of it has a line end"
	}
	return badText(text)
}

func (p Package) wrong() string {
	if len(p.PackageArguments) > mostInputs {
		return "it has too many arguments"
	}
	pattern := map[string]*regexp.Regexp{NPM: npmPattern, PyPI: pypiPattern}[p.RegistryType]
	if pattern != nil && (len(p.Identifier) > mostName || !pattern.MatchString(p.Identifier)) {
		return fmt.Sprintf("%q is no name of a %s package", p.Identifier, p.RegistryType)
	}
	if p.RegistryType == MCPB && (badURL(p.Identifier) != "" || !shaPattern.MatchString(p.FileSHA256)) {
		return "its bundle has no URL with https, or no SHA-256"
	}
	if p.RegistryType == bundle && badURL(p.Identifier) != "" {
		return "its bundle has no URL with https"
	}
	if p.RegistryType == OCI {
		if why := p.wrongImage(); why != "" {
			return why
		}
	} else if p.Version != "" && !versionPattern.MatchString(p.Version) {
		return fmt.Sprintf("%q is no version", p.Version)
	}
	for _, a := range p.PackageArguments {
		if a.Name != "" && !namedPattern.MatchString(a.Name) {
			return fmt.Sprintf("%q is no name of an argument", a.Name)
		}
		if why := a.Input.wrong(); why != "" {
			return why
		}
	}
	for _, text := range []string{p.Identifier, p.RegistryBaseURL, p.RuntimeHint} {
		if why := badText(text); why != "" {
			return why
		}
	}
	return badKeyValues(p.EnvironmentVariables)
}

func (r Remote) wrong() string {
	if why := badValue(r.URL); why != "" {
		return why
	}
	if !strings.HasPrefix(r.URL, "{") && r.URL != "" {
		if why := badURL(braces.ReplaceAllString(r.URL, "x")); why != "" {
			return why
		}
	}
	if why := badVariables(r.Variables); why != "" {
		return why
	}
	return badKeyValues(r.Headers)
}

func badKeyValues(list []KeyValue) string {
	if len(list) > mostInputs {
		return "it has too many variables"
	}
	for _, v := range list {
		if !namedPattern.MatchString(v.Name) {
			return fmt.Sprintf("%q is no name of a variable", v.Name)
		}
		if changesPrograms(strings.ToUpper(v.Name)) {
			return v.Name + " would change which programs run"
		}
		if why := v.Input.wrong(); why != "" {
			return why
		}
	}
	return ""
}

// changesPrograms reports whether a variable makes a program run another one's code. No server needs those, and what
// ran would not be what the lock says.
func changesPrograms(name string) bool {
	for _, prefix := range []string{
		"LD_", "DYLD_", "NPM_CONFIG_", "PIP_", "UV_", "GIT_CONFIG", "GIT_SSH", "GIT_EXEC", "GIT_ASKPASS",
		"GIT_EXTERNAL", "GIT_PROXY", "HONE_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains(
		strings.Fields("PATH HOME NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE PYTHONPATH PYTHONHOME "+
			"PYTHONSTARTUP PYTHONUSERBASE PYTHONEXECUTABLE PYTHONBREAKPOINT BASH_ENV ENV SHELLOPTS PERL5OPT PERL5LIB "+
			"RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS DOTNET_STARTUP_HOOKS"), name,
	)
}

func (i Input) wrong() string {
	for _, text := range append([]string{i.Value, i.Default}, i.Choices...) {
		if why := badValue(text); why != "" {
			return why
		}
	}
	if why := badText(i.Description); why != "" {
		return why
	}
	return badVariables(i.Variables)
}

func badVariables(all map[string]Input) string {
	for name, v := range all {
		if !namedPattern.MatchString(name) {
			return fmt.Sprintf("%q is no name of a variable", name)
		}
		if why := v.wrong(); why != "" {
			return why
		}
	}
	return ""
}

// badURL says why a URL is not used: keys are sent there, so it is https, but on this machine.
func badURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return fmt.Sprintf("%q is no URL", text)
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return fmt.Sprintf("%q is not reached by https", text)
	}
	if u.User != nil {
		return fmt.Sprintf("%q has a user in it", u.Redacted())
	}
	return ""
}
