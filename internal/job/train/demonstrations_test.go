package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/host"
	"hone/internal/job"
)

// The demonstrations of an adapter are those that its run kept; a run without any, or an adapter of no run, has none.
func TestDemonstrationsOfAnAdaptersRun(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	file := filepath.Join(with, job.ConversationsFile)
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[*job.Origin]string{{Run: with}: file, {Run: without}: "", {}: "", nil: ""} {
		if got := shownIn(of); got != want {
			t.Errorf("%+v: %q, want %q", of, got, want)
		}
	}
}

// GRPO takes the training scenarios whose solutions were not shown, where they are enough; the other splits stay whole.
func TestShownScenariosAreLeftOut(t *testing.T) {
	for _, x := range []struct {
		name             string
		all, shown, kept int // training scenarios
		says             string
	}{
		{"none shown", 100, 0, 100, ""},
		{"enough others", 100, 36, 64, "36 scenarios whose solutions the adapter's SFT was shown are left out: 64"},
		{"too few others", 100, 37, 100, "37 scenarios of 100 were shown"},
		{"all shown", 100, 100, 100, "100 scenarios of 100 were shown"},
	} {
		list := []scenario.Scenario{{ID: "v", Task: "held out", Split: scenario.Validation}}
		lines := fmt.Sprintf(`{"scenario_hash": %q, "messages": [{"role": "user", "content": "v"}, `+
			`{"role": "assistant", "content": "a"}]}`+"\n", list[0].Hash())
		for i := range x.all {
			s := scenario.Scenario{ID: fmt.Sprint(i), Task: fmt.Sprint("task ", i), Split: scenario.Train}
			list = append(list, s)
			if i < x.shown {
				lines += fmt.Sprintf(`{"scenario_hash": %q, "messages": [{"role": "user", "content": %q}, `+
					`{"role": "assistant", "content": "a"}]}`+"\n", s.Hash(), s.Task)
			}
		}
		file := filepath.Join(t.TempDir(), job.ConversationsFile)
		if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		j := &job.Job{Env: job.Env{Host: &host.Host{Talk: sanitize.New(&said), Still: &host.Still{}}}}
		got, err := leaveOutShown(j, list, file)
		if err != nil || len(got) != x.kept+1 || got[0].ID != "v" || !strings.Contains(said.String(), x.says) ||
			(x.says == "") != (said.Len() == 0) {
			t.Errorf("%s: %v: %d scenarios, %q", x.name, err, len(got), said.String())
		}
	}
	if got, err := leaveOutShown(nil, []scenario.Scenario{{}}, ""); err != nil || len(got) != 1 {
		t.Errorf("%v: an adapter of no SFT leaves %d", err, len(got))
	}
}
