package main

import (
	"strings"
	"testing"

	"hone/internal/fault"
)

// All verbs that read rows have one rule for those that cannot be read: they end the verb before it begins, by file and
// line, unless --skip-bad leaves them out, which is told by the same lines.
func TestSkipBad(t *testing.T) {
	url := flatterer(t)
	const task = `{"task":"Count to %.","split":"%","checks":[{"type":"answer","equals":"42"}]}` + "\n"
	tasks := func(split string) string { return strings.ReplaceAll(task, "%", split) }
	workFolder(t, map[string]string{"hone.yaml": toyConfig,
		"tasks.jsonl": tasks("train") + `{"taks":"Count."}` + "\n" + tasks("test"),
		"say.jsonl":   oneRow + `{"messages":[{"role":"narrator","content":"Once."}]}` + "\n" + oneRow,
		"pairs.jsonl": `{"prompt":"Say a.","chosen":"a","rejected":"z"}` + "\n" + `{"prompt":"a","chosen":"b"}` + "\n"})
	toyModel(t, "base/toy.gguf")
	for verb, c := range map[string]struct {
		args      string
		file, why string
		would     string // what is left, in the words of a dry run
	}{
		"train": {"--mcp " + url + " --allow-findings poll --dataset tasks.jsonl --output-dir out", "tasks.jsonl", "taks", "rollouts on 1 scenario in out"},
		"eval":  {"--mcp " + url + " --allow-findings poll --dataset tasks.jsonl --split test", "tasks.jsonl", "taks", "would run 1 scenario of the split test"},
		"sft":   {"--data say.jsonl --output-dir out", "say.jsonl", "narrator", "over 2 rows"},
		"dpo":   {"--data pairs.jsonl --output-dir out", "pairs.jsonl", `a pair has "chosen" and "rejected"`, "over 1 pair"},
	} {
		args := append([]string{verb, "--dry-run", "--base-model", "base"}, strings.Fields(c.args)...)
		code, _, said := hone(t, "", args...)
		for _, want := range []string{
			"hone: 1 broken row in ", c.file + ":2", c.why, "or leave these rows out with --skip-bad",
		} {
			if code != int(fault.CodeUsage) || !strings.Contains(said, want) {
				t.Errorf("%s: exit code %d, no %q in %s", verb, code, want, said)
			}
		}
		code, _, said = hone(t, "", append(args, "--skip-bad")...)
		for _, want := range []string{"left out", c.file + ":2: ", c.why, c.would} {
			if code != 0 || !strings.Contains(said, want) {
				t.Errorf("%s --skip-bad: exit code %d, no %q in %s", verb, code, want, said)
			}
		}
	}
}
