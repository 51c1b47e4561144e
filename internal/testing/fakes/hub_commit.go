package fakes

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

// large tells whether the Hub keeps a file outside git: by the rules of a new repository, by its size, or as its
// beginning is no text.
func large(name string, size int64, sample []byte) bool {
	return slices.Contains([]string{".safetensors", ".parquet", ".bin", ".gguf"}, path.Ext(name)) || size > 10<<20 ||
		bytes.IndexByte(sample, 0) >= 0
}

func (s *Hub) preupload(w http.ResponseWriter, r *http.Request, repo *repository) {
	commit, ok := at(w, r, repo)
	if !ok {
		return
	}
	var ask struct {
		Files []struct {
			Path, Sample string
			Size         int64
		}
		GitIgnore string
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || len(ask.Files) > 256 {
		refuse(w, http.StatusBadRequest, "", fmt.Sprintf("no list of at most 256 files: %v", err))
		return
	}
	files := []map[string]any{}
	for _, f := range ask.Files {
		sample, err := base64.StdEncoding.DecodeString(f.Sample)
		if err != nil || int64(len(sample)) != min(f.Size, 512) {
			refuse(w, http.StatusBadRequest, "", "files["+f.Path+"].sample is not its beginning")
			return
		}
		x := map[string]any{"path": f.Path, "uploadMode": "regular",
			"shouldIgnore": strings.HasSuffix(f.Path, ".ignored")}
		if large(f.Path, f.Size, sample) {
			x["uploadMode"] = "lfs"
		}
		if have, ok := repo.commits[commit][f.Path]; ok {
			if x["oid"] = have.oid(); have.lfs != "" {
				x["oid"] = have.lfs
			}
		}
		files = append(files, x)
	}
	answer(w, map[string]any{"files": files, "commitOid": commit})
}

// commit applies all lines of an NDJSON body, or none.
func (s *Hub) commit(w http.ResponseWriter, r *http.Request, repo *repository) {
	branch := r.PathValue("rev")
	head, ok := repo.branches[branch]
	if !ok {
		refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+branch)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it was cut off
	}
	files := maps.Clone(repo.commits[head])
	summary := ""
	in := bufio.NewReader(bytes.NewReader(body))
	for {
		text, readErr := in.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			if err := s.apply(text, head, files, &summary); err != nil {
				status := http.StatusBadRequest
				if err == errMoved {
					status = http.StatusPreconditionFailed
				}
				refuse(w, status, "", err.Error())
				return
			}
		}
		if readErr != nil {
			break
		}
	}
	if summary == "" {
		refuse(w, http.StatusBadRequest, "", "a commit needs a header with a summary")
		return
	}
	commit := repo.add(branch, files)
	name := r.PathValue("org") + "/" + r.PathValue("name")
	answer(w, map[string]any{"success": true, "commitOid": commit,
		"commitUrl": s.URL + "/" + name + "/commit/" + commit, "hookOutput": ""})
}

var errMoved = fmt.Errorf("a commit has happened since; please refresh and try again")

func (s *Hub) apply(text []byte, head string, files map[string]file, summary *string) error {
	var line struct {
		Key   string
		Value struct {
			Summary, ParentCommit        string
			Path, Content, Encoding, OID string
			Size                         int64
		}
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	v := line.Value
	switch line.Key {
	case "header":
		if *summary = v.Summary; v.ParentCommit != "" && v.ParentCommit != head {
			return errMoved
		}
	case "file":
		content := []byte(v.Content)
		if v.Encoding == "base64" {
			var err error
			if content, err = base64.StdEncoding.DecodeString(v.Content); err != nil {
				return err
			}
		}
		files[v.Path] = file{text: string(content), size: int64(len(content))}
	case "lfsFile":
		if !s.has(v.OID, v.Size) {
			return fmt.Errorf("your push was rejected because an LFS pointer pointed to a file that does not exist: %s",
				v.Path)
		}
		files[v.Path] = file{lfs: v.OID, size: v.Size}
	case "deletedFile":
		if _, ok := files[v.Path]; !ok {
			return fmt.Errorf("a file that does not exist cannot be deleted: %s", v.Path)
		}
		delete(files, v.Path)
	default:
		return fmt.Errorf("unknown operation %q", line.Key)
	}
	return nil
}
