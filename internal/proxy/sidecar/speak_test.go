package sidecar

import (
	"testing"

	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/job"
)

// An endpoint that answers may think, whatever this machine is: where the configuration leaves lengths open, it has
// those of a GPU.
func TestEndpointsHaveRoomToThink(t *testing.T) {
	m := &models{Host: &host.Host{CacheDir: t.TempDir(), LookupEnv: func(string) (string, bool) { return "", false }},
		c: config.Default()}
	s, err := m.speaker(t.Context(),
		job.System{Name: "far", Endpoint: &job.Remote{URL: "http://127.0.0.1:1/v1", Model: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	if err := want.SettleLengths(true, true, 0); err != nil || want.Rollout.MaxTokens == 0 {
		t.Fatal(err, want.Rollout.MaxTokens)
	}
	if got := s.c.Rollout.MaxTokens; got != want.Rollout.MaxTokens {
		t.Errorf("a completion has %d tokens, want %d", got, want.Rollout.MaxTokens)
	}
}
