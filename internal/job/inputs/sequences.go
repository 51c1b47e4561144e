package inputs

import (
	"fmt"
	"strconv"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
)

// SequencesOf renders rows as training rows, whose Group is the number of their conversation. One that the context does not hold is left out: cut short, it would teach to
// stop. So is, with skip, one that cannot be rendered.
func SequencesOf(h *host.Host, m *basemodel.Model, path string, rows []dataset.Row, context int, skip bool) ([]batch.Sequence, error) {
	return sequencesWithin(FreeMemory(), h, m, path, rows, context, skip)
}

func sequencesWithin(free int64, h *host.Host, m *basemodel.Model, path string, rows []dataset.Row, context int, skip bool) ([]batch.Sequence, error) {
	var out []batch.Sequence
	splits, conversation := 0, 0
	var long []string // places of those that the context does not hold
	longest, bad := 0, refusedRows{}
	held := Rendering{One: "row", All: len(rows), Free: free}
	for i, r := range rows {
		if err := held.Refuse(i, path); err != nil {
			return nil, err
		}
		if i > 0 && (r.TraceID == "" || r.TraceID != rows[i-1].TraceID) {
			conversation++
		}
		rendered, err := m.Renderer.Sequences(r.Messages, r.Opening, r.Tools)
		if err != nil && skip {
			bad.add(&r, err)
			continue
		}
		if err != nil {
			return nil, &fault.Error{Code: fault.CodeUsage, What: Unrendered, Where: Where(&r), Err: err, Next: "correct the row"}
		}
		for _, s := range rendered {
			if s.Rewrite != "" {
				if splits++; splits == 1 {
					h.Say("%s is trained as several rows: %s", Where(&r), s.Rewrite)
				}
			}
			if len(s.IDs) > context {
				long, longest = append(long, Where(&r)), max(longest, len(s.IDs))
				continue
			}
			out = append(out, batch.Sequence{IDs: s.IDs, Trained: s.Trained, Group: conversation})
			held.Tokens += len(s.IDs)
		}
	}
	why := fmt.Sprintf("%d tokens, more than model.context", longest)
	if len(long) > 1 {
		why = "more tokens than model.context, at most " + strconv.Itoa(longest)
	}
	sayLeftOut(h, long, why)
	bad.say(h)
	if splits > 1 {
		h.Say("%d rows in all begin anew within a conversation, because the chat template rewrites what was said before", splits)
	}
	if len(out) == 0 && len(bad) > 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation can be learnt from", Where: path, Why: "none fits the chat template and model.context; see above",
			Next: "give other conversations"}
	}
	if len(out) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation fits the model's context", Where: path,
			Err: TooLong(context), Next: "raise model.context, or list fewer tools"}
	}
	return out, nil
}

// firstPlaces is how many rows are named that are left out for one reason.
const firstPlaces = 3

// sayLeftOut tells of rows that are not learnt from for one reason, in one line.
func sayLeftOut(h *host.Host, places []string, why string) {
	switch n := len(places); {
	case n == 1:
		h.Say("left out %s: %s", places[0], why)
	case n > firstPlaces:
		h.Say("left out %d rows: %s: %s and %d more", n, why, strings.Join(places[:firstPlaces], ", "), n-firstPlaces)
	case n > 0:
		h.Say("left out %d rows: %s: %s", n, why, strings.Join(places, ", "))
	}
}

// TooLong is why no conversation is left: each has more tokens than this.
type TooLong int

func (t TooLong) Error() string { return "each has more than " + fault.Count(int(t), "token") }
