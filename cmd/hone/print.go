package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"hone/internal/fault"
	"hone/internal/screen"
)

// data is where stdout goes, talk where stderr goes. There is no other way: what servers and endpoints wrote is in half of
// what hone prints, and a terminal obeys it unless it is shown as text.
func (a *app) data() *screen.Writer { return screen.New(a.stdout) }

func (a *app) talk() *screen.Writer { return screen.New(a.stderr) }

// say prints a line of talk, unless --quiet. Line ends in it are a server's: what follows them is indented, lest it look like hone's.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.talk(), a.invoked(fault.Indented(fmt.Sprintf(format, args...), "    ")))
	}
}

// invoked is text whose commands of hone begin as this one did, so that they can be copied.
func (a *app) invoked(text string) string {
	if a.program == "" || a.program == "hone" {
		return text
	}
	var pairs []string
	for _, c := range newRoot(&app{}).Commands() {
		pairs = append(pairs, "hone "+c.Name(), a.program+" "+c.Name())
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// oneLine is a text that may be long as a cell of a table.
func oneLine(text string) string { return strings.Join(strings.Fields(fault.Short(text)), " ") }

// print writes data: v as JSON with --json, else the rows as a table, or tab-separated with --plain.
func (a *app) print(v any, rows [][]string) error {
	if a.json {
		e := json.NewEncoder(a.data())
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	var w io.Writer = a.data()
	if !a.plain {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		defer t.Flush()
		w = t
	}
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, text := range r {
			cells[i] = screen.Line(text)
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}
