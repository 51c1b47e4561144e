// Package hub is a client of the Hugging Face Hub. It downloads repositories into the cache folder that all clients of
// the Hub share, and pushes folders as one commit each. Its API is the published one (huggingface.co/docs/hub/api, and
// git-lfs's docs/api/batch.md for large files); layout and names of the cache are those of huggingface_hub. Card writes
// the page of a model that is pushed: README.md, with the front matter by which the Hub files it
// (huggingface.co/docs/hub/model-cards).
package hub

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"hone/internal/fault"
)

// Kind is what a repository holds.
type Kind string

// Kinds of repositories.
const (
	Model   Kind = "model"
	Dataset Kind = "dataset"
)

// Repo is a repository at a revision.
type Repo struct {
	Kind     Kind
	ID       string // organisation or user, a slash, a name
	Revision string // branch, tag or commit; "" is main
}

// nameForm is a repository's name as the Hub allows it, with a revision behind "@".
var nameForm = regexp.MustCompile(
	`^([A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9_][A-Za-z0-9_.-]{0,95})(?:@([A-Za-z0-9][A-Za-z0-9_./-]*))?$`,
)

// Parse reads "org/name" or "org/name@revision". It is false of what cannot be a repository's name.
func Parse(kind Kind, name string) (Repo, bool) {
	m := nameForm.FindStringSubmatch(name)
	if m == nil || strings.Contains(name, "--") || strings.Contains(name, "..") || strings.HasSuffix(m[1], ".git") ||
		strings.HasSuffix(m[2], "/") {
		return Repo{}, false
	}
	return Repo{Kind: kind, ID: m[1], Revision: m[2]}, true
}

// String is the name that Parse reads.
func (r Repo) String() string {
	if r.Revision == "" {
		return r.ID
	}
	return r.ID + "@" + r.Revision
}

// revision is the branch, tag or commit that is meant.
func (r Repo) revision() string {
	if r.Revision == "" {
		return "main"
	}
	return r.Revision
}

// commitForm is a commit's name, which stands for the same files for ever.
var commitForm = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Client speaks to one Hub. HTTP and Pause are for tests; the zero value of both is what is wanted.
type Client struct {
	Endpoint string // without a slash at the end
	Token    string // sent to the endpoint alone, never to where it redirects
	Cache    string // folder of repositories: HF_HUB_CACHE
	Offline  bool   // nothing is asked for, only the cache is read
	HTTP     *http.Client
	// before the second try of a request, doubled for each further one; 0 is a second
	Pause    time.Duration
	Say      func(format string, args ...any) // told what is waited for and what is left out; may be nil
	Progress func(done, of int64)             // told how many bytes of a download or a push were sent; may be nil
	// Agree is asked before a download, of so many files and bytes that the cache lacks; nil agrees.
	Agree func(r Repo, files int, bytes int64) error
}

// meter adds up what is transferred.
type meter struct {
	done atomic.Int64
	of   int64
	told func(done, of int64)
}

func (m *meter) add(n int) {
	if done := m.done.Add(int64(n)); m.told != nil {
		m.told(min(done, m.of), m.of)
	}
}

// FromEnv is the client that the variables of huggingface_hub describe: HF_ENDPOINT, HF_TOKEN (else the file that its
// login writes), HF_HUB_CACHE, HF_HOME, HF_HUB_OFFLINE.
func FromEnv(lookup func(name string) (string, bool)) (*Client, error) {
	get := func(name string) string { value, _ := lookup(name); return strings.TrimSpace(value) }
	c := &Client{Endpoint: strings.TrimRight(get("HF_ENDPOINT"), "/"), Token: get("HF_TOKEN"),
		Cache: get("HF_HUB_CACHE"), Offline: isTrue(get("HF_HUB_OFFLINE")) || isTrue(get("TRANSFORMERS_OFFLINE"))}
	if c.Endpoint == "" {
		c.Endpoint = "https://huggingface.co"
	}
	if u, err := url.Parse(c.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "HF_ENDPOINT is not the address of a Hub",
			Where: c.Endpoint, Next: "set HF_ENDPOINT=https://huggingface.co, or leave it out"}
	}
	home := get("HF_HOME")
	if home == "" {
		base := get("XDG_CACHE_HOME")
		if base == "" && get("HOME") != "" {
			base = filepath.Join(get("HOME"), ".cache")
		}
		if base != "" {
			home = filepath.Join(base, "huggingface")
		}
	}
	if c.Cache == "" {
		if home == "" {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "no cache folder of the Hub",
				Why: "none of HF_HUB_CACHE, HF_HOME and HOME is set", Next: "set HF_HOME to a folder"}
		}
		c.Cache = filepath.Join(home, "hub")
	}
	if c.Token == "" && home != "" && !isTrue(get("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
		path := get("HF_TOKEN_PATH")
		if path == "" {
			path = filepath.Join(home, "token")
		}
		if text, err := os.ReadFile(path); err == nil { // a user without one has not logged in
			c.Token = strings.TrimSpace(string(text))
		}
	}
	return c, nil
}

// isTrue reads a variable as huggingface_hub does.
func isTrue(value string) bool {
	switch strings.ToUpper(value) {
	case "1", "ON", "YES", "TRUE", "Y", "T":
		return true
	}
	return false
}

func (c *Client) say(format string, args ...any) {
	if c.Say != nil {
		c.Say(format, args...)
	}
}

// api is the address of a repository's API, below which are revision, tree, preupload and commit.
func (c *Client) api(r Repo, parts ...string) string {
	address := c.Endpoint + "/api/" + string(r.Kind) + "s/" + r.ID
	for _, p := range parts {
		address += "/" + url.PathEscape(p)
	}
	return address
}

// Page is the address of a repository for people; its files and its LFS API are below it.
func (c *Client) Page(r Repo) string {
	if r.Kind == Dataset {
		return c.Endpoint + "/datasets/" + r.ID
	}
	return c.Endpoint + "/" + r.ID
}

// fileAddress is where a file of a commit is.
func (c *Client) fileAddress(r Repo, commit, path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return c.Page(r) + "/resolve/" + commit + "/" + strings.Join(parts, "/")
}
