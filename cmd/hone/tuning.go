package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/lint"
	"hone/internal/run"
	"hone/internal/toolset"
)

// Files that a run keeps from its beginning.
const (
	scenariosFile     = "scenarios.json"
	conversationsFile = "conversations.jsonl"
	catalogFile       = "catalog.json"
)

// begun is version.json: what built a run, and how it was begun. Only train and sft have Folder and Flags, and only demo
// learn a Study.
type begun struct {
	Build  host.Build `json:"build"`
	Verb   string     `json:"verb"`
	Folder string     `json:"folder,omitempty"` // relative paths in Flags are from here
	Flags  keptFlags  `json:"flags,omitzero"`
	Study  *keptStudy `json:"study,omitempty"`
}

// keptFlags are the flags of train and sft that hone runs resume needs, beside the configuration. No secret is one of
// them: --mcp and MCP_URL may hold one in any place, as an argument or in a path, so that there was one is all that is
// kept, and a bearer token is read from its variable again.
type keptFlags struct {
	MCPGiven      bool         `json:"mcp_given,omitempty"` // by --mcp or MCP_URL
	MCPConfig     string       `json:"mcp_config,omitempty"`
	Adapter       string       `json:"adapter,omitempty"`
	AllowFindings lint.Allowed `json:"allow_findings,omitempty"`
}

// keep notes which servers a verb works on, the environment's included.
func (k *keptFlags) keep(a *app, c config.Config, f toolset.Source) {
	k.MCPGiven, k.MCPConfig = f.Server != "", f.File
	if f.Server == "" && f.File == "" {
		url, _ := a.LookupEnv("MCP_URL")
		k.MCPGiven = url != ""
	}
	if !k.MCPGiven && k.MCPConfig == "" {
		k.MCPConfig = c.MCP.Config
	}
}

// again returns which servers the run in path goes on with: those named now, else those of the file it was begun with.
func (k keptFlags) again(a *app, f toolset.Source, path string) (toolset.Source, error) {
	if f.Server != "" || f.File != "" {
		return f, nil
	}
	if !k.MCPGiven {
		return toolset.Source{File: k.MCPConfig}, nil
	}
	if url, _ := a.LookupEnv("MCP_URL"); url != "" {
		return toolset.Source{}, nil // which app.servers reads
	}
	return f, &fault.Error{Code: fault.CodeUsage, What: "name the run's MCP server again", Where: path,
		Why:  "it was begun with --mcp or MCP_URL, which may hold a secret, so the run directory does not keep it",
		Next: "set MCP_URL, or hone runs resume " + run.Name(path) + " --mcp with the same URL or command"}
}

// tuning is one run of train or sft.
type tuning struct {
	a    *app
	verb string
	path string // the run directory
	c    config.Config
	kept keptFlags
	dir  *run.Dir // nil until it has begun
}

// begin creates the run directory, unless the run is resumed. It comes after all that can be wrong with what the user
// gave, so that a second try finds no half-begun run in its way.
func (t *tuning) begin(inputs ...run.Input) error {
	if t.dir != nil {
		return nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	t.dir, err = t.a.createRun(t.path, t.c, begun{Build: host.ReadBuild(), Verb: t.verb, Folder: folder, Flags: t.kept}, inputs...)
	return err
}

// free is run.Free, whose error also says what can be done with a run that is there.
func free(path string) error {
	err := run.Free(path)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.CodeUsage {
		return err
	}
	s, notRun := run.Summarize(path)
	var b begun
	if notRun != nil || json.Unmarshal(s.Version, &b) != nil {
		return err
	}
	f.Why = "it already holds a run of hone " + b.Verb
	if s.InUseBy != "" {
		f.Why += ", which pid " + s.InUseBy + " is writing"
	}
	if _, resume := stateOf(s); resume != "" {
		f.Next = resume + " goes on with it; or " + f.Next
	} else {
		f.Next += "; hone runs show " + run.Name(path) + " shows what this one holds"
	}
	return err
}

// reopen opens the run directory of a stopped run.
func (t *tuning) reopen() error {
	var err error
	t.dir, err = t.a.openRun(t.path, &t.c)
	return err
}

// beginOrGoOn begins a run, or goes on with the one that the same command began.
func (t *tuning) beginOrGoOn(found *mcp.Catalog) error {
	if _, err := os.Stat(filepath.Join(t.path, "version.json")); err == nil {
		if err := t.reopen(); err != nil {
			if f, ok := errors.AsType[*fault.Error](err); ok { // the verb itself goes on
				f.Next = strings.ReplaceAll(f.Next, "hone runs resume "+run.Name(t.path), "the same command with")
			}
			return err
		}
		return t.sameTools(found)
	}
	catalog, err := encodeCatalog(found)
	if err != nil {
		return err
	}
	return t.begin(catalog)
}

func (t *tuning) close() {
	if t.dir != nil {
		_ = t.dir.Close() // the ledger is durable row by row
	}
}

// sameTools refuses to go on with a run whose servers now have other tools than those it was begun with.
func (t *tuning) sameTools(found *mcp.Catalog) error {
	kept, err := mcp.Load(filepath.Join(t.path, catalogFile))
	if err != nil || kept.Hash == found.Hash {
		return err
	}
	return &fault.Error{Code: fault.CodeUsage, What: "the servers' tools are not those the run was begun with", Where: filepath.Join(t.path, catalogFile),
		Why: "what was learnt on other tools would be mixed up", Next: "hone discover lists the present ones; start the old server again, or begin a new run"}
}

// ended turns the end of a recipe into what the user sees; the recipe has kept its whole steps.
func (t *tuning) ended(ctx context.Context, stage string, err error) error {
	next, server := "hone runs resume "+run.Name(t.path), ""
	if t.kept.MCPGiven {
		server = " with the same MCP_URL or --mcp"
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		switch f.Code {
		case fault.CodeExhausted:
			help := "make room there"
			if strings.Contains(f.Next, "engine.") { // not the disk is full, but the device
				help = f.Next + " in " + filepath.Join(t.path, "config.resolved.yaml")
				next += " --accept-edits"
			}
			f.Next = help + "; then " + next + server
		case fault.CodeUnavailable:
			f.Next += "; then " + next + server
		}
	}
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	_, at, latestErr := runLog{dir: t.dir, say: t.a.Say}.Latest(stage)
	if latestErr != nil {
		return latestErr
	}
	return &fault.Error{Code: fault.CodeStopped, What: fmt.Sprintf("stopped after step %d; nothing finished is lost", at),
		Where: t.path, Next: next + server}
}

// encodeCatalog is Catalog.Save's text.
func encodeCatalog(c *mcp.Catalog) (run.Input, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // escapes inside schemas would change the prompt
	e.SetIndent("", "  ")
	err := e.Encode(c)
	return run.Input{Name: catalogFile, Data: b.Bytes()}, err
}

// keepScenarios writes what a verb that may be given others each time has run, for hone runs show.
func (t *tuning) keepScenarios(list []scenario.Scenario) error {
	text, err := scenario.Encode(list, false)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(t.path, scenariosFile), text)
}

// alsoDeny adds today's deny rules to those that a run was begun with.
func (a *app) alsoDeny(c *config.Config) error {
	today, err := a.config()
	if err == nil {
		toolset.AlsoDeny(c, today)
	}
	return err
}
