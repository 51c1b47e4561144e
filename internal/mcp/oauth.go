package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// OAuth is how to get a token for a server that answers 401 (MCP, basic/authorization). With an id and a secret and
// nobody to ask, the client credentials grant is used; with one of the files, a machine's grant (oauth_machine.go);
// else a person authorizes (Options.Authorize).
type OAuth struct {
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
	MetadataURL  string `json:"client_metadata_url,omitempty"` // of a client id metadata document
	RedirectURL  string `json:"redirect_url,omitempty"`        // default http://localhost:3000/callback

	PrivateKeyFile string `json:"private_key_file,omitempty"` // PEM, P-256: the client signs who it is (RFC 7523 2.2)
	AssertionFile  string `json:"assertion_file,omitempty"`   // a workload's JWT, read for each token (RFC 7523 2.1)
	// a person's token of the company's identity provider (SEP-990)
	IDTokenFile string `json:"id_token_file,omitempty"`
	IDPTokenURL string `json:"idp_token_url,omitempty"` // where that provider exchanges tokens (RFC 8693)
	IDPClientID string `json:"idp_client_id,omitempty"` // who hone is to it
	DPoP        bool   `json:"dpop,omitempty"`          // tokens are bound to a key of this process (RFC 9449)
}

const defaultRedirect = "http://localhost:3000/callback"

// oauthHandler returns what gets tokens for s; nil where neither s nor o has a way to.
func oauthHandler(s Server, o Options) (auth.OAuthHandler, error) {
	config := OAuth{}
	if s.OAuth != nil {
		config = *s.OAuth
	}
	if s.URL == "" || s.OAuth == nil && o.Authorize == nil {
		return nil, nil
	}
	var registered *oauthex.ClientCredentials
	if config.ClientID != "" {
		registered = &oauthex.ClientCredentials{ClientID: config.ClientID}
		if config.ClientSecret != "" {
			registered.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: config.ClientSecret}
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // one exchange in an hour: nothing to keep open
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	var bound *dpop
	if config.DPoP {
		var err error
		if bound, err = newDPoP(); err != nil {
			return nil, fmt.Errorf("oauth: %w", err)
		}
		client.Transport = dpopTripper{bound, transport}
	}
	if config.byMachine() {
		return &lockedOAuth{handler: &machine{config: config, client: client}, bound: bound}, nil
	}
	if o.Authorize == nil {
		h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: registered,
			HTTPClient: client})
		if err != nil {
			return nil, fmt.Errorf("oauth: %w", err)
		}
		return &lockedOAuth{handler: h, bound: bound}, nil
	}
	if config.RedirectURL == "" {
		config.RedirectURL = defaultRedirect
	}
	c := &auth.AuthorizationCodeHandlerConfig{PreregisteredClient: registered, RedirectURL: config.RedirectURL,
		Client: client,
		AuthorizationCodeFetcher: func(ctx context.Context,
			args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return authorize(ctx, o.Authorize, args.URL)
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "hone",
				RedirectURIs: []string{config.RedirectURL}},
		},
	}
	if config.MetadataURL != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: config.MetadataURL}
	}
	h, err := auth.NewAuthorizationCodeHandler(c)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	return &lockedOAuth{handler: h, bound: bound}, nil
}

// authorize has a person open the URL, and reads the answer from where the browser was sent.
func authorize(
	ctx context.Context, ask func(ctx context.Context, url string) (string, error), at string,
) (*auth.AuthorizationResult, error) {
	to, err := ask(ctx, at)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("oauth: the redirection is no URL: %w", err)
	}
	q := u.Query()
	if refused := q.Get("error"); refused != "" {
		return nil, fmt.Errorf("oauth: the authorization server refused: %s %s",
			refused, excerpt(q.Get("error_description")))
	}
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

// lockedOAuth lets many sessions share one handler: the first to be refused gets a token, the others wait for it.
type lockedOAuth struct {
	mu      sync.Mutex
	handler auth.OAuthHandler
	bound   *dpop // nil where tokens are bearers'
}

func (l *lockedOAuth) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handler.TokenSource(ctx)
}

func (l *lockedOAuth) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ts, err := l.handler.TokenSource(ctx); err == nil && ts != nil {
		if token, err := ts.Token(); err == nil && "Bearer "+token.AccessToken != req.Header.Get("Authorization") {
			resp.Body.Close()
			return nil // another session got a new token since this request was made
		}
	}
	err := l.handler.Authorize(ctx, req, resp)
	if err != nil {
		exchangeOf(ctx).set(func(x *exchange) { x.miss("no authorization: " + err.Error()) })
	}
	return err
}
