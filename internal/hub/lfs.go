package hub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"hone/internal/fault"
)

// action is what the Hub says to do with a large file.
type action struct {
	Href   string
	Header map[string]any
}

// lfsObject is the Hub's answer on one large file; without actions it has it already.
type lfsObject struct {
	OID     string
	Actions *struct{ Upload, Verify *action }
	Error   *struct {
		Code    int
		Message string
	}
}

// lfsType is the media type of git-lfs.
const lfsType = "application/vnd.git-lfs+json"

// sendLarge uploads those large files that the Hub does not have yet.
func (c *Client) sendLarge(ctx context.Context, r Repo, files []local) error {
	large := map[string]local{}
	var names []string
	for _, f := range files {
		if _, twice := large[f.LFS]; f.Mode == "lfs" && !twice {
			large[f.LFS], names = f, append(names, f.LFS)
		}
	}
	type object struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	}
	m := &meter{told: c.Progress}
	for _, f := range large {
		m.of += f.Size
	}
	for batch := range slices.Chunk(names, batchSize) {
		var ask []object
		for _, oid := range batch {
			ask = append(ask, object{oid, large[oid].Size})
		}
		var say struct{ Objects []lfsObject }
		q := request{method: "POST", address: c.Page(r) + ".git/info/lfs/objects/batch", repo: r,
			what: "cannot push large files", header: http.Header{"Content-Type": {lfsType}, "Accept": {lfsType}}}
		if _, err := c.call(ctx, q, map[string]any{"operation": "upload", "transfers": []string{"basic", "multipart"},
			"hash_algo": "sha256", "objects": ask, "ref": map[string]string{"name": r.revision()}}, &say); err != nil {
			return err
		}
		for _, o := range say.Objects {
			f, asked := large[o.OID]
			switch {
			case !asked:
				continue
			case o.Error != nil:
				return &fault.Error{Code: fault.CodeUsage, What: "the Hub refuses a large file", Where: f.Path,
					Why: o.Error.Message, Next: "look at " + c.Page(r)}
			case o.Actions == nil || o.Actions.Upload == nil:
				m.add(int(f.Size)) // it is there already
				continue
			}
			if err := c.send(ctx, r, f, o, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// send uploads one large file as the Hub says, whole or in parts, and lets the Hub verify it.
func (c *Client) send(ctx context.Context, r Repo, f local, o lfsObject, m *meter) error {
	q := request{repo: r, what: "cannot push " + f.Path}
	up := o.Actions.Upload
	chunk, err := chunkOf(up, f.Size)
	if err != nil {
		return &fault.Error{Code: fault.CodeUnavailable, What: q.what, Where: c.Endpoint, Err: err,
			Next: "look at HF_ENDPOINT"}
	}
	if chunk == 0 {
		_, err = c.put(ctx, q, f, up.Href, 0, f.Size, m)
	} else {
		err = c.sendParts(ctx, q, f, up, chunk, m)
	}
	if err != nil || o.Actions.Verify == nil {
		return err
	}
	q.method, q.address, q.bare = "POST", o.Actions.Verify.Href, !c.own(o.Actions.Verify.Href)
	_, err = c.call(ctx, q, map[string]any{"oid": f.LFS, "size": f.Size}, nil)
	return err
}

// chunkOf is the size of a file's parts; 0 where it is sent whole.
func chunkOf(up *action, size int64) (int64, error) {
	said, ok := up.Header["chunk_size"]
	if !ok {
		return 0, nil
	}
	chunk, err := strconv.ParseInt(fmt.Sprint(said), 10, 64)
	if n, isNumber := said.(float64); isNumber {
		chunk, err = int64(n), nil
	}
	if err != nil || chunk < 1 {
		return 0, fmt.Errorf("the Hub wants parts of %v bytes", said)
	}
	if parts := (size + chunk - 1) / chunk; up.Header[partName(up, parts)] == nil ||
		up.Header[partName(up, parts+1)] != nil {
		return 0, fmt.Errorf("the Hub has not one address for each of %d parts", parts)
	}
	return chunk, nil
}

// partName is the name of a part's address: its number, with zeros before it or without.
func partName(up *action, part int64) string {
	for name := range up.Header {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil && n == part {
			return name
		}
	}
	return ""
}

func (c *Client) sendParts(ctx context.Context, q request, f local, up *action, chunk int64, m *meter) error {
	type part struct {
		Number int64  `json:"partNumber"`
		ETag   string `json:"etag"`
	}
	var parts []part
	for n := int64(1); (n-1)*chunk < f.Size; n++ {
		href, _ := up.Header[partName(up, n)].(string)
		etag, err := c.put(ctx, q, f, href, (n-1)*chunk, min(chunk, f.Size-(n-1)*chunk), m)
		if err != nil {
			return err
		}
		parts = append(parts, part{n, etag})
	}
	q.method, q.address, q.bare = "POST", up.Href, !c.own(up.Href)
	q.header = http.Header{"Content-Type": {lfsType}, "Accept": {lfsType}}
	_, err := c.call(ctx, q, map[string]any{"oid": f.LFS, "parts": parts}, nil)
	return err
}

// put uploads bytes of a file to an address of a store, and returns the store's name for them. The address is signed:
// it gets no token.
func (c *Client) put(
	ctx context.Context, q request, f local, address string, from, size int64, m *meter,
) (etag string, err error) {
	q.method, q.address, q.bare = "PUT", address, true
	q.body = func() (io.Reader, int64, error) {
		file, err := f.open()
		if err == nil {
			_, err = file.Seek(from, io.SeekStart)
		}
		if err != nil {
			return nil, 0, err
		}
		return &body{Reader: io.LimitReader(file, size), file: file, m: m}, size, nil
	}
	a, err := c.do(ctx, q)
	if err != nil {
		return "", err
	}
	_ = a.Body.Close() // says nothing
	return a.Header.Get("ETag"), nil
}

// body is a part of a file that is sent, which the HTTP client closes.
type body struct {
	io.Reader
	file io.Closer
	m    *meter
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.m.add(n)
	return n, err
}

func (b *body) Close() error { return b.file.Close() }

// own tells whether an address is the Hub's, which gets the token.
func (c *Client) own(address string) bool {
	a, err := url.Parse(address)
	home, homeErr := url.Parse(c.Endpoint)
	return err == nil && homeErr == nil && a.Host == home.Host && a.Scheme == home.Scheme
}
