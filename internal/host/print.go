package host

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
)

// Say prints a line of talk, unless --quiet. Line ends in it are a server's: what follows them is indented, lest it
// look like hone's.
func (h *Host) Say(format string, args ...any) {
	if !h.Quiet {
		h.Insist(format, args...)
	}
}

// Insist is Say that --quiet does not silence: for what nobody may miss.
func (h *Host) Insist(format string, args ...any) {
	fmt.Fprintln(h.Talk, h.CommandText(fault.Indent(fmt.Sprintf(format, args...), "    ")))
}

// CommandText is text whose commands of hone begin as this one did, so that they can be copied.
func (h *Host) CommandText(text string) string {
	if h.Program == "" || h.Program == "hone" {
		return text
	}
	var pairs []string
	for _, verb := range h.Verbs {
		pairs = append(pairs, "hone "+verb, h.Program+" "+verb)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// OneLine is a text that may be long as a cell of a table.
func OneLine(text string) string { return strings.Join(strings.Fields(fault.Short(text)), " ") }

// Print writes data: v as JSON with --json, else the rows as a table, or tab-separated with --plain.
func (h *Host) Print(v any, rows [][]string) error { return h.print(h.Data, v, rows) }

// PrintThen is Print, and behind it what can be done next: "next: hone ...".
func (h *Host) PrintThen(v any, rows [][]string, format string, args ...any) error {
	if err := h.Print(v, rows); err != nil {
		return err
	}
	h.Say(format, args...)
	return nil
}

// SayData writes what Print does where it is talk: beside data that has stdout to itself. --quiet leaves a table out.
func (h *Host) SayData(v any, rows [][]string) error {
	if h.Quiet && !h.JSON {
		return nil
	}
	return h.print(h.Talk, v, rows)
}

func (h *Host) print(w io.Writer, v any, rows [][]string) error {
	if h.JSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	if !h.Plain {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		defer t.Flush()
		w = t
	}
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, text := range r {
			cells[i] = sanitize.Line(text)
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}
