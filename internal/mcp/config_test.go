package mcp

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hone/internal/fault"
)

func env(key string) (string, bool) {
	value, ok := map[string]string{"PATH": "/bin", "TOKEN": "sesame", "EMPTY": "", "SECRET": "x"}[key]
	return value, ok
}

func load(t *testing.T, text string) (Config, error) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadConfig(path, env)
}

func TestLoadConfig(t *testing.T) {
	c, err := load(t, `{"mcpServers":{
		"files":{"command":"node","args":["fs.js","${HONE_EPISODE_DIR}","${EMPTY:-d}${NONE:-e}"],"env":{"K":"${env:TOKEN}"},"timeout":"1m","alwaysAllow":["x"]},
		"web":{"type":"http","url":"https://example.com/mcp","headers":{"Authorization":"Bearer ${TOKEN}"},"timeout":2.5},
		"off":{"command":"x","args":["${NONE}"],"disabled":true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Server{
		"files": {Command: "node", Args: []string{"fs.js", EpisodeDir, "de"}, Env: map[string]string{"K": "sesame"},
			Isolation: PerProcess, Timeout: Duration(time.Minute)},
		"web": {Type: "http", URL: "https://example.com/mcp",
			Headers: map[string]string{"Authorization": "Bearer sesame"}, Isolation: PerSession,
			Timeout: Duration(2500 * time.Millisecond)},
	}
	for name, s := range c.Servers {
		s.secrets = nil
		c.Servers[name] = s
	}
	if !reflect.DeepEqual(c.Servers, want) {
		t.Errorf("got %+v\nwant %+v", c.Servers, want)
	}
	if !reflect.DeepEqual(c.Base, map[string]string{"PATH": "/bin"}) {
		t.Errorf("base environment %v", c.Base)
	}
	if c, err = load(t, `{"servers":{"a":{"command":"x"}}}`); err != nil || c.Servers["a"].Command != "x" {
		t.Errorf("VS Code's form: %+v %v", c, err)
	}
	if _, err := c.Only("b"); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), "use one of: a") {
		t.Errorf("unknown server: %v", err)
	}
}

// The files of VS Code and Cursor are read as they are.
func TestLoadConfigOfEditors(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, ".vscode"), 0o700)
	os.WriteFile(filepath.Join(dir, ".env"), []byte("# ours\nexport A='one two'\nB=\"2\"\n\nK=from the file\n"), 0o600)
	path := filepath.Join(dir, ".vscode", "mcp.json")
	os.WriteFile(path, []byte(`{
		"inputs": [{"type": "promptString", "id": "api-key", "password": true}], // asked once
		"servers": {"s": {"type": "stdio", "command": "x",
			"args": ["${workspaceFolder}/a${/}b", "${workspaceFolderBasename}", "${userHome}", "http://h//", ],
			"env": {"K": "${input:api-key}"}, "envFile": "${workspaceFolder}/.env"}},
	}`), 0o600)
	vars := map[string]string{"HOME": "/home/me", "API_KEY": "sesame"}
	lookup := func(name string) (string, bool) { value, ok := vars[name]; return value, ok }
	c, err := LoadConfig(path, lookup)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Servers["s"]
	if want := []string{dir + "/a/b", filepath.Base(dir), "/home/me", "http://h//"}; !slices.Equal(s.Args, want) {
		t.Errorf("arguments %q, want %q", s.Args, want)
	}
	if want := map[string]string{"A": "one two", "B": "2", "K": "sesame"}; !maps.Equal(s.Env, want) {
		t.Errorf("environment %q, want %q", s.Env, want)
	}
	delete(vars, "API_KEY")
	if _, err := LoadConfig(path, lookup); err == nil || !strings.Contains(err.Error(), "set the variable API_KEY") {
		t.Errorf("got %v", err)
	}
	vars["API_KEY"] = "sesame"
	os.WriteFile(filepath.Join(dir, ".env"), []byte("A=1\nsesame\n"), 0o600)
	if _, err := LoadConfig(path, lookup); err == nil || !strings.Contains(err.Error(), ".env:2") ||
		strings.Contains(err.Error(), "sesame") {
		t.Errorf("got %v", err)
	}
}

func TestLoadConfigRefuses(t *testing.T) {
	tests := []struct{ name, text, want, next string }{
		{"unset variable", `{"mcpServers":{"s":{"command":"x","args":["${NONE}"]}}}`, "NONE is not set", "write ${NONE:-default}"},
		{"no servers", `{}`, "names no server", `add {"mcpServers"`},
		{"only a disabled one", `{"servers":{"a":{"command":"x","disabled":true}}}`, "names no server", `add {"mcpServers"`},
		{"not JSON", "{\n\n,}", ":3", "check commas"},
		{"both", `{"servers":{"a":{"command":"x","url":"http://h"}}}`, "exactly one", `"command" for a program`},
		{"neither", `{"servers":{"a":{}}}`, "server a", `"url" for a server`},
		{"no object", `{"servers":{"a":"npx x"}}`, "it must be an object", `write {"command"`},
		{"misspelt", `{"servers":{"a":{"comand":"x"}}}`, `unknown key "comand"`, `rename it to "command"`},
		{"type", `{"servers":{"a":{"command":"x","type":"tcp"}}}`, `"tcp"`, "leave type out"},
		{"type of the other", `{"servers":{"a":{"command":"x","type":"http"}}}`, "does not go with stdio", "leave type out"},
		{"isolation", `{"servers":{"a":{"command":"x","isolation":"vm"}}}`, `"vm"`, "write one of them"},
		{"process over http", `{"servers":{"a":{"url":"http://h","isolation":"process"}}}`, "not ours", "write isolation session"},
		{"nothing to reset by", `{"servers":{"a":{"command":"x","isolation":"reset"}}}`, "go together", `add "reset": {"tool"`},
		{"half a reset", `{"servers":{"a":{"command":"x","reset":{"from":"a"}}}}`, "from and to", `write "reset": {"tool"`},
		{"a pod without a url", `{"servers":{"a":{"command":"x","kubernetes":{"image":"a"}}}}`, "kubernetes needs a url", `"url": "http://pod:8000/mcp"`},
		{"a shared pod", `{"servers":{"a":{"url":"http://p","isolation":"shared","kubernetes":{"image":"a"}}}}`, "isolation session", "without isolation"},
		{"a pod of nothing", `{"servers":{"a":{"url":"http://p:1/","kubernetes":{}}}}`, "needs an image", `"kubernetes": {"image"`},
		{"reset from nothing", `{"servers":{"a":{"command":"x","reset":{"from":"none","to":"b"}}}}`, "no such file", "make that file or folder"},
		{"template", `{"servers":{"a":{"command":"x","template":"none"}}}`, "not a folder", "make that folder"},
		{"template over http", `{"servers":{"a":{"url":"http://h","template":"none"}}}`, "a template needs a command", "leave template out"},
		{"scheme", `{"servers":{"a":{"url":"ftp://h"}}}`, "http", "write it as https://host/mcp"},
		{"oauth of a program", `{"servers":{"a":{"command":"x","oauth":{}}}}`, "oauth needs a url", "leave oauth out"},
		{"timeout", `{"servers":{"a":{"command":"x","timeout":"soon"}}}`, "soon", `write "timeout": "30s"`},
		{"negative timeout", `{"servers":{"a":{"command":"x","timeout":-1}}}`, "negative", `write "30s"`},
		{"open variable", `{"servers":{"a":{"command":"${x"}}}`, "without }", "as in ${NAME}"},
		{"no file of variables", `{"servers":{"a":{"command":"x","envFile":"none"}}}`, "none: no such file", "leave envFile out"},
		{"a question of the editor's", `{"servers":{"a":{"command":"${input:api-key}"}}}`, "that the editor asks", "set the variable API_KEY"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.text)
			if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), test.want) ||
				strings.Contains(err.Error(), "Go ") {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Next, test.next) {
				t.Errorf("got %v, want the next %q", err, test.next)
			}
		})
	}
}

func TestFromFlag(t *testing.T) {
	c, err := FromFlag(`/usr/bin/node 'my server.js' "" --x=1`, "", env)
	want := Server{Command: "/usr/bin/node", Args: []string{"my server.js", "", "--x=1"}, Isolation: PerProcess}
	if err != nil || !reflect.DeepEqual(c.Servers["node"], want) {
		t.Errorf("%+v %v", c, err)
	}
	c, err = FromFlag("https://host:8000/mcp", "sesame", env)
	if err != nil || c.Servers["host"].Headers["Authorization"] != "Bearer sesame" {
		t.Errorf("%+v %v", c, err)
	}
	for _, flag := range []string{"", "  ", "node 'x", "https://"} {
		if _, err := FromFlag(flag, "", env); fault.CodeOf(err) != fault.CodeUsage ||
			!strings.Contains(err.Error(), "next:  write ") {
			t.Errorf("%q: %v", flag, err)
		}
	}
}

func TestTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(1, 30).Draw(t, "times"))
		most := rapid.IntRange(0, 300).Draw(t, "max")
		got := Truncate(text, most)
		switch {
		case len(text) <= most:
			if got != text {
				t.Fatalf("%q fits in %d but became %q", text, most, got)
			}
		case len(got) > most || !utf8.ValidString(got):
			t.Fatalf("%q is longer than %d or not UTF-8", got, most)
		case most >= 60:
			head, rest, found := strings.Cut(got, "\n[... ")
			number, tail, _ := strings.Cut(rest, " bytes omitted ...]\n")
			if !found || number == "" || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
				t.Fatalf("%q is not the head and tail of %q", got, text)
			}
		}
	})
	if got := Truncate(strings.Repeat("a", 50)+strings.Repeat("b", 50),
		60); got != "aaaaaaaaaaaaaaaa\n[... 69 bytes omitted ...]\nbbbbbbbbbbbbbbb" {
		t.Errorf("%q (%d bytes)", got, len(got))
	}
}
