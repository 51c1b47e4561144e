package episodes

import (
	"context"
	"reflect"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/testing/fakes"
)

// Evaluations are truncated as the configuration says; rollouts to train on are not, whatever it says.
func TestOnlyEvaluationsAreTruncated(t *testing.T) {
	var asked []policy.Sampling
	s := &fakes.Sampler{Reply: func(_ string, r policy.Request) (string, error) {
		asked = append(asked, r.Sampling)
		return "done", nil
	}}
	l := &Episodes{opens: func(any) {}, World: environment.Options{Tools: toolless{}},
		Agent: Agent{Speaker: &rollout.Sampled{Sampler: s, Renderer: fakes.Renderer{}}}}
	e := config.Default().Eval
	e.Temperature, e.TopK, e.TopP, e.MinP = 0.8, 40, 0.9, 0.05
	tasks := []scenario.Scenario{{ID: "a", Task: "say something"}}
	for _, runner := range []*rollout.Runner{l.Evaluation(e), l.Rollouts(0.8)} {
		if _, err := runner.Episode(t.Context(), tasks[0], 0, 0, 0); err != nil {
			t.Error(err)
		}
	}
	want := policy.Sampling{Temperature: 0.8, MaxTokens: 512, StopIDs: []int32{fakes.Stop}}
	truncated := want
	truncated.TopK, truncated.TopP, truncated.MinP = 40, 0.9, 0.05
	if !reflect.DeepEqual(asked, []policy.Sampling{truncated, want}) {
		t.Errorf("asked for %+v", asked)
	}
	if !truncated.Truncates() || want.Truncates() || config.Default().Eval.TopP != 1 {
		t.Error("what is asked for by default is truncated")
	}
}

// toolless opens sessions in which no call is made.
type toolless struct{}

func (toolless) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return toollessSession{}, nil
}

type toollessSession struct{ environment.Session }

func (toollessSession) Close() error { return nil }
