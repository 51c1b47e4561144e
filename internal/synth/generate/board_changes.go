package generate

import (
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// change adds the calls that make the rows of the tables what statements make them. What refers to a thing goes before
// it, and what is new comes behind what it names.
func (b *boarding) change(t *boardTask, after []programs.NumberedRows) bool {
	for k, o := range b.world.Tables[1:] {
		rows, same := after[k+1], len(after[k+1]) == len(o.Rows)
		for i, row := range o.Rows {
			same = same && rows[int64(i)+1] != nil && slices.EqualFunc(row, rows[int64(i)+1], programs.Equal)
		}
		kin := b.kinOf(o)
		if !same && (kin == nil || !b.changeKin(t, kin, rows)) {
			return false
		}
	}
	return b.changeRows(t, after[0]) && len(t.changes) > 0 && len(t.changes) <= 2*mostViewed
}

// changeKin adds the changes of another list, which must then show these and no more.
func (b *boarding) changeKin(t *boardTask, kin *boarding, rows programs.NumberedRows) bool {
	own := &boardTask{Program: t.Program, after: map[string]map[string]string{}}
	if int64(len(rows)) > int64(len(kin.table.Rows)) || !kin.changeRows(own, rows) {
		return false
	}
	for _, want := range own.after {
		for name := range want {
			if slices.ContainsFunc(kin.columns, func(c boardColumn) bool { return c.name == name && c.hidden }) {
				return false
			}
		}
	}
	for _, c := range own.reads {
		t.look(c)
	}
	t.changes = append(t.changes, own.changes...)
	kin.staysBut(t, own.after)
	return true
}

// staysBut has a task look at a list, which shows what it did, but for these changes.
func (b *boarding) staysBut(t *boardTask, after map[string]map[string]string) {
	t.sees(b.list.bare(), func(text string) bool {
		was, things := b.recordsIn(b.m, b.text), b.recordsIn(b.m, text)
		for key := range was {
			want, changed := after[key]
			is, there := things[key]
			if there != (want != nil || !changed) || !changed && is != was[key] {
				return false
			}
			for name, v := range want {
				if !sameSaid(pairsOf(is).of(name), v) {
					return false
				}
			}
		}
		return len(things) <= len(was)
	})
}

// changeRows adds the calls that make the rows of one table others.
func (b *boarding) changeRows(t *boardTask, rows programs.NumberedRows) bool {
	for i, row := range b.table.Rows {
		now, kept := rows[int64(i)+1]
		if !kept {
			if b.archive == nil || !t.archives(b.archive) {
				return false
			}
			t.changes = append(t.changes, b.archive.keyed(b.key(row)))
			t.after[b.key(row)] = nil
			continue
		}
		arguments, want, ok := b.edits(row, now)
		if !ok {
			return false
		}
		if len(arguments) == 0 {
			continue
		}
		for i := range b.columns { // by a key that nobody says
			if !programs.Equal(row[i], now[i]) {
				b.findsNamed(t, nil, []int{i})
			}
		}
		t.after[b.key(row)] = want
		t.changes = append(t.changes, b.changeOf(b.key(row), arguments...)...)
	}
	for n := int64(len(b.table.Rows)) + 1; rows[n] != nil; n++ {
		if !b.creates(t, rows[n]) {
			return false
		}
	}
	return true
}

// archives says a removal in the words of the tool that makes it.
func (t *boardTask) archives(s *subject) bool {
	if s.hasVerb("delete", "remove") || t.Slot("verb") != "" {
		return true
	}
	return t.Archives(words(s.Name)[slices.IndexFunc(words(s.Name), func(w string) bool { return w == "archive" })])
}

// edits are the arguments that make a row another one, and what its view then says.
func (b *boarding) edits(row, now []any) (arguments []member, want map[string]string, ok bool) {
	want = map[string]string{}
	for i, c := range b.columns {
		if programs.Equal(row[i], now[i]) {
			continue
		}
		if c.edit == nil || i == b.table.Key || strings.Contains(programs.Show(now[i]), programs.ListMark) {
			return nil, nil, false
		}
		value := c.edit.value(now[i])
		arguments = append(arguments, member{c.edit.name, value})
		want[c.name] = programs.Show(now[i])
	}
	return arguments, want, true
}

// creates adds the call that makes a new thing.
func (b *boarding) creates(t *boardTask, row []any) bool {
	if b.create == nil {
		return false
	}
	var arguments []member
	with := map[string]string{}
	for i, c := range b.columns {
		switch {
		case row[i] == nil:
		case i == b.table.Key || c.create == nil || strings.Contains(programs.Show(row[i]), programs.ListMark):
			return false
		default:
			b.findsNamed(t, nil, []int{i})
			arguments = append(arguments, member{c.create.name, c.create.value(row[i])})
			if c.hidden {
				with[c.name] = programs.Show(row[i])
			}
		}
	}
	call := Call{Tool: b.create.Name, Arguments: objectOf(arguments...)}
	t.made, t.changes = programs.Show(row[b.table.Label]), append(t.changes, call)
	if len(with) > 0 {
		t.madeWith = map[string]map[string]string{t.made: with}
	}
	return b.create.takes(string(call.Arguments))
}
