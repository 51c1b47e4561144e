package mcp

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// headerTripper adds the configured headers to requests to the server's own host, and taps the answers.
type headerTripper struct {
	host    string
	headers map[string]string
	base    *http.Transport
	tap     *tap
}

func (h *headerTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == h.host { // a redirect must not carry a token elsewhere
		req = req.Clone(req.Context())
		for key, value := range h.headers {
			req.Header.Set(key, value)
		}
	}
	resp, err := h.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return h.tap.tapped(req, resp), nil
}

// httpTransport returns the SDK's streamable transport, and what closes its connections.
func httpTransport(s Server, t *tap) (mcp.Transport, func(), error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	client := &http.Client{
		Transport: &headerTripper{host: u.Host, headers: s.Headers, base: base, tap: t},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != u.Host || len(via) >= 5 {
				return fmt.Errorf("the server redirects to %s; configure that URL if you trust it", req.URL.Host)
			}
			return nil
		},
	}
	// The standalone stream carries nothing a rollout needs, and its failure would end a healthy session.
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1},
		base.CloseIdleConnections, nil
}
