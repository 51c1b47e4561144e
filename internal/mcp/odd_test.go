package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
)

// answeredWith is the record of a result as the SDK hands it on: read where it can be.
func answeredWith(tool *boundTool, raw string) trajectory.ToolResult {
	s := &session{redact: redactor(nil)}
	o := Options{}.withDefaults()
	answer, err := tool.read(json.RawMessage(raw))
	if err != nil {
		answer = nil
	}
	return s.resultOf(answer, json.RawMessage(raw), tool, &o)
}

// One odd part does not take the others with it.
func TestOddResults(t *testing.T) {
	const ok, failed = trajectory.CallOK, trajectory.CallToolError
	for _, test := range []struct {
		name, raw string
		status    trajectory.CallStatus
		text      string
		warning   string // a part of it, "" for no warning
	}{
		{"a data URI", `{"content":[{"type":"text","text":"title"},{"type":"image","data":"data:image/png;base64,AQID","mimeType":"image/png"}]}`, ok, "title\n[image image/png, 3 bytes]", "content[1] holds a data URI"},
		{"a data URI without a type beside it", `{"content":[{"type":"image","data":"data:image/gif;base64,AQID"}]}`,
			ok, "[image image/gif, 3 bytes]", "content[0] holds a data URI"},
		{"a data URI of text", `{"content":[{"type":"image","data":"data:image/svg+xml,%3Csvg%3E"}]}`, ok, "[image image/svg+xml, 5 bytes]", "data URI"},
		{"a URL", `{"content":[{"type":"text","text":"title"},{"type":"image","data":"https://example.com/a.png","mimeType":"image/png"}]}`, ok, "title\n[image image/png at https://example.com/a.png]", "content[1] holds a URL"},
		{"a URL under its own name", `{"content":[{"type":"image","url":"https://example.com/a.png"}]}`, ok,
			"[image at https://example.com/a.png]", "content[0]"},
		{"base64 without padding", `{"content":[{"type":"image","data":"AQ","mimeType":"image/png"}]}`, ok, "[image image/png, 1 bytes]", "content[0]"},
		{"base64 of the other alphabet", `{"content":[{"type":"audio","data":"_-8","mimeType":"audio/wav"}]}`, ok, "[audio audio/wav, 2 bytes]", "content[0]"},
		{"as model servers have it", `{"content":[{"type":"image","mimeType":5,"source":{"type":"base64","media_type":"image/png","data":"AQID"}}]}`, ok, "[image image/png, 3 bytes]", "content[0]"},
		{
			"no base64",
			`{"content":[{"type":"text","text":"title"},{"type":"image","data":"!!!","mimeType":"image/png"}]}`, ok,
			"title\n[image image/png, which cannot be read]", "content[1]",
		},
		{
			"an unknown type",
			`{"content":[{"type":"text","text":"first"},{"type":"json","json":{"a":1}},{"type":"text","text":"last"}]}`,
			ok, "first\n[a part of the type \"json\", which cannot be read]\nlast",
			`content[1], a part of the type "json"`,
		},
		{"an unknown type with a text", `{"content":[{"type":"markdown","text":"# a"}]}`, ok, "# a", `content[0] is a text of the type "markdown"`},
		{
			"a type that is for questions",
			`{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"n","input":{}}]}`, ok,
			"a\n[a part of the type \"tool_use\", which cannot be read]", "tool_use",
		},
		{"another case of the type", `{"content":[{"type":"Text","text":"a"}]}`, ok, "a", "content[0]"},
		{"no type", `{"content":[{"text":"just text"}]}`, ok, "just text", "content[0]"},
		{"no type, a picture", `{"content":[{"data":"AQID","mimeType":"image/png"}]}`, ok, "[image image/png, 3 bytes]", "content[0]"},
		{"no type, data", `{"content":[{"b":1.50,"a":2},{"b":3}]}`, ok, "{\"b\":1.50,\"a\":2}\n{\"b\":3}", "content[0] has no type"},
		{"no type, a link", `{"content":[{"uri":"file:///a"}]}`, ok, "[resource file:///a]", "content[0]"},
		{"a type that is no text", `{"content":[{"type":1,"text":"a"}]}`, ok, "a", "content[0]"},
		{"a number", `{"content":[{"type":"text","text":42}]}`, ok, "42", "content[0]"},
		{"an object for a text", `{"content":[{"type":"text","text":{"b": 1.50}}]}`, ok, `{"b":1.50}`, "content[0]"},
		{"a list for a text", `{"content":[{"type":"text","text":["a"]}]}`, ok, `["a"]`, "content[0]"},
		{"a text under another name", `{"content":[{"type":"text","text":null,"content":"a"}]}`, ok, "a", "content[0]"},
		{"annotations", `{"content":[{"type":"text","text":"a","annotations":"high"}]}`, ok, "a", "content[0]"},
		{"a text under another name alone", `{"content":[{"type":"text","content":"a"}]}`, ok, "a", "content[0]"},
		{"an empty text", `{"content":[{"type":"text","text":""}]}`, ok, "", ""},
		{"texts that are no objects", `{"content":["a","b"]}`, ok, "a\nb", "content[0] is no object"},
		{"null among parts", `{"content":[{"type":"text","text":"a"},null]}`, ok, "a\n[an empty part, which cannot be read]", "content[1]"},
		{"a list of lists", `{"content":[[{"type":"text","text":"a"}]]}`, ok, "a", "content[0] is a list"},
		{"a string", `{"content":"plain string"}`, ok, "plain string", "no list"},
		{"one part", `{"content":{"type":"text","text":"a"}}`, ok, "a", "no list"},
		{"data in place of parts", `{"content":{"n":1}}`, ok, `{"n":1}`, "no list"},
		{"a bare result", `{"temperature":21.0,"at":"noon"}`, ok, `{"temperature":21.0,"at":"noon"}`, "no content"},
		{"a bare result beside what is known", `{"_meta":{"x":1},"content":null,"temperature":21}`, ok, `{"temperature":21}`, "no content"},
		{"a bare text", `"hello"`, ok, "hello", "is a text"},
		{"a bare number", `21.50`, ok, "21.50", "no object"},
		{"a bare list", `[{"n":1}]`, ok, `[{"n":1}]`, "no object"},
		{"a bare list of parts", `[{"type":"text","text":"a"}]`, ok, "a", "no object"},
		{"isError in quotes", `{"content":[{"type":"text","text":"it failed"}],"isError":"true"}`, failed, "it failed", `isError is "true", not`},
		{"isError in quotes, and not", `{"content":[{"type":"text","text":"fine"}],"isError":"False"}`, ok, "fine", "isError"},
		{"isError as a number", `{"content":[{"type":"text","text":"it failed"}],"isError":1}`, failed, "it failed", "isError"},
		{"isError as 0", `{"content":[{"type":"text","text":"fine"}],"isError":0}`, ok, "fine", "isError"},
		{"isError as null", `{"content":[{"type":"text","text":"fine"}],"isError":null}`, ok, "fine", ""},
		{"meta that is none", `{"content":[{"type":"text","text":"fine"}],"_meta":[]}`, ok, "fine", "does not follow the protocol"},
		{"an odd part beside structured content", `{"content":[{"type":"hologram"}],"structuredContent":{"n":1}}`, ok,
			"[a part of the type \"hologram\", which cannot be read]\n{\"n\":1}", "hologram"},
		{"a link", `{"content":[{"type":"resource_link","uri":"file:///a.txt","name":"a.txt","description":"the report of May","size":12}]}`, ok, "[resource file:///a.txt: a.txt, the report of May, 12 bytes]", ""},
		{"an odd link", `{"content":[{"type":"resource_link","uri":"file:///a.txt","name":"a.txt","size":"12"}]}`, ok,
			"[resource file:///a.txt: a.txt, 12 bytes]", "content[0]"},
		{"a resource as a URI", `{"content":[{"type":"resource","resource":"file:///a"}]}`, ok, "[resource file:///a]", "content[0]"},
		{"a resource unwrapped", `{"content":[{"type":"resource","uri":"file:///a","text":"x"}]}`, ok, "x", "content[0]"},
		{"a resource of a number", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":5}}]}`, ok, "5", "content[0]"},
		{"a blob without padding", `{"content":[{"type":"resource","resource":{"uri":"file:///a","blob":"AQ"}}]}`, ok,
			"[resource file:///a, 1 bytes]", "content[0]"},
		{"nothing", `{}`, ok, "", ""},
		{"an empty list", `{"content":[],"isError":true}`, failed, "", ""},
	} {
		r := answeredWith(&boundTool{}, test.raw)
		if r.Status != test.status || r.Text != test.text || !strings.Contains(r.Warning, test.warning) ||
			test.warning == "" && r.Warning != "" || strings.HasSuffix(r.Warning, "; ") {
			t.Errorf("%s: %s %q, warning %q; want %s %q, %q",
				test.name, r.Status, r.Text, r.Warning, test.status, test.text, test.warning)
		}
	}
}

// Where nothing can be read it is nobody's error but the environment's, and no type of ours is named.
func TestUnreadableResults(t *testing.T) {
	for _, raw := range []string{
		`null`, `{"content":[{"type":"hologram"}]}`, `{"content":[null]}`,
		`{"content":[{"type":"image","data":"!!!","mimeType":"image/png"}]}`,
		`{"content":[{"type":"text"},{"type":"resource"}],"isError":[1]}`,
		`{"content":[{"type":"resource_link","uri":5}]}`,
	} {
		r := answeredWith(&boundTool{}, raw)
		if r.Status != trajectory.CallTransportError || r.Outcome != trajectory.EnvironmentError ||
			strings.Contains(r.Text, "mcp.") || !strings.Contains(r.Text, "cannot be read") {
			t.Errorf("%s: %+v", raw, r)
		}
	}
}

// What a resource holds is read in the same way.
func TestOddResources(t *testing.T) {
	read := &boundTool{resources: readResource}
	if r := answeredWith(read,
		`{"contents":[{"uri":"file:///a","text":"a"},{"uri":"file:///b","blob":"!!!"}]}`); r.Status !=
		trajectory.CallOK || r.Text != "a\n[resource file:///b, which cannot be read]" || r.Warning == "" {
		t.Errorf("%+v", r)
	}
	for _, tool := range []*boundTool{read, {resources: listResources}} {
		if r := answeredWith(tool,
			`{"contents":[{"blob":5}],"resources":7}`); r.Outcome != trajectory.EnvironmentError ||
			strings.Contains(r.Text, "Go ") {
			t.Errorf("%+v", r)
		}
	}
}
