// Package job is the run of a verb in its directory: it begins, goes on and ends. It reads what verbs are given:
// scenarios, conversations and pairs, and says what of them is left out. The verbs are in the packages below; hone push
// and hone pull are here.
package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/run"
	"hone/internal/run/report"
	"hone/internal/toolset"
)

// Files that a run keeps from its beginning.
const (
	ScenariosFile     = "scenarios.json"
	ConversationsFile = "conversations.jsonl"
	CatalogFile       = "catalog.json"
)

// BaseOnly is what a model's flag is given where no adapter is meant.
const BaseOnly = "base"

// Begun is version.json: what built a run, and how it was begun. Only train, sft and eval have Folder and Flags, and
// only a demo and experiments a Study.
type Begun struct {
	Build  host.Build      `json:"build"`
	Verb   string          `json:"verb"`
	Folder string          `json:"folder,omitempty"` // relative paths in Flags are from here
	Flags  Kept            `json:"flags,omitzero"`
	Study  json.RawMessage `json:"study,omitempty"` // of its verb, which reads it itself
	Edits  json.RawMessage `json:"edits,omitempty"` // that were accepted since; package run writes them
}

// Kept are the flags of train, sft and eval that hone runs resume needs, beside the configuration. No secret is one of
// them: --mcp and MCP_URL may hold one in any place, as an argument or in a path, so that there was one is all that is
// kept, and a bearer token is read from its variable again.
type Kept struct {
	MCPGiven      bool         `json:"mcp_given,omitempty"` // by --mcp or MCP_URL
	MCPConfig     string       `json:"mcp_config,omitempty"`
	Adapter       string       `json:"adapter,omitempty"`
	Origin        *Origin      `json:"origin,omitempty"` // of the adapter that training begins with
	Data          string       `json:"data,omitempty"`   // of sft, as it was named
	AllowFindings scan.Allowed `json:"allow_findings,omitempty"`
	Evaluation    *Evaluation  `json:"evaluation,omitempty"` // of eval
}

// Keep notes which servers a verb works on, the environment's included.
func (k *Kept) Keep(h *host.Host, c config.Config, f toolset.Source) {
	k.MCPGiven, k.MCPConfig = f.Server != "", f.File
	if f.Server == "" && f.File == "" {
		url, _ := h.LookupEnv("MCP_URL")
		k.MCPGiven = url != ""
	}
	if !k.MCPGiven && k.MCPConfig == "" {
		k.MCPConfig = c.MCP.Config
	}
}

// Again returns which servers the run in path goes on with: those named now, else those of the file it was begun with.
func (k Kept) Again(h *host.Host, f toolset.Source, path string) (toolset.Source, error) {
	if f.Server != "" || f.File != "" {
		return f, nil
	}
	if !k.MCPGiven {
		return toolset.Source{File: k.MCPConfig}, nil
	}
	if url, _ := h.LookupEnv("MCP_URL"); url != "" {
		return toolset.Source{}, nil // toolset.LoadServers reads it
	}
	return f, &fault.Error{Code: fault.CodeUsage, What: "name the run's MCP server again", Where: path,
		Why:  "it was begun with --mcp or MCP_URL, which may hold a secret, so the run directory does not keep it",
		Next: "set MCP_URL, or hone runs resume " + run.Name(path) + " --mcp with the same URL or command"}
}

// Env is what jobs are begun and resumed in.
type Env struct {
	*host.Host
	Table  Verbs           // of all that begin runs
	Reopen run.OpenOptions // of a verb that goes on with a run
	Today  config.Config   // as it is now, whatever a run was begun with
	Accept scan.Allowed    // tools whose findings a run that goes on accepts, beside those that it was begun with

	// Show writes the page of the run in path, of what it evaluated and the numbers of that; nil writes none.
	Show func(path string, p report.Page, n report.Numbers) error
}

// Job is one run of a verb in its run directory.
type Job struct {
	Env
	Verb   string
	Path   string // the run directory
	Config config.Config
	Kept   Kept
	Dir    *run.Dir // nil until it has begun

	SkipBad bool // scenarios that cannot be done on the servers are left out, and rows that cannot be rendered
}

// Begin creates the run directory, unless the run is resumed. It comes after all that can be wrong with what the user
// gave, so that a second try finds no half-begun run in its way.
func (j *Job) Begin(inputs ...run.Input) error {
	if j.Dir != nil {
		return nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	j.Dir, err = j.Create(j.Path, j.Config,
		Begun{Build: host.ReadBuild(), Verb: j.Verb, Folder: folder, Flags: j.Kept}, inputs...)
	return err
}

// Free is run.Free, whose error also says what can be done with a run that is there.
func (e Env) Free(path string) error {
	err := run.Free(path)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.CodeUsage {
		return err
	}
	s, notRun := run.Summarize(path)
	var b Begun
	if notRun != nil || json.Unmarshal(s.Version, &b) != nil {
		return err
	}
	f.Why = "it already holds a run of hone " + b.Verb
	if s.InUseBy != "" {
		f.Why += ", which pid " + s.InUseBy + " is writing"
	}
	if _, resume := e.Table.State(s); resume != "" {
		f.Next = resume + " goes on with it; or " + f.Next
	} else {
		f.Next += "; hone runs show " + run.Name(path) + " shows what this one holds"
	}
	return err
}

// GoOn opens the run directory of a stopped run.
func (j *Job) GoOn() error {
	var err error
	j.Dir, err = j.Open(j.Path, &j.Config)
	return err
}

// BeginOrGoOn begins a run, or goes on with the one that the same command began. A run of another verb is none of its.
func (j *Job) BeginOrGoOn(on *toolset.Set) error {
	if text, err := os.ReadFile(filepath.Join(j.Path, "version.json")); err == nil {
		var b Begun
		if json.Unmarshal(text, &b) == nil && b.Verb != j.Verb {
			return j.Free(j.Path)
		}
		if err := j.GoOn(); err != nil {
			if f, ok := errors.AsType[*fault.Error](err); ok { // the verb itself goes on
				f.Next = strings.ReplaceAll(f.Next, "hone runs resume "+run.Name(j.Path), "the same command with")
			}
			return err
		}
		return j.SameTools(on.Catalog)
	}
	kept, err := InputsOf(on)
	if err != nil {
		return err
	}
	return j.Begin(kept...)
}

// Close closes the run directory.
func (j *Job) Close() {
	if j.Dir != nil {
		_ = j.Dir.Close() // the ledger is durable row by row
	}
}

// SameTools refuses to go on with a run whose servers now have other tools than those it was begun with.
func (j *Job) SameTools(found *mcp.Catalog) error {
	kept, err := mcp.Load(filepath.Join(j.Path, CatalogFile))
	if err != nil || kept.Hash == found.Hash {
		return err
	}
	return &fault.Error{Code: fault.CodeUsage, What: "the servers' tools are not those the run was begun with",
		Where: filepath.Join(j.Path, CatalogFile), Why: "what was learnt on other tools would be mixed up",
		Next: "hone discover lists the present ones; start the old server again, or begin a new run"}
}

// Onward is the command that goes on with a run.
func (j *Job) Onward() string {
	next := "hone runs resume " + run.Name(j.Path)
	if j.Kept.MCPGiven {
		next += " with the same MCP_URL or --mcp"
	}
	return next
}

// InputsOf are what a run keeps of its servers: their tools, and how they had answered when it began.
func InputsOf(s *toolset.Set) ([]run.Input, error) {
	catalog, err := EncodeCatalog(s.Catalog)
	if err != nil {
		return nil, err
	}
	seen, err := s.StatsText()
	return []run.Input{catalog, {Name: toolset.SeenOfRun, Data: seen}}, err
}

// EncodeCatalog is Catalog.Save's text.
func EncodeCatalog(c *mcp.Catalog) (run.Input, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // escapes inside schemas would change the prompt
	e.SetIndent("", "  ")
	err := e.Encode(c)
	return run.Input{Name: CatalogFile, Data: b.Bytes()}, err
}

// Trajectories is the file that holds the episodes of a run.
func (j *Job) Trajectories() string { return filepath.Join(j.Path, "trajectories.jsonl") }

// KeepScenarios writes what a verb that may be given others each time has run, for hone runs show.
func (j *Job) KeepScenarios(list []scenario.Scenario) error {
	text, err := scenario.Encode(list, false)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(j.Path, ScenariosFile), text)
}

// Create makes the run directory of a verb.
func (e Env) Create(path string, c config.Config, b Begun, inputs ...run.Input) (*run.Dir, error) {
	text, err := c.YAML()
	if err == nil {
		err = e.Free(path)
	}
	if err != nil {
		return nil, err
	}
	dir, err := run.Create(path, text, b, inputs...)
	e.logTo(dir)
	if err == nil {
		e.index(path)
	}
	return dir, err
}

// Open opens the run directory of a stopped run, reads its configuration into c, and adds today's deny rules and
// accepted tools to those that it was begun with: a newer hone may find what an older one did not.
func (e Env) Open(path string, c *config.Config) (*run.Dir, error) {
	dir, err := run.Open(path, e.Reopen)
	if err != nil {
		return nil, err
	}
	e.logTo(dir)
	for _, note := range dir.Notes {
		e.Say("%s", note)
	}
	text, err := dir.Config()
	if err == nil {
		*c, err = config.Parse(filepath.Join(path, run.ConfigFile), text)
		toolset.AlsoDeny(c, e.Today)
		c.MCP.AllowFindings = append(c.MCP.AllowFindings, e.Today.MCP.AllowFindings...)
	}
	if err != nil {
		_ = dir.Close() // nothing was written
		return nil, err
	}
	return dir, nil
}

// index has a run's directory known to hone runs ls, wherever it lies.
func (e Env) index(path string) {
	index, err := e.Index()
	if err == nil {
		err = index.Add(path)
	}
	if err != nil {
		e.Say("note: hone runs ls will not list this run unless it is under runs_dir: %v", err)
	}
}

// Index is in hone's folder in the user's state folder, as the XDG rules have it.
func (e Env) Index() (run.Index, error) {
	dir, err := e.State()
	if err != nil {
		return "", err
	}
	return run.Index(filepath.Join(dir, "runs")), nil
}

// logTo has the error that a verb ends with written to a run's log too.
func (e Env) logTo(dir *run.Dir) {
	if dir != nil {
		e.Log = dir.Log.Name()
	}
}

// WriteFile replaces a file whole.
func WriteFile(path string, data []byte) error { return blob.Write(path, data, 0o644) }

// Over reports whether a run has ended, and if so tells what its end told: for that no server, model or program is
// needed. last is the file that its verb writes last. A run whose files were edited is not over: it may be asked for
// more steps.
func (j *Job) Over(b Begun, stage, last string, tell func(final string) error) (bool, error) {
	s, err := run.Summarize(j.Path)
	if err != nil || j.Reopen != (run.OpenOptions{}) || b.Edits != nil || !HasAdapter(s, b) || !HasEnded(s, stage) {
		return false, nil // opening the run says what is wrong with it
	}
	if _, err := os.Stat(filepath.Join(j.Path, last)); err != nil {
		return false, nil
	}
	if err := j.GoOn(); err != nil {
		return true, err
	}
	j.Say("the run has ended: its steps are taken, and nothing is left to do")
	return true, tell(j.Final())
}

// Final is the folder of the adapter that a run ends with.
func (j *Job) Final() string { return filepath.Join(j.Path, "final") }
