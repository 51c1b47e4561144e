package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// entry is a server of a configuration in hone's form, made of that of any host.
type entry struct {
	members map[string]json.RawMessage
	aside   []string // what was not taken of it
	wrong   error
}

// otherNames are other hosts' names of Server's keys: of Gemini CLI, Windsurf, Cline, OpenCode, Codex and Zed.
var otherNames = map[string]string{
	"httpUrl": "url", "serverUrl": "url", "endpoint": "url", "uri": "url", "transportType": "type",
	"environment": "env", "environmentVariables": "env", "workingDirectory": "cwd", "working_directory": "cwd",
	"http_headers": "headers", "arguments": "args", "tool_timeout_sec": "timeout",
}

// otherTypes are other hosts' words for the types of transport, without marks and in small letters.
var otherTypes = map[string]string{
	"streamablehttp": "http", "streamhttp": "http", "http": "http", "remote": "http", "sse": "sse",
	"httpsse": "sse", "stdio": "stdio", "local": "stdio", "command": "stdio", "": "",
}

// noUse are keys of other hosts that say nothing about how a server is reached, or that are read elsewhere (sameAs).
var noUse = []string{"description", "dev", "disabledTools", "enabled", "enabledTools", "gallery", "icon",
	"includeTools", "name", "note", "version", "id"}

// readEntry makes an entry of what a file holds. The error names the key whose meaning is not clear.
func readEntry(raw json.RawMessage) entry {
	e := entry{}
	if json.Unmarshal(raw, &e.members) != nil || e.members == nil {
		return e // which is said elsewhere
	}
	e.unfold("transport")
	e.unfold("command")
	e.unfold("requestInit")
	e.withUnit()
	for _, theirs := range keysInOrder(otherNames) {
		if value, there := e.take(theirs); there {
			e.set(otherNames[theirs], theirs, value)
		}
	}
	e.setType()
	e.bearer()
	e.command()
	e.list("args")
	e.texts("env", "=")
	e.texts("headers", ":")
	e.flags()
	e.timeout()
	return e
}

// take removes a member and returns it.
func (e *entry) take(key string) (json.RawMessage, bool) {
	value, there := e.members[key]
	delete(e.members, key)
	return value, there && !absent(value)
}

// set gives a key of ours what another key said; both may say the same.
func (e *entry) set(ours, theirs string, value json.RawMessage) {
	if own, there := e.members[ours]; there && !absent(own) && !bytes.Equal(compact(own), compact(value)) {
		e.fail(fmt.Sprintf("%q and %q say different things", ours, theirs),
			fmt.Sprintf("leave one of %q and %q out", ours, theirs))
		return
	}
	e.members[ours] = value
}

func (e *entry) put(key string, value any) {
	e.members[key], _ = json.Marshal(value) // of texts and lists of them
}

func (e *entry) fail(why, next string) {
	if e.wrong == nil {
		e.wrong = mistake{why, next}
	}
}

// unfold brings the members of an object that stands for a group of keys, as "transport": {"type", "url"}, to the
// entry.
func (e *entry) unfold(key string) {
	inner := objectIn(e.members, key)
	if inner == nil {
		return
	}
	delete(e.members, key)
	if key == "command" { // Zed
		if path, there := inner["path"]; there {
			delete(inner, "path")
			inner["command"] = path
		}
	}
	for _, name := range keysInOrder(inner) {
		e.set(name, key+"."+name, inner[name])
	}
}

// setType gives type one of hone's words.
func (e *entry) setType() {
	if value, there := e.take("transport"); there {
		e.set("type", "transport", value)
	}
	kind := stringIn(e.members, "type")
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_+ /", r) {
			return -1
		}
		return r
	}, strings.ToLower(kind))
	if ours, known := otherTypes[plain]; known && kind != "" {
		e.put("type", ours)
	}
}

// bearer is a token that Codex names by its variable.
func (e *entry) bearer() {
	name := stringIn(e.members, "bearer_token_env_var")
	if name == "" {
		return
	}
	delete(e.members, "bearer_token_env_var")
	headers := objectIn(e.members, "headers")
	if headers == nil {
		headers = map[string]json.RawMessage{}
	}
	headers["Authorization"], _ = json.Marshal("Bearer ${" + name + "}")
	e.put("headers", headers)
}

// command splits a command that holds its arguments, as a list or as a line.
func (e *entry) command() {
	var words []string
	if value := e.members["command"]; bytes.HasPrefix(value, []byte("[")) {
		if json.Unmarshal(value, &words) != nil || len(words) == 0 {
			e.fail(`"command" is a list that is no program with its arguments`,
				`write "command": "npx", "args": ["-y", "package"]`)
			return
		}
	} else if line := stringIn(e.members, "command"); strings.ContainsAny(line, " \t") && !exists(line) {
		split, err := splitWords(line)
		if _, is := exec.LookPath(line); err != nil || is == nil || len(split) < 2 ||
			strings.HasPrefix(split[0], "/") && !exists(split[0]) {
			return // a path with a space in it
		}
		words = split
	}
	if len(words) == 0 {
		return
	}
	e.list("args")
	var args []string
	if value, there := e.members["args"]; there && json.Unmarshal(value, &args) != nil {
		return // which is said elsewhere
	}
	e.put("command", words[0])
	e.put("args", append(slices.Clone(words[1:]), args...))
}

// list makes a list of texts of a line, and texts of numbers and truths in it.
func (e *entry) list(key string) {
	value, there := e.members[key]
	if !there {
		return
	}
	if line := stringIn(e.members, key); line != "" {
		if words, err := splitWords(line); err == nil {
			e.put(key, words)
		}
		return
	}
	var parts []json.RawMessage
	if json.Unmarshal(value, &parts) != nil {
		return
	}
	texts := []string{}
	for _, part := range parts {
		text, plain := plainText(part)
		if !plain {
			return // an object, which is said elsewhere
		}
		texts = append(texts, text)
	}
	e.put(key, texts)
}

// plainText is a text, or a number or a truth as a text.
func plainText(raw json.RawMessage) (string, bool) {
	return textOf(raw), len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && !absent(raw)
}

// texts makes a map of texts of one of numbers and truths, or of a list of lines.
func (e *entry) texts(key, mark string) {
	value, there := e.members[key]
	if !there {
		return
	}
	var lines []string
	if json.Unmarshal(value, &lines) == nil && lines != nil {
		all := map[string]string{}
		for _, line := range lines {
			name, text, found := strings.Cut(line, mark)
			if !found {
				return // which is said elsewhere
			}
			all[strings.TrimSpace(name)] = strings.TrimSpace(text)
		}
		e.put(key, all)
		return
	}
	all := objectIn(e.members, key)
	if all == nil {
		return
	}
	texts := map[string]string{}
	for _, name := range keysInOrder(all) {
		text, plain := plainText(all[name])
		switch {
		case absent(all[name]):
			e.aside = append(e.aside, fmt.Sprintf("%s.%s, which is null", key, name))
		case !plain:
			e.fail(fmt.Sprintf("%s.%s is no text", key, name),
				fmt.Sprintf(`write %s of texts: %s`, key, exampleOf(key)))
			return
		default:
			texts[name] = text
		}
	}
	e.put(key, texts)
}

// flags reads what hosts say of whether a server is used.
func (e *entry) flags() {
	for key, on := range map[string]bool{"disabled": false, "enabled": true, "isActive": true, "active": true} {
		value, there := e.members[key]
		if !there || bytes.Equal(value, []byte("true")) || bytes.Equal(value, []byte("false")) {
			if there && key != "disabled" && key != "enabled" {
				delete(e.members, key)
				if yes, _ := truth(value); !yes {
					e.put("disabled", true)
				}
			}
			continue
		}
		if text := strings.ToLower(stringIn(e.members, key)); text != "true" && text != "false" {
			continue // which is said elsewhere
		}
		yes, _ := truth(value)
		delete(e.members, key)
		if yes != on {
			e.put("disabled", true)
		}
	}
}

// withUnit gives a timeout whose key names its unit that unit: Codex' "tool_timeout_sec" is never one of milliseconds.
func (e *entry) withUnit() {
	const key = "tool_timeout_sec"
	text := stringIn(e.members, key)
	if text == "" {
		text = string(e.members[key])
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		e.put(key, strconv.FormatFloat(n, 'f', -1, 64)+"s")
	}
}

// longestSeconds is up to where a timeout without a unit is one of seconds; beyond it, it is one of milliseconds, as
// other hosts have it.
const longestSeconds = 3600

func (e *entry) timeout() {
	var n float64
	var text string
	if json.Unmarshal(e.members["timeout"], &text) == nil && json.Unmarshal([]byte(text), &n) == nil {
		e.put("timeout", n) // as hosts keep it whose settings are all texts
	}
	if json.Unmarshal(e.members["timeout"], &n) != nil || n <= longestSeconds {
		return
	}
	d := time.Duration(n * float64(time.Millisecond))
	e.put("timeout", d.String())
	e.aside = append(e.aside,
		fmt.Sprintf("the unit of \"timeout\": %s, which is read as milliseconds, %s", e.textOfNumber(n), d))
}

func (e *entry) textOfNumber(n float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.3f", n), ".000")
}

// noteUnusedKeys names the keys that nothing reads.
func (e *entry) noteUnusedKeys(known []string) {
	for _, key := range keysInOrder(e.members) {
		same := func(name string) bool { return strings.EqualFold(name, key) }
		if !slices.ContainsFunc(known, same) && !slices.ContainsFunc(noUse, same) {
			e.aside = append(e.aside, fmt.Sprintf("the key %q", key))
		}
	}
}

// serverKeys are those under which hosts have their servers, beside "mcp".
func serverKeys() []string {
	return []string{"mcpServers", "servers", "mcp_servers", "context_servers", "amp.mcpServers"}
}

// otherKeys says what a file has where it has none of these; "" where it has.
func otherKeys(plain []byte) string {
	var file map[string]json.RawMessage
	if json.Unmarshal(plain, &file) != nil || len(file) == 0 {
		return ""
	}
	var names []string
	for _, key := range keysInOrder(file) {
		if key == "mcp" || slices.Contains(serverKeys(), key) {
			return ""
		}
		names = append(names, strconv.Quote(key))
	}
	const shown = 5
	if n := len(names) - shown; n > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", n))
	}
	return "servers are looked for under mcpServers, and it has " + strings.Join(names, ", ")
}

// entriesIn finds the servers of a file of any host: under mcpServers, servers, both, or another host's key, as a map
// or as a list of entries with names.
func entriesIn(data []byte) (map[string]json.RawMessage, error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	add := func(raw json.RawMessage) error {
		some, err := entriesByName(raw)
		if err != nil {
			return err
		}
		for _, name := range keysInOrder(some) {
			if _, twice := all[name]; twice {
				return mistake{fmt.Sprintf("the server %q is there twice", name),
					"give one of them another name, or take it out"}
			}
			all[name] = some[name]
		}
		return nil
	}
	found := false
	for _, key := range serverKeys() {
		if raw, there := file[key]; there && !absent(raw) {
			found = true
			if err := add(raw); err != nil {
				return nil, err
			}
		}
	}
	// VS Code's settings, and OpenCode, which has the entries right there. Gemini CLI has its settings there, and its
	// servers elsewhere.
	if inner := objectIn(file, "mcp"); inner != nil {
		if raw, there := inner["servers"]; there {
			return all, add(raw)
		}
		if !found || isEntries(inner) {
			return all, add(file["mcp"])
		}
	}
	if !found && isEntries(file) {
		return file, nil
	}
	return all, nil
}

// isEntries reports whether each member of an object is a server: a file without a key around them.
func isEntries(file map[string]json.RawMessage) bool {
	for key := range file {
		one := objectIn(file, key)
		if !slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl", "endpoint", "uri", "transport"},
			func(reached string) bool { return one[reached] != nil }) {
			return false
		}
	}
	return len(file) > 0
}

func entriesByName(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var some map[string]json.RawMessage
	var list []json.RawMessage
	if bytes.HasPrefix(raw, []byte("[")) && json.Unmarshal(raw, &list) == nil {
		some = map[string]json.RawMessage{}
		for i, one := range list {
			var named struct{ Name, ID string }
			if json.Unmarshal(one, &named) != nil || named.Name+named.ID == "" {
				return nil, mistake{fmt.Sprintf("the server at place %d of the list has no name", i),
					`give it a "name"`}
			}
			name := named.Name
			if name == "" {
				name = named.ID
			}
			if _, twice := some[name]; twice {
				return nil, mistake{fmt.Sprintf("the server %q is there twice", name),
					"give one of them another name, or take it out"}
			}
			some[name] = one
		}
		return some, nil
	}
	return some, json.Unmarshal(raw, &some)
}

// twice is an error where a name stands twice in one object: the second would count alone.
func twice(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true))
	for {
		_, err := d.ReadToken()
		if errors.Is(err, jsontext.ErrDuplicateName) {
			last := string(d.StackPointer().LastToken())
			var wrong *jsontext.SyntacticError
			if errors.As(err, &wrong) {
				last = wrong.JSONPointer.LastToken()
			}
			return mistake{fmt.Sprintf("the name %q is there twice in one object", last),
				"give one of them another name, or take it out"}
		}
		if err != nil {
			return nil // the end, or no JSON, which is said elsewhere
		}
	}
}

// inUTF8 is a text of UTF-16, which Windows' editors write, in UTF-8; every other is as it was.
func inUTF8(data []byte) []byte {
	little := bytes.HasPrefix(data, []byte{0xff, 0xfe}) || len(data) > 1 && data[0] != 0 && data[1] == 0
	big := bytes.HasPrefix(data, []byte{0xfe, 0xff}) || len(data) > 1 && data[0] == 0 && data[1] != 0
	if !little && !big || len(data)%2 != 0 {
		return data
	}
	var units []uint16
	for i := 0; i+1 < len(data); i += 2 {
		if big {
			units = append(units, uint16(data[i])<<8|uint16(data[i+1]))
		} else {
			units = append(units, uint16(data[i+1])<<8|uint16(data[i]))
		}
	}
	return []byte(string(utf16.Decode(units)))
}
