package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
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

// Shares of training programs whose demonstration has a slip: over files, and of those that edit one, an edit that
// changes nothing; over databases, of those in which something
// can be missed, and of the others, in which a column or a table is guessed. That fits nearly all, and would be nearly
// all that is seen.
const (
	shareSlips    = 0.2
	shareMisedits = 0.1
	shareMisses   = 0.17
	shareGuesses  = 0.1
	shareTables   = 0.05
	shareRare     = 0.15 // of the few from which the way on is not the same again in other letters
)

// Shares of the training programs over databases that allow it, of slips from which the way on is no other name: the
// name is new, nothing records the property, or the noun is no condition.
const (
	shareUnrecorded = 0.9
	shareNouns      = 0.05
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
// why that helps nothing, and what it does otherwise.
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
	cause := map[string]string{
		"":          "I have seen this already: nothing has changed in between, so it says no more.",
		slipRefused: "It is refused for the same reason, as it has the same words.",
		slipEmpty:   "It finds nothing for the same reason: it looks for the same words in the same place.",
	}[again.Slip]
	if again.Slip == "" {
		again.Slip = slipAgain
	}
	again.Why = ""
	with := slices.Insert(slices.Clone(calls), i+1, again)
	if i+2 < len(with) {
		next := with[i+2]
		with[i+2] = explained(next, cause)
		if change := difference(again, next); change != "" {
			with[i+2].Why += "\n" + change
		}
	}
	return with
}

// wordOfCall matches a word or a number in the arguments of a call.
var wordOfCall = regexp.MustCompile(`[\p{L}\d](?:[\p{L}\d_.'/-]*[\p{L}\d])?`)

// mostDiffer is how many words are told in which two calls differ.
const mostDiffer = 3

// difference says what the next call does otherwise than one that helped nothing: another tool, or other words.
func difference(c, next Call) string {
	if c.Tool != next.Tool {
		return fmt.Sprintf("Next I call %s, not %s.", next.Tool, c.Tool)
	}
	words := func(c Call) []string {
		var arguments map[string]any
		_ = json.Unmarshal(c.Arguments, &arguments) // made of it
		return wordOfCall.FindAllString(fmt.Sprint(arguments), -1)
	}
	without := func(c, other Call) string {
		var list []string
		for _, w := range words(c) {
			if !slices.Contains(words(other), w) && !slices.Contains(list, w) && len(list) < mostDiffer {
				list = append(list, w)
			}
		}
		return strings.Join(list, ", ")
	}
	switch gone, come := without(c, next), without(next, c); {
	case gone != "" && come != "":
		return fmt.Sprintf("The next call has %s in place of %s.", come, gone)
	case come != "":
		return fmt.Sprintf("The next call has %s, too.", come)
	case gone != "":
		return fmt.Sprintf("The next call leaves out %s.", gone)
	}
	return ""
}

// detour is a call that goes wrong before a step of a program, with what is looked at behind it.
type detour struct {
	step  int
	calls []Call
	why   string          // what was wrong and what is right, said before the next call
	comes string          // the word that it comes to, which some look before has shown; "": its own look shows it
	knows func(Call) bool // the looks that would have kept one from it; nil: none
}

// firstStep is the step of a detour that is made before anything is looked at, and that lists the tables itself.
const firstStep = -1

// slip puts calls that go wrong into the calls of a program, before the one that does it right, so that a model sees
// how one goes on from there. There are one to three of them in a row, each of another kind. What comes next says what
// was wrong: a model that only sees a better call may learn to make nearly the same call again. nil where none fits.
func (db *sqlServer) slip(r *rand.Rand, w *programs.World, p *programs.Program, calls []Call) []Call {
	first := len(calls) - len(p.Steps)
	known := func(d detour) bool { // it was read in a step before
		return d.knows != nil && d.step > 0 && slices.ContainsFunc(calls[first:first+d.step], d.knows)
	}
	able := slices.DeleteFunc(db.detours(r, w, p), known)
	if len(able) == 0 {
		return nil
	}
	step := pick(r, able).step // where more fits, more often
	able = slices.DeleteFunc(able, func(d detour) bool { return d.step != step })
	for most := []int{1, 2, 2, 2, 3, 3}[r.IntN(6)]; len(able) > most; {
		i := r.IntN(len(able))
		able = slices.Delete(able, i, i+1)
	}
	if len(able) == 1 && len(able[0].calls) == 1 && r.IntN(2) == 0 { // a guess of a column fits nearly everywhere
		if d := db.wrongColumn(r, p); d != nil && d.step == step && !known(*d) {
			able = append(able, *d)
		}
	}
	return along(calls, first, able)
}

// detours are those of which a demonstration may have some: one that few programs allow, or all that there are.
func (db *sqlServer) detours(r *rand.Rand, w *programs.World, p *programs.Program) []detour {
	for _, exit := range []struct {
		share float64
		way   *detour
	}{
		{shareUnrecorded, db.noSuchColumn(r, p)},
		{shareNouns, db.nounTested(r, p)},
	} {
		if exit.way != nil && r.Float64() < exit.share {
			return []detour{*exit.way}
		}
	}
	draw := r.Float64()
	rare := drawDetour(r, db.noneYet(p), db.nextColumn(r, p), db.oneOfTwo(r, p))
	if rare != nil && draw < shareRare {
		return []detour{*rare}
	}
	if draw >= shareMisses {
		return nil
	}
	ways := []*detour{ // in the order in which one looks: where, by which words, for what
		db.wrongPart(r, p),
		drawDetour(r, db.wrongTable(r, w, p), db.wrongWords(r, p)), // one alone: what finds the name is not the next
		db.wrongLetters(p),
		db.wrongName(r, w, p),
		db.withoutJoin(r, p),
		db.equalsNull(p),
		db.withoutValue(p),
	}
	if draw < shareGuesses {
		ways = append(ways, db.wrongColumn(r, p), db.wrongHome(r, w, p))
	} else if draw < shareGuesses+shareTables {
		ways = []*detour{db.missingTable(r, w, p)}
	}
	var able []detour
	for _, d := range ways {
		if d != nil {
			able = append(able, *d)
		}
	}
	return able
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
	var comes []string
	for _, d := range detours {
		if d.comes != "" {
			comes = append(comes, d.comes)
		}
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
	rest := slices.Clone(calls[at:])
	if len(rest) > 0 { // else the answer is next, which has a reason of its own
		rest[0] = explained(rest[0], why)
		rest[0].Comes = comes
	}
	return slices.Concat(looks, with, rest)
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
		for _, word := range c.Comes {
			if !wasShown(word, calls[:i], got) {
				return false
			}
		}
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

// wasShown reports whether the result of a call that is no slip has a word.
func wasShown(word string, calls []Call, got *Played) bool {
	for i, c := range calls {
		if c.Slip == "" && strings.Contains(got.Results[i].Text, word) {
			return true
		}
	}
	return false
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
