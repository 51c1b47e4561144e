package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat/schema"
)

const (
	maxPages     = 100
	maxItems     = 2000      // tools, resources or prompts of one server
	maxToolBytes = 256 << 10 // of one tool's JSON
)

// Quarantined is a tool that cannot be offered to a model; the others of its server can.
type Quarantined struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// eachPage reads every page of a list. It does its own paging because the SDK's never ends on a server that repeats a
// cursor, and takes an empty cursor for the end. fetch asks for one page; take is given each page's result as the
// server wrote it, and returns how many items there have been. A page the SDK cannot decode is taken all the same.
func (s *session) eachPage(
	ctx context.Context, fetch func(ctx context.Context, cursor string) (any, error),
	take func(page json.RawMessage) (int, error),
) (warnings []string, err error) {
	seen := map[string]bool{}
	read := map[string]bool{} // pages, by their bytes
	var cursor *string
	for range maxPages {
		asked, x := withExchange(ctx)
		text := ""
		if cursor != nil {
			text, x.emptyCursor = *cursor, *cursor == ""
		}
		page, err := fetch(asked, text)
		raw := x.outcome().result
		if raw == nil { // the SDK's cache answered: same items, properties sorted
			if err != nil {
				return warnings, err
			}
			if raw, err = json.Marshal(page); err != nil {
				return warnings, err
			}
		}
		// a server may keep its place itself, and name each page alike
		if cursor != nil && seen[*cursor] && read[string(raw)] {
			return append(warnings, fmt.Sprintf("the cursor %s comes a second time; the list is taken to end there",
				s.wire.excerpt([]byte(*cursor)))), nil
		}
		read[string(raw)] = true
		if cursor != nil {
			seen[*cursor] = true
		}
		shown := raw
		if s.hide != nil {
			shown = s.hide(raw)
		}
		total, err := take(shown)
		if err != nil {
			return warnings, err
		}
		var next struct {
			NextCursor *string `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &next); err != nil {
			return append(warnings, "the next page's cursor is not text; pages after it are not read"), nil
		}
		switch cursor = next.NextCursor; {
		case cursor == nil:
			return warnings, nil
		case total >= maxItems:
			return append(warnings, fmt.Sprintf("the list has more than %d items; the rest is not read", maxItems)), nil
		}
	}
	return append(warnings, fmt.Sprintf("the list has more than %d pages; the rest is not read", maxPages)), nil
}

const (
	listedTwice = "listed more than once; the first counts"
	listedApart = "listed more than once, with other texts; the first counts"
)

// listTools returns the tools a model can be offered, and in quarantine those it cannot. Of tools with the same name
// the first counts.
func listTools(ctx context.Context, s *session) (found ServerTools, err error) {
	tools := []Tool{}
	names := map[string]int{}
	var accepted map[string]bool // by the SDK, on this page; nil where it could not decode the page
	fetch := func(ctx context.Context, cursor string) (any, error) {
		page, err := s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if accepted = nil; err == nil {
			accepted = map[string]bool{}
			for _, t := range page.Tools {
				accepted[t.Name] = true
			}
		}
		return page, err
	}
	take := func(page json.RawMessage) (int, error) {
		var list struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return 0, fmt.Errorf("the list of tools cannot be read: %w; received %s", err, excerpt(string(page)))
		}
		for _, data := range list.Tools {
			t, reason := toolOf(data)
			if reason == "" && accepted != nil && !accepted[t.Name] {
				reason = "its x-mcp-header annotations break the protocol's rules"
			}
			first, twice := names[t.Name]
			switch {
			case reason != "":
				found.Quarantined = append(found.Quarantined, Quarantined{t.Name, reason})
			case twice:
				note := listedTwice
				if tools[first].sha256() != t.sha256() { // else nothing is lost
					note = listedApart
				}
				tools[first].Findings = append(tools[first].Findings, note)
			default:
				names[t.Name] = len(tools)
				tools = append(tools, t)
			}
		}
		return len(tools) + len(found.Quarantined), nil
	}
	found.Warnings, err = s.eachPage(ctx, fetch, take)
	found.Tools = tools
	for _, t := range tools {
		if slices.Contains(t.Findings, listedApart) {
			found.Warnings = append(found.Warnings, fmt.Sprintf("the tool %q is %s", t.Name, listedApart))
		}
	}
	return found, err
}

// toolOf reads one tool. A reason means that no model can use it; its name is then the best there is.
func toolOf(data json.RawMessage) (t Tool, reason string) {
	var raw struct {
		Name         json.RawMessage `json:"name"`
		Description  json.RawMessage `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  json.RawMessage `json:"annotations"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return Tool{Name: excerpt(string(data))}, "it is no JSON object"
	}
	if json.Unmarshal(raw.Name, &t.Name) != nil || t.Name == "" {
		return Tool{Name: excerpt(string(data))}, "its name is no text"
	}
	if len(data) > maxToolBytes {
		return t, fmt.Sprintf("its description and schemas have %d bytes, more than %d", len(data), maxToolBytes)
	}
	if raw.Description != nil && json.Unmarshal(raw.Description, &t.Description) != nil {
		return t, "its description is no text"
	}
	t.Status, t.Findings = StatusOK, []string{}
	t.InputSchema, t.OutputSchema, t.Annotations =
		compact(raw.InputSchema), compact(raw.OutputSchema), compact(raw.Annotations)
	switch text := string(t.InputSchema); {
	case text == "":
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
		t.Findings = append(t.Findings, "no inputSchema; any object is accepted")
	case text == "true":
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
		t.Findings = append(t.Findings, "the inputSchema is true; any object is accepted")
	case text == "false":
		return t, "its inputSchema is false, which no arguments fit"
	case text[0] != '{':
		return t, "its inputSchema is no JSON object: " + excerpt(text)
	}
	compiled := schema.Compile(t.InputSchema)
	if err := compiled.Err(); err != nil {
		t.Status = StatusUncheckable
		t.Findings = append(t.Findings, "the inputSchema does not compile: "+err.Error())
	} else if want := typeOf(t.InputSchema); want != "" && want != "object" {
		return t, fmt.Sprintf("its inputSchema asks for %s, and arguments are always an object", want)
	}
	if len(t.OutputSchema) > 0 && t.OutputSchema[0] != '{' {
		t.Findings = append(t.Findings, "the outputSchema is no JSON object; results are not checked")
		t.OutputSchema = nil
	}
	if len(t.Annotations) > 0 && t.Annotations[0] != '{' {
		t.Findings = append(t.Findings, "the annotations are no JSON object; they are left out")
		t.Annotations = nil
	}
	t.SHA256 = t.sha256()
	return t, ""
}

// typeOf is the one type a schema states, "" where it states none or several.
func typeOf(inputSchema json.RawMessage) string {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	var one string
	if json.Unmarshal(inputSchema, &s) != nil || !bytes.HasPrefix(s.Type, []byte(`"`)) ||
		json.Unmarshal(s.Type, &one) != nil {
		return ""
	}
	return one
}
