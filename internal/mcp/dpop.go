package mcp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// dpop is a key that tokens are bound to, so that who takes a token cannot use it (RFC 9449). It lives as long as the
// process. nonces are those that servers want in the next proof, by origin.
type dpop struct {
	key    *ecdsa.PrivateKey
	jwk    map[string]any
	mu     sync.Mutex
	nonces map[string]string
}

func newDPoP() (*dpop, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	point, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return nil, err
	}
	return &dpop{key: key, nonces: map[string]string{}, jwk: map[string]any{"kty": "EC", "crv": "P-256",
		"x": base64url(point[1:33]), "y": base64url(point[33:])}}, nil
}

// proof says that who sends a request holds the key (RFC 9449 4.2).
func (d *dpop) proof(req *http.Request, token string) (string, error) {
	at := *req.URL
	at.RawQuery, at.Fragment, at.User = "", "", nil
	claims := map[string]any{"jti": random(), "htm": req.Method, "htu": at.String(), "iat": time.Now().Unix()}
	if token != "" {
		hash := sha256.Sum256([]byte(token))
		claims["ath"] = base64url(hash[:])
	}
	d.mu.Lock()
	if nonce := d.nonces[originOf(req.URL)]; nonce != "" {
		claims["nonce"] = nonce
	}
	d.mu.Unlock()
	return signJWT(d.key, map[string]any{"typ": "dpop+jwt", "jwk": d.jwk}, claims)
}

// dpopTripper adds proofs to requests for tokens and to those that carry one, and answers a server that wants a nonce
// in them (RFC 9449 8 and 9).
type dpopTripper struct {
	*dpop
	base http.RoundTripper
}

func (t dpopTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	token, carries := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !carries {
		token = ""
	}
	if !carries && req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return t.base.RoundTrip(req)
	}
	for again := range 2 {
		sent := req.Clone(req.Context())
		if again > 0 && req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			sent.Body = body
		}
		proof, err := t.proof(req, token)
		if err != nil {
			return nil, err
		}
		sent.Header.Set("DPoP", proof)
		if carries {
			sent.Header.Set("Authorization", "DPoP "+token)
		}
		resp, err := t.base.RoundTrip(sent)
		if err != nil {
			return nil, err
		}
		if !t.wantsNonce(req, resp) || again > 0 || req.Body != nil && req.GetBody == nil {
			return resp, nil
		}
		resp.Body.Close()
	}
	panic("unreachable") // the second answer is returned
}

// wantsNonce keeps the nonce of an answer, and reports whether the request was refused for the lack of it.
func (t dpopTripper) wantsNonce(req *http.Request, resp *http.Response) bool {
	nonce := resp.Header.Get("DPoP-Nonce")
	if nonce == "" {
		return false
	}
	t.mu.Lock()
	t.nonces[originOf(req.URL)] = nonce
	t.mu.Unlock()
	if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusUnauthorized {
		return false
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, bodyKept))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(data))
	const want = "use_dpop_nonce"
	return strings.Contains(resp.Header.Get("WWW-Authenticate"), want) || bytes.Contains(data, []byte(want))
}

// signJWT is a JSON web token signed by ES256 (RFC 7515, RFC 7518 3.4).
func signJWT(key *ecdsa.PrivateKey, header, claims map[string]any) (string, error) {
	header["alg"] = "ES256"
	var parts []string
	for _, part := range []map[string]any{header, claims} {
		data, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		parts = append(parts, base64url(data))
	}
	text := strings.Join(parts, ".")
	hash := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, hash[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64url(signature), nil
}

func base64url(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// random is an identifier that is used once.
func random() string { return rand.Text() }
