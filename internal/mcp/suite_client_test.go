package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/episode/trajectory"
)

// playScenario plays the client in one of the scenarios of the official MCP conformance suite
// (github.com/modelcontextprotocol/conformance, client mode): the suite starts a server, runs a command with its URL,
// and judges what reached the server. What is driven is hone's own client with its usual settings.
//
// scenario and setting are what the suite puts into MCP_CONFORMANCE_SCENARIO and
// MCP_CONFORMANCE_CONTEXT. A scenario it does not know is played as the plainest one, connecting and listing; an error
// means that a step failed which the scenario needs.
func playScenario(ctx context.Context, url, scenario string, setting []byte) error {
	var s suiteSetup
	if len(setting) > 0 {
		if err := json.Unmarshal(setting, &s); err != nil {
			return fmt.Errorf("the context of the scenario: %w", err)
		}
	}
	server := Server{URL: url, Type: "http"}
	o := Options{}
	content := map[string]any{}
	if scenario == "sep-2322-client-request-state" {
		content["confirmed"] = true
	}
	if strings.HasPrefix(scenario, "elicitation-") || scenario == "sep-2322-client-request-state" {
		o.Elicit = func(context.Context, string, string, json.RawMessage) (string, map[string]any, error) {
			return "accept", content, nil
		}
	}
	if strings.HasPrefix(scenario, "auth/") {
		held, err := os.MkdirTemp("", "hone-conformance-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(held)
		if server.OAuth, err = s.oauth(held); err != nil {
			return err
		}
		server.OAuth.DPoP = strings.HasPrefix(scenario, "auth/dpop")
		if !strings.HasPrefix(scenario, "auth/client-credentials") {
			o.Authorize = followRedirect
		}
	}
	c, err := Dial(ctx, "conformance", server, nil, o)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := c.List(ctx)
	if err != nil {
		return err
	}
	if play, ok := suiteScenarios()[scenario]; ok {
		return play(ctx, c, found, s)
	}
	if strings.HasPrefix(scenario, "auth/") {
		return callListed(ctx, c, found, "test-tool", "{}")
	}
	return nil
}

// suiteSetup is the context the suite gives to some scenarios.
type suiteSetup struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	PrivateKey   string `json:"private_key_pem"`
	Assertion    string `json:"valid_jwt"`
	IDToken      string `json:"idp_id_token"`
	IDPTokenURL  string `json:"idp_token_endpoint"`
	IDPClientID  string `json:"idp_client_id"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

// oauth is the configuration that a user would write; what the suite hands over as text is put into files of a folder.
func (s suiteSetup) oauth(held string) (*OAuth, error) {
	out := &OAuth{ClientID: s.ClientID, ClientSecret: s.ClientSecret, IDPTokenURL: s.IDPTokenURL,
		IDPClientID: s.IDPClientID,
		MetadataURL: "https://conformance-test.local/client-metadata.json"}
	for _, file := range []struct {
		name, text string
		key        *string
	}{
		{"key.pem", s.PrivateKey, &out.PrivateKeyFile},
		{"assertion", s.Assertion, &out.AssertionFile},
		{"id", s.IDToken, &out.IDTokenFile},
	} {
		if file.text == "" {
			continue
		}
		*file.key = filepath.Join(held, file.name)
		if err := os.WriteFile(*file.key, []byte(file.text), 0o600); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type suitePlay func(ctx context.Context, c *Client, found ServerTools, s suiteSetup) error

// suiteScenarios are those in which more is to be done than connecting and listing.
func suiteScenarios() map[string]suitePlay {
	one := func(tool, arguments string) suitePlay {
		return func(ctx context.Context, c *Client, found ServerTools, _ suiteSetup) error {
			return callListed(ctx, c, found, tool, arguments)
		}
	}
	return map[string]suitePlay{
		"tools_call":                          one("add_numbers", `{"a":5,"b":3}`),
		"elicitation-sep1034-client-defaults": one("test_client_elicitation_defaults", "{}"),
		"sse-retry":                           one("test_reconnection", "{}"),
		"json-schema-2020-12-preservation":    echoSchema,
		"sep-2322-client-request-state":       roundTrips,
		"http-standard-headers":               oneOfEach,
		"http-custom-headers":                 givenCalls,
		"http-invalid-tool-headers":           everyTool,
	}
}

// callListed calls a listed tool; the suite judges the answers, so only a call that got none is an error.
func callListed(ctx context.Context, c *Client, found ServerTools, name, arguments string) error {
	i := slices.IndexFunc(found.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return fmt.Errorf("the server has no tool %q", name)
	}
	r := c.Call(ctx, found.Tools[i], arguments)
	if r.Status != trajectory.CallOK && r.Status != trajectory.CallToolError {
		return fmt.Errorf("%s: %s: %s", name, r.Status, r.Error)
	}
	return nil
}

// echoSchema sends a schema back as it was read: what the client lost would be missing.
func echoSchema(ctx context.Context, c *Client, found ServerTools, _ suiteSetup) error {
	i := slices.IndexFunc(found.Tools, func(t Tool) bool { return t.Name == "json_schema_2020_12_tool" })
	if i < 0 {
		return errors.New("the server has no tool json_schema_2020_12_tool")
	}
	return callListed(ctx, c, found, "json_schema_echo", fmt.Sprintf(`{"schema":%s}`, found.Tools[i].InputSchema))
}

// roundTrips calls tools that ask back; some of them break the rules, and are to fail.
func roundTrips(ctx context.Context, c *Client, _ ServerTools, _ suiteSetup) error {
	for _, name := range []string{
		"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type",
	} {
		c.Call(ctx, BareTool(name), "{}")
	}
	return nil
}

func oneOfEach(ctx context.Context, c *Client, found ServerTools, _ suiteSetup) error {
	if len(found.Tools) > 0 {
		c.Call(ctx, BareTool(found.Tools[0].Name), "{}")
	}
	for _, r := range found.Resources {
		if !r.Template {
			if _, err := c.Resource(ctx, r.URI); err != nil {
				return err
			}
			break
		}
	}
	if len(found.Prompts) > 0 {
		if _, err := c.Prompt(ctx, found.Prompts[0].Name, nil); err != nil {
			return err
		}
	}
	return nil
}

func givenCalls(ctx context.Context, c *Client, _ ServerTools, s suiteSetup) error {
	for _, given := range s.ToolCalls {
		arguments := string(given.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
		c.Call(ctx, BareTool(given.Name), arguments) // what reached the server is the suite's to judge
	}
	return nil
}

func everyTool(ctx context.Context, c *Client, found ServerTools, _ suiteSetup) error {
	for _, t := range found.Tools {
		c.Call(ctx, BareTool(t.Name), `{"region":"us-west1"}`)
	}
	return nil
}

// followRedirect stands in for the person with a browser: the suite's server redirects at once.
func followRedirect(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	return resp.Header.Get("Location"), nil
}
