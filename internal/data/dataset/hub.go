package dataset

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"hone/internal/fault"
)

// shardRows is how many rows a file of a data set folder has at most.
const shardRows = 50_000

// hub writes a data set folder as the Hub's library datasets reads it: data/SPLIT-00000-of-00001.parquet, and
// README.md, whose front matter says which files are which split.
type hub struct {
	o      SinkOptions
	dir    string
	ending string
	table  func(path string) (writer, error)
	splits map[string]*split
	calls  map[string]int // by tool
	noTool int            // rows without tools
	turns  int            // rows that are a part of a trace
	traces map[string]bool
	scored bool // some row says how its trace ended
	bill   Bill
}

type split struct {
	rows, shards, inShard int
	w                     writer
}

func openHub(
	kind func() (ending string, table func(string) (writer, error)),
) func(SinkOptions, string) (writer, error) {
	return func(o SinkOptions, dir string) (writer, error) {
		ending, table := kind()
		h := &hub{o: o, dir: dir, ending: ending, table: table, splits: map[string]*split{}, calls: map[string]int{},
			traces: map[string]bool{}}
		return h, os.Mkdir(filepath.Join(dir, "data"), 0o755)
	}
}

func (h *hub) add(r *Row) error {
	name := r.Split
	if name == "" {
		name = "train"
	}
	s := h.splits[name]
	if s == nil {
		s = &split{}
		h.splits[name] = s
	}
	if s.w == nil || s.inShard == shardRows {
		if err := s.close(); err != nil {
			return err
		}
		var err error
		if s.w, err = h.table(h.shard(name, s.shards, 0)); err != nil {
			return err
		}
		s.shards, s.inShard = s.shards+1, 0
	}
	s.rows, s.inShard = s.rows+1, s.inShard+1
	h.count(r)
	return s.w.add(r)
}

// shard is the path of a split's file; of is how many there are, 0 while that is not known.
func (h *hub) shard(name string, i, of int) string {
	if of == 0 {
		return filepath.Join(h.dir, "data", fmt.Sprintf("%s-%05d%s", name, i, h.ending))
	}
	return filepath.Join(h.dir, "data", fmt.Sprintf("%s-%05d-of-%05d%s", name, i, of, h.ending))
}

func (s *split) close() error {
	if s.w == nil {
		return nil
	}
	err := s.w.finish(nil)
	s.w = nil
	return err
}

func (h *hub) count(r *Row) {
	for i := range r.Messages {
		for _, c := range r.Messages[i].ToolCalls {
			h.calls[c.Name]++
		}
	}
	h.bill.Add(r)
	h.scored = h.scored || r.Outcome != ""
	if len(r.Tools) == 0 {
		h.noTool++
	}
	if r.TraceID != "" {
		h.turns++
		h.traces[r.TraceID] = true
	}
}

func (h *hub) finish(w *SinkFiles) error {
	w.Splits = map[string]int{}
	var all []error
	for name, s := range h.splits {
		all = append(all, s.close())
		for i := range s.shards {
			all = append(all, os.Rename(h.shard(name, i, 0), h.shard(name, i, s.shards)))
		}
		w.Splits[name] = s.rows
	}
	all = append(all, os.WriteFile(filepath.Join(h.dir, "README.md"), []byte(h.card(w)), 0o644))
	return errors.Join(all...)
}

// card is the data set's page: its front matter says what is where, the rest what a reader wants to know.
func (h *hub) card(w *SinkFiles) string {
	var b strings.Builder
	b.WriteString("---\nconfigs:\n- config_name: default\n  data_files:\n")
	names := slices.SortedFunc(maps.Keys(w.Splits), func(a, b string) int {
		return strings.Compare(order(a), order(b))
	})
	for _, name := range names {
		fmt.Fprintf(&b, "  - split: %s\n    path: data/%s-*%s\n", name, name, h.ending)
	}
	b.WriteString("tags:\n- agent-traces\n- tool-use\n- hone\n---\n\n# Conversations with tools\n\n")
	b.WriteString("| split | rows |\n|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %d |\n", name, w.Splits[name])
	}
	if h.turns > 0 {
		fmt.Fprintf(&b, "\n%s of %s: each ends with one turn of its trace (`trace_id`, `turn`, `n_turns`).\n",
			fault.Count(h.turns, "row"), fault.Count(len(h.traces), "trace"))
	}
	b.WriteString("\nColumns: `messages` in OpenAI's form (`reasoning_content`, `tool_calls`; " +
		"arguments are JSON text), `tools` as JSON text\n" +
		"(`json.loads` makes the list that a chat template takes), and `opening`: how many of the messages were " +
		"given and are not\nto be learnt. A message with `weight` 0 is not to be learnt either.\n")
	if h.scored {
		b.WriteString("\n`outcome` says how a trace ended; `terms` and `turns`, as JSON text, " +
			"what its checks gave and how its calls went. A trace\n" +
			"whose outcome is not `ok`, or whose term `checks` is below 1, failed: it is not to be imitated.\n")
	}
	for _, name := range slices.Sorted(maps.Keys(h.o.Card)) {
		fmt.Fprintf(&b, "\n- %s: %s", name, h.o.Card[name])
	}
	if cost := h.bill.String(); cost != "" {
		fmt.Fprintf(&b, "\n- cost: %s", cost)
	}
	if len(h.calls) > 0 {
		b.WriteString("\n\n| tool | calls |\n|---|---|\n")
		tools := slices.SortedFunc(maps.Keys(h.calls), func(x, y string) int {
			if h.calls[x] != h.calls[y] {
				return h.calls[y] - h.calls[x]
			}
			return strings.Compare(x, y)
		})
		const shown = 50
		for i, name := range tools {
			if i == shown {
				fmt.Fprintf(&b, "\n%s more\n", fault.Count(len(tools)-shown, "tool"))
				break
			}
			fmt.Fprintf(&b, "| %s | %d |\n", cell(name), h.calls[name])
		}
	}
	if h.noTool > 0 {
		fmt.Fprintf(&b, "\n%s without tools.\n", fault.Count(h.noTool, "row"))
	}
	return b.String()
}

// cell is a text that does not end a table's cell.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ").Replace(text)
}

// order puts train before validation before test, and what else there is behind.
func order(split string) string {
	if i := slices.Index([]string{"train", "validation", "test"}, split); i >= 0 {
		return fmt.Sprint(i)
	}
	return "3" + split
}

func jsonTable() (string, func(string) (writer, error)) {
	return ".jsonl", func(path string) (writer, error) {
		return newLines(path, func(dst []byte, r *Row) ([]byte, error) {
			dst = AppendMessages(append(dst, `{"messages":`...), r.Messages)
			dst = texts(append(dst, `,"tools":`...), r.Tools)
			return closeConversation(fmt.Appendf(dst, `,"opening":%d`, r.Opening), r)
		})
	}
}

func parquetTable() (string, func(string) (writer, error)) {
	return ".parquet", func(path string) (writer, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		return &columnsOf{f: f, w: parquet.NewGenericWriter[columnRow](f, parquet.Compression(&zstd.Codec{}),
			parquet.MaxRowsPerRowGroup(1000))}, nil
	}
}

// columnRow is a row of parquet.
type columnRow struct {
	Messages   []columnMessage `parquet:"messages,list"`
	Tools      string          `parquet:"tools"`
	Opening    int64           `parquet:"opening"`
	ID         *string         `parquet:"id,optional"`
	TraceID    *string         `parquet:"trace_id,optional"`
	Turn       *int64          `parquet:"turn,optional"`
	NumTurns   *int64          `parquet:"n_turns,optional"`
	ScenarioID *string         `parquet:"scenario_id,optional"`
	Scenario   *string         `parquet:"scenario_hash,optional"`
	Outcome    *string         `parquet:"outcome,optional"`
	Terms      *string         `parquet:"terms,optional"` // JSON text, as tools
	Turns      *string         `parquet:"turns,optional"` // JSON text
}

type columnMessage struct {
	Role       string       `parquet:"role"`
	Content    string       `parquet:"content"`
	Reasoning  *string      `parquet:"reasoning_content,optional"`
	ToolCalls  []columnCall `parquet:"tool_calls,list,optional"`
	ToolCallID *string      `parquet:"tool_call_id,optional"`
	Name       *string      `parquet:"name,optional"`
	Weight     *float64     `parquet:"weight,optional"` // 0 where a mask leaves the message out of the loss, else null
}

type columnCall struct {
	ID       string         `parquet:"id"`
	Type     string         `parquet:"type"`
	Function columnFunction `parquet:"function"`
}

type columnFunction struct {
	Name      string `parquet:"name"`
	Arguments string `parquet:"arguments"`
}

type columnsOf struct {
	f *os.File
	w *parquet.GenericWriter[columnRow]
}

// optional is a text, or null where there is none.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (c *columnsOf) add(r *Row) error {
	row := columnRow{
		Tools:      string(AppendTools(nil, r.Tools)),
		Opening:    int64(r.Opening),
		ID:         optional(r.ID),
		TraceID:    optional(r.TraceID),
		ScenarioID: optional(r.ScenarioID),
		Scenario:   optional(r.Scenario),
		Outcome:    optional(string(r.Outcome)),
	}
	terms, turns, err := r.Record()
	if err != nil {
		return err
	}
	row.Terms, row.Turns = optional(terms), optional(turns)
	if r.NumTurns > 0 {
		turn, of := int64(r.Turn), int64(r.NumTurns)
		row.Turn, row.NumTurns = &turn, &of
	}
	for _, m := range r.Messages {
		out := columnMessage{Role: m.Role, Content: m.Content, Reasoning: optional(m.ReasoningContent),
			ToolCallID: optional(m.ToolCallID), Name: optional(m.Name)}
		for _, call := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls,
				columnCall{call.ID, "function", columnFunction{call.Name, call.Arguments}})
		}
		if m.NoLoss {
			out.Weight = new(float64)
		}
		row.Messages = append(row.Messages, out)
	}
	_, err = c.w.Write([]columnRow{row})
	return err
}

func (c *columnsOf) finish(*SinkFiles) error {
	return errors.Join(c.w.Close(), c.f.Sync(), c.f.Close())
}
