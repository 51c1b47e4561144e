package fakes

import (
	"bytes"
	"crypto/md5" //nolint:gosec // what stores name parts by
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// keep stores a large file, and returns its SHA-256.
func (s *Hub) keep(text string) string {
	sum := sha256.Sum256([]byte(text))
	oid := hex.EncodeToString(sum[:])
	if err := os.WriteFile(s.object(oid), []byte(text), 0o644); err != nil {
		panic(err) // its folder is the test's
	}
	return oid
}

// batch is git-lfs's: what is to be uploaded, and where.
func (s *Hub) batch(w http.ResponseWriter, r *http.Request, _ *repository) {
	var ask struct {
		Operation string
		Transfers []string
		Objects   []struct {
			OID  string
			Size int64
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.Operation != "upload" {
		refuse(w, http.StatusBadRequest, "", "only uploads")
		return
	}
	home := s.URL + strings.TrimSuffix(r.URL.EscapedPath(), "objects/batch")
	objects := []map[string]any{}
	for _, o := range ask.Objects {
		x := map[string]any{"oid": o.OID, "size": o.Size, "authenticated": true}
		if !s.has(o.OID, o.Size) {
			upload := map[string]any{"href": s.Store + "/upload/" + o.OID + "?signature=1", "header": map[string]any{}}
			if s.PartSize > 0 && o.Size > s.PartSize {
				header := map[string]any{"chunk_size": strconv.FormatInt(s.PartSize, 10)}
				for n := int64(1); (n-1)*s.PartSize < o.Size; n++ {
					header[fmt.Sprintf("%05d", n)] = fmt.Sprintf("%s/upload/%s/%d?signature=1", s.Store, o.OID, n)
				}
				upload = map[string]any{"href": home + "complete", "header": header}
				s.parts[o.OID] = make([][]byte, (o.Size+s.PartSize-1)/s.PartSize)
			}
			x["actions"] = map[string]any{"upload": upload,
				"verify": map[string]any{"href": home + "verify", "header": map[string]any{}}}
		}
		objects = append(objects, x)
	}
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	// a client that is gone reads nothing
	_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": objects})
}

// verify is asked after an upload: is what came what was meant?
func (s *Hub) verify(w http.ResponseWriter, r *http.Request, _ *repository) {
	var ask struct {
		OID  string
		Size int64
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || !s.has(ask.OID, ask.Size) {
		refuse(w, http.StatusUnprocessableEntity, "", "the uploaded file is not of that size")
		return
	}
	answer(w, map[string]any{})
}

// complete joins the parts of an upload.
func (s *Hub) complete(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ask struct {
		OID   string
		Parts []struct {
			PartNumber int
			ETag       string
		}
	}
	err := json.NewDecoder(r.Body).Decode(&ask)
	parts := s.parts[ask.OID]
	if err != nil || len(parts) != len(ask.Parts) {
		refuse(w, http.StatusBadRequest, "", "not all parts are there")
		return
	}
	for i, p := range ask.Parts {
		if p.PartNumber != i+1 || p.ETag != name(parts[i]) {
			refuse(w, http.StatusBadRequest, "", fmt.Sprintf("part %d is not the one that was uploaded", i+1))
			return
		}
	}
	if err := s.receive(ask.OID, bytes.NewReader(bytes.Join(parts, nil))); err != nil {
		refuse(w, http.StatusBadRequest, "", err.Error())
		return
	}
	delete(s.parts, ask.OID)
	answer(w, map[string]any{})
}

// name is the ETag of a part.
func name(part []byte) string {
	sum := md5.Sum(part) //nolint:gosec // as stores do
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// receive keeps a large file where it has the hash that it is announced by.
func (s *Hub) receive(oid string, body io.Reader) error {
	tmp, err := os.CreateTemp(s.Dir, ".upload-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone where it was kept
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(tmp, sum), body)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != oid {
		return fmt.Errorf("the content has the hash %s, not %s", got, oid)
	}
	return os.Rename(tmp.Name(), s.object(oid))
}

// storeRoutes are those of the store of large files. It knows signatures, and refuses tokens as such stores do.
func (s *Hub) storeRoutes() http.Handler {
	m := http.NewServeMux()
	signed := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || r.URL.Query().Get("signature") == "" {
				refuse(w, http.StatusBadRequest, "", "Only one auth mechanism allowed")
				return
			}
			h(w, r)
		}
	}
	m.HandleFunc("PUT /upload/{oid}", signed(func(w http.ResponseWriter, r *http.Request) {
		if err := s.receive(r.PathValue("oid"), r.Body); err != nil {
			refuse(w, http.StatusBadRequest, "", err.Error())
		}
	}))
	m.HandleFunc("PUT /upload/{oid}/{part}", signed(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		n, numErr := strconv.Atoi(r.PathValue("part"))
		s.mu.Lock()
		defer s.mu.Unlock()
		parts := s.parts[r.PathValue("oid")]
		if err != nil || numErr != nil || n < 1 || n > len(parts) {
			refuse(w, http.StatusBadRequest, "", "no such part")
			return
		}
		parts[n-1] = text
		w.Header().Set("ETag", name(text))
	}))
	m.HandleFunc("GET /object/{oid}", signed(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(s.object(r.PathValue("oid")))
		if err != nil {
			refuse(w, http.StatusNotFound, "", "no such object")
			return
		}
		defer func() { _ = f.Close() }() // read only
		http.ServeContent(w, r, "", time.Time{}, f)
	}))
	return m
}

// resolve is a file of a commit: small ones here, large ones by a redirect to the store.
func (s *Hub) resolve(w http.ResponseWriter, r *http.Request, repo *repository) {
	commit, ok := at(w, r, repo)
	if !ok {
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	f, ok := repo.commits[commit][r.PathValue("path")]
	if !ok {
		refuse(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
		return
	}
	if f.lfs != "" {
		w.Header().Set("X-Linked-Etag", `"`+f.lfs+`"`)
		w.Header().Set("X-Linked-Size", strconv.FormatInt(f.size, 10))
		http.Redirect(w, r, s.Store+"/object/"+f.lfs+"?signature=1", http.StatusFound)
		return
	}
	w.Header().Set("ETag", `"`+f.oid()+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(f.text))
}
