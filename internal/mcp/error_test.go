package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"hone/internal/episode/trajectory"
)

// The data of an error often says what to do instead.
func TestErrorData(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"an object", `{"field": "city", "hint":"use a full name"}`, `Invalid params; data: {"field":"city","hint":"use a full name"}`},
		{"a text", `"use a \u0066ull name"`, "Invalid params; data: use a full name"},
		{"a list", `[{"loc":["city"]}]`, `Invalid params; data: [{"loc":["city"]}]`},
		{"a number", `404`, "Invalid params; data: 404"},
		{"none", ``, "Invalid params"},
		{"null", `null`, "Invalid params"},
		{"an empty object", `{}`, "Invalid params"},
		{"an empty text", `""`, "Invalid params"},
		{"the message again", `"Invalid params"`, "Invalid params"},
		{"a secret", `{"sent":"sesame-open \u0073esame-open"}`, `Invalid params; data: {"sent":"[hidden] [hidden]"}`},
	} {
		secret := redactor([]string{"sesame-open"})
		s := &session{redact: secret, hide: func(raw json.RawMessage) json.RawMessage { return hideIn(raw, secret) }}
		o := Options{}.withDefaults()
		r := s.errorResult(&jsonrpc.Error{Code: -32602, Message: "Invalid params", Data: json.RawMessage(test.data)},
			nil, &o)
		if r.Status != trajectory.CallToolError || r.Error != test.want || r.Text != "Error: "+test.want {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
	long := &jsonrpc.Error{Message: "m", Data: json.RawMessage(`"` + strings.Repeat("x", 100000) + `"`)}
	s, o := &session{redact: redactor(nil)}, Options{}.withDefaults()
	if r := s.errorResult(long, nil, &o); len(r.Text) > 2100 || len(r.Error) < 5000 || len(r.Error) > o.MaxResult+10 ||
		!strings.Contains(r.Text, "omitted") {
		t.Errorf("%d bytes are shown, %d recorded", len(r.Text), len(r.Error))
	}
}

// A server that refuses a call or a connection is quoted with the data of its error.
func TestErrorDataReachesTheCaller(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "error-data")}), Options{})
	if r := ask(open(t, p, "e"), "third", "{}"); r.Text != `Error: no such item; data: {"known":["a"]}` {
		t.Errorf("%+v", r)
	}
	_, err := Dial(t.Context(), "s", self(t, "refuses"), configOf(t, nil).Base, Options{})
	if err == nil || !strings.Contains(err.Error(), `unsupported; data: {"supported":["2025-06-18"]}`) {
		t.Error(err)
	}
}
