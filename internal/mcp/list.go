package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/schema"
)

const maxPages = 100

// rawTool is what is read of a tool's own JSON.
type rawTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// listTools reads all pages. It does its own paging because the SDK's never ends on a server that repeats a cursor.
// Of tools with the same name the first counts.
func listTools(ctx context.Context, s *session) ([]Tool, error) {
	tools, names, cursors := []Tool{}, map[string]int{}, map[string]bool{}
	cursor := ""
	for range maxPages {
		s.tap.take()
		page, err := s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		raws, err := rawTools(page, s.tap.take())
		if err != nil {
			return nil, err
		}
		for _, raw := range raws {
			if first, twice := names[raw.Name]; twice {
				tools[first].Findings = append(tools[first].Findings, "listed more than once; the first counts")
				continue
			}
			names[raw.Name] = len(tools)
			tools = append(tools, toolOf(raw))
		}
		cursors[cursor] = true
		cursor = page.NextCursor
		if cursor == "" || cursors[cursor] {
			break
		}
	}
	return tools, nil
}

// rawTools pairs the tools the SDK accepted with their own JSON. Where the tap saw nothing (a stream that broke and
// was resumed) the SDK's form is used: same tools, properties sorted.
func rawTools(page *mcp.ListToolsResult, tapped json.RawMessage) ([]rawTool, error) {
	accepted := map[string]bool{}
	for _, t := range page.Tools {
		accepted[t.Name] = true
	}
	if tapped == nil {
		data, err := json.Marshal(page)
		if err != nil {
			return nil, err
		}
		tapped = data
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(tapped, &list); err != nil {
		return nil, fmt.Errorf("the list of tools: %w", err)
	}
	var raws []rawTool
	for _, data := range list.Tools {
		var raw rawTool
		if err := json.Unmarshal(data, &raw); err != nil {
			return nil, fmt.Errorf("a tool in the list: %w", err)
		}
		if accepted[raw.Name] {
			raws = append(raws, raw)
		}
	}
	return raws, nil
}

func toolOf(raw rawTool) Tool {
	t := Tool{Name: raw.Name, Description: raw.Description, InputSchema: compact(raw.InputSchema),
		OutputSchema: compact(raw.OutputSchema), Annotations: compact(raw.Annotations), Status: StatusOK, Findings: []string{}}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
		t.Findings = append(t.Findings, "no inputSchema; any object is accepted")
	}
	if err := schema.Compile(t.InputSchema).Err(); err != nil {
		t.Status = StatusUncheckable
		t.Findings = append(t.Findings, "the inputSchema does not compile: "+err.Error())
	}
	t.SHA256 = t.sha256()
	return t
}

var allowedName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// nameTools gives every tool the name the model uses: the server's own where hosts allow it and no other tool has it,
// else prefixed by the server's, else with a hash. It depends on the set of tools alone, not on their order.
func nameTools(servers []ServerTools) {
	taken := map[string]int{}
	forms := []func(server, tool string) string{
		func(_, tool string) string { return sanitize(tool) },
		func(server, tool string) string { return sanitize(server + "__" + tool) },
		func(server, tool string) string { return hashed(server+"__"+tool, digest(server, tool)) },
	}
	for i, form := range forms {
		clear(taken)
		for _, s := range servers {
			for _, t := range s.Tools {
				name := t.ModelName
				if name == "" {
					name = form(s.Name, t.Name)
				}
				taken[name]++
			}
		}
		for _, s := range servers {
			for j := range s.Tools {
				t := &s.Tools[j]
				if name := form(s.Name, t.Name); t.ModelName == "" && (taken[name] == 1 || i == len(forms)-1) {
					t.ModelName = name
				}
			}
		}
	}
}

// sanitize returns name if it is allowed, else its allowed characters and a hash of the whole.
func sanitize(name string) string {
	if allowedName.MatchString(name) {
		return name
	}
	return hashed(name, digest(name))
}

func hashed(name, hash string) string {
	mapped := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
	return mapped[:min(len(mapped), 55)] + "_" + hash[:8]
}

// suspicious are texts that have no place in a description: training would bake obedience to them in.
var suspicious = []struct {
	pattern *regexp.Regexp
	finding string
}{
	{regexp.MustCompile(`(?i)<\s*(important|system|secret|instructions?)\s*>`), "an instruction tag"},
	{regexp.MustCompile(`(?i)\b(ignore|disregard|forget)\b.{0,30}\b(previous|prior|above|earlier)\b`), "asks to ignore earlier text"},
	{regexp.MustCompile(`(?i)\b(do not|don't|never)\b.{0,20}\b(tell|mention|inform|show|reveal)\b.{0,30}\buser\b`), "asks to hide something from the user"},
	{regexp.MustCompile(`(?i)(~|\$HOME|/root|/home/\w+)/\.(ssh|aws|gnupg|config|cursor)\b`), "names a folder of secrets"},
}

// lint adds findings about texts that could steer a model by the back door.
func lint(servers []ServerTools) {
	for _, s := range servers {
		for i := range s.Tools {
			t := &s.Tools[i]
			text := t.Description + "\n" + string(t.InputSchema) + "\n" + string(t.OutputSchema)
			for _, check := range suspicious {
				if found := check.pattern.FindString(text); found != "" {
					t.Findings = append(t.Findings, fmt.Sprintf("%s: %q", check.finding, found))
				}
			}
			if at := strings.IndexFunc(text, hidden); at >= 0 {
				t.Findings = append(t.Findings, "hidden characters")
			}
		}
	}
}

// hidden reports characters that a person does not see but a tokenizer does: controls, zero widths, text direction,
// tags.
func hidden(r rune) bool {
	if r == '\n' || r == '\t' || r == '\r' {
		return false
	}
	// The joiner is part of visible emoji and scripts, the byte order mark is not.
	return unicode.IsControl(r) || (unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c' && r != '\u00ad')
}
