package toolset

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/toolset/packages"
)

// Lookup says which entries of a registry are wanted.
type Lookup struct {
	Registry string // official, smithery, glama, one of these with =URL, a URL, a file or a folder; "" is official
	Text     string // words of name, title or description
	Since    string // a day (2026-11-01) or a time of RFC 3339; "" for all times
	Limit    int    // 0: all
	Save     string // file that gets the entries; "" for none
}

// Listed is what a search found.
type Listed struct {
	Servers []packages.Entry `json:"servers"`
	Skipped []string         `json:"skipped,omitempty"` // entries that cannot be used, each with the reason
	More    bool             `json:"more,omitempty"`    // there are more than the limit
}

// client asks registries, with the user's keys for them.
func client(h *host.Host) packages.Client {
	return packages.Client{Told: h.Say, Key: func(s packages.Source) string {
		if s.Key() == "" {
			return ""
		}
		key, _ := h.LookupEnv(s.Key())
		return key
	}}
}

// Search lists entries of a registry. Nothing of what it finds is run.
func Search(ctx context.Context, h *host.Host, x Lookup) (Listed, error) {
	var l Listed
	source, err := packages.ParseSource(x.Registry)
	if err != nil {
		return l, err
	}
	q := packages.Query{Text: x.Text, Limit: x.Limit}
	if x.Since != "" {
		if q.Since, err = time.Parse(time.RFC3339, x.Since); err != nil {
			q.Since, err = time.Parse(time.DateOnly, x.Since)
		}
		if err != nil {
			return l, &fault.Error{Code: fault.CodeUsage, What: "that is no time", Where: "--since " + x.Since,
				Next: "write a day as 2026-11-01, or a time as 2026-11-01T12:00:00Z"}
		}
	}
	found, err := client(h).List(ctx, source, q)
	if err != nil {
		return l, err
	}
	l = Listed{Servers: found.Entries, Skipped: found.Skipped, More: found.More}
	sayList(h, l, x.Limit)
	if found.Kept > 0 {
		h.Say("the list has %d more, and gives no page of them; search for words to find others", found.Kept)
	}
	if x.Save == "" || h.DryRun {
		return l, nil
	}
	text, err := json.MarshalIndent(map[string]any{"servers": append([]packages.Entry{}, l.Servers...)}, "", "  ")
	if err == nil {
		err = os.WriteFile(x.Save, append(text, '\n'), 0o644)
	}
	if err != nil {
		return l, &fault.Error{Code: fault.CodeExhausted, What: "cannot keep the entries", Where: x.Save, Err: err,
			Next: "name another file with --save"}
	}
	h.Say("entries: %s; --registry %s reads them again", x.Save, x.Save)
	return l, nil
}

// mostSaid is how many reasons are told one by one.
const mostSaid = 5

func sayList(h *host.Host, l Listed, limit int) {
	for i, why := range l.Skipped {
		if i == mostSaid && !h.Verbose {
			h.Say("%s more left out; --verbose tells all", fault.Count(len(l.Skipped)-i, "entry"))
			break
		}
		h.Say("left out %s", fault.Short(why))
	}
	if l.More {
		h.Say("there are more than %d; --limit shows more", limit)
	}
}

// Rows are the entries as a table: what they come as, and what they ask for, with * for what they must be given.
func (l Listed) Rows() [][]string {
	rows := [][]string{{"NAME", "VERSION", "COMES AS", "ASKS FOR", "DESCRIPTION"}}
	for _, e := range l.Servers {
		var asks []string
		needs := e.Needs()
		for _, n := range needs {
			if n.Required {
				asks = append(asks, n.Name+"*")
			} else if n.Secret {
				asks = append(asks, n.Name)
			}
		}
		kinds := strings.Join(slices.Compact(e.Kinds()), ",")
		if e.Status != "active" && e.Status != "" {
			kinds = e.Status
		}
		rows = append(rows, []string{e.Name, e.Version, kinds, strings.Join(asks, " "), host.OneLine(e.Description)})
	}
	return rows
}
