package config

import (
	"slices"
	"strings"
	"testing"
)

func TestSandboxCheck(t *testing.T) {
	for _, tc := range []struct {
		s    Sandbox
		says string
	}{
		{DefaultSandbox(), ""},
		{Sandbox{Write: []string{"files:./data"}, Read: []string{"*:/models"}}, ""},
		{Sandbox{Write: []string{"./data"}}, `mcp.sandbox.write: "./data" is not server:folder`},
		{Sandbox{Mode: "require", Exempt: []string{"web"}}, "mcp.sandbox.exempt"},
		{Sandbox{Mode: "auto", Exempt: []string{"web"}}, ""},
		{Sandbox{Write: []string{":x"}}, `mcp.sandbox.write`},
		{Sandbox{Read: []string{"files:"}}, `mcp.sandbox.read: "files:"`},
	} {
		err := tc.s.check()
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: %v, want %q", tc.s, err, tc.says)
		}
	}
}

func TestSandboxFor(t *testing.T) {
	s := Sandbox{Network: []string{"web"}, Write: []string{"files:./a", "git:/b:c", "*:/d"}, Read: []string{"files:/e"}}
	for _, tc := range []struct {
		server      string
		network     bool
		write, read []string
	}{
		{"files", false, []string{"./a", "/d"}, []string{"/e"}},
		{"git", false, []string{"/b:c", "/d"}, nil},
		{"web", true, []string{"/d"}, nil},
	} {
		if s.NetworkFor(tc.server) != tc.network || !slices.Equal(s.WriteFor(tc.server), tc.write) ||
			!slices.Equal(s.ReadFor(tc.server), tc.read) {
			t.Errorf("%s: %v, %q, %q", tc.server, s.NetworkFor(tc.server), s.WriteFor(tc.server), s.ReadFor(tc.server))
		}
	}
	if !(Sandbox{Network: []string{"*"}}).NetworkFor("x") {
		t.Error("* is not all servers")
	}
}
