//go:build !race

package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"hone/internal/fault"
)

// What a sidecar cannot do is refused of a run that goes on as of one that begins, and once it is taken out the run goes on.
func TestResumedSidecarRecoversNothing(t *testing.T) {
	command, env, _ := toyRun(t, "sidecar")
	command = append(command, "broken", "--steps", "2")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	broken := &once{line: " 1/2", do: stop}
	if code := toyApp(broken, env).main(ctx, command); code != int(fault.CodeStopped) {
		t.Fatalf("exit code %d, %s", code, broken)
	}
	const file, none, some = "broken/config.resolved.yaml", "\n  recoveries: 0\n", "\n  recoveries: 2\n"
	for _, edit := range []struct {
		from, to string
		code     int
		want     string
	}{{none, some, int(fault.CodeUsage), "leave grpo.recoveries out"}, {some, none, 0, "grpo +2/2"}} {
		before := contents(t, file)
		if strings.Count(before, edit.from) != 1 {
			t.Fatalf("%q does not stand once in %s", edit.from, before)
		}
		write(t, file, strings.Replace(before, edit.from, edit.to, 1))
		var said bytes.Buffer
		if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./broken", "--accept-edits"}); code != edit.code || !regexp.MustCompile(edit.want).MatchString(said.String()) {
			t.Errorf("%q: exit code %d, %s", edit.to, code, &said)
		}
	}
}
