package data

import (
	"errors"
	"fmt"
	"strconv"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/text/render"
)

// Coverage tells by how many rows each assistant message of some conversations is trained, under a base model's chat
// template: one summary for each scheme. Conversations that the template cannot write are said, and left out.
func Coverage(h *host.Host, c config.Config, base string, x Conversion) ([]dataset.CoverageSummary, error) {
	text, err := basemodel.OpenText(h, c.Model, base)
	if err != nil {
		return nil, err
	}
	r, err := text.Renderer(c.Rollout.System)
	if err != nil {
		return nil, err
	}
	if x.From, err = job.LocalData(h, x.From...); err != nil {
		return nil, err
	}
	var out []dataset.CoverageSummary
	for _, scheme := range dataset.Schemes() {
		out = append(out, dataset.CoverageSummary{Scheme: scheme})
	}
	tools, refused := job.NewCatalogs(x.Catalog), 0
	_, err = dataset.Read(x.From, dataset.Options{Format: x.Format}, func(row dataset.Row) error {
		if row.WhyNoDemonstration() != "" {
			return nil
		}
		if err := tools.ToolsFor(&row); err != nil {
			return err
		}
		for i := range out {
			covered, err := dataset.Coverage(out[i].Scheme, row, sequencesFor(r))
			if err != nil {
				if refused++; refused == 1 {
					h.Say("left out %s: the chat template cannot write it: %s",
						job.Where(&row), fault.InnerText(err))
				}
				return nil
			}
			out[i].Add(covered)
		}
		return nil
	})
	if refused > 1 {
		h.Say("left out %s in all that the chat template cannot write", fault.Count(refused, "conversation"))
	}
	if err == nil && out[0].Messages == 0 {
		err = errors.New("no conversation has an assistant message that the template writes")
		err = &fault.Error{Code: fault.CodeUsage, What: "nothing is trained", Err: err, Next: "hone data validate"}
	}
	return out, err
}

// sequencesFor gives rows of a renderer as package unroll looks at them.
func sequencesFor(r render.Renderer) dataset.Render {
	return func(messages []chat.Message, first int, tools []chat.Tool) ([]dataset.Sequence, error) {
		rows, err := r.Sequences(messages, first, tools)
		var out []dataset.Sequence
		for _, row := range rows {
			s := dataset.Sequence{IDs: row.IDs, Trained: row.Trained, Messages: map[int][]int{}}
			for _, span := range row.Spans {
				s.Messages[span.Message] = []int{span.Start, span.End}
			}
			out = append(out, s)
		}
		return out, err
	}
}

// CoverageRows are summaries as a table.
func CoverageRows(list []dataset.CoverageSummary) [][]string {
	rows := [][]string{
		{"scheme", "assistant messages", "once", "never", "several times", "otherwise", "tokens trained", "of"},
	}
	for _, s := range list {
		row := []string{s.Scheme}
		for _, n := range []int{s.Messages, s.Once, s.Never, s.Repeated, s.Different, s.Trained, s.Tokens} {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	return rows
}

// NotOnce is an error where rows by turns do not train each message exactly once.
func NotOnce(list []dataset.CoverageSummary) error {
	for _, s := range list {
		if s.Scheme == dataset.Turns && s.Once != s.Messages {
			return fmt.Errorf("by turns, %d of %s are trained exactly once",
				s.Once, fault.Count(s.Messages, "assistant message"))
		}
	}
	return nil
}
