package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Looked is the part of a Session that is looked through.
type Looked interface {
	Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult
	Dir(server string) string
}

// maxText bounds what is recorded of one look, in bytes.
const maxText = 256 << 10

// Lost says why a look could not be made, and how that ends the episode. Another attempt with a session of its own may
// do better where Again is set.
type Lost struct {
	Outcome trajectory.Outcome
	Reason  trajectory.StopReason
	Why     string
	Again   bool
}

// Watch looks at what an episode leaves behind, for the checks that ask for it: files and databases of the episode's
// own folder, answers of its servers, what a program makes of it. What it sees goes into the trajectory, so that
// scoring needs neither folder nor server.
//
// What is in the folder, and what a server answers, is the episode's doing, whatever it is. That a look cannot be made,
// because a server is lost, a disk fails, or a user's program crashes, is not: it is a *Lost, which ends the episode
// with an outcome that masks it.
type Watch struct {
	session  Looked
	checks   []scenario.Check
	programs []string
	before   map[string]state // of unchanged checks, by Look
}

// state is what an unchanged check compares: each thing there is, with its content or a hash of that.
type state map[string]string

// OpenWatch begins to watch an episode that has been set up. programs is the environment of the programs that command
// checks name; without one none is run. The *Lost is nil where all could be seen.
func OpenWatch(ctx context.Context, session Looked, checks []scenario.Check, programs []string) (*Watch, *Lost) {
	w := &Watch{session: session, checks: checks, programs: programs, before: map[string]state{}}
	for i, c := range checks {
		if c.Type != scenario.UnchangedCheck {
			continue
		}
		found, err := w.state(ctx, c)
		if err != nil {
			return nil, w.endOfCheck(ctx, i, err)
		}
		w.before[c.Look()] = found
	}
	return w, nil
}

// AfterTurn makes the looks that are due after the turn that t ends with, and another turn follows.
func (w *Watch) AfterTurn(ctx context.Context, t *trajectory.Trajectory) *Lost {
	return w.look(ctx, t, func(c scenario.Check) bool { return c.AfterTurn == len(t.Turns) })
}

// End makes the looks that are due when the episode has ended, while its session is open. An episode whose outcome is
// not the policy's is not looked at.
func (w *Watch) End(ctx context.Context, t *trajectory.Trajectory) *Lost {
	if !t.Outcome.Trainable() {
		return nil
	}
	return w.look(ctx, t, func(c scenario.Check) bool { return c.AfterTurn == 0 || c.AfterTurn == len(t.Turns) })
}

func (w *Watch) look(ctx context.Context, t *trajectory.Trajectory, due func(scenario.Check) bool) *Lost {
	for i, c := range w.checks {
		look := c.Look()
		if _, saw := t.Saw(look); look == "" || saw || !due(c) {
			continue
		}
		saw, err := w.see(ctx, c, t)
		if err != nil {
			return w.endOfCheck(ctx, i, err)
		}
		saw.Look = look
		t.Seen = append(t.Seen, saw)
	}
	return nil
}

func (w *Watch) see(ctx context.Context, c scenario.Check, t *trajectory.Trajectory) (trajectory.Observation, error) {
	switch c.Type {
	case scenario.StateCheck:
		return w.ask(ctx, c)
	case scenario.FileCheck:
		return w.file(c)
	case scenario.SQLCheck:
		return w.query(ctx, c)
	case scenario.CommandCheck:
		return w.command(ctx, c, t)
	}
	now, err := w.state(ctx, c)
	if errors.Is(err, errTooMany) {
		return trajectory.Observation{Status: trajectory.TooLong, Text: err.Error()}, nil
	}
	if err != nil {
		return trajectory.Observation{}, err
	}
	return shortObservation(changes(w.before[c.Look()], now)), nil
}

// shortObservation is a text as it was seen, where it is short enough for the record.
func shortObservation(text string) trajectory.Observation {
	if len(text) > maxText {
		return trajectory.Observation{Status: trajectory.TooLong,
			Text: fmt.Sprintf("%d bytes, and %d are recorded", len(text), maxText)}
	}
	return trajectory.Observation{Status: trajectory.Seen, Text: text}
}

// ask makes the call of a state check.
func (w *Watch) ask(ctx context.Context, c scenario.Check) (trajectory.Observation, error) {
	r := w.session.Probe(ctx, c.Probe())
	switch r.Status {
	case trajectory.CallOK:
		return shortObservation(r.Data()), nil
	case trajectory.CallToolError:
		saw := shortObservation(r.Text)
		if saw.Status == trajectory.Seen {
			saw.Status = trajectory.Refused
		}
		return saw, nil
	}
	return trajectory.Observation{}, callLost{r}
}

// callLost is a call that was not answered, or not sent.
type callLost struct{ result trajectory.ToolResult }

func (l callLost) Error() string {
	return fmt.Sprintf("the call of %s: %s: %s", l.result.Call.Name, l.result.Status, l.result.Error)
}

// endOfCheck is how an error of check i ends the episode.
func (w *Watch) endOfCheck(ctx context.Context, i int, err error) *Lost {
	l := &Lost{Outcome: trajectory.InfrastructureError, Reason: trajectory.StopError,
		Why: fmt.Sprintf("checks[%d] (%s)%s%v", i, w.checks[i].Type, trajectory.CannotEvaluate, err)}
	if call, ok := err.(callLost); ok && ctx.Err() == nil {
		switch call.result.Status {
		case trajectory.CallTimeout:
			l.Reason = trajectory.StopTimeout
			fallthrough
		case trajectory.CallTransportError:
			l.Outcome, l.Again = trajectory.EnvironmentError, true
			if call.result.Outcome != "" {
				l.Outcome = call.result.Outcome
			}
		}
	}
	return l
}

// state is what an unchanged check looks at, as it is now.
func (w *Watch) state(ctx context.Context, c scenario.Check) (state, error) {
	if c.Name == "" && c.Query == "" {
		return w.files(c)
	}
	look := w.ask
	if c.Query != "" {
		look = w.query
	}
	saw, err := look(ctx, c)
	if err != nil {
		return nil, err
	}
	what := "the answer of " + c.Name
	if c.Query != "" {
		what = "what the query finds in " + c.Path
	}
	return state{what: saw.Status + "\x00" + canonical(saw.Text)}, nil
}

// canonical is JSON in one order of keys, since a server may answer the same in another; other text is as it is.
func canonical(text string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	again, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(again)
}

// changes lists what differs, as JSON.
func changes(before, now state) string {
	found := []string{}
	for name, was := range before {
		if is, there := now[name]; !there {
			found = append(found, "removed "+name)
		} else if is != was {
			found = append(found, "changed "+name)
		}
	}
	for name := range now {
		if _, there := before[name]; !there {
			found = append(found, "added "+name)
		}
	}
	slices.Sort(found)
	const most = 1000
	if more := len(found) - most; more > 0 {
		found = append(found[:most], fmt.Sprintf("%d more", more))
	}
	text, _ := json.Marshal(found) // of texts
	return string(text)
}
