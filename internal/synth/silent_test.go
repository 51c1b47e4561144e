package synth

import (
	"errors"
	"strings"
	"testing"

	"hone/internal/fault"
	"hone/internal/synth/generate"
)

// Where most tools that were tried answered nothing it is an error, which names where to write if that was the reason.
func TestMostToolsAnswerNothing(t *testing.T) {
	row := func(tool string, tried, answered int, why string) generate.ToolRow {
		return generate.ToolRow{Server: "graph", Tool: tool, Tried: tried, Answered: answered, Why: why}
	}
	const erofs = "EROFS: read-only file system, open '/home/a/node_modules/graph/dist/memory.jsonl'"
	for _, x := range []struct {
		name  string
		tools []generate.ToolRow
		want  string // in the error; "" is none
	}{
		{"all answer", []generate.ToolRow{row("a", 3, 3, ""), row("b", 3, 1, "")}, ""},
		{"half of them", []generate.ToolRow{row("a", 3, 0, "no"), row("b", 3, 1, "")}, ""},
		{"most do not", []generate.ToolRow{row("a", 3, 0, "no key"), row("b", 3, 1, ""), row("c", 2, 0, "no key")},
			"2 of the 3 tools that were tried answered nothing"},
		{"those that were not tried do not count", []generate.ToolRow{row("a", 0, 0, ""), row("b", 0, 0, ""), row("c", 3, 1, "")}, ""},
		{"its own package", []generate.ToolRow{row("a", 3, 0, erofs), row("b", 3, 0, erofs), row("c", 2, 2, "")}, "hone doctor --mcp-config m.json looks"},
		{
			"of Python", []generate.ToolRow{row("a", 3, 0, "bad"),
				row("b", 3, 0, "[Errno 30] Read-only file system: '/opt/venv/lib/notes.db'")},
			"hone doctor --mcp-config m.json looks",
		},
		{"without a path", []generate.ToolRow{row("a", 3, 0, "EROFS")}, "hone doctor --mcp-config m.json looks"},
		{"no tools", nil, ""},
	} {
		err := mostSilent(x.tools, "out.json", "hone doctor --mcp-config m.json")
		f, is := errors.AsType[*fault.Error](err)
		if is != (x.want != "") ||
			is && (!strings.Contains(f.What+f.Next, x.want) || f.Code != fault.CodeFailures || f.Where != "out.json") {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}
