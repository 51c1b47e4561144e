package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// greeter is a server that answers initialize with a result, or with what refuse says of the version that is asked for.
func greeter(t *testing.T, result string, refuse func(version string) string) string {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(202)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			if answer = `"result":` + result; refuse != nil {
				if refusal := refuse(m.Params.ProtocolVersion); refusal != "" {
					answer = `"error":` + refusal
				} else {
					answer = fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, m.Params.ProtocolVersion)
				}
			}
		case "tools/list":
			answer = `"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// What a server says of itself is not needed to use it, whatever form it has; what is odd of it is told.
func TestOddGreetings(t *testing.T) {
	const info = `"serverInfo":{"name":"s","version":"1"}`
	for _, test := range []struct{ result, warning string }{
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` + info + `}`, ""},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":[],"logging":[]},` + info + `}`, "capabilities.logging is [], capabilities.tools is []"},
		{`{"protocolVersion":"2025-06-18","capabilities":[],` + info + `}`, "capabilities is []"},
		{`{"protocolVersion":"2025-06-18","capabilities":["tools"],` + info + `}`, `capabilities is ["tools"]`},
		{`{"protocolVersion":"2025-06-18","capabilities":"tools",` + info + `}`, `capabilities is "tools"`},
		{`{"protocolVersion":"2025-06-18","capabilities":null,` + info + `}`, "capabilities are missing"},
		{`{"protocolVersion":"2025-06-18",` + info + `}`, "capabilities are missing"},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":true,"prompts":false},` + info + `}`,
			"capabilities.prompts is false, capabilities.tools is true"},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":"true"}},` + info + `}`, `capabilities.tools is {"listChanged":"true"}`},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":1}},` + info + `}`, `capabilities.tools is {"listChanged":1}`},
		{`{"protocolVersion":"2025-06-18","capabilities":{"experimental":[]},` + info + `}`, "capabilities.experimental is []"},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":"s 1.0"}`, `serverInfo is "s 1.0"`},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":1.0}}`, `serverInfo is {"name":"s","version":1.0}`},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":[]}`, "serverInfo is []"},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`, ""},
		{`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"instructions":["a"],"_meta":[],` + info + `}`, `_meta is [], instructions is ["a"]`},
		{`{"protocolVersion":"v2025-06-18","capabilities":{"tools":{}},` + info + `}`, `protocolVersion is "v2025-06-18"`},
		{`{"capabilities":{"tools":{}},` + info + `}`, "protocolVersion is missing"},
		{`{"protocolVersion":null,"capabilities":{"tools":{}},` + info + `}`, "protocolVersion is missing"},
		{`{"protocolVersion":"2024-10-07","capabilities":{"tools":{}},` + info + `}`, ""},
	} {
		catalog, err := Discover(context.Background(),
			configOf(t, map[string]Server{"s": {URL: greeter(t, test.result, nil)}}))
		if err != nil {
			t.Errorf("%s: %v", test.result, err)
			continue
		}
		want := []string{}
		if test.warning != "" {
			want = []string{"its answer to initialize does not follow the protocol: " + test.warning}
		}
		if got := catalog.Servers[0].Warnings; !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s: %q, want %q", test.result, got, want)
		}
	}
}

// A server that refuses the version it was asked for is asked for one that it names, in whatever form, or for the older
// ones; where hone speaks none, what it speaks is named.
func TestRefusedVersions(t *testing.T) {
	refusal := func(format string, takes ...string) func(string) string {
		return func(version string) string {
			if slices.Contains(takes, version) {
				return ""
			}
			return strings.ReplaceAll(format, "%s", version)
		}
	}
	for name, test := range map[string]struct {
		refuse    func(string) string
		era, fail string
	}{
		"supported": {refusal(`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-06-18"],"requested":"%s"}}`, "2025-06-18"), "2025-06-18", ""},
		"the newest of several": {
			refusal(`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05","2025-03-26"]}}`,
				"2024-11-05", "2025-03-26"), "2025-03-26", "",
		},
		"supportedVersions": {
			refusal(
				`{"code":-32022,"message":"unsupported protocol version","data":{"supportedVersions":"2024-11-05"}}`, "2024-11-05",
			), "2024-11-05", "",
		},
		"in the message":   {refusal(`{"code":-32000,"message":"Bad Request: Unsupported protocol version %s (supported versions: 2025-03-26, 2024-11-05)"}`, "2024-11-05"), "2024-11-05", ""},
		"no list":          {refusal(`{"code":-32602,"message":"Unsupported protocol version: %s"}`, "2025-03-26"), "2025-03-26", ""},
		"before the first": {refusal(`{"code":-32602,"message":"protocol version mismatch","data":["2024-10-07"]}`, "2024-10-07"), "2024-10-07", ""},
		"none that hone speaks": {
			refusal(`{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2023-01-01"]}}`), "",
			`data: {"supported":["2023-01-01"]}`,
		},
		"of something else": {refusal(`{"code":-32603,"message":"no licence"}`), "", "no licence"},
	} {
		catalog, err := Discover(context.Background(),
			configOf(t, map[string]Server{"s": {URL: greeter(t, "", test.refuse)}}))
		switch {
		case test.fail == "" && (err != nil || catalog.Servers[0].Era != test.era):
			t.Errorf("%s: %v %v", name, catalog, err)
		case test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)):
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, version := range []string{"2023-01-01", "1.0", "DRAFT-2027"} {
		url := greeter(t,
			`{"protocolVersion":"`+version+`","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`, nil)
		_, err := Discover(context.Background(), configOf(t, map[string]Server{"s": {URL: url}}))
		if err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("it speaks version %q of the protocol, and hone 2024-11-05, ", version)) ||
			fault.CodeOf(err) != fault.CodeUnavailable {
			t.Errorf("%s: %v", version, err)
		}
	}
}
