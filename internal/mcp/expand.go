package mcp

import (
	"fmt"
	"strings"
)

// expand replaces the variables in every string of a server.
func (s *Server) expand(lookupEnv func(string) (string, bool)) error {
	texts := []*string{&s.Command, &s.Cwd, &s.URL, &s.Template}
	if s.Reset != nil {
		texts = append(texts, &s.Reset.From, &s.Reset.To)
	}
	if s.OAuth != nil {
		texts = append(texts, &s.OAuth.ClientID, &s.OAuth.ClientSecret, &s.OAuth.MetadataURL, &s.OAuth.RedirectURL)
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
		for _, key := range sortedKeys(m) {
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
			return "", fmt.Errorf("%q has ${ without }", "${"+rest)
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
		case !set && !hasDefault:
			return "", fmt.Errorf("the variable %s is not set; set it, or write ${%s:-default}", name, name)
		}
		b.WriteString(value)
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
