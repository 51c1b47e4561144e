package toolset

import (
	"testing"

	"hone/internal/config"
	"hone/internal/mcp/scan"
)

// The command that adds a server once more has the flags that were given, and those that are the usual are left out.
func TestAgain(t *testing.T) {
	var c config.Config
	c.MCP.Config = ".mcp.json"
	for _, tc := range []struct {
		asked Wanted
		more  []string
		want  string
	}{
		{Wanted{Addition: Addition{Package: "pypi:dates", File: ".mcp.json", Python: "python3"}},
			[]string{"--constraint", "'mcp<2'"}, "hone servers add pypi:dates --name d --force --constraint 'mcp<2'"},
		{
			Wanted{
				Addition: Addition{
					Package:       "pypi:dates",
					File:          "sub/mcp.json",
					Dir:           "a b",
					Bin:           "serve",
					Python:        "python3.12",
					Hosts:         []string{"x.example.com", "y.example.com"},
					Constraints:   []string{"mcp<2", "httpx<1"},
					Build:         true,
					AllowFindings: scan.Allowed{"d/*"},
					Args:          []string{"--verbose"},
				},
			},
			[]string{"--constraint", "'mcp<2'"},
			"hone servers add pypi:dates --name d --mcp-config sub/mcp.json --dir 'a b' --bin serve --python " +
				"python3.12 --host x.example.com --host y.example.com --constraint 'httpx<1' --build --force " +
				"--constraint 'mcp<2' --allow-findings 'd/*'",
		},
		{
			Wanted{Addition: Addition{Package: "io.example/d", Volumes: []string{"/a:/b:ro"}},
				Registry: "entries.json", Set: []string{"ROOM=red"}, Env: []string{"KEY"}}, []string{"--build"},
			"hone servers add io.example/d --name d --volume /a:/b:ro --registry entries.json --set ROOM=red --env " +
				"KEY --force --build",
		},
	} {
		if got := tc.asked.again(c, "d", tc.more...); got != tc.want {
			t.Errorf("%s\nwant %s", got, tc.want)
		}
	}
}

// A table's cell has the line that names the error, not what Node.js puts behind it.
func TestBriefly(t *testing.T) {
	for why, want := range map[string]string{
		"it ended: exit status 1\n  Error: no bindings\n    at x.js:1\n\n  Node.js v20.20.2": "Error: no bindings",
		"it ended\n  stderr: Traceback:\n    ValueError: no mood":                            "ValueError: no mood",
		"it ended\n  no mood today": "no mood today",
		"":                          "",
	} {
		if got := briefly(why); got != want {
			t.Errorf("%q: %q", why, got)
		}
	}
	if rows := (Added{Answer: "no: it ended\n  Error: no mood"}).Rows("f"); rows[len(rows)-1][1] !=
		"no: Error: no mood" {
		t.Errorf("%q", rows)
	}
}
