package bfcl

import (
	"context"
	"fmt"
	"io"

	"hone/internal/host"
)

// MaxLine is how many bytes a line may have.
const MaxLine = 16 << 20

// Options of Grade. The zero value is BFCL's rule for models that are told tools' names as they are.
type Options struct {
	Name        string // of the input, for errors; "" is stdin
	Seen        *Seen  // what training had; nil where nobody says
	Underscores bool   // BFCL's underscore_to_dot, for lines that do not say
}

// verdict is a line of output.
type verdict struct {
	Valid  bool     `json:"valid"`
	Tool   bool     `json:"tool"`
	Param  bool     `json:"param"`
	AST    bool     `json:"ast"`
	Errors []string `json:"errors"`
}

// Grade grades stored tool calls offline: no server and no model is needed. A line of input is
//
//	{"tools": [...], "gold": [{name: {parameter: [accepted values]}}], "output": [{"name", "arguments": JSON text}]}
//
// and a line of output {"valid", "tool", "param", "ast", "errors"}: a verdict for each line, in order. It returns the
// totals. A line that cannot be graded becomes
// {"error": ...}; Grade's error names those, and the totals hold all the same.
func Grade(ctx context.Context, in io.Reader, out io.Writer, o Options) (Totals, error) {
	var t Totals
	var all []graded
	number := 0
	count, err := host.EachLine(ctx, in, out,
		host.LineOptions{Name: o.Name, MaxBytes: MaxLine}, func(line []byte) (any, error) {
			number++
			r, err := readRow(line, o.Underscores)
			for _, key := range r.unknown {
				if t.UnknownKeys == nil {
					t.UnknownKeys = map[string]int{}
				}
				t.UnknownKeys[key]++
			}
			if err != nil {
				return nil, err
			}
			v := r.question.Judge(r.output)
			if v.Stopped {
				t.Stopped++
			}
			if len(r.question.Gold) == 0 && v.Valid && !v.Tool {
				t.Unread++
			}
			g := graded{scenario: r.id, tool: v.Tool, param: v.Param, ast: v.Valid, category: r.label,
				numTools: len(r.question.Tools), seen: o.Seen.class(r)}
			if g.scenario == "" {
				g.scenario = fmt.Sprintf("line %d", number)
			}
			all = append(all, g)
			return verdict{v.Valid, v.Tool, v.Param, v.Valid, append([]string{}, v.Errors...)}, nil
		})
	t.Lines, t.Failed = count.Lines, count.Failed
	t.add(all)
	return t, err
}
