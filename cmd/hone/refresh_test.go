package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/synth"
)

// bankPython is a server of which NEW is another version: says is worded otherwise, rate answers other rates, swap
// takes other arguments, and bye is gone.
const bankPython = `import json, sys
NEW = False
def tool(name, says, **types):
    return {"name": name, "description": says, "annotations": {"readOnlyHint": True},
            "inputSchema": {"type": "object", "properties": {k: {"type": "string", "enum": v} for k, v in types.items()}, "required": list(types), "additionalProperties": False}}
MONEY = ["EUR", "USD", "JPY", "CHF", "SEK", "PLN"]
tools = [tool("capital", "Gives the capital of a country.", country=["Italy", "France", "Spain", "Peru", "Chile", "Japan"]),
         tool("says", "Gives the greeting of a language, as a text." if NEW else "Gives the greeting of a language.", language=["it", "fr", "es", "de", "nl", "sv"]),
         tool("rate", "Gives the rate of a currency, and its bank." if NEW else "Gives the rate of a currency.", currency=MONEY),
         tool("swap", "Gives the fee for changing money.", **({"source": MONEY} if NEW else {"money": MONEY}))]
if not NEW: tools.append(tool("bye", "Gives the farewell of a language.", language=["it", "fr", "es", "de", "nl", "sv"]))
def answer(name, a):
    if name == "capital": return {"capital": {"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Peru": "Lima", "Chile": "Santiago", "Japan": "Tokyo"}[a["country"]]}
    if name == "says": return {"greeting": {"it": "ciao", "fr": "bonjour", "es": "hola", "de": "hallo da", "nl": "goedendag", "sv": "hej"}[a["language"]]}
    if name == "bye": return {"farewell": {"it": "addio", "fr": "au revoir", "es": "adios", "de": "tschau", "nl": "doei", "sv": "hejdo"}[a["language"]]}
    if name == "rate": return {"rate": round(sum(map(ord, a["currency"])) * (0.013 if NEW else 0.011), 3)}
    return {"fee": sum(map(ord, a["source" if NEW else "money"])) % 89}
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q: continue
    r = {"error": {"code": -32601, "message": "no such method"}}
    if q["method"] == "initialize": r = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "bank", "version": "2" if NEW else "1"}}}
    if q["method"] == "tools/list": r = {"result": {"tools": tools}}
    if q["method"] == "tools/call": r = {"result": {"content": [{"type": "text", "text": json.dumps(answer(q["params"]["name"], q["params"]["arguments"]))}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": q["id"], **r}), flush=True)
`

// Of scenarios made for one version of a server, each is found again at the next one as what became of its tool asks
// for: it holds, wants other values, is replaced, or is dropped; and what comes out holds.
func TestRefresh(t *testing.T) {
	workFolder(t, map[string]string{"bank.py": bankPython,
		"mcp.json": `{"mcpServers": {"bank": {"command": "python3", "args": ["bank.py"], "isolation": "shared"}}}`})
	if code, _, said := hone(t, "", "synth", "--mcp-config", "mcp.json", "--out", "old.json", "-n", "60"); code != 0 {
		t.Fatalf("%d\n%s", code, said)
	}
	old, err := scenario.Load("old.json")
	if err != nil {
		t.Fatal(err)
	}
	for i := range old { // one that names the tool that will be gone
		if p := old[i].Provenance; p != nil && p.Kind == "no_tool" {
			old[i].Task, old[i].GoldAnswer =
				"Do not do it yet, but do you have a tool to say bye?", "Yes, bye can do that."
			break
		}
	}
	if err := scenario.Save("old.json", old); err != nil {
		t.Fatal(err)
	}
	refresh := func(args ...string) (synth.Refreshed, string) {
		t.Helper()
		code, stdout, said := hone(t, "", append([]string{"refresh", "--mcp-config", "mcp.json", "--json"}, args...)...)
		var r synth.Refreshed
		if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
			t.Fatalf("%d %v\n%s%s", code, err, stdout, said)
		}
		return r, said
	}
	if r, _ := refresh("--dataset", "old.json", "--out", "same.json"); r.Counts[synth.Untouched] != len(old) ||
		r.Affected != "" {
		t.Errorf("nothing changed: %+v", r.Counts)
	}
	if contents(t, "same.json") != contents(t, "old.json") {
		t.Error("nothing changed, and other scenarios were written")
	}
	if err := os.WriteFile("bank.py", []byte(strings.Replace(bankPython, "NEW = False", "NEW = True", 1)),
		0o644); err != nil {
		t.Fatal(err)
	}
	if r, _ := refresh("--dataset", "old.json", "--dry-run"); r.Counts["touched"] == 0 {
		t.Errorf("%+v", r.Counts)
	}
	blind, _ := refresh("--dataset", "old.json", "--out", "blind.json", "--work", "none.jsonl")
	stale, err := scenario.Load("blind.json")
	if err != nil {
		t.Fatal(err)
	}
	stale = slices.DeleteFunc(stale, func(s scenario.Scenario) bool {
		return s.Provenance == nil || s.Provenance.Servers["bank"] != "1"
	})
	if n := blind.Counts[synth.NotLooked]; n == 0 || blind.Counts[synth.Mended] > 0 || len(stale) != n {
		t.Errorf("without earlier answers: %+v, and %d say still that they were made with version 1",
			blind.Counts, len(stale))
	}
	r, said := refresh("--dataset", "old.json", "--out", "new.json")
	if _, err := os.Stat("new.synth.jsonl"); err != nil {
		t.Errorf("what the servers answered is not where the next refresh looks: %v", err)
	}
	byID := map[string]scenario.Scenario{}
	for _, s := range old {
		byID[s.ID] = s
	}
	seen, abstained := map[string]int{}, 0
	for _, row := range r.Rows {
		s, tools := byID[row.ID], ""
		for _, g := range s.Gold {
			tools += g.Name + " "
		}
		asks := s.GoldAnswer != "" && s.GoldAnswer != "Done."
		want := []string{synth.Holds}
		switch {
		case len(s.Gold) == 0:
			want = nil // of what calls nothing
			about := s.GoldAnswer
			if s.Provenance != nil {
				about += fmt.Sprint(s.Provenance.Tools)
			}
			if strings.Contains(about, "bye") {
				abstained++
				want = []string{synth.Replaced, synth.Dropped}
			}
		case strings.Contains(tools, "bye"), strings.Contains(tools, "swap"):
			want = []string{synth.Replaced, synth.Dropped}
		case strings.HasSuffix(tools, "rate ") && asks:
			want = []string{synth.Mended}
		}
		if want != nil && !strings.Contains(strings.Join(want, " "), row.Outcome) {
			t.Errorf("%s (%s): %s for %q", row.ID, tools, row.Outcome, row.Why)
		}
		if len(want) > 0 {
			seen[row.Outcome]++
		}
		if row.Outcome == synth.Dropped && len(row.Touched)+len(row.Why) == 0 {
			t.Errorf("%s is dropped without a reason", row.ID)
		}
	}
	if abstained == 0 {
		t.Error("no scenario without a call is about the tool that is gone: the test shows nothing of these")
	}
	for _, outcome := range []string{synth.Holds, synth.Mended, synth.Replaced} {
		if seen[outcome] == 0 {
			t.Errorf("none %s: %v", outcome, r.Counts)
		}
	}
	fresh, err := scenario.Load("new.json")
	if err != nil || len(fresh) != len(old)-r.Counts[synth.Dropped] {
		t.Fatalf("%d of %d scenarios, %v, %v", len(fresh), len(old), r.Counts, err)
	}
	splits := map[string]string{}
	for i, key := range scenario.Together(fresh) {
		if split, known := splits[key]; known && split != fresh[i].Split && len(fresh[i].Gold) > 0 {
			t.Errorf("%s shares a call with a scenario of another split", fresh[i].ID)
		}
		splits[key] = fresh[i].Split
	}
	for _, s := range fresh {
		if s.Provenance != nil && s.Provenance.Servers["bank"] == "1" {
			t.Errorf("%s still says that it was made with version 1", s.ID)
		}
	}
	if code, printed, said := hone(t, "", "scenarios", "validate", "new.json", "--mcp-config", "mcp.json"); code != 0 {
		t.Errorf("%d\n%s%s", code, printed, said)
	}
	if again, _ := refresh("--dataset", "new.json", "--out",
		"newer.json"); again.Counts[synth.Untouched] != len(fresh) {
		t.Errorf("a second time: %+v", again.Counts)
	}
	// what is known of the answers goes on from file to file, though no scenario is made for it
	for i, files := range [][2]string{{"new.json", "third.json"}, {"third.json", "fourth.json"}} {
		change := strings.NewReplacer("NEW = False", "NEW = True", "0.013", []string{"0.017", "0.019"}[i], `"2" if NEW`,
			[]string{`"3" if NEW`, `"4" if NEW`}[i])
		if err := os.WriteFile("bank.py", []byte(change.Replace(bankPython)), 0o644); err != nil {
			t.Fatal(err)
		}
		if next, _ := refresh("--dataset", files[0], "--out",
			files[1]); next.Counts[synth.Mended] < r.Counts[synth.Mended] || next.Counts[synth.NotLooked] > 0 {
			t.Errorf("%s: %+v, before %+v", files[1], next.Counts, r.Counts)
		}
	}
	if code, _, said := hone(t, "", "synth", "--mcp-config", "mcp.json", "--out", "more.json", "-n", "5", "--work",
		"fourth.synth.jsonl"); code != 0 {
		t.Errorf("what was carried over is in the way of hone synth: %d\n%s", code, said)
	}
	affected, err := scenario.Load(r.Affected)
	if err != nil || len(affected) == 0 || r.Split != scenario.Test {
		t.Errorf("%v, %d affected, evaluated on %q\n%s", err, len(affected), r.Split, said)
	}
	for _, s := range affected { // what is trained on is no test of anything
		if at := slices.IndexFunc(fresh, func(o scenario.Scenario) bool { return o.ID == s.ID }); at < 0 ||
			fresh[at].Split != s.Split {
			t.Errorf("%s is of the split %s among the affected, and not so among all", s.ID, s.Split)
		}
	}
}
