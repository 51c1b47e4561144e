package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Status of a tool.
const (
	StatusOK          = "ok"
	StatusUncheckable = "uncheckable" // its inputSchema does not compile: calls are sent without a check
)

// Tool is one tool of a server. The schemas and annotations are the server's own bytes, order and number text kept;
// only white space between tokens is dropped.
type Tool struct {
	Name         string          `json:"name"`       // the server's
	ModelName    string          `json:"model_name"` // the model's, unique in the catalog
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	SHA256       string          `json:"sha256"` // over name, description, schemas, annotations and Resources
	Status       string          `json:"status"`
	Findings     []string        `json:"findings"` // what a person should look at before training

	// "list" or "read": not the server's tool, but hone's to list or read its resources
	Resources string `json:"resources,omitempty"`
}

// ServerTools is one server and its tools, in the server's order.
type ServerTools struct {
	Name      string `json:"name"`
	Era       string `json:"era"`               // the negotiated protocol version
	Version   string `json:"version,omitempty"` // of the server, as it says itself
	Transport string `json:"transport"`         // stdio, http or sse
	Tools     []Tool `json:"tools"`

	Quarantined []Quarantined `json:"quarantined,omitempty"` // tools no model can be offered
	Resources   []Resource    `json:"resources,omitempty"`
	Prompts     []Prompt      `json:"prompts,omitempty"`
	Warnings    []string      `json:"warnings,omitempty"` // about the lists
	// StrayLines counts what the server sent that was no message.
	StrayLines int64 `json:"stray_lines,omitempty"`
}

// Catalog is the frozen list of tools of a run.
type Catalog struct {
	Servers []ServerTools `json:"servers"` // sorted by name
	Hash    string        `json:"hash"`    // over all tools and their model names
}

// Discover is DiscoverEach, with the error of the first server that has one.
func Discover(ctx context.Context, c Config, options ...Options) (*Catalog, error) {
	catalog, failed := DiscoverEach(ctx, c, options...)
	for _, name := range keysInOrder(failed) {
		return nil, failed[name]
	}
	return catalog, nil
}

// DiscoverEach asks every server of c for its tools, at the same time. The catalog is of those that answered; failed
// says of each other one why it did not, by a *fault.Error with CodeUnavailable, which shows what the server wrote to
// stderr.
func DiscoverEach(ctx context.Context, c Config, options ...Options) (catalog *Catalog, failed map[string]error) {
	o := Options{}
	if len(options) > 0 {
		o = options[0]
	}
	catalog, failed = &Catalog{}, map[string]error{}
	for _, r := range inspect(ctx, c, o, 0) {
		name := r.Tools.Name
		if r.Err == nil {
			catalog.Servers = append(catalog.Servers, r.Tools)
			continue
		}
		next := "run the server's command by hand, or: hone doctor"
		if c.Servers[name].URL != "" {
			next = "look at the server, its URL and its token, or: hone doctor"
		}
		failed[name] = &fault.Error{Code: fault.CodeUnavailable, What: "cannot discover the tools of an MCP server",
			Where: name, Err: r.Err, Next: cmp.Or(Mending(r.Err), next)}
	}
	nameTools(catalog.Servers)
	catalog.addFindings()
	catalog.Hash = catalog.hash()
	return catalog, failed
}

// Tools is what the model is told, in catalog order.
func (c *Catalog) Tools() []chat.Tool {
	var tools []chat.Tool
	for _, s := range c.Servers {
		for _, t := range s.Tools {
			tools = append(tools, chat.Tool{Name: t.ModelName, Description: t.Description, InputSchema: t.InputSchema})
		}
	}
	return tools
}

// Resolve returns the server and the server's own name of the tool the model calls modelName.
func (c *Catalog) Resolve(modelName string) (server, tool string, ok bool) {
	for _, s := range c.Servers {
		for _, t := range s.Tools {
			if t.ModelName == modelName {
				return s.Name, t.Name, true
			}
		}
	}
	return "", "", false
}

// TokenCost is what the tools cost in a prompt: of all, and of each by its model name. count is how many tokens a list
// of tools adds. Around the list a template writes what it would also write around one tool, which is counted in the
// total alone.
func (c *Catalog) TokenCost(count func([]chat.Tool) (int, error)) (total int, byTool map[string]int, err error) {
	tools := c.Tools()
	byTool = map[string]int{}
	if len(tools) == 0 {
		return 0, byTool, nil
	}
	if total, err = count(tools); err != nil {
		return 0, nil, err
	}
	sum := 0
	for _, t := range tools {
		if byTool[t.Name], err = count([]chat.Tool{t}); err != nil {
			return 0, nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		sum += byTool[t.Name]
	}
	if len(tools) == 1 {
		return total, byTool, nil
	}
	around := max(0, (sum-total)/(len(tools)-1)) // sum has it of each tool, the total once
	for name := range byTool {
		byTool[name] -= around
	}
	return total, byTool, nil
}

// Only returns the catalog with just the tools of these model names, which stay as they are. An unknown name is a
// *fault.Error.
func (c *Catalog) Only(modelNames ...string) (*Catalog, error) {
	wanted := map[string]bool{}
	for _, name := range modelNames {
		wanted[name] = true
	}
	out := &Catalog{}
	var known []string
	for _, s := range c.Servers {
		kept := s
		kept.Tools = nil
		for _, t := range s.Tools {
			known = append(known, t.ModelName)
			if wanted[t.ModelName] {
				kept.Tools = append(kept.Tools, t)
				delete(wanted, t.ModelName)
			}
		}
		if len(kept.Tools) > 0 {
			out.Servers = append(out.Servers, kept)
		}
	}
	if missing := keysInOrder(wanted); len(missing) > 0 {
		return nil, unknown("tool", missing[0], known)
	}
	out.Hash = out.hash()
	return out, nil
}

// Save writes the catalog: whole or not at all.
func (c *Catalog) Save(path string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // escapes inside schemas would change the prompt
	e.SetIndent("", "  ")
	err := e.Encode(c)
	if err == nil {
		err = blob.Write(path, b.Bytes(), 0o600)
	}
	if err != nil {
		return &fault.Error{Code: fault.CodeError, What: "cannot write the catalog", Where: path, Err: err}
	}
	return nil
}

// Load reads what Save wrote. A file whose tools do not have the hash it states is a *fault.Error.
func Load(path string) (*Catalog, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot read the catalog", Err: err,
			Next: "hone discover"}
	}
	c := &Catalog{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the catalog is not JSON",
			Where: path + lineOf(data, err), Err: err, Next: "hone discover"}
	}
	for i := range c.Servers {
		for j := range c.Servers[i].Tools {
			t := &c.Servers[i].Tools[j]
			t.InputSchema, t.OutputSchema, t.Annotations =
				compact(t.InputSchema), compact(t.OutputSchema), compact(t.Annotations)
			if t.SHA256 != t.sha256() {
				return nil, changedError(path, "tool "+t.ModelName)
			}
		}
	}
	if c.Hash != c.hash() {
		return nil, changedError(path, "the list of tools")
	}
	return c, nil
}

func changedError(path, what string) error {
	return &fault.Error{Code: fault.CodeUsage, What: "the catalog was changed after it was discovered", Where: path,
		Why: what + " does not have the hash that the file states", Next: "hone discover"}
}

func (t *Tool) sha256() string {
	parts := []string{t.Name, t.Description, string(t.InputSchema), string(t.OutputSchema), string(t.Annotations)}
	if t.Resources != "" {
		parts = append(parts, t.Resources)
	}
	return blob.Parts(parts...).String()
}

func (c *Catalog) hash() string {
	var parts []string
	for _, s := range c.Servers {
		parts = append(parts, s.Name, fmt.Sprint(len(s.Tools)))
		for _, t := range s.Tools {
			parts = append(parts, t.ModelName, t.sha256())
		}
	}
	return blob.Parts(parts...).String()
}

// compact drops white space between tokens, the only thing that saving and loading may change. null counts as absent.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil || b.String() == "null" {
		return nil
	}
	return b.Bytes()
}

// ShownTools are the tools that the episode at where was shown, which the catalog holds.
func ShownTools(s trajectory.Shown, catalog *Catalog, where string) ([]chat.Tool, error) {
	wrong := &fault.Error{Code: fault.CodeUsage, What: "an episode was shown the tools of a catalog that is not there",
		Where: where, Next: "name the catalog.json of the run that it comes from with --catalog"}
	if catalog == nil {
		return nil, wrong
	}
	if catalog.Hash != s.Catalog {
		wrong.What, wrong.Why = "an episode was shown the tools of another catalog",
			fmt.Sprintf("the hash of its catalog is %s, of this one %s", s.Catalog, catalog.Hash)
		return nil, wrong
	}
	tools, err := s.Tools(catalog.Tools())
	if err != nil {
		wrong.What, wrong.Why = "an episode was shown a tool that is in no catalog", err.Error()
		return nil, wrong
	}
	return tools, nil
}
