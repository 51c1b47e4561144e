package doctor

import (
	"context"
	"fmt"
	"strings"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/toolset"
)

// Run is what hone doctor does: it looks at the machine and at the servers.
func Run(ctx context.Context, h *host.Host, c config.Config, from toolset.Source) error {
	checks, err := Machine(h, c)
	if err != nil {
		return err
	}
	return Print(h, append(checks, Servers(ctx, h, c, from)...))
}

// Print prints checks as a table, each with what helps. It is an error where one failed.
func Print(h *host.Host, checks []Check) error {
	rows, failed, next := [][]string{}, 0, ""
	for _, c := range checks {
		rows = append(rows, []string{string(c.Status), c.Name, host.OneLine(c.Detail)})
		if c.Next != "" {
			rows = append(rows, []string{"", "", "next: " + h.CommandText(c.Next)})
		}
		if c.Status == Fail {
			const install = "hone engine install "
			if failed++; next == "" {
				next = c.Next
			} else if name, is := strings.CutPrefix(c.Next, install); is && strings.HasPrefix(next, install) {
				// one command does both
				next += " " + name
			}
		}
	}
	if err := h.Print(checks, rows); err != nil {
		return err
	}
	if failed > 0 {
		return &fault.Error{Code: fault.CodeError,
			What: fmt.Sprintf("%d of %d checks failed", failed, len(checks)), Next: next}
	}
	return nil
}
