package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// expand replaces the variables in every string of a server, and notes which of the values are secret: all that only
// the server's own file sets are.
func (s *Server) expand(lookup func(string) (string, bool), file map[string]string) error {
	lookupEnv := func(name string) (string, bool) {
		// The server's own file counts first: a stranger's entry chose the name, and the environment may have a key of
		// that name.
		if kept, own := file[name]; own {
			s.secrets = append(s.secrets, kept)
			return kept, true
		}
		value, set := lookup(name)
		if isSecretName(name) || strings.HasPrefix(name, inputPrefix) {
			s.secrets = append(s.secrets, value)
		}
		return value, set
	}
	texts := []*string{&s.Command, &s.Cwd, &s.URL, &s.Template}
	if s.Reset != nil {
		texts = append(texts, &s.Reset.From, &s.Reset.To)
	}
	if s.OAuth != nil {
		texts = append(texts, &s.OAuth.ClientID, &s.OAuth.ClientSecret, &s.OAuth.MetadataURL, &s.OAuth.RedirectURL,
			&s.OAuth.PrivateKeyFile, &s.OAuth.AssertionFile, &s.OAuth.IDTokenFile, &s.OAuth.IDPTokenURL,
			&s.OAuth.IDPClientID)
	}
	for i := range s.Args {
		texts = append(texts, &s.Args[i])
	}
	for _, text := range texts {
		value, err := expand(*text, lookupEnv)
		if err != nil {
			return err
		}
		*text = value
	}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, key := range keysInOrder(m) {
			value, err := expand(m[key], lookupEnv)
			if err != nil {
				return err
			}
			m[key] = value
		}
	}
	return nil
}

// expand replaces ${VAR}, ${env:VAR} and ${VAR:-default}. EpisodeDir is kept: its value differs by episode.
func expand(text string, lookupEnv func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", mistake{fmt.Sprintf("%q has ${ without }", "${"+rest), "close it, as in ${NAME}"}
		}
		text = after
		name, fallback, hasDefault := strings.Cut(inner, ":-")
		name = strings.TrimPrefix(name, "env:")
		value, set := lookupEnv(name)
		switch {
		case "${"+inner+"}" == EpisodeDir:
			value = EpisodeDir
		case hasDefault && value == "": // as in a shell: also where the variable is set but empty
			value = fallback
		case !set && strings.HasPrefix(name, inputPrefix):
			return "", mistake{fmt.Sprintf("${%s} is a question that the editor asks", name),
				"set the variable " + inputVariable(name) + " to the answer"}
		case !set && !hasDefault:
			return "", mistake{fmt.Sprintf("the variable %s is not set", name),
				fmt.Sprintf("set it, or write ${%s:-default}", name)}
		}
		b.WriteString(value)
	}
}

// inputPrefix marks what VS Code asks its user for.
const inputPrefix = "input:"

// inputVariable is the environment variable that stands in for such a question: of ${input:api-key}, API_KEY.
func inputVariable(name string) string {
	return strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(name, inputPrefix), "-", "_"))
}

// editorVariables adds to the environment what VS Code and Cursor predefine: workspaceFolder, which is dir or the
// folder around the editor's own, workspaceFolderBasename, userHome, pathSeparator and its short form /, and input:ID.
func editorVariables(lookupEnv func(string) (string, bool), dir string) func(string) (string, bool) {
	workspace := workspaceOf(dir)
	return func(name string) (string, bool) {
		switch name {
		case "workspaceFolder":
			return workspace, true
		case "workspaceFolderBasename":
			return filepath.Base(workspace), true
		case "userHome":
			return lookupEnv("HOME")
		case "pathSeparator", "/":
			return string(filepath.Separator), true
		}
		if strings.HasPrefix(name, inputPrefix) {
			return lookupEnv(inputVariable(name))
		}
		return lookupEnv(name)
	}
}

// workspaceOf is a configuration's folder, or the one around an editor's own.
func workspaceOf(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	if base := filepath.Base(dir); base == ".vscode" || base == ".cursor" {
		return filepath.Dir(dir)
	}
	return dir
}

// readEnvFile reads the variables of EnvFile. A line is NAME=value, perhaps after "export"; quotes around a value are
// dropped, and lines that begin with # are comments. No error shows a line, for a secret may stand in it.
func (s *Server) readEnvFile(dir string, lookup func(string) (string, bool)) (map[string]string, error) {
	if s.EnvFile == "" {
		return nil, nil
	}
	path, err := expand(s.EnvFile, lookup)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	s.EnvFile = path
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, mistake{"envFile: " + err.Error(),
			"correct the path (relative ones are from the configuration's folder), or leave envFile out"}
	}
	file := map[string]string{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if name = strings.TrimSpace(name); !found || name == "" {
			return nil, mistake{fmt.Sprintf("envFile: %s:%d is not NAME=value", path, n),
				"correct that line, or begin it with # as a comment"}
		}
		value = strings.TrimSpace(value)
		if last := len(value) - 1; last > 0 && (value[0] == '"' || value[0] == '\'') && value[last] == value[0] {
			value = value[1:last]
		}
		if _, twice := file[name]; !twice {
			file[name] = value
		}
	}
	return file, nil
}

// addEnvFile adds to Env what EnvFile sets and it does not.
func (s *Server) addEnvFile(file map[string]string) {
	if len(file) > 0 && s.Env == nil {
		s.Env = map[string]string{}
	}
	for name, value := range file {
		if _, set := s.Env[name]; !set {
			s.Env[name] = value
		}
	}
}

// splitWords splits a command line at spaces; single and double quotes group, and nothing else is special, because no
// shell is going to read it.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
