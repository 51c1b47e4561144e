package local

import (
	"bytes"
	"io"
	"net/http"
)

// InProcess answers requests by a handler in this process.
type InProcess struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (p InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &written{status: http.StatusOK, header: http.Header{}}
	r = r.Clone(r.Context())
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	p.ServeHTTP(a, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), Request: r,
		ContentLength: int64(a.body.Len())}, nil
}

// written is what a handler writes.
type written struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *written) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *written) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }
