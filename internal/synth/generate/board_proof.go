package generate

import (
	"context"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// prove plays a task: the list and the views must then say what was computed. It returns the checks of that.
func (b *boarding) prove(
	ctx context.Context, t *boardTask, c *Candidate,
) (states []scenario.Check, why string, err error) {
	x := play{Setup: t.setup, Calls: c.Calls, Looks: []Call{b.list.bare()}}
	var keys []string
	for _, row := range b.table.Rows {
		_, changed := t.after[b.key(row)]
		if _, said := t.said[b.key(row)]; said || changed && t.after[b.key(row)] != nil {
			keys = append(keys, b.key(row))
			x.Looks = append(x.Looks, b.viewOf(row))
		}
	}
	for _, l := range t.looks {
		x.Looks = append(x.Looks, l.call)
	}
	got, err := b.played(ctx, x, len(t.changes)+len(t.setup) > 0)
	if err != nil {
		return nil, "", err
	}
	made := b.withNew(t, got)
	if len(made) > 0 && b.view != nil && !b.draws {
		for _, key := range made {
			keys = append(keys, key)
			x.Looks = slices.Insert(x.Looks, len(keys), b.show(key))
		}
		if got, err = b.played(ctx, x, true); err != nil {
			return nil, "", err
		}
		if again := b.withNew(t, got); !slices.Equal(again, made) { // no look can name it
			b.draws = true
			for _, key := range slices.Concat(made, again) {
				delete(t.after, key)
			}
			return b.prove(ctx, t, c)
		}
	}
	c.Proof = []string{x.name()}
	if why, err := b.m.fails(c.Calls, got, ""); why != "" {
		return nil, why, err
	}
	switch {
	case !t.isShown(got), t.says != nil && !slices.ContainsFunc(got.Results, func(a Answered) bool {
		return t.says(a.Text)
	}):
		return nil, "the list does not show what it is asked for", nil
	case len(t.madeWith)+len(t.madeSays) > 0 && len(made) < 1+len(t.more):
		return nil, "nothing shows what a new thing has", nil
	case b.usesUnshown(t, got):
		return nil, "what a call or the answer has is shown by no result", nil
	case len(t.changes)+len(t.setup) == 0 && got.Seen[0].Text != b.begins:
		return nil, "a call changes something", nil
	}
	if why := b.mismatch(t, keys, made, got); why != "" {
		return nil, why, nil
	}
	states = b.states(c, x, made, got, t.free)
	if len(made) > 0 && (b.view == nil || b.draws) { // where a new thing stands may be drawn, too
		for x.Attempt = range 6 {
			again, err := b.played(ctx, x, true)
			if err != nil || !b.holdsAgain(x, again, states) {
				return nil, "the list is not the same twice", err
			}
		}
	}
	return states, "", nil
}

// mismatch says what is not as it was computed: of the things of some keys, of the looks of a task, of what is new, or
// of the list; "" where all is.
func (b *boarding) mismatch(t *boardTask, keys, made []string, got *Played) string {
	for i, key := range keys {
		text := b.shown(key, got.Seen[i+1].Text)
		pairs := pairsOf(text)
		for name, want := range t.after[key] {
			if !sameSaid(pairs.of(name), want) {
				return "a thing is not as it was computed"
			}
		}
		if said := t.said[key]; said != "" && (!strings.Contains(text, said) || strings.Contains(b.looks[key], said)) {
			return "a thing is not as it was computed"
		}
	}
	for i, l := range t.looks {
		text := got.Seen[1+len(keys)+i].Text
		if l.key != "" {
			text = b.shown(l.key, text)
		}
		if !l.holds(text) {
			return "a thing is not as it was computed"
		}
	}
	for _, key := range made {
		text := ""
		if b.view == nil {
			text = b.shown(key, got.Seen[0].Text)
		} else if i := slices.Index(keys, key); i >= 0 {
			text = got.Seen[1+i].Text
		}
		if slices.ContainsFunc(t.madeSays, func(said string) bool { return saying(text, said) == "" }) {
			return "a thing is not as it was computed"
		}
	}
	list := got.Seen[0].Text
	if t.made != "" && !showsName(list, t.made) || b.gone(t, list) {
		return "the list is not as it was computed"
	}
	return ""
}

// states are the checks of what the looks of a play have shown.
func (b *boarding) states(c *Candidate, x play, made []string, got *Played, free []string) (states []scenario.Check) {
	for i, look := range x.Looks {
		if slices.ContainsFunc(x.Looks[:i], func(o Call) bool { return o.key() == look.key() }) {
			continue
		}
		text := freely(b.anyNewUUID(steadyText(got.Seen[i].Text, b.news(c.Calls, got.At))), free)
		for _, key := range made {
			if b.view == nil || b.draws {
				text = strings.ReplaceAll(text, regexp.QuoteMeta(key), `[^\s",]+`)
			}
		}
		states = append(states, scenario.Check{Type: scenario.StateCheck, Name: look.Tool, Arguments: look.Arguments,
			Regex: &text})
	}
	return states
}

// holdsAgain reports whether what another play shows passes the checks of a task.
func (b *boarding) holdsAgain(x play, got *Played, states []scenario.Check) bool {
	for i, look := range x.Looks {
		for _, c := range states {
			if c.Name == look.Tool && string(c.Arguments) == string(look.Arguments) &&
				(i >= len(got.Seen) || !regexp.MustCompile(*c.Regex).MatchString(got.Seen[i].Text)) {
				return false
			}
		}
	}
	return true
}

var uuidText = regexp.MustCompile(`\b(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{32})\b`)

// anyNewUUID is a pattern that takes any UUID in the place of one that the board did not show before: it is drawn anew.
func (b *boarding) anyNewUUID(pattern string) string {
	return uuidText.ReplaceAllStringFunc(pattern, func(id string) string {
		if strings.Contains(b.text, id) {
			return id
		}
		return `[0-9a-fA-F-]{32,36}`
	})
}

// played is what comes of the calls of a task, which are made once.
func (b *boarding) played(ctx context.Context, x play, changes bool) (*Played, error) {
	return b.m.once(x, func() (*Played, error) { return b.play(ctx, x, changes) })
}

// digits are the number within a key.
var digits = regexp.MustCompile(`\d+`)

// newKey is the key of a new thing with a name, as the list shows it: of the form that other keys have. It is "" where
// none is made, or none is shown.
func (b *boarding) newKey(name string, got *Played) string {
	if name == "" || got == nil || len(got.Seen) == 0 {
		return ""
	}
	for key, thing := range b.recordsIn(b.m, got.Seen[0].Text) {
		if _, old := b.looks[key]; !old && pairsOf(thing).of(b.columns[b.table.Label].name) == name {
			return key
		}
	}
	key := regexp.QuoteMeta(b.key(b.table.Rows[0]))
	form := regexp.MustCompile(digits.ReplaceAllString(key, `\d+`) + `(?:\.\d+)*\b`) // 3.1 is a part of 3
	for line := range strings.Lines(got.Seen[0].Text) {
		if !strings.Contains(line, name) {
			continue
		}
		for _, key := range form.FindAllString(line, -1) {
			if _, old := b.looks[key]; !old {
				return key
			}
		}
	}
	return ""
}

// gone reports whether a list still shows a thing that is to be gone.
func (b *boarding) gone(t *boardTask, list string) bool {
	records := b.recordsIn(b.m, list)
	for key, want := range t.after {
		_, there := records[key]
		if want == nil && (there ||
			len(records) == 0 && regexp.MustCompile(regexp.QuoteMeta(key)+`\b`).MatchString(list)) {
			return true
		}
	}
	return false
}

// sameSaid reports whether a view says a value, whatever stands before it and in whatever letters.
func sameSaid(is, want string) bool {
	is, want = strings.ToLower(is), strings.ToLower(strings.ReplaceAll(want, programs.ListMark, ", "))
	is = midnight.ReplaceAllString(is, "$1")
	return is == want || want != "" && strings.HasSuffix(is, " "+want)
}

// isShown reports whether the first read shows what its filters ask for.
func (t *boardTask) isShown(got *Played) bool {
	all := ""
	for _, r := range got.Results {
		all += r.Text + "\n"
	}
	return !slices.ContainsFunc(t.shown, func(name string) bool { return !showsName(all, name) }) &&
		!slices.ContainsFunc(t.hidden, func(name string) bool {
			return len(got.Results) > 0 && showsName(got.Results[0].Text, name)
		})
}

// showsName reports whether a result has a name, as it is or as JSON writes it.
func showsName(text, name string) bool {
	return strings.Contains(text, name) || strings.Contains(text, strings.Trim(string(quote(name)), `"`))
}

// freely is a pattern of a text in which some parts may be in other letters, and end with a full stop.
func freely(pattern string, parts []string) string {
	for _, part := range parts {
		quoted := regexp.QuoteMeta(strings.TrimSuffix(part, "."))
		pattern = strings.Replace(pattern, quoted+`\.`, quoted, 1)
		pattern = strings.Replace(pattern, quoted, `(?i:`+quoted+`)\.?`, 1)
	}
	return pattern
}

// volatileLine matches a line that says when something was done, or where a file is.
var volatileLine = regexp.MustCompile(`(?mi)^(updated|created|modified|file|path): .*$|^.*` +
	regexp.QuoteMeta(dirMark) +
	`.*$|"(?:created|updated|modified)\w*": ?"[^"\n]*"|\(?\d{4}-\d\d-\d\d \d\d:\d\d[^)\n]*\)?`)

// dayText is a day in a text, with the time that stands behind it.
var dayText = regexp.MustCompile(`\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`)

// news reports whether a day or a time in a result is the server's own: of the day of a play, and neither shown before
// nor in a call.
func (b *boarding) news(calls []Call, at int64) func(text string) bool {
	known := b.text
	for _, text := range b.looks {
		known += text
	}
	for _, c := range calls {
		known += string(c.Arguments)
	}
	return func(text string) bool {
		day, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)])
		return err == nil && time.Unix(at, 0).Sub(day).Abs() < 48*time.Hour && !strings.Contains(known, text)
	}
}

// steadyText is a pattern of a text whose volatile lines may say anything, as may days and times that are news.
func steadyText(text string, news func(text string) bool) string {
	parts := []string{}
	last := 0
	free := volatileLine.FindAllStringIndex(text, -1)
	for _, at := range dayText.FindAllStringIndex(text, -1) {
		if news(text[at[0]:at[1]]) {
			free = append(free, at)
		}
	}
	sort.Slice(free, func(i, j int) bool { return free[i][0] < free[j][0] })
	for _, at := range free {
		if at[0] < last {
			continue
		}
		parts = append(parts, regexp.QuoteMeta(text[last:at[0]]))
		last = at[1]
	}
	return `\A` + strings.Join(append(parts, regexp.QuoteMeta(text[last:])), `[^\n]*`) + `\z`
}

// play makes the calls, looks, and puts the folder back where something was changed.
func (b *boarding) play(ctx context.Context, x play, changes bool) (*Played, error) {
	got := &Played{At: time.Now().Unix()}
	if !b.open(ctx, nil, got) {
		return got, ctx.Err()
	}
	if len(x.Setup) > 0 {
		before := &Played{}
		b.m.make(ctx, b.session, x.Setup, before)
		if got.Lost = before.Lost; got.Lost == "" && anyFailed(x.Setup, before) {
			got.Results = before.Results[len(before.Results)-1:] // the call that is refused
			if !b.putBack(ctx) {
				b.close()
			}
			return got, ctx.Err()
		}
	}
	b.m.make(ctx, b.session, x.Calls, got)
	got.Seen = b.seat.look(ctx, x.Looks)
	if got.Lost != "" || changes && (b.writesRoster(x) || !b.putBack(ctx)) {
		b.close()
	}
	return got, ctx.Err()
}

// putBack makes the session's folder as it was, and reports whether the server then shows what it did.
func (b *boarding) putBack(ctx context.Context) bool {
	if len(b.before) == 0 || b.before.putBack(b.session.Dir(b.server)) != nil {
		return false
	}
	for _, o := range append([]*boarding{b}, b.kin...) {
		if text, ok := b.m.tryOn(ctx, b.session, o.list.bare()); !ok || text != o.text {
			return false
		}
	}
	return true
}
