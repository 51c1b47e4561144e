package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"hone/internal/fault"
)

// read reads a configuration of one file.
func read(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadConfig(path, env)
}

// What other hosts write is read where its meaning is clear, and else named.
// A template is of no use to a server that is not told where its copy is.
func TestTemplatesThatNothingNames(t *testing.T) {
	for entry, want := range map[string]bool{
		`{"command":"x","template":"."}`:                                         true,
		`{"command":"x","template":".","cwd":"/"}`:                               true,
		`{"command":"x","template":".","cwd":"${HONE_EPISODE_DIR}"}`:             false,
		`{"command":"x","template":".","args":["--db","${HONE_EPISODE_DIR}/a"]}`: false,
		`{"command":"x","template":".","env":{"DIR":"${HONE_EPISODE_DIR}"}}`:     false,
		`{"command":"x"}`: false,
	} {
		c, err := read(t, `{"mcpServers":{"s":`+entry+`}}`)
		told := strings.Contains(strings.Join(c.Aside, "; "), `left aside: the template: no args, env or cwd names`)
		if err != nil || len(c.Wrong) > 0 || told != want {
			t.Errorf("%s: told %v: %q; %v %v", entry, told, c.Aside, err, c.Wrong)
		}
	}
}

func TestFormsOfOtherHosts(t *testing.T) {
	npx := Server{Command: "npx", Args: []string{"-y", "x"}, Isolation: PerProcess}
	url := Server{URL: "https://h/mcp", Isolation: PerSession}
	with := func(s Server, change func(*Server)) Server { change(&s); return s }
	kind := func(s Server, kind string) Server { return with(s, func(s *Server) { s.Type = kind }) }
	for entry, test := range map[string]struct {
		want  Server
		aside string // a part of what is told
	}{
		`{"httpUrl":"https://h/mcp"}`:                                      {url, ""},
		`{"serverUrl":"https://h/mcp"}`:                                    {url, ""},
		`{"serverUrl":"https://h/mcp","url":"https://h/mcp"}`:              {url, ""},
		`{"transport":{"type":"http","url":"https://h/mcp"}}`:              {kind(url, "http"), ""},
		`{"transport":{"type":"stdio","command":"npx","args":["-y","x"]}}`: {kind(npx, "stdio"), ""},
		`{"url":"https://h/mcp","transport":"sse"}`:                        {kind(url, "sse"), ""},
		`{"url":"https://h/mcp","transport":"streamable-http"}`:            {kind(url, "http"), ""},
		`{"url":"https://h/mcp","transportType":"streamableHttp"}`:         {kind(url, "http"), ""},
		`{"url":"https://h/mcp","type":"Streamable_HTTP"}`:                 {kind(url, "http"), ""},
		`{"url":"https://h/mcp","type":"remote"}`:                          {kind(url, "http"), ""},
		`{"type":"local","command":["npx","-y","x"]}`:                      {kind(npx, "stdio"), ""},
		`{"command":["npx","-y","x"],"environment":{"A":"1"}}`:             {with(npx, func(s *Server) { s.Env = map[string]string{"A": "1"} }), ""},
		`{"command":{"path":"npx","args":["-y","x"],"env":null}}`:          {npx, ""},
		`{"command":"npx -y x"}`:                                           {npx, ""},
		`{"command":"npx -y","args":["x"]}`:                                {npx, ""},
		`{"command":"npx","args":"-y x"}`:                                  {npx, ""},
		`{"command":"npx","args":["-y","x"],"workingDirectory":"/"}`:       {with(npx, func(s *Server) { s.Cwd = "/" }), ""},
		`{"command":"npx","args":["-y","x",3000,true]}`:                    {with(npx, func(s *Server) { s.Args = []string{"-y", "x", "3000", "true"} }), ""},
		`{"command":"/opt/my tools/x"}`:                                    {Server{Command: "/opt/my tools/x", Isolation: PerProcess}, ""},
		`{"command":"npx","args":["-y","x"],"env":{"PORT":3000,"DEBUG":true}}`: {with(npx,
			func(s *Server) { s.Env = map[string]string{"PORT": "3000", "DEBUG": "true"} }), ""},
		`{"command":"npx","args":["-y","x"],"env":{"PORT":12345678901234567890}}`: {with(npx,
			func(s *Server) { s.Env = map[string]string{"PORT": "12345678901234567890"} }), ""},
		`{"command":"npx","args":["-y","x"],"env":{"A":null}}`:                   {with(npx, func(s *Server) { s.Env = map[string]string{} }), "env.A, which is null"},
		`{"command":"npx","args":["-y","x"],"env":["A=1","B=x=y"]}`:              {with(npx, func(s *Server) { s.Env = map[string]string{"A": "1", "B": "x=y"} }), ""},
		`{"url":"https://h/mcp","http_headers":{"X-N":5}}`:                       {with(url, func(s *Server) { s.Headers = map[string]string{"X-N": "5"} }), ""},
		`{"url":"https://h/mcp","headers":["X-N: 5"]}`:                           {with(url, func(s *Server) { s.Headers = map[string]string{"X-N": "5"} }), ""},
		`{"url":"https://h/mcp","requestInit":{"headers":{"X-N":"5"}}}`:          {with(url, func(s *Server) { s.Headers = map[string]string{"X-N": "5"} }), ""},
		`{"url":"https://h/mcp","timeout":60}`:                                   {with(url, func(s *Server) { s.Timeout = Duration(time.Minute) }), ""},
		`{"url":"https://h/mcp","timeout":60000}`:                                {with(url, func(s *Server) { s.Timeout = Duration(time.Minute) }), "read as milliseconds, 1m0s"},
		`{"url":"https://h/mcp","timeout":"60"}`:                                 {with(url, func(s *Server) { s.Timeout = Duration(time.Minute) }), ""},
		`{"url":"https://h/mcp","timeout":"60000"}`:                              {with(url, func(s *Server) { s.Timeout = Duration(time.Minute) }), "read as milliseconds, 1m0s"},
		`{"url":"https://h/mcp","timeout":"60s"}`:                                {with(url, func(s *Server) { s.Timeout = Duration(time.Minute) }), ""},
		`{"url":"https://h/mcp","tool_timeout_sec":7200}`:                        {with(url, func(s *Server) { s.Timeout = Duration(2 * time.Hour) }), ""},
		`{"url":"https://h/mcp","tool_timeout_sec":"7200"}`:                      {with(url, func(s *Server) { s.Timeout = Duration(2 * time.Hour) }), ""},
		`{"url":"https://h/mcp","tool_timeout_sec":60}`:                          {with(url, func(s *Server) { s.Timeout = Duration(time.Minute) }), ""},
		`{"url":"https://h/mcp","enabled":"true","disabled":"false"}`:            {url, ""},
		`{"url":"https://h/mcp","isActive":true}`:                                {url, ""},
		`{"url":"https://h/mcp","autoApprove":["a"],"initTimeout":5,"name":"h"}`: {url, `left aside: the key "autoApprove", in 1 server, the first s of `},
	} {
		c, err := read(t, `{"mcpServers":{"s":`+entry+`}}`)
		if err != nil || len(c.Wrong) > 0 || !reflect.DeepEqual(c.Servers["s"], test.want) {
			t.Errorf("%s: %+v, want %+v; %v %v", entry, c.Servers["s"], test.want, err, c.Wrong)
		}
		told := strings.Join(c.Aside, "; ")
		if (told == "") != (test.aside == "") || !strings.Contains(told, test.aside) ||
			told != "" && !strings.HasPrefix(told, "left aside: ") {
			t.Errorf("%s: told %q, want %q", entry, told, test.aside)
		}
	}
	for _, entry := range []string{
		`{"url":"https://h","disabled":"true"}`, `{"url":"https://h","enabled":"false"}`,
		`{"url":"https://h","isActive":false}`,
	} {
		if c, err := read(t, `{"mcpServers":{"s":`+entry+`,"t":{"command":"x"}}}`); err != nil || len(c.Servers) != 1 {
			t.Errorf("%s: %+v, %v", entry, c.Servers, err)
		}
	}
	for entry, want := range map[string]string{
		`{"url":"https://h/mcp","httpUrl":"https://other/mcp"}`:         `"url" and "httpUrl" say different things`,
		`{"command":"x","env":{"A":{"b":1}}}`:                           "env.A is no text",
		`{"command":["x",{"a":1}]}`:                                     `"command" is a list that is no program`,
		`{"url":"https://h/mcp","type":"pigeon"}`:                       `type "pigeon" is none of stdio, http, sse`,
		`{"url":"https://h/mcp","timeout":"soon"}`:                      `timeout "soon" is no duration`,
		`{"transport":{"type":"http","url":"https://h","command":"x"}}`: "exactly one of command and url is needed",
	} {
		if c, err := read(t, `{"mcpServers":{"s":`+entry+`}}`); err != nil || c.Wrong["s"] == nil ||
			!strings.Contains(c.Wrong["s"].Error(), want) {
			t.Errorf("%s: %v %v", entry, err, c.Wrong)
		}
	}
}

// Each key that nothing reads is told by itself, with how many servers have it.
func TestKeysLeftAsideAreCounted(t *testing.T) {
	c, err := read(t, `{"mcpServers":{"a":{"command":"x","autoApprove":["y"],"mood":"z"},"b":{"command":"x","colour":"i"},
		"c":{"command":"x","autoApprove":[],"env":{"A":null}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`the key "autoApprove", in 2 servers, the first a of `,
		`env.A, which is null, in 1 server, the first c of `,
		`the key "colour", in 1 server, the first b of `, `the key "mood", in 1 server, the first a of `}
	if len(c.Aside) != len(want) {
		t.Fatalf("%q", c.Aside)
	}
	for i, line := range c.Aside {
		if !strings.HasPrefix(line, "left aside: "+want[i]) {
			t.Errorf("%q, want %q", line, want[i])
		}
	}
}

// A timeout without a unit is one of seconds up to an hour, and beyond it one of milliseconds.
func TestUnitOfATimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1": time.Second, "3600": time.Hour, "3600.5": 3600500 * time.Microsecond, "3601": 3601 * time.Millisecond,
		`"3600"`: time.Hour, `"3601"`: 3601 * time.Millisecond, `"1h"`: time.Hour, `"2h"`: 2 * time.Hour,
	} {
		c, err := read(t, `{"mcpServers":{"s":{"command":"x","timeout":`+text+`}}}`)
		if err != nil || time.Duration(c.Servers["s"].Timeout) != want {
			t.Errorf("%s: %v, want %v, %v", text, time.Duration(c.Servers["s"].Timeout), want, err)
		}
	}
}

// A file may be of any host, and of Windows' editors.
func TestFilesOfOtherHosts(t *testing.T) {
	const a, b = `{"command":"x"}`, `{"command":"y"}`
	in16 := func(text string, big bool) string {
		var out []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			if big {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
		return string(out)
	}
	usual := `{"mcpServers":{"a":` + a + `}}`
	for name, test := range map[string]struct {
		text string
		want []string
		fail string
	}{
		"servers beside mcpServers": {`{"mcpServers":{"a":` + a + `},"servers":{"b":` + b + `}}`, []string{"a", "b"}, ""},
		"a name in both":            {`{"mcpServers":{"a":` + a + `},"servers":{"a":` + b + `}}`, nil, `the server "a" is there twice`},
		"a name twice":              {`{"mcpServers":{"a":` + a + `,"a":` + b + `}}`, nil, `"a" is there twice`},
		"the key twice":             {`{"mcpServers":{"a":` + a + `},"mcpServers":{"b":` + b + `}}`, nil, `"mcpServers" is there twice`},
		"a key of one twice":        {`{"mcpServers":{"a":{"command":"x","command":"y"}}}`, nil, `"command" is there twice`},
		"settings of VS Code":       {`{"editor.x":1,"mcp":{"servers":{"a":` + a + `}}}`, []string{"a"}, ""},
		"OpenCode":                  {`{"mcp":{"a":` + a + `}}`, []string{"a"}, ""},
		"Gemini CLI":                {`{"mcp":{"allowed":["a"],"serverCommand":"x"},"mcpServers":{"a":` + a + `}}`, []string{"a"}, ""},
		"VS Code beside mcpServers": {`{"mcp":{"servers":{"a":` + a + `}},"mcpServers":{"b":` + b + `}}`, []string{"a", "b"}, ""},
		"no key around a uri":       {`{"a":{"uri":"https://h"}}`, []string{"a"}, ""},
		"Zed":                       {`{"context_servers":{"a":` + a + `}}`, []string{"a"}, ""},
		"a list":                    {`{"mcpServers":[{"name":"a","command":"x"},{"id":"b","command":"y"}]}`, []string{"a", "b"}, ""},
		"a list without names":      {`{"mcpServers":[{"command":"x"}]}`, nil, "has no name"},
		"a name twice in a list":    {`{"mcpServers":[{"name":"a","command":"x"},{"name":"a","command":"y"}]}`, nil, "twice"},
		"no key around":             {`{"a":` + a + `,"b":{"url":"https://h"}}`, []string{"a", "b"}, ""},
		"null beside":               {`{"mcpServers":null,"servers":{"a":` + a + `}}`, []string{"a"}, ""},
		"UTF-16, little":            {in16(usual, false), []string{"a"}, ""},
		"UTF-16, big":               {in16(usual, true), []string{"a"}, ""},
		"UTF-16 without a mark":     {in16(usual, false)[2:], []string{"a"}, ""},
		"byte order mark":           {"\ufeff" + usual, []string{"a"}, ""},
		"empty":                     {"", nil, "the MCP configuration is empty"},
		"blank":                     {" \n\t", nil, "the MCP configuration is empty"},
		"a mark alone":              {"\ufeff", nil, "the MCP configuration is empty"},
		"no servers":                {"{}", nil, "names no server"},
		"another key":               {`{"extensions":{"a":{"cmd":"x"}},"theme":1}`, nil, `servers are looked for under mcpServers, and it has "extensions", "theme"`},
		"TOML":                      {"[mcp_servers.a]\ncommand = 1", nil, "is not JSON"},
		"YAML":                      {"mcpServers:\n  a: 1", nil, `write {"mcpServers"`},
		"null":                      {"null", nil, "names no server"},
		"a text":                    {`"x"`, nil, "names no servers as hone reads them"},
	} {
		c, err := read(t, test.text)
		if got := keysInOrder(c.Servers); test.fail == "" && (err != nil || !slices.Equal(got, test.want)) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if test.fail != "" &&
			(err == nil || fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), test.fail)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One entry that is wrong says nothing of the others.
func TestEntriesStandAlone(t *testing.T) {
	for _, bad := range []string{
		`{"command":"x","env":{"A":"${MISSING}"}}`, `{"command":"x","url":"https://h"}`, `{"comand":"x"}`, `[]`, `5`,
		`null`, `{"url":"ftp://h"}`,
	} {
		text := `{"mcpServers":{"bad":` + bad + `,"good":{"command":"y"}}}`
		c, err := read(t, text)
		if err != nil || c.Wrong["bad"] == nil || c.Servers["good"].Command != "y" {
			t.Errorf("%s: %v %v %v", bad, c.Servers, c.Wrong, err)
		}
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), "server bad") {
			t.Errorf("%s: a run is not refused: %v", bad, err)
		}
		if only, err := c.Only("good"); err != nil || len(only.Servers) != 1 {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := c.Only("bad"); err == nil || !strings.Contains(err.Error(), "server bad") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := json.Marshal(Config{}); err != nil {
		t.Error(err)
	}
}
