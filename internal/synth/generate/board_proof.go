package generate

import (
	"context"
	"regexp"
	"slices"
	"strings"

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
	made := []string{}
	if err == nil {
		made = b.withNew(t, got)
	}
	for _, key := range made {
		keys = append(keys, key)
		x.Looks = slices.Insert(x.Looks, len(keys), b.view.keyed(key))
	}
	if len(made) > 0 {
		got, err = b.played(ctx, x, true)
	}
	if err != nil {
		return nil, "", err
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
	case len(t.changes)+len(t.setup) == 0 && got.Seen[0].Text != b.begins:
		return nil, "a call changes something", nil
	}
	for i, key := range keys {
		text := got.Seen[i+1].Text
		pairs := pairsOf(text)
		for name, want := range t.after[key] {
			if !sameSaid(pairs.of(name), want) {
				return nil, "a thing is not as it was computed", nil
			}
		}
		if said := t.said[key]; said != "" && (!strings.Contains(text, said) || strings.Contains(b.looks[key], said)) {
			return nil, "a thing is not as it was computed", nil
		}
	}
	for i, l := range t.looks {
		if !l.holds(got.Seen[1+len(keys)+i].Text) {
			return nil, "a thing is not as it was computed", nil
		}
	}
	for _, key := range made {
		text := got.Seen[1+slices.Index(keys, key)].Text
		if slices.ContainsFunc(t.madeSays, func(said string) bool { return saying(text, said) == "" }) {
			return nil, "a thing is not as it was computed", nil
		}
	}
	list := got.Seen[0].Text
	if t.made != "" && !strings.Contains(list, t.made) || t.gone(list) {
		return nil, "the list is not as it was computed", nil
	}
	for i, look := range x.Looks {
		text := freely(b.anyNewUUID(steadyText(got.Seen[i].Text)), t.free)
		states = append(states, scenario.Check{Type: scenario.StateCheck, Name: look.Tool, Arguments: look.Arguments,
			Regex: &text})
	}
	return states, "", nil
}

var uuidText = regexp.MustCompile(`\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`)

// anyNewUUID is a pattern that takes any UUID in the place of one that the board did not show before: it is drawn anew.
func (b *boarding) anyNewUUID(pattern string) string {
	return uuidText.ReplaceAllStringFunc(pattern, func(id string) string {
		if strings.Contains(b.text, id) {
			return id
		}
		return `[0-9a-fA-F-]{36}`
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
func (t *boardTask) gone(list string) bool {
	for key, want := range t.after {
		if want == nil && regexp.MustCompile(regexp.QuoteMeta(key)+`\b`).MatchString(list) {
			return true
		}
	}
	return false
}

// sameSaid reports whether a view says a value, whatever stands before it and in whatever letters.
func sameSaid(is, want string) bool {
	is, want = strings.ToLower(is), strings.ToLower(strings.ReplaceAll(want, programs.ListMark, ", "))
	return is == want || want != "" && strings.HasSuffix(is, " "+want)
}

// isShown reports whether the first read shows what its filters ask for.
func (t *boardTask) isShown(got *Played) bool {
	all := ""
	for _, r := range got.Results {
		all += r.Text + "\n"
	}
	return !slices.ContainsFunc(t.shown, func(name string) bool { return !strings.Contains(all, name) }) &&
		!slices.ContainsFunc(t.hidden, func(name string) bool {
			return len(got.Results) > 0 && strings.Contains(got.Results[0].Text, name)
		})
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

// steadyText is a pattern of a text whose volatile lines may say anything.
func steadyText(text string) string {
	parts := []string{}
	last := 0
	for _, at := range volatileLine.FindAllStringIndex(text, -1) {
		parts = append(parts, regexp.QuoteMeta(text[last:at[0]]))
		last = at[1]
	}
	return `\A` + strings.Join(append(parts, regexp.QuoteMeta(text[last:])), `[^\n]*`) + `\z`
}

// play makes the calls, looks, and puts the folder back where something was changed.
func (b *boarding) play(ctx context.Context, x play, changes bool) (*Played, error) {
	got := &Played{}
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
	text, ok := b.m.tryOn(ctx, b.session, b.list.bare())
	return ok && text == b.text
}
