package rollout

import (
	"context"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// played is one attempt at an episode: its record, how it ended, and when, by the witness, that was.
type played struct {
	t   *trajectory.Trajectory
	end *environment.End
	at  int
	err error // of the policy, of who plays the user, or of ctx

	recalled time.Duration // what turns that were remembered took when they were said, beyond what they took now
}

// play joins the environment and the policy in one attempt, at a place in a lane.
func (r *Runner) play(ctx context.Context, s scenario.Scenario, a Attempt, at *sit, w *witness) played {
	began := time.Now()
	p := played{t: &trajectory.Trajectory{
		ID:          r.o.Name(s.ID, a.Step, a.Rollout),
		ScenarioID:  s.ID,
		Split:       s.Split,
		Scenario:    s.Hash(),
		Rollout:     a.Rollout,
		Retries:     a.Retries,
		Temperature: a.Temperature,
	}}
	r.converse(ctx, s, a, at, w, &p)
	if p.err == nil {
		p.err = p.end.Err
	}
	// Whatever a cancelled policy or server reported, the cause is the cancellation.
	if ctx.Err() != nil && p.end.Outcome != trajectory.OK {
		p.end, p.err = environment.EndOfCancel(ctx), ctx.Err()
		p.end.Note(p.t)
	}
	p.t.Seconds = (time.Since(began) + p.recalled).Seconds()
	return p
}

// converse takes turns until the episode ends.
func (r *Runner) converse(
	ctx context.Context, s scenario.Scenario, a Attempt, at *sit, w *witness, p *played,
) {
	at.work()
	episode, end := r.o.Environment.Open(ctx, s, p.t)
	if p.end = end; end != nil {
		return
	}
	defer func() {
		if err := episode.Close(); err != nil && p.t.Error == "" {
			p.t.Error = "closing the session: " + err.Error() // worth a note; the episode itself is whole
		}
	}()
	for speaker := r.o.Policy.Speaker(a); p.end == nil; {
		err := at.speak(ctx)
		var reply environment.Reply
		if err == nil {
			var recalled time.Duration
			reply, recalled, err = say(ctx, speaker, p.t.Messages, episode.Tools())
			p.recalled += recalled
			at.silent()
		}
		at.work()
		if err != nil {
			p.end, p.err = &environment.End{Outcome: trajectory.InfrastructureError, Reason: trajectory.StopError,
				Why: err.Error()}, err
			p.end.Note(p.t)
			return
		}
		p.end = episode.Take(ctx, reply)
		if reply.Turn != nil {
			p.at = w.see(p.t.ID, p.t.Turns[len(p.t.Turns)-1].Results)
		}
	}
}

// say asks for one reply, and takes the time. Of a reply that is remembered, which says its own, it returns what it
// took beyond now.
func say(
	ctx context.Context, speaker Speaker, messages []chat.Message, tools []chat.Tool,
) (reply environment.Reply, recalled time.Duration, err error) {
	began := time.Now()
	reply, err = speaker.Say(ctx, messages, tools)
	took := time.Since(began)
	switch {
	case reply.Turn == nil:
	case reply.Turn.SampleSeconds > 0:
		recalled = time.Duration(reply.Turn.SampleSeconds*float64(time.Second)) - took
	default:
		reply.Turn.SampleSeconds = took.Seconds()
	}
	return reply, recalled, err
}
