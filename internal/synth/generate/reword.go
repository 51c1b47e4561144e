package generate

import (
	"context"
	"strings"

	"hone/internal/episode/scenario"
)

// reword has the teacher word what templates would word, and what training does not see in any case: with a prompt of
// its own, and perhaps another model. A wording must keep the values of the calls, and what the answer is to be.
func (m *maker) reword(ctx context.Context, list []draftOf) error {
	if m.Teacher == nil {
		return nil
	}
	var records []*Candidate
	for i := range list {
		d := &list[i]
		if d.of.own != nil || d.of.told != nil { // its words are the user's, or made from its meaning
			continue
		}
		records = append(records, d.of)
		m.baseOf(d)
	}
	return m.through(ctx, "reword", records, func(ctx context.Context, c *Candidate) error {
		held := c.Split != scenario.Train
		if c.Taught && !held {
			return nil
		}
		q := question{prompt: rewordPrompt, who: m.Teacher, data: asked{Task: c.Task}, temperature: inventive,
			tokens: 200}
		if held {
			q.prompt, q.who = rewordHeldPrompt, m.forHeldOut()
		}
		if err := m.rewrite(ctx, c, q, func(string) bool { return true }); err != nil || c.Why != "" {
			return err
		}
		c.Teacher = q.who.Name
		switch {
		case m.lacks(c, c.Task) != "":
			c.drop("the wording leaves out a value")
		case !asksFor(c):
			c.drop("the wording leaves out what the answer is to be")
		}
		return nil
	})
}

// baseOf gives a candidate the task that is to be reworded: what the teacher thought of, with what the answer is to be,
// or what a template says.
func (m *maker) baseOf(d *draftOf) {
	random := m.random("base", d.of.key())
	f := pick(random, families(scenario.Train))
	if d.of.Taught {
		d.of.Task += f.reply(d.of.Answer, random)
		return
	}
	m.byTemplate(d, f, random)
	d.of.Task = d.Task
}

// asksFor reports whether a task still says which part of the result is the answer.
func asksFor(c *Candidate) bool {
	if c.Answer.text == "" || c.Answer.field == "" {
		return true
	}
	plain := flat(c.Task)
	all := words(c.Answer.field)
	return len(all) == 0 || strings.Contains(plain, all[len(all)-1])
}
