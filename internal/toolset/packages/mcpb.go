package packages

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hone/internal/fault"
)

// Bounds of a bundle.
const (
	mostBundle   = 256 << 20 // bytes, packed
	mostUnpacked = 1 << 30
	mostMembers  = 100_000
	bundleTime   = 10 * time.Minute
)

// dirname stands for the bundle's folder in its manifest.
const dirname = "${__dirname}"

// mcpb unpacks an MCP bundle (MCPB manifest 0.3: a zip with manifest.json) that a file or a URL has. Of a URL the
// SHA-256 stands behind #, and is what the bundle must have. It runs nothing; a bundle has all that its server needs in
// it.
func (r Request) mcpb(ctx context.Context, name string) (Installed, error) {
	source, want, hashed := strings.Cut(name, "#")
	var data []byte
	var err error
	switch {
	case !strings.Contains(source, "://"):
		data, err = os.ReadFile(source)
	case !hashed:
		return Installed{}, &fault.Error{Code: fault.CodeUsage, What: "a bundle behind a URL needs its hash",
			Where: source, Next: "write mcpb:URL#SHA256"}
	default:
		data, err = download(ctx, source)
	}
	if err != nil {
		return Installed{}, &fault.Error{Code: fault.CodeUnavailable, What: "the bundle cannot be read", Where: source,
			Err: err, Next: "look at the file or URL"}
	}
	sum := sha256.Sum256(data)
	got := hex.EncodeToString(sum[:])
	if hashed && got != want {
		return Installed{}, &fault.Error{Code: fault.CodeUsage, What: "the bundle is not the one that was published",
			Where: source, Why: "its SHA-256 is " + got + ", and " + want + " was to be expected",
			Next: "do not use it; ask who publishes it"}
	}
	dir := filepath.Join(r.Dir, "bundle")
	if err := unpack(data, dir); err != nil {
		return Installed{}, &fault.Error{Code: fault.CodeUsage, What: "the bundle cannot be unpacked", Where: source,
			Err: err, Next: "ask who publishes it"}
	}
	in, err := r.manifest(dir)
	if err != nil {
		return in, &fault.Error{Code: fault.CodeUsage, What: "the bundle's server cannot be started", Where: source,
			Err: err, Next: "look into its manifest.json, and write its command into the MCP configuration by hand"}
	}
	in.Packages, in.Lock = 1, filepath.Join(r.Dir, "mcpb.lock")
	return in, os.WriteFile(in.Lock, []byte(in.Version+" sha256:"+got+"\n"), 0o644)
}

func download(ctx context.Context, source string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, bundleTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostBundle+1))
	if err == nil && len(data) > mostBundle {
		err = fmt.Errorf("it is larger than %d MiB", mostBundle>>20)
	}
	return data, err
}

// unpack writes a zip's files below dir. A name that leads out of it, and what is no file, ends it.
func unpack(data []byte, dir string) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	if len(z.File) > mostMembers {
		return fmt.Errorf("it has more than %d files", mostMembers)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(mostUnpacked)
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !filepath.IsLocal(f.Name) || !f.Mode().IsRegular() {
			return fmt.Errorf("%q is no file below the bundle's folder", f.Name)
		}
		if err := root.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
			return err
		}
		n, err := unpackOne(root, f, left)
		if left -= n; err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func unpackOne(root *os.Root, f *zip.File, left int64) (n int64, err error) {
	from, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	mode := os.FileMode(0o644)
	if f.Mode()&0o111 != 0 {
		mode = 0o755
	}
	to, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(to, io.LimitReader(from, left+1))
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil && n > left {
		err = fmt.Errorf("unpacked it is larger than %d MiB", mostUnpacked>>20)
	}
	return n, err
}

// manifest is how the server of an unpacked bundle is started.
func (r Request) manifest(dir string) (in Installed, err error) {
	var m struct {
		Version string
		Server  struct {
			Type       string
			EntryPoint string `json:"entry_point"`
			Config     struct {
				Command string
				Args    []string
				Env     map[string]string
			} `json:"mcp_config"`
		}
		UserConfig map[string]struct {
			Default  json.RawMessage
			Required bool
		} `json:"user_config"`
	}
	if err := readJSON(filepath.Join(dir, "manifest.json"), &m); err != nil {
		return in, err
	}
	entry := filepath.Join(dir, filepath.FromSlash(m.Server.EntryPoint))
	if info, err := os.Stat(entry); !filepath.IsLocal(m.Server.EntryPoint) || err != nil || !info.Mode().IsRegular() {
		return in, fmt.Errorf("its entry_point %q is no file of it", m.Server.EntryPoint)
	}
	switch m.Server.Type {
	case "node", "python":
		in.Command = map[string]string{"node": "node", "python": r.Python}[m.Server.Type]
	case "binary":
		in.Command = entry
		if err := os.Chmod(entry, 0o755); err != nil {
			return in, err
		}
	default:
		return in, fmt.Errorf("servers of type %q are not supported: node, python and binary are", m.Server.Type)
	}
	pairs := []string{dirname, dir, "${/}", "/"}
	for name, v := range m.UserConfig {
		text := ""
		if len(v.Default) > 0 && json.Unmarshal(v.Default, &text) != nil &&
			slices.Contains([]byte{'[', '{'}, v.Default[0]) || v.Required && len(v.Default) == 0 {
			return in, fmt.Errorf("its user_config asks for %s", name)
		}
		if text == "" {
			text = strings.Trim(string(v.Default), `"`) // a number or a boolean
		}
		pairs = append(pairs, "${user_config."+name+"}", text)
	}
	fill := strings.NewReplacer(pairs...)
	if in.Args = m.Server.Config.Args; len(in.Args) == 0 && m.Server.Type != "binary" {
		in.Args = []string{dirname + "/" + m.Server.EntryPoint}
	}
	in.Args = slices.Clone(in.Args)
	for i, text := range in.Args {
		if in.Args[i] = fill.Replace(text); text == m.Server.EntryPoint { // some write it without the folder
			in.Args[i] = entry
		}
		if strings.Contains(in.Args[i], "${") {
			return in, fmt.Errorf("its argument %q asks for a variable", text)
		}
	}
	in.Version, in.Env = m.Version, map[string]string{}
	for name, text := range m.Server.Config.Env {
		if in.Env[name] = fill.Replace(text); strings.Contains(in.Env[name], "${") {
			return in, fmt.Errorf("its variable %s asks for %q", name, text)
		}
	}
	return in, nil
}
