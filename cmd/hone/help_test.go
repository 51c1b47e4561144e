package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/host"
)

// Without arguments, and with --help, the first run leads, and each verb stands once under a heading, all in one order.
func TestHelpLeads(t *testing.T) {
	_, bare, _ := hone(t, "", []string{}...)
	_, asked, _ := hone(t, "", "--help")
	if bare != asked {
		t.Errorf("hone says\n%s\nand hone --help\n%s", bare, asked)
	}
	at := 0
	for _, want := range append(host.FirstRun(), "\nStart:", "\nTasks and traces:", "\nTrain:", "\nMeasure:", "\nUse:",
		"\nLook:", "--config string", "Exit codes:") {
		next := strings.Index(bare[at:], want)
		if next < 0 {
			t.Fatalf("no %q behind what comes before it in\n%s", want, bare)
		}
		at += next
	}
	var listed []string
	for _, g := range host.VerbGroups() {
		listed = append(listed, strings.Fields(g.Verbs)...)
	}
	root := newRoot(&app{Host: &host.Host{}})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var there []string
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		there = append(there, c.Name())
		if !strings.Contains(bare, "\n  "+c.Name()+" ") {
			t.Errorf("the help does not list %s", c.Name())
		}
	}
	slices.Sort(listed)
	if slices.Sort(there); !slices.Equal(listed, there) {
		t.Errorf("under the headings are\n%q, and there are\n%q", listed, there)
	}
}

// The commands of the first run have verbs and flags that there are.
func TestFirstRunIsReal(t *testing.T) {
	for _, line := range host.FirstRun() {
		root := newRoot(&app{Host: &host.Host{}})
		c, rest, err := root.Find(strings.Fields(line)[1:])
		if err != nil || c.Flags().Parse(rest) != nil || c.Args(c, c.Flags().Args()) != nil {
			t.Errorf("%s: %v, %v", line, err, c.Flags().Parse(rest))
		}
		for _, flag := range strings.Fields(line) {
			if name, is := strings.CutPrefix(flag, "--"); is && c.Flags().Lookup(name) == nil {
				t.Errorf("%s has no %s", c.CommandPath(), flag)
			}
		}
	}
}

// README.md has the commands of the first run, and those that make tasks, demonstrations and an adapter say the
// next.
func TestFirstRunIsTold(t *testing.T) {
	calc, err := filepath.Abs("../../demo/node_modules/@coo-quack/calc-mcp/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	first := host.FirstRun()
	if readme := contents(t, "../../README.md"); !strings.Contains(readme,
		"```\n"+first[0]+"   # once\n"+strings.Join(first[1:], "\n")+"\n```\n") {
		t.Errorf("README.md lacks\n%s", strings.Join(first, "\n"))
	}
	workFolder(t, map[string]string{
		"hone.yaml": strings.Replace(toyConfig, "epochs: 2", "steps: 2", 1) + fewTools + "model: {base: base}\n",
		".mcp.json": fmt.Sprintf(
			`{"mcpServers": {"calc": {"command": "node", "args": [%q], "isolation": "shared"}}}`, calc),
	})
	toyModel(t, "base/toy.gguf")
	from := slices.IndexFunc(first, func(line string) bool { return strings.HasPrefix(line, "hone synth ") })
	for i, line := range first[from : from+3] {
		args := strings.Fields(strings.Replace(line, "-n 400", "-n 20 --call-all", 1))[1:] // no sandbox holds it
		code, _, said := hone(t, "", args...)
		if args[0] == "sft" && code == 0 { // the toy learns too little, and the end of a run is told again without that
			code, _, said = hone(t, "", "runs", "resume", "sft")
		}
		if next := "\nnext: " + first[from+i+1]; code != 0 || !strings.Contains(said, next) {
			t.Fatalf("%s: exit code %d, no %q in %s", line, code, next, said)
		}
	}
}

// A verb that is not there is told of before its flags, with the verb that is near, where one is.
func TestUnknownVerbs(t *testing.T) {
	for line, near := range map[string]string{
		"serv --model base": "serve", "foo": "", "foo --bar": "", "trian --output-dir out": "train",
		"--json evla --repeats 2": "eval", "config shw --zzz": "show", "runs lss": "ls", "frobnicate": "",
	} {
		code, _, said := hone(t, "", strings.Fields(line)...)
		if code != 2 || !strings.Contains(said, "unknown command") || strings.Contains(said, "unknown flag") {
			t.Errorf("hone %s: exit code %d, %s", line, code, said)
		}
		if want := `did you mean "` + near + `"?`; near != "" && !strings.Contains(said, want) ||
			near == "" && strings.Contains(said, "did you mean") {
			t.Errorf("hone %s: want %q near in %s", line, near, said)
		}
	}
	if code, _, said := hone(t, "", "--zzz"); code != 2 || !strings.Contains(said, "unknown flag") { // there is no verb
		t.Errorf("exit code %d, %s", code, said)
	}
}

// A flag's value of another kind is told of in words of the command line, not of the language it is written in.
func TestFlagsOfOtherKinds(t *testing.T) {
	for line, want := range map[string]string{
		"sft --steps x":                   `--steps takes a whole number up to 9223372036854775807, not "x"`,
		"sft --steps 1.5":                 `--steps takes a whole number up to 9223372036854775807, not "1.5"`,
		"sft --seed 99999999999999999999": `--seed takes a whole number from 0 to 18446744073709551615, not "99999999999999999999"`,
		"sft --seed -1":                   `--seed takes a whole number from 0 to 18446744073709551615, not "-1"`,
		"eval --calibrate --model":        `--calibrate takes a number, not "--model"`,
		"sft --skip-bad=perhaps":          `--skip-bad takes true or false, not "perhaps"`,
		"demo --minutes soon":             `--minutes takes`,
	} {
		if code, _, said := hone(t, "", strings.Fields(line)...); code != 2 || !strings.Contains(said, want) ||
			strings.Contains(said, "strconv") {
			t.Errorf("hone %s: exit code %d, %s", line, code, said)
		}
	}
}
