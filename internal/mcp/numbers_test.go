package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"encoding/json"

	"hone/internal/episode/trajectory"
)

// pages is a server of three tools, one a page; the last page names a cursor too where more says so.
func pages(t *testing.T, cursor func(page int) string, result string) string {
	page := 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor *string }
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(202)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/list":
			if page++; m.Params.Cursor == nil {
				page = 1
			}
			page = min(page, 3)
			answer = fmt.Sprintf(`"result":{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":%s}`,
				page, cursor(page))
		case "tools/call":
			answer = `"result":` + result
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// A list ends where its server says so, or where a page brings nothing new: cursors say nothing by being equal or
// empty.
func TestCursorsThatAreAlike(t *testing.T) {
	for name, cursor := range map[string]func(page int) string{
		"each its own":             func(page int) string { return map[int]string{1: `"a"`, 2: `"b"`, 3: "null"}[page] },
		"one handle":               func(page int) string { return map[int]string{1: `"h"`, 2: `"h"`, 3: "null"}[page] },
		"one handle, without end":  func(int) string { return `"h"` },
		"empty":                    func(page int) string { return map[int]string{1: `""`, 2: `""`, 3: "null"}[page] },
		"empty, without end":       func(int) string { return `""` },
		"each its own, and no end": func(page int) string { return fmt.Sprintf(`"p%d"`, page) },
	} {
		catalog, err := Discover(context.Background(),
			configOf(t, map[string]Server{"s": {URL: pages(t, cursor, "{}")}}))
		if err != nil || len(catalog.Servers[0].Tools) != 3 {
			t.Errorf("%s: %v, %+v", name, err, catalog)
		}
	}
}

// Numbers that JSON has not are nothing, and the rest of the answer is read.
func TestNumbersThatAreNone(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[{"type":"text","text":"mean: NaN"}],"structuredContent":{"mean":NaN,"max":Infinity,"min":-Infinity,"n":2}}`: `{"mean":null,"max":null,"min":null,"n":2}`,
		`{"content":[{"type":"text","text":"a \"NaN\" b"}],"_meta":{"x":[NaN]}}`:                                                 `a "NaN" b`,
		`{"content":[{"type":"text","text":"NaN is a text"}]}`:                                                                   "NaN is a text",
	} {
		p := newPool(t, configOf(t,
			map[string]Server{"s": {URL: pages(t, func(int) string { return "null" }, result)}}), Options{})
		r := ask(open(t, p, "e"), "t1", "{}")
		if odd := strings.Contains(result, ":NaN") || strings.Contains(result, "[NaN"); r.Status != trajectory.CallOK ||
			!strings.Contains(r.Text, want) || (r.Warning != "") != odd {
			t.Errorf("%s: %+v", result, r)
		}
	}
}

// An answer of more values than memory is for fails its call alone; a long text is no such answer.
func TestAnswersOfManyValues(t *testing.T) {
	for name, test := range map[string]struct {
		result string
		want   trajectory.CallStatus
	}{
		"many": {`{"content":[],"structuredContent":{"x":[` + strings.Repeat("1,", 2*mostValues) + `1]}}`, trajectory.CallToolError},
		"nested": {
			`{"content":[],"structuredContent":{"x":` + strings.Repeat("[[],", mostValues) + `0` +
				strings.Repeat("]", mostValues) + `}}`,
			trajectory.CallToolError,
		},
		"a text": {`{"content":[{"type":"text","text":"` + strings.Repeat("a,b:[{", mostValues/2) + `"}]}`, trajectory.CallOK},
	} {
		p := newPool(t, configOf(t,
			map[string]Server{"s": {URL: pages(t, func(int) string { return "null" }, test.result)}}), Options{})
		e := open(t, p, "e")
		if r := ask(e, "t1", "{}"); r.Status != test.want ||
			test.want != trajectory.CallOK && !strings.Contains(r.Text, "values") {
			t.Errorf("%s: %s %.200s", name, r.Status, r.Text)
		}
	}
}
