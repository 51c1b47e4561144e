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
	"hone/internal/job/records"
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
	t := &talks{Job: j, l: l, user: console.NewUser(j.Host), split: split}
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
	if err := FinishTalks(j); err != nil {
		return err
	}
	if t.kept == 0 {
		return nil
	}
	return j.PrintThen(map[string]int{"conversations": t.kept}, [][]string{{"trajectories", j.Trajectories()}},
		"%s kept; next: hone curate %s, or hone sft --data %s --output-dir %s",
		fault.Count(t.kept, "conversation"), j.Trajectories(), j.Trajectories(), run.FreeFolder("sft"))
}

// talks are the conversations of a run.
type talks struct {
	*job.Job
	l      *episodes.Episodes
	user   *console.User
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
		id, err := nextTalk(t.Dir)
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
		if whole := Settle(talk); !whole {
			t.Say("%s has no answer, so nothing is kept of it", id)
		} else {
			if _, err := KeepTalk(context.WithoutCancel(ctx), t.Job, t.l, s, talk); err != nil {
				return err
			}
			t.kept++
			t.unread = t.unread || sayUnread(t.Job, talk, false)
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

// KeepTalk writes a conversation with a person into the run of j, which has begun, as an episode that was collected,
// under the next name that is free there. Its scenario has the person's words as a script, so that another model can be
// told the same.
func KeepTalk(
	ctx context.Context, j *job.Job, l *episodes.Episodes, s scenario.Scenario, talk *trajectory.Trajectory,
) (name string, err error) {
	if s.ID, err = nextTalk(j.Dir); err != nil {
		return "", err
	}
	l.Stamp(talk) // under the name that it was held by
	said := talk.Messages
	if len(s.Messages) > 0 {
		said = said[talk.Opening:]
	}
	s.User = nil
	if words := personTexts(said); len(words) > 0 {
		s.User = &scenario.User{Says: words}
	}
	talk.ID, talk.ScenarioID, talk.Scenario = sampleID(s.ID, 0), s.ID, s.Hash()
	list, err := priorScenarios(j)
	if err != nil {
		return "", err
	}
	list = append(slices.DeleteFunc(list, func(x scenario.Scenario) bool { return x.ID == s.ID }), s)
	if err := j.KeepScenarios(list); err != nil {
		return "", err
	}
	log := records.Journal{Dir: j.Dir, Say: j.Say, Episodes: l}
	if err := log.Trajectory("collect", 0, talk); err != nil {
		return "", err
	}
	return "collect/" + s.ID, ensureScore(ctx, l, log, &s, recipe.Kept{Trajectory: talk})
}

// priorScenarios are the scenarios of what was collected into the run before.
func priorScenarios(j *job.Job) ([]scenario.Scenario, error) {
	path := filepath.Join(j.Path, job.ScenariosFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return scenario.LoadCopy(path)
}

// FinishTalks says in the run that no conversation goes on in it.
func FinishTalks(j *job.Job) error { return records.Journal{Dir: j.Dir, Say: j.Say}.Finish("collect") }

// nextTalk is the name of the next conversation.
func nextTalk(dir *run.Dir) (string, error) {
	for n := 1; ; n++ {
		id := fmt.Sprintf("talk-%d", n)
		if _, held, err := dir.Ledger.Trajectory("collect/" + id); err != nil || !held {
			return id, err
		}
	}
}

// personTexts is what the person said.
func personTexts(said []chat.Message) (texts []string) {
	for _, m := range said {
		if m.Role == chat.User {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// Settle cuts a conversation that broke off behind its last whole answer, and reports whether there is one. Error says
// why it broke off.
func Settle(t *trajectory.Trajectory) bool {
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
		t.User.Turns = len(personTexts(t.Messages))
	}
	return turns > 0
}
