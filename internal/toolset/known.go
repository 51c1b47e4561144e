package toolset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
	"hone/internal/toolset/access"
)

// Known is what hone knows of servers without asking any: those of the configuration with how they answered, those that
// were tried, and which of their tools do the same.
type Known struct {
	Configured []Configured `json:"configured"`
	Tried      []Tried      `json:"tried"`
	Twins      [][]string   `json:"twins"` // groups of tools, as SERVER/TOOL
}

// Configured is a server of the configuration.
type Configured struct {
	Name   string  `json:"name"`
	Calls  float64 `json:"calls"` // the newest count most
	Failed float64 `json:"failed"`
	Millis float64 `json:"millis"` // of a call, mean
	Drifts int     `json:"drifts"` // how often one of its tools changed
	Tools  *int    `json:"tools"`  // how many it listed last; null where it was never asked
	// Findings is how many texts of these stop a run until a person accepts them; null where nobody has looked.
	Findings *int `json:"findings"`

	Locked
	Broken string `json:"lock_error,omitempty"` // why its lock cannot be read
}

// Ls reads what is known. The texts of tools are looked at for what could steer
// a model, once by each build of hone.
func Ls(h *host.Host, c config.Config, file string) (Known, error) {
	k := Known{Configured: []Configured{}, Tried: []Tried{}, Twins: [][]string{}}
	store, err := h.Store()
	if err != nil {
		return k, err
	}
	if file == "" {
		file = c.MCP.Config
	}
	if err := k.addFromConfig(h, file); err != nil {
		return k, err
	}
	if k.Tried, err = readTrials(filepath.Join(store.Dir, "servers", "tried")); err != nil {
		return k, err
	}
	k.lint()
	var served []access.Served
	for _, t := range k.Tried {
		if t.Server == nil {
			continue
		}
		for _, tool := range t.Server.Tools {
			served = append(served, access.Served{Server: t.Name, Name: tool.Name, Description: tool.Description,
				InputSchema: tool.InputSchema})
		}
	}
	for _, group := range access.Twins(served) {
		var names []string
		for _, i := range group {
			names = append(names, served[i].Server+"/"+served[i].Name)
		}
		k.Twins = append(k.Twins, names)
	}
	return k, nil
}

// lint looks, on all cores, at the texts of servers that another program looked at last, and keeps what it finds.
func (k *Known) lint() {
	now := linter()
	var all sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(k.Tried); i = int(next.Add(1)) - 1 {
				if t := &k.Tried[i]; t.Server != nil && (now == "" || t.Linter != now) {
					t.lint()
					_ = t.keep() // else it is looked at again
				}
			}
		})
	}
	all.Wait()
}

// addFromConfig adds the servers of a configuration, with what was seen of them; a file that is not there has none.
func (k *Known) addFromConfig(h *host.Host, file string) error {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	servers, err := mcp.ReadConfig(file, h.LookupEnv)
	if err != nil {
		return err
	}
	path, err := ReliabilityPath(h)
	if err != nil {
		return err
	}
	seen, err := Load(path)
	if err != nil {
		return err
	}
	for name, s := range servers.Servers {
		one, prefix := Configured{Name: name}, ReliabilityKey(s, "")
		if n, known := seen.Listed[prefix]; known {
			one.Tools = &n
		}
		if n, known := seen.Suspicious[prefix]; known {
			one.Findings = &n
		}
		if one.Locked, err = LockOf(s); err != nil {
			one.Broken = "its lock cannot be read: " + err.Error()
		}
		for key, x := range seen.Tools {
			if strings.HasPrefix(key, prefix) {
				one.Calls, one.Failed, one.Millis, one.Drifts =
					one.Calls+x.Calls, one.Failed+x.Failed, one.Millis+x.Millis, one.Drifts+x.Drifts
			}
		}
		if one.Calls > 0 {
			one.Millis /= one.Calls
		}
		k.Configured = append(k.Configured, one)
	}
	sort.Slice(k.Configured, func(i, j int) bool { return k.Configured[i].Name < k.Configured[j].Name })
	return nil
}

// readTrials reads what came of trials, by name. A file that is broken is as if it had not been tried.
func readTrials(dir string) ([]Tried, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []Tried{}, nil
	}
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "what was tried cannot be read", Where: dir, Err: err,
			Next: "name another folder with --cache"}
	}
	out := make([]Tried, len(files))
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, f := range files {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			path := filepath.Join(dir, f.Name())
			text, err := os.ReadFile(path)
			if err != nil || json.Unmarshal(text, &out[i]) != nil {
				out[i] = Tried{}
			}
			out[i].file = path
		})
	}
	all.Wait()
	out = slices.DeleteFunc(out, func(t Tried) bool { return t.Name == "" })
	sort.Slice(out, func(i, j int) bool {
		return cmp.Or(cmp.Compare(out[i].Name, out[j].Name), cmp.Compare(out[i].From, out[j].From)) < 0
	})
	var kept []Tried
	for _, t := range out {
		if !slices.ContainsFunc(kept[max(0, len(kept)-mostLists):], func(o Tried) bool {
			return o.Name == t.Name && o.Server != nil && t.Server != nil &&
				slices.EqualFunc(o.Server.Tools, t.Server.Tools, sameTool)
		}) {
			kept = append(kept, t)
		}
	}
	return append([]Tried{}, kept...), nil
}

// mostLists is in how many lists a server is looked for: those of one name stand together.
const mostLists = 16

// sameTool reports whether two lists have one tool: a server that both name says the same of it, in each field that its
// hash is over. Another one that has taken its name and its texts does not.
func sameTool(a, b mcp.Tool) bool { return a.Name == b.Name && a.SHA256 == b.SHA256 }

// Rows are the servers as a table, those of the configuration first.
func (k Known) Rows() [][]string {
	rows := [][]string{
		{"SERVER", "FROM", "STATE", "TOOLS", "FINDINGS", "CALLS", "ANSWERED", "MS A CALL", "CHANGES", "WHY"},
	}
	for _, s := range k.Configured {
		row := []string{s.Name, "configuration", s.state(), "-", "-", fmt.Sprintf("%.0f", s.Calls), "-", "-",
			fmt.Sprint(s.Drifts), ""}
		if s.Tools != nil {
			row[3] = fmt.Sprint(*s.Tools)
		}
		if s.Findings != nil {
			row[4] = fmt.Sprint(*s.Findings)
		}
		if row[9] = s.Broken; len(s.Differs) > 0 {
			row[9] = s.Locked.String()
		}
		if s.Calls > 0 {
			row[6], row[7] = fmt.Sprintf("%.0f%%", 100*(1-s.Failed/s.Calls)), fmt.Sprintf("%.1f", s.Millis)
		}
		rows = append(rows, row)
	}
	for _, t := range k.Tried {
		row := []string{t.Name, t.From, t.Outcome, "-", "-", "-", "-", "-", "-", briefly(t.Why)}
		if t.Server != nil {
			row[3], row[4] = fmt.Sprint(len(t.Server.Tools)), fmt.Sprint(len(scan.Blocking(t.Findings)))
		}
		rows = append(rows, row)
	}
	return rows
}

// state is how a server's package stands to its lock, and whether it was ever asked for its tools.
func (s Configured) state() string {
	switch {
	case s.Broken != "":
		return "broken lock"
	case len(s.Differs) > 0:
		return "not as locked"
	case s.Tools == nil:
		return "never asked"
	}
	return Answered
}

// TwinRows are the groups of tools that do the same, as a table.
func (k Known) TwinRows() [][]string {
	var rows [][]string
	if len(k.Twins) > 0 {
		rows = append(rows, []string{}, []string{"TOOLS THAT DO THE SAME"})
	}
	for _, group := range k.Twins {
		rows = append(rows, []string{strings.Join(group, "  ")})
	}
	return rows
}
