package job

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
)

// SequencesOf renders rows as training rows, whose Group is the number of their conversation. One that the context does
// not hold is left out: cut short, it would teach to stop. So is, with skip, one that cannot be rendered.
func SequencesOf(
	h *host.Host, m *basemodel.Model, path string, rows []dataset.Row, context int, skip bool,
) ([]batch.Sequence, error) {
	return sequencesWithin(FreeMemory(), h, m, path, rows, context, skip)
}

func sequencesWithin(
	free int64, h *host.Host, m *basemodel.Model, path string, rows []dataset.Row, context int, skip bool,
) ([]batch.Sequence, error) {
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
			return nil, &fault.Error{Code: fault.CodeUsage, What: Unrendered, Where: Where(&r), Err: err,
				Next: "correct the row"}
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
			out = append(out, batch.Sequence{IDs: s.IDs, Trained: s.Trained, Group: conversation,
				Place: Where(&r)})
			held.Tokens += len(s.IDs)
		}
	}
	why := fmt.Sprintf("%d tokens, more than model.context", longest)
	if len(long) > 1 {
		why = "more tokens than model.context, at most " + strconv.Itoa(longest)
	}
	sayLeftOut(h, long,
		fmt.Sprintf("%s (it is %d; in hone.yaml model: {context: %d} keeps them)", why, context, longest))
	bad.say(h)
	if splits > 1 {
		h.Say("%d rows in all begin anew within a conversation, because the chat template rewrites what was "+
			"said before", splits)
	}
	if len(out) == 0 && len(bad) > 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no conversation can be learnt from", Where: path,
			Why: "none fits the chat template and model.context; see above", Next: "give other conversations"}
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

// tokenBytes is what a token of a training row takes of this machine's memory: its id, and whether it is trained.
const tokenBytes = 4 + 1

// checkEvery is the number of examples between memory estimates.
const checkEvery = 64

// Rendering counts what rows take of this machine's memory while they are rendered. All are held until training ends.
type Rendering struct {
	One    string // what an example is called
	All    int    // examples
	Free   int64  // bytes, before the first
	Tokens int    // so far
}

// FreeMemory is what a process can still get, in bytes; without bound where the system does not say.
func FreeMemory() int64 {
	if free, err := host.AvailableMemory(); err == nil {
		return free
	}
	return math.MaxInt64
}

// Refuse is an error where, after so many examples, all are foreseen to take more memory than there is: it is told
// before the rest is rendered, and before the system would end the process.
func (r *Rendering) Refuse(done int, path string) error {
	if done == 0 || done%checkEvery != 0 {
		return nil
	}
	tokens := float64(r.Tokens) / float64(done) * float64(r.All)
	if tokens*tokenBytes <= float64(r.Free) {
		return nil
	}
	gib := func(bytes float64) string { return fmt.Sprintf("%.1f GiB", bytes/(1<<30)) }
	return &fault.Error{
		Code:  fault.CodeExhausted,
		What:  "this machine's memory does not hold the " + r.One + "s",
		Where: path,
		Why: fmt.Sprintf("by the first %d, %s have about %.3g tokens in all, which take %s; %s are free",
			done, fault.Count(r.All, r.One), tokens, gib(tokens*tokenBytes), gib(float64(r.Free))),
		Next: "give fewer (hone curate rules --per-tool N keeps the best traces), or lower model.context: " +
			"longer ones are left out",
	}
}

// Unrendered is what a row is that the chat template refuses, or of which it writes what is not read back.
const Unrendered = "a conversation cannot be rendered"

// refusedRows are the places of rows that cannot be rendered, by why.
type refusedRows map[string][]string

// add takes a row in.
func (x refusedRows) add(r *dataset.Row, err error) {
	why := innermost(err)
	x[why] = append(x[why], Where(r))
}

// innermost is the reason at the bottom of an error, in a line: a template's own words are the last of one.
func innermost(err error) string {
	f, is := errors.AsType[*fault.Error](err)
	switch {
	case is && f.Err != nil:
		return innermost(f.Err)
	case is && f.Why != "":
		return f.Why
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// say tells of them, each reason in one line with its number.
func (x refusedRows) say(h *host.Host) {
	for _, why := range slices.Sorted(maps.Keys(x)) {
		sayLeftOut(h, x[why], "it cannot be rendered: "+why)
	}
}
