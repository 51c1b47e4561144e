package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hone/internal/blob"
	"hone/internal/fault"
)

// HasServer reports whether a configuration's file has a server of that name; a file that is not there has none.
func HasServer(path, name string) (bool, error) {
	_, servers, err := serversIn(path)
	_, has := servers[name]
	return has, err
}

// AddServer writes an entry into a configuration's file, before the others and without touching them or any comment; a
// file that is not there is made. A name that is taken is an error.
func AddServer(path, name string, entry Server) error {
	defer alone(path)()
	return addServer(path, name, entry)
}

// alone waits until no other process writes the files of a file's folder, which needs no file of its own for that.
// Where the file system cannot tell, nobody waits.
func alone(path string) (done func()) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return func() {}
	}
	_ = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
	return func() { _ = dir.Close() } // which lets go of it
}

func addServer(path, name string, entry Server) error {
	data, servers, err := serversIn(path)
	if err != nil {
		return err
	}
	if _, taken := servers[name]; taken {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is a server %q already", name), Where: path,
			Next: "give it another --name, or take the entry out"}
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(entry); err != nil {
		return err
	}
	line := append(append(append([]byte("\n    "), quoted...), ": "...), bytes.TrimSpace(text.Bytes())...)
	if data == nil {
		data = []byte("{\n  \"mcpServers\": {\n  }\n}\n")
	}
	at, err := insideServers(plainJSON(data))
	if err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "the MCP configuration has no place for a server", Where: path,
			Err: err, Next: `add "mcpServers": {} to it`}
	}
	if len(servers) > 0 {
		line = append(line, ',')
	}
	return replaceFile(path, bytes.Join([][]byte{data[:at], line, data[at:]}, nil))
}

// ReplaceServer is AddServer in the place of the entry that has the name, if there is one.
func ReplaceServer(path, name string, entry Server) error {
	defer alone(path)()
	data, servers, err := serversIn(path)
	if _, has := servers[name]; err == nil && has {
		if data, err = without(data, name); err == nil {
			err = replaceFile(path, data)
		}
	}
	if err != nil {
		return err
	}
	return addServer(path, name, entry)
}

// RemoveServer takes an entry out of a configuration's file, and touches nothing else in it. A name that is not there
// is an error.
func RemoveServer(path, name string) error {
	defer alone(path)()
	data, servers, err := serversIn(path)
	if err != nil {
		return err
	}
	if _, has := servers[name]; !has {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no server %q", name), Where: path,
			Next: "give one of the names in the file"}
	}
	if data, err = without(data, name); err != nil {
		return err
	}
	return replaceFile(path, data)
}

// without is a configuration's text without an entry and the comma that parts it from the others.
func without(data []byte, name string) ([]byte, error) {
	plain := plainJSON(data)
	at, err := insideServers(plain)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(plain[at-1:]))
	if _, err := d.Token(); err != nil { // {
		return nil, err
	}
	for end, before := at, -1; d.More(); { // end of the entry before, and the comma behind it
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		last := at - 1 + int(d.InputOffset())
		behind := last + len(plain[last:]) - len(bytes.TrimLeft(plain[last:], " \t\r\n"))
		if plain[behind] != ',' { // a last entry may have one too, which is no JSON
			behind = last + len(data[last:]) - len(bytes.TrimLeft(data[last:], " \t\r\n"))
		}
		if key != name {
			end, before = last, behind
			continue
		}
		first := end + bytes.IndexByte(plain[end:], '"')
		if line := bytes.TrimRight(data[:first], " \t"); bytes.HasSuffix(line, []byte("\n")) {
			first = len(line) - 1
		}
		out := bytes.Clone(data)
		switch {
		case out[behind] == ',':
			out = append(out[:behind], out[behind+1:]...)
			return append(out[:first], out[last:]...), nil
		case before >= 0 && out[before] == ',':
			out = append(out[:first], out[last:]...)
			return append(out[:before], out[before+1:]...), nil
		}
		return append(out[:first], out[last:]...), nil
	}
	return nil, fmt.Errorf("there is no server %q", name)
}

func serversIn(path string) ([]byte, map[string]json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var entries map[string]json.RawMessage
	if data = inUTF8(data); err == nil {
		entries, err = entriesIn(plainJSON(data))
	}
	if err != nil {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "the MCP configuration cannot be read", Where: path,
			Err: fault.JSON(err), Next: "correct it, or name another file with --mcp-config"}
	}
	return data, entries, nil
}

// insideServers is the place behind the bracket that opens the servers, which are mcpServers, or else servers.
func insideServers(plain []byte) (int, error) {
	for _, wanted := range []string{"mcpServers", "servers"} {
		d := json.NewDecoder(bytes.NewReader(plain))
		if _, err := d.Token(); err != nil { // {
			return 0, err
		}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return 0, err
			}
			var value json.RawMessage
			before := d.InputOffset()
			if err := d.Decode(&value); err != nil {
				return 0, err
			}
			if open := bytes.IndexByte(plain[before:], '{'); key == wanted && open >= 0 &&
				bytes.HasPrefix(value, []byte("{")) {
				return int(before) + open + 1, nil
			}
		}
	}
	return 0, errors.New("it holds neither mcpServers nor servers")
}

// replaceFile puts the whole of a text in the place of a file at once.
func replaceFile(path string, text []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	if err != nil {
		return blob.Write(path, text, 0o644)
	}
	if err := blob.Write(path, text, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()) // what the umask took
}
