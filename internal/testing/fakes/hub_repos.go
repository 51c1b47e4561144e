package fakes

import (
	"crypto/sha1" //nolint:gosec // git's
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// account is who asks; false of a token that nobody has.
func (s *Hub) account(r *http.Request) (a HubAccount, known, sent bool) {
	token, sent := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, known = s.Tokens[token]
	return a, known, sent
}

type handler func(w http.ResponseWriter, r *http.Request, repo *repository)

// reading finds the repository, and refuses those who may not see it.
func (s *Hub) reading(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		who, known, sent := s.account(r)
		if sent && !known {
			refuse(w, http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
			return
		}
		name := r.PathValue("org") + "/" + r.PathValue("name")
		repo := s.repos[r.PathValue("kind")+"/"+name]
		switch {
		case repo == nil && !known || repo != nil && repo.private && !known: // who is not known is not told which
			refuse(w, http.StatusUnauthorized, "RepoNotFound", "Repository not found")
		case repo == nil:
			refuse(w, http.StatusNotFound, "RepoNotFound", "Repository not found")
		case repo.gated && !slices.Contains(who.Gates, name) && !strings.HasPrefix(r.URL.Path, "/api/"):
			refuse(w, http.StatusForbidden, "GatedRepo",
				"Access to model "+name+" is restricted and you are not in the authorized list.")
		default:
			h(w, r, repo)
		}
	}
}

// writing refuses those who may not write too.
func (s *Hub) writing(h handler) http.HandlerFunc {
	return s.reading(func(w http.ResponseWriter, r *http.Request, repo *repository) {
		if who, known, _ := s.account(r); !known {
			refuse(w, http.StatusUnauthorized, "", "Invalid username or password.")
		} else if who.Reads {
			refuse(w, http.StatusForbidden, "", "You don't have the rights to write to this repository")
		} else {
			h(w, r, repo)
		}
	})
}

// at is the commit of a revision; it answers where there is none.
func at(w http.ResponseWriter, r *http.Request, repo *repository) (commit string, ok bool) {
	rev := r.PathValue("rev")
	if rev == "" {
		rev = "main"
	}
	if c, ok := repo.branches[rev]; ok {
		return c, true
	}
	if _, ok := repo.commits[rev]; ok {
		return rev, true
	}
	refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+rev)
	return "", false
}

func (s *Hub) whoami(w http.ResponseWriter, r *http.Request) {
	who, known, _ := s.account(r)
	if !known {
		refuse(w, http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
		return
	}
	answer(w, map[string]any{"type": "user", "name": who.Name, "orgs": []any{}})
}

// attributes is what the Hub puts into a new repository.
const attributes = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n*.parquet filter=lfs diff=lfs merge=lfs " +
	"-text\n*.bin filter=lfs diff=lfs merge=lfs -text\n*.gguf filter=lfs diff=lfs merge=lfs -text\n"

// Visibility is what was asked for when a repository was made: public or private; "" where nobody made it.
func (s *Hub) Visibility(kind, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visible[kind+"s/"+id]
}

func (s *Hub) create(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ask struct{ Type, Name, Organization, Visibility string }
	who, known, _ := s.account(r)
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.Name == "" {
		refuse(w, http.StatusBadRequest, "", "a name is wanted")
		return
	}
	if !known {
		refuse(w, http.StatusUnauthorized, "", "Invalid username or password.")
		return
	}
	if who.Reads {
		refuse(w, http.StatusForbidden, "", "You don't have the rights to create a repository under this namespace")
		return
	}
	if ask.Organization == "" {
		ask.Organization = who.Name
	}
	if ask.Type == "" {
		ask.Type = "model"
	}
	key := ask.Type + "s/" + ask.Organization + "/" + ask.Name
	s.visible[key] = ask.Visibility
	page := s.URL + "/" + strings.TrimPrefix(key, "models/")
	if s.repos[key] != nil {
		w.WriteHeader(http.StatusConflict)
		answer(w, map[string]string{"error": "You already created this repo", "url": page})
		return
	}
	repo := &repository{private: ask.Visibility == "private", commits: map[string]map[string]file{},
		parents: map[string]string{}, branches: map[string]string{}}
	repo.add("main", map[string]file{".gitattributes": {text: attributes, size: int64(len(attributes))}})
	s.repos[key] = repo
	answer(w, map[string]string{"url": page, "name": ask.Organization + "/" + ask.Name})
}

// add makes a commit of all files on a branch.
func (x *repository) add(branch string, files map[string]file) (commit string) {
	parent := x.branches[branch]
	h := sha1.New() //nolint:gosec // git's
	_, _ = fmt.Fprintln(h, parent, len(x.commits))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintln(h, path, files[path].oid())
	}
	commit = hex.EncodeToString(h.Sum(nil))
	x.commits[commit], x.parents[commit], x.branches[branch] = files, parent, commit
	return commit
}

func (s *Hub) branch(w http.ResponseWriter, r *http.Request, repo *repository) {
	rev := r.PathValue("rev")
	if repo.branches[rev] != "" {
		refuse(w, http.StatusConflict, "", "Reference already exists")
		return
	}
	repo.branches[rev] = repo.branches["main"]
	answer(w, map[string]any{})
}

func (s *Hub) info(w http.ResponseWriter, r *http.Request, repo *repository) {
	commit, ok := at(w, r, repo)
	if !ok {
		return
	}
	name := r.PathValue("org") + "/" + r.PathValue("name")
	var siblings []map[string]string
	for _, path := range slices.Sorted(maps.Keys(repo.commits[commit])) {
		siblings = append(siblings, map[string]string{"rfilename": path})
	}
	answer(w, map[string]any{"_id": "1", "id": name, "modelId": name, "sha": commit, "private": repo.private,
		"gated": repo.gated, "disabled": false, "tags": []string{}, "downloads": 0, "likes": 0, "siblings": siblings})
}

// tree lists files by pages, as the Hub does, with folders where it is not recursive.
func (s *Hub) tree(w http.ResponseWriter, r *http.Request, repo *repository) {
	commit, ok := at(w, r, repo)
	if !ok {
		return
	}
	list := []map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(repo.commits[commit])) {
		f := repo.commits[commit][path]
		entry := map[string]any{"type": "file", "path": path, "size": f.size, "oid": f.oid()}
		if f.lfs != "" {
			entry["lfs"] = map[string]any{"oid": f.lfs, "size": f.size, "pointerSize": 134}
		}
		list = append(list, entry)
	}
	size := s.PageSize
	if size == 0 {
		size = 1000
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor")) // none is the beginning
	from = min(from, len(list))
	if from+size < len(list) {
		q := r.URL.Query()
		q.Set("cursor", strconv.Itoa(from+size))
		w.Header().Set("Link", "<"+s.URL+r.URL.EscapedPath()+"?"+q.Encode()+`>; rel="next"`)
	}
	answer(w, list[from:min(from+size, len(list))])
}

// Gate makes who may read a repository depend on Account.Gates.
func (s *Hub) Gate(kind, name string) { s.with(kind, name, func(x *repository) { x.gated = true }) }

// Files are the contents of a branch, by path; nil where there is no repository. Commits is how many it took.
func (s *Hub) Files(kind, name, branch string) (files map[string]string, commits int) {
	s.with(kind, name, func(x *repository) {
		files = map[string]string{}
		for path, f := range x.commits[x.branches[branch]] {
			if f.lfs != "" {
				text, err := os.ReadFile(s.object(f.lfs))
				if err != nil {
					text = []byte(err.Error())
				}
				f.text = string(text)
			}
			files[path] = f.text
		}
		for c := x.branches[branch]; c != ""; c = x.parents[c] {
			commits++
		}
	})
	return files, commits
}

// Put is a commit of somebody's: small files, by path, beside those that are there. It makes the repository.
func (s *Hub) Put(kind, name string, files map[string]string) (commit string) {
	s.mu.Lock()
	key := kind + "s/" + name
	if s.repos[key] == nil {
		s.repos[key] = &repository{commits: map[string]map[string]file{}, parents: map[string]string{},
			branches: map[string]string{}}
	}
	s.mu.Unlock()
	s.with(kind, name, func(x *repository) {
		all := maps.Clone(x.commits[x.branches["main"]])
		if all == nil {
			all = map[string]file{}
		}
		for path, text := range files {
			f := file{text: text, size: int64(len(text))}
			if large(path, f.size, nil) {
				f = file{lfs: s.keep(text), size: f.size}
			}
			all[path] = f
		}
		commit = x.add("main", all)
	})
	return commit
}

func (s *Hub) with(kind, name string, f func(*repository)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.repos[kind+"s/"+name]; x != nil {
		f(x)
	}
}
