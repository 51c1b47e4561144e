package mcp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile writes a new key and returns it.
func keyFile(t *testing.T, curve elliptic.Curve) (*ecdsa.PrivateKey, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return key, path
}

// opened checks a token's signature and returns its header and claims.
func opened(t *testing.T, token string, key *ecdsa.PublicKey) (header, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no token", token)
	}
	var raw [3][]byte
	for i, part := range parts {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			t.Fatal(err)
		}
	}
	hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(key, hash[:], new(big.Int).SetBytes(raw[2][:32]), new(big.Int).SetBytes(raw[2][32:])) {
		t.Errorf("the signature of %s does not verify", raw[1])
	}
	json.Unmarshal(raw[0], &header)
	json.Unmarshal(raw[1], &claims)
	return header, claims
}

func TestOAuthSignsWhoItIs(t *testing.T) {
	guarded := protect(t)
	key, path := keyFile(t, elliptic.P256())
	s := Server{URL: guarded.url + "/mcp", OAuth: &OAuth{ClientID: "hone", PrivateKeyFile: path}}
	if _, err := Discover(context.Background(), configOf(t, map[string]Server{"s": s}), Options{}); err != nil {
		t.Fatal(err)
	}
	form, _ := guarded.seen.Load("form")
	sent := form.(url.Values)
	if sent.Get("grant_type") != "client_credentials" || sent.Get("client_assertion_type") != jwtAssertion ||
		sent.Has("client_secret") {
		t.Errorf("sent %v", sent)
	}
	_, claims := opened(t, sent.Get("client_assertion"), &key.PublicKey)
	if claims["iss"] != "hone" || claims["sub"] != "hone" || claims["aud"] != guarded.url ||
		claims["exp"].(float64)-claims["iat"].(float64) != 60 {
		t.Errorf("claims %v", claims)
	}
}

// A workload's token is read for each token that is asked for: it lives as briefly.
func TestOAuthReadsAssertionsAnew(t *testing.T) {
	guarded := protect(t)
	guarded.short.Store(3600) // each is past at once
	path := filepath.Join(t.TempDir(), "assertion")
	s := Server{URL: guarded.url + "/mcp", OAuth: &OAuth{ClientID: "hone", AssertionFile: path}}
	for _, text := range []string{"first\n", "second\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Discover(context.Background(), configOf(t, map[string]Server{"s": s}), Options{}); err != nil {
			t.Fatal(err)
		}
		form, _ := guarded.seen.Load("form")
		if sent := form.(url.Values); sent.Get("grant_type") != jwtBearerGrant ||
			sent.Get("assertion") != strings.TrimSpace(text) {
			t.Errorf("sent %v", sent)
		}
	}
	if n := guarded.issued.Load(); n < 4 {
		t.Errorf("%d tokens, though each was past at once", n)
	}
}

func TestOAuthKeysThatDoNotServe(t *testing.T) {
	_, other := keyFile(t, elliptic.P384())
	empty := filepath.Join(t.TempDir(), "empty")
	os.WriteFile(empty, nil, 0o600)
	for path, want := range map[string]string{other: "want P-256", empty: "no PEM block", empty + "x": "no such file"} {
		guarded := protect(t)
		s := Server{URL: guarded.url + "/mcp", OAuth: &OAuth{ClientID: "hone", PrivateKeyFile: path}}
		if _, err := Discover(context.Background(), configOf(t, map[string]Server{"s": s}), Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestOAuthMistakes(t *testing.T) {
	for want, o := range map[string]OAuth{
		"needs client_id":     {AssertionFile: "x"},
		"needs idp_token_url": {ClientID: "x", IDTokenFile: "x", IDPClientID: "x"},
		"and idp_client_id":   {ClientID: "x", IDTokenFile: "x", IDPTokenURL: "https://idp.test/token"},
	} {
		if err := (Server{URL: "https://a.test", OAuth: &o}).check(); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// Proofs go with requests for tokens and requests that carry one, name the request, and hold the nonce once there is
// one.
func TestDPoP(t *testing.T) {
	d, err := newDPoP()
	if err != nil {
		t.Fatal(err)
	}
	type request struct{ proof, authorization, body string }
	var seen []request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, request{r.Header.Get("DPoP"), r.Header.Get("Authorization"), string(body)})
		if len(seen) == 1 {
			w.Header().Set("DPoP-Nonce", "n1")
			w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	send := func(header, value string) int {
		req, err := http.NewRequest(http.MethodPost, server.URL+"/mcp?a=b", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, value)
		resp, err := dpopTripper{d, http.DefaultTransport}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if status := send("Authorization", "Bearer sesame"); status != http.StatusOK || len(seen) != 2 {
		t.Fatalf("status %d after %d requests", status, len(seen))
	}
	ids := map[any]bool{}
	for i, r := range seen {
		header, claims := opened(t, r.proof, &d.key.PublicKey)
		hash := sha256.Sum256([]byte("sesame"))
		if r.authorization != "DPoP sesame" || r.body != "body" || header["typ"] != "dpop+jwt" ||
			claims["htm"] != "POST" || claims["htu"] != server.URL+"/mcp" || claims["ath"] != base64url(hash[:]) ||
			(claims["nonce"] == "n1") != (i == 1) {
			t.Errorf("request %d: %+v %v %v", i, r, header, claims)
		}
		if _, private := header["jwk"].(map[string]any)["d"]; private {
			t.Error("the private key was sent")
		}
		ids[claims["jti"]] = true
	}
	if len(ids) != 2 {
		t.Errorf("a proof was used again: %v", ids)
	}
	send("Content-Type", "application/x-www-form-urlencoded")
	if _, claims := opened(t, seen[2].proof, &d.key.PublicKey); claims["ath"] != nil || claims["nonce"] != "n1" {
		t.Errorf("for a token: %v", claims)
	}
	if send("Content-Type", "application/json"); seen[3].proof != "" {
		t.Error("a request without a token has a proof")
	}
}
