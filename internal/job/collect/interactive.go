package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/console"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/journal"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
)

// interactive is what hone collect --interactive does: a person talks with a model, whose calls are shown and decided
// about, and each conversation is kept as a collected episode.
func interactive(ctx context.Context, j *job.Job, x Collection, split, how string, from toolset.Source) error {
	if j.DryRun {
		j.Say("would have you talk with %s", how)
		return nil
	}
	l, gate, err := openWithGate(ctx, j, from)
	if err != nil {
		return err
	}
	defer l.Close()
	l.Tools = gate.Wrap(l.Tools, nil)
	l.Select(x.Trained)
	if err := l.Runnable(j.Config, nil); err != nil {
		return err
	}
	if err := j.BeginOrGoOn(l.Set); err != nil {
		return err
	}
	if err := restoreSettings(j, l, x.Trained); err != nil {
		return err
	}
	t := &talks{Job: j, l: l, user: console.NewUser(j.Host), split: split,
		log: journal.Journal{Dir: j.Dir, Say: j.Say, Episodes: l}}
	err = t.all(ctx, x.Policy)
	SayCost(j, x)
	if ctx.Err() != nil {
		err = &fault.Error{
			Code:  fault.CodeStopped,
			What:  fmt.Sprintf("stopped after %s, which are kept", fault.Count(t.kept, "conversation")),
			Where: j.Path,
			Next:  "the same command begins the next conversation",
		}
	}
	if err != nil {
		return err
	}
	if err := t.log.Finish("collect"); err != nil {
		return err
	}
	if t.kept == 0 {
		return nil
	}
	return j.PrintThen(map[string]int{"conversations": t.kept}, [][]string{{"trajectories", j.Trajectories()}},
		"%s kept; next: hone curate %s, or hone sft --data %s --base-model %s --output-dir %s",
		fault.Count(t.kept, "conversation"), j.Trajectories(), j.Trajectories(), j.Config.Model.Base,
		run.FreeFolder("sft"))
}

// talks are the conversations of a run.
type talks struct {
	*job.Job
	l      *episodes.Episodes
	user   *console.User
	log    journal.Journal
	split  string
	kept   int  // by this process
	unread bool // it was said that a call or reasoning was left in the text
}

// all holds conversations until the person leaves.
func (t *talks) all(ctx context.Context, p rollout.Policy) error {
	policy := t.user.Hearing(p, t.Config.Rollout.MaxTurns)
	// The person bounds a conversation: all but what one completion and one call may take.
	t.l.World.User, t.l.World.Tools = t.user, console.ShowCalls(t.Host, t.l.World.Tools)
	t.l.World.MaxTurns, t.l.World.MaxToolCalls, t.l.World.MaxWork = unbounded, unbounded, 0
	runner := t.l.Runner(policy, t.Config.Rollout.Temperature)
	for !t.user.Left {
		id, err := t.next()
		if err != nil {
			return err
		}
		t.Say("%s; /new begins another conversation, %s ends", id, console.Quit)
		first, err := t.user.Words(ctx)
		if err != nil {
			return err
		}
		if first == "" {
			continue
		}
		s := scenario.Scenario{ID: id, Split: t.split, User: &scenario.User{Says: []string{first}}}
		talk, broke := runner.Episode(ctx, s, 0, 0, 0)
		if whole := settle(talk); !whole {
			t.Say("%s has no answer, so nothing is kept of it", id)
		} else if err := t.keep(context.WithoutCancel(ctx), s, talk); err != nil {
			return err
		}
		switch {
		case broke != nil && (ctx.Err() != nil || !t.user.IsTerminal()):
			return broke
		case broke == nil && talk.Error != "": // else whoever types was asked about it
			t.Say("%s %s", id, talk.Error)
		}
	}
	return nil
}

// unbounded is more turns or calls than a person waits for.
const unbounded = 1 << 30

// priorScenarios are the scenarios of what was collected into the run before.
func (t *talks) priorScenarios() ([]scenario.Scenario, error) {
	path := filepath.Join(t.Path, job.ScenariosFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return scenario.LoadCopy(path)
}

// next is the name of the next conversation.
func (t *talks) next() (string, error) {
	for n := 1; ; n++ {
		id := fmt.Sprintf("talk-%d", n)
		if _, held, err := t.Dir.Ledger.Trajectory("collect/" + id); err != nil || !held {
			return id, err
		}
	}
}

// keep writes a conversation into the run. Its scenario has the person's words as a script, so that another model can
// be told the same.
func (t *talks) keep(ctx context.Context, s scenario.Scenario, talk *trajectory.Trajectory) error {
	s.User.Says = personTexts(talk)
	talk.Scenario = s.Hash()
	list, err := t.priorScenarios()
	if err != nil {
		return err
	}
	list = append(slices.DeleteFunc(list, func(x scenario.Scenario) bool { return x.ID == s.ID }), s)
	if err := t.KeepScenarios(list); err != nil {
		return err
	}
	if err := t.log.Trajectory("collect", 0, talk); err != nil {
		return err
	}
	if err := ensureScore(ctx, t.l, t.log, &s, recipe.Kept{Trajectory: talk}); err != nil {
		return err
	}
	t.kept++
	if !t.unread {
		t.unread = sayUnread(t.Job, talk, false)
	}
	return nil
}

// personTexts is what the person said.
func personTexts(t *trajectory.Trajectory) (texts []string) {
	for _, m := range t.Messages {
		if m.Role == chat.User {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// settle cuts a conversation that broke off behind its last whole answer, and reports whether there is one. Error says
// why it broke off.
func settle(t *trajectory.Trajectory) bool {
	if t.Outcome == trajectory.OK {
		return len(t.Turns) > 0
	}
	n := len(t.Messages)
	if t.StopReason == trajectory.StopMaxTokens {
		n-- // its end is missing
	}
	for n > t.Opening && (t.Messages[n-1].Role != chat.Assistant || len(t.Messages[n-1].ToolCalls) > 0) {
		n--
	}
	turns := 0
	for _, m := range t.Messages[t.Opening:n] {
		if m.Role == chat.Assistant {
			turns++
		}
	}
	t.Error = strings.TrimSuffix(fmt.Sprintf("broke off (%s): %s", t.StopReason, t.Error), ": ")
	t.Messages, t.Turns = t.Messages[:n], t.Turns[:turns]
	t.Outcome, t.StopReason = trajectory.OK, trajectory.StopCompleted
	if t.User != nil {
		t.User.Turns = len(personTexts(t))
	}
	return turns > 0
}
