package generate

import (
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/folders"
	"hone/internal/synth/programs"
)

// How a slip shows: the server refuses it, finds nothing, or says what it has just said. What is read elsewhere says
// something else.
const (
	slipRefused = folders.Refused
	slipEmpty   = "nothing"
	slipAgain   = "again" // the same is answered as just before
)

// Shares of training programs whose demonstration has a slip: over files; over databases, of those in which something
// can be missed, and of the others, in which a column or a table is guessed. That fits nearly all, and would be nearly
// all that is seen.
const (
	shareSlips   = 0.2
	shareMisses  = 0.4
	shareGuesses = 0.1
	shareTables  = 0.05
	shareRare    = 0.6 // of the few from which the way on is not the same again in other letters
)

// shareRepeats is the share of training programs whose demonstration makes a call twice before it goes on. Small models
// repeat a call that told them nothing until the episode ends; they learn to go on only from where they are then. More
// of them, or a third time, may teach the repeating instead: with a share of 0.15, 17 of 67 episodes over a database
// were loops, and 7 with 0.05 and slips that say what was wrong (docs/SYNTH.md).
const shareRepeats = 0.05

// explained has a call made for a reason that its results so far give, before those that it has.
func explained(c Call, why string) Call {
	c.Why = strings.TrimSpace(why + "\n" + c.Why)
	return c
}

// repeat has one call follow itself once: a slip where there is one, else one that is no write. What comes next says
// that it helps nothing.
func repeat(r *rand.Rand, calls, writes []Call) []Call {
	var at []int
	for i, c := range calls {
		if c.Slip != "" {
			at = []int{i}
			break
		}
		if i > 0 && !slices.ContainsFunc(writes, func(w Call) bool { return w.key() == c.key() }) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return calls
	}
	i := pick(r, at[len(at)/2:]) // models get stuck late
	again := calls[i]
	if again.Slip == "" {
		again.Slip = slipAgain
	}
	again.Why = ""
	with := slices.Insert(slices.Clone(calls), i+1, again)
	if i+2 < len(with) {
		with[i+2] = explained(with[i+2], "The same call says the same again, so I make another.")
	}
	return with
}

// detour is a call that goes wrong before a step of a program, with what is looked at behind it.
type detour struct {
	step  int
	calls []Call
	why   string          // what was wrong and what is right, said before the next call
	knows func(Call) bool // the looks that would have kept one from it; nil: none
}

// firstStep is the step of a detour that is made before anything is looked at, and that lists the tables itself.
const firstStep = -1

// slip puts calls that go wrong into the calls of a program, before the one that does it right, so that a model sees
// how one goes on from there. There are one to three of them in a row, each of another kind. What comes next says what
// was wrong: a model that only sees a better call may learn to make nearly the same call again. nil where none fits.
func (db *sqlServer) slip(r *rand.Rand, w *programs.World, p *programs.Program, calls []Call) []Call {
	first, draw := len(calls)-len(p.Steps), r.Float64()
	rare := drawDetour(r, db.noneYet(p), db.nextColumn(r, p), db.oneOfTwo(r, p))
	if rare != nil && draw < shareRare {
		return along(calls, first, []detour{*rare})
	}
	if draw >= shareMisses {
		return nil
	}
	guess := func() *detour { return db.wrongColumn(r, p) }
	ways := []func() *detour{ // in the order in which one looks: where, by which words, for what
		func() *detour { return db.newThing(r, p) },
		func() *detour { return db.wrongPart(r, p) },
		func() *detour { // one alone: behind a search by the name, that is not the next
			return drawDetour(r, db.wrongTable(r, w, p), db.wrongWords(r, p), db.noSuchColumn(p))
		},
		func() *detour { return db.wrongLetters(p) },
		func() *detour { return db.wrongName(r, w, p) },
		func() *detour { return db.withoutJoin(r, p) },
		func() *detour { return db.equalsNull(p) },
		func() *detour { return db.withoutValue(p) },
	}
	if draw < shareGuesses {
		ways = append(ways, guess, func() *detour { return db.wrongHome(r, w, p) })
	} else if draw < shareGuesses+shareTables {
		ways = []func() *detour{func() *detour { return db.missingTable(r, w, p) }}
	}
	var able []detour
	for _, way := range ways {
		if d := way(); d != nil {
			able = append(able, *d)
		}
	}
	if len(able) == 0 {
		return nil
	}
	step := pick(r, able).step // where more fits, more often
	able = slices.DeleteFunc(able, func(d detour) bool { return d.step != step })
	for most := []int{1, 1, 2, 2, 2, 3}[r.IntN(6)]; len(able) > most; {
		i := r.IntN(len(able))
		able = slices.Delete(able, i, i+1)
	}
	if len(able) == 1 && len(able[0].calls) == 1 && r.IntN(2) == 0 { // a guess of a column fits nearly everywhere
		if d := guess(); d != nil && d.step == step {
			able = append(able, *d)
		}
	}
	return along(calls, first, able)
}

// drawDetour draws one of some detours; nil where there is none.
func drawDetour(r *rand.Rand, list ...*detour) *detour {
	list = slices.DeleteFunc(list, func(d *detour) bool { return d == nil })
	if len(list) == 0 {
		return nil
	}
	return pick(r, list)
}

// along has detours made before the step that they are of. What was wrong with all of them so far stands before the
// next call that is no slip: these are not learnt.
func along(calls []Call, first int, detours []detour) []Call {
	at, why := first+detours[0].step, ""
	if detours[0].step == firstStep {
		first, at = 1, 1
	}
	looks, with := slices.Clone(calls[:first]), slices.Clone(calls[first:at])
	for _, d := range detours {
		if d.knows != nil {
			looks = slices.DeleteFunc(looks, d.knows)
		}
		for _, c := range d.calls {
			if c.Slip == "" {
				c, why = explained(c, why), ""
			}
			with = append(with, c)
		}
		why = strings.TrimSpace(why + " " + d.why)
	}
	return slices.Concat(looks, with, []Call{explained(calls[at], why)}, calls[at+1:])
}

// failing is a call of a statement that goes wrong in some way.
func (db *sqlServer) failing(sql, how string, writes bool) Call {
	c := db.step(programs.Step{SQL: sql, Writes: writes})
	c.Slip = how
	return c
}

func isSlip(c Call) bool { return c.Slip != "" }

// slipsFail reports whether each slip went wrong as it was meant to, and whether the looks behind it show what is then
// said of them.
func slipsFail(calls []Call, got *Played) bool {
	for i, c := range calls {
		if i >= len(got.Results) {
			break
		}
		r := got.Results[i]
		if !strings.Contains(r.Text, c.Shows) || c.Lacks != "" && strings.Contains(r.Text, c.Lacks) {
			return false
		}
		failed := !r.ok() || looksLikeFailure(r.Text)
		switch c.Slip {
		case slipAgain:
			if failed || r.Text != got.Results[i-1].Text {
				return false
			}
		case slipRefused:
			if !failed {
				return false
			}
		case slipEmpty:
			if failed || !findsNothing(r.Text) {
				return false
			}
		}
	}
	return true
}

// findsNothing reports whether a result has no rows, or counts none.
func findsNothing(text string) bool {
	rows := programs.Rows(text)
	for _, r := range programs.Records(text) {
		rows = append(rows, r.Values)
	}
	none := func(v any) bool { return v == nil || programs.Equal(v, int64(0)) }
	return len(text) <= 80 && (len(rows) == 0 || len(rows) == 1 && len(rows[0]) == 1 && none(rows[0][0]))
}
