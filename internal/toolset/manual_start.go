package toolset

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/sandbox"
)

// NextForServer is what to do about a server that failed with err: mend what it said itself, run it by hand, and only
// then ask whether the sandbox is to blame.
func (o *Housing) NextForServer(server mcp.Server, err error) string {
	return o.NextAfterAdd(server, err, nil)
}

// NextAfterAdd is NextForServer right after the server was added: again is the line that adds it once more, with the
// flags that were given and further ones.
func (o *Housing) NextAfterAdd(server mcp.Server, err error, again func(more ...string) string) string {
	return nextFor(o.host, server, err, o.Sandbox.Level() != sandbox.None, again)
}

func nextFor(h *host.Host, server mcp.Server, err error, boxed bool, again func(more ...string) string) string {
	if mending := mcp.Mending(err); mending != "" {
		return mending
	}
	switch {
	case server.URL != "":
		return "look at the server, its URL and its token: " + server.Hide(server.URL)
	case IsMissingProgram(err):
		return NotFoundAdvice(h, server)
	}
	next := "run it by hand: " + CommandLine(server)
	f, failed := errors.AsType[*mcp.Failure](err)
	if failed && !f.IsSilent() {
		next = "mend what it says; by hand it is run so: " + CommandLine(server)
	}
	if failed && f.Said != "" {
		if hint := older(f.Server, server, f.Said, again); hint != "" {
			next = hint + "; if it is not that, " + next
		}
	}
	if boxed && (failed && f.IsSilent() || refused.MatchString(err.Error())) { // who is stopped may say nothing
		next += "; if that works, " + SandboxLimits(h, server)
	}
	return next
}

// refused is what a program says that was kept from a file, from the network or from what it does to its process.
var refused = regexp.MustCompile(`(?i)permission denied|not permitted|read-only|no such file|not found|cannot find|can't find|can't open|cannot open|unable to open|` +
	`no module named|failed to load|unreachable|connection refused|name resolution|name or service not known|getaddrinfo|` +
	`\b(EACCES|EPERM|EROFS|ENOENT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED)\b`)

// CommandLine is a line for a shell that starts a server as hone does, but for the sandbox: with a fresh folder where
// it has one of its own, in its folder, and with those of its variables that name the fresh one. Others may hold
// secrets; those in its words are hidden.
func CommandLine(s mcp.Server) string {
	var words, before []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if strings.Contains(s.Env[name], mcp.EpisodeDir) {
			words = append(words, name+"="+ShellWord(s.Hide(s.Env[name])))
		}
	}
	for _, word := range slices.Concat([]string{s.Command}, s.Args) {
		words = append(words, ShellWord(s.Hide(word)))
	}
	line := strings.Join(words, " ")
	if s.Cwd != "" {
		line = "cd " + ShellWord(s.Hide(s.Cwd)) + " && " + line
	}
	if strings.Contains(line, `"$d"`) {
		if before = append(before, "d=$(mktemp -d)"); s.Template != "" {
			before = append(before, "cp -r "+ShellWord(s.Hide(s.Template)+"/.")+` "$d"`)
		}
	}
	return strings.Join(append(before, line), " && ")
}

// ShellWord is a word of a shell, in which $d is the episode's folder.
func ShellWord(word string) string {
	if word == "" {
		return quotedWord(word)
	}
	parts := strings.Split(word, mcp.EpisodeDir)
	for i, part := range parts {
		if part != "" {
			parts[i] = quotedWord(part)
		}
	}
	return strings.Join(parts, `"$d"`)
}

// quotedWord is a word of a shell that reads nothing in it.
func quotedWord(word string) string {
	harmless := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && strings.TrimFunc(word, harmless) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// WithArguments is a line of hone servers add with a server's arguments behind it, and some more. Secrets among them
// are hidden.
func WithArguments(line string, args []string, more ...string) string {
	if args = slices.Concat(args, more); len(args) > 0 {
		line += " --"
	}
	of := mcp.Server{Args: args}
	for _, word := range args {
		line += " " + quotedWord(of.Hide(word))
	}
	return line
}
