package mcp

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	jwtBearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"            // RFC 7523 2.1
	jwtAssertion   = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" // RFC 7523 2.2
)

// byMachine reports whether a token is had without a person and without a shared secret.
func (c OAuth) byMachine() bool {
	return c.PrivateKeyFile != "" || c.AssertionFile != "" || c.IDTokenFile != ""
}

// machine gets tokens for a program that proves who it is by what it holds: a private key (SEP-1046), a workload's
// token (SEP-1933), or the token that a company's identity provider gave to a person (SEP-990).
type machine struct {
	config OAuth
	client *http.Client
	tokens oauth2.TokenSource
}

func (m *machine) TokenSource(context.Context) (oauth2.TokenSource, error) { return m.tokens, nil }

// Authorize finds the server's authorization server and gets a token there. Tokens that expire are got anew.
func (m *machine) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	resp.Body.Close()
	resource, err := m.resource(ctx, req.URL, resp.Header)
	if err != nil {
		return err
	}
	server, err := auth.GetAuthServerMetadata(ctx, resource.AuthorizationServers[0], m.client)
	if err != nil {
		return err
	}
	if server == nil {
		return fmt.Errorf("the authorization server %s has no metadata", resource.AuthorizationServers[0])
	}
	tokens := oauth2.ReuseTokenSource(nil, &grants{m, resource, server})
	if _, err := tokens.Token(); err != nil {
		return err
	}
	m.tokens = tokens
	return nil
}

// resource reads the protected resource's metadata (RFC 9728) from where the server says, or else from the well-known
// places. Scopes that the server asks for stand in place of all that it knows.
func (m *machine) resource(
	ctx context.Context, at *url.URL, header http.Header,
) (*oauthex.ProtectedResourceMetadata, error) {
	root := &url.URL{Scheme: at.Scheme, Host: at.Host}
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := [][2]string{
		{root.String() + wellKnown + at.Path, at.String()},
		{root.String() + wellKnown, root.String()},
	}
	challenges, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, err
	}
	var scopes []string
	for _, c := range challenges {
		if named := c.Params["resource_metadata"]; named != "" {
			places = slices.Insert(places, 0, [2]string{named, at.String()})
		}
		scopes = append(scopes, strings.Fields(c.Params["scope"])...)
	}
	var errs []error
	for _, place := range places {
		found, err := oauthex.GetProtectedResourceMetadata(ctx, place[0], place[1], m.client)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(found.AuthorizationServers) == 0:
			errs = append(errs, fmt.Errorf("%s names no authorization server", place[0]))
		default:
			if len(scopes) > 0 {
				found.ScopesSupported = scopes
			}
			return found, nil
		}
	}
	return nil, errors.Join(errs...)
}

// grants gets one token after the other.
type grants struct {
	*machine
	resource *oauthex.ProtectedResourceMetadata
	server   *oauthex.AuthServerMeta
}

func (g *grants) Token() (*oauth2.Token, error) {
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, g.client)
	c := clientcredentials.Config{ClientID: g.config.ClientID, ClientSecret: g.config.ClientSecret,
		TokenURL: g.server.TokenEndpoint, Scopes: g.resource.ScopesSupported, EndpointParams: url.Values{},
		AuthStyle: oauth2.AuthStyleInParams}
	if c.ClientSecret != "" && slices.Contains(g.server.TokenEndpointAuthMethodsSupported, "client_secret_basic") {
		c.AuthStyle = oauth2.AuthStyleInHeader
	}
	grant, assertion := "", ""
	var err error
	switch {
	case g.config.IDTokenFile != "":
		grant = jwtBearerGrant
		assertion, err = g.fromProvider(ctx)
	case g.config.AssertionFile != "":
		grant = jwtBearerGrant
		assertion, err = tokenIn(g.config.AssertionFile)
	default:
		assertion, err = g.assertion()
	}
	if err != nil {
		return nil, err
	}
	if grant != "" {
		c.EndpointParams.Set("grant_type", grant)
		c.EndpointParams.Set("assertion", assertion)
	} else {
		c.EndpointParams.Set("client_assertion_type", jwtAssertion)
		c.EndpointParams.Set("client_assertion", assertion)
	}
	return c.Token(ctx)
}

// fromProvider exchanges a person's ID token for a grant to this server (RFC 8693).
func (g *grants) fromProvider(ctx context.Context) (string, error) {
	id, err := tokenIn(g.config.IDTokenFile)
	if err != nil {
		return "", err
	}
	grant, err := oauthex.ExchangeToken(ctx, g.config.IDPTokenURL, &oauthex.TokenExchangeRequest{
		RequestedTokenType: oauthex.TokenTypeIDJAG, Audience: g.server.Issuer, Resource: g.resource.Resource,
		SubjectToken: id, SubjectTokenType: oauthex.TokenTypeIDToken,
	}, &oauthex.ClientCredentials{ClientID: g.config.IDPClientID}, g.client)
	if err != nil {
		return "", err
	}
	return grant.AccessToken, nil
}

// assertion is the client's statement of who it is, for one request.
func (g *grants) assertion() (string, error) {
	key, err := keyIn(g.config.PrivateKeyFile)
	if err != nil {
		return "", err
	}
	now := time.Now()
	return signJWT(key, map[string]any{"typ": "JWT"}, map[string]any{"iss": g.config.ClientID, "sub": g.config.ClientID,
		"aud": g.server.Issuer, "jti": random(), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()})
}

func tokenIn(file string) (string, error) {
	data, err := os.ReadFile(file)
	return strings.TrimSpace(string(data)), err
}

// keyIn reads a P-256 key, as PKCS#8 or SEC 1.
func keyIn(file string) (*ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", file)
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return p256(key, file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T, want an elliptic curve key on P-256", file, key)
	}
	return p256(ec, file)
}

func p256(key *ecdsa.PrivateKey, file string) (*ecdsa.PrivateKey, error) {
	if key.Curve.Params().BitSize != 256 {
		return nil, fmt.Errorf("%s holds a key on %s, want P-256", file, key.Curve.Params().Name)
	}
	return key, nil
}
