package mcp

import (
	"strings"
	"testing"

	"hone/internal/fault"
)

// A key that is nearly one of ours is refused with the one that was meant; keys of other hosts are let be.
func TestMisspeltKeys(t *testing.T) {
	for entry, want := range map[string]string{
		`{"comand":"x"}`:                                        `unknown key "comand"; did you mean "command"?`,
		`{"cmd":"x"}`:                                           `did you mean "command"?`,
		`{"command":"x","arg":["y"]}`:                           `did you mean "args"?`,
		`{"command":"x","isolaton":"shared"}`:                   `did you mean "isolation"?`,
		`{"url":"http://h","header":{}}`:                        `did you mean "headers"?`,
		`{"url":"http://h:1","kubernetes":{"imag":"x"}}`:        `unknown key "kubernetes.imag"; did you mean "kubernetes.image"?`,
		`{"url":"http://h","reset":{"tol":"x"}}`:                `unknown key "reset.tol"; did you mean "reset.tool"?`,
		`{"url":"http://h","oauth":{"client_idd":"x"}}`:         `did you mean "oauth.client_id"?`,
		`{"Command":"x","ARGS":[]}`:                             "",
		`{"command":"x","alwaysAllow":[],"dev":{},"auth":{}}`:   "",
		`{"command":"x","enabled":true,"trust":1,"version":""}`: "",
		`{"command":"x","x-of-another-host":{"comand":1}}`:      "",
	} {
		_, err := load(t, `{"mcpServers":{"s":`+entry+`}}`)
		if (err == nil) != (want == "") || err != nil && (fault.CodeOf(err) != fault.CodeUsage ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "server s")) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
}

// What begins like a URL is no command.
func TestFlagOfAnotherScheme(t *testing.T) {
	for flag, scheme := range map[string]string{
		"htp://h/mcp":   "htp",
		"ws://h/sesame": "ws",
		"git+ssh://h":   "git+ssh",
		"://h":          "",
	} {
		c, err := FromFlag(flag, "", env)
		refused := fault.CodeOf(err) == fault.CodeUsage &&
			strings.Contains(err.Error(), `"`+scheme+`" is none of http, https`)
		if refused != (scheme != "") || err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %+v, %v", flag, c.Servers, err)
		}
	}
	if c, err := FromFlag("npx proxy http://h/mcp", "", env); err != nil || c.Servers["npx"].Command != "npx" {
		t.Errorf("a command with a URL among its arguments: %+v, %v", c.Servers, err)
	}
}

// A program that dies of the same twice says so once; one that is missing was never started.
func TestDeadOnArrival(t *testing.T) {
	c := self(t, "broken")
	_, err := Dial(t.Context(), "s", c, nil, Options{})
	if err == nil || strings.Count(err.Error(), "no such database") != 1 ||
		strings.Contains(err.Error(), "in the newest protocol") {
		t.Errorf("it is said: %v", err)
	}
	for _, program := range []string{"/nowhere/program", "./program", "program-that-is-not-there"} {
		_, err := Dial(t.Context(), "s", Server{Command: program}, nil, Options{})
		if f, ok := err.(*Failure); !ok || f.Phase != PhaseStart {
			t.Errorf("%s: %v", program, err)
		}
	}
	if !sameButDigits("at 12:30, pid 7", "at 09:59, pid 8") || sameButDigits("at 1", "on 1") {
		t.Error("sameButDigits")
	}
}
