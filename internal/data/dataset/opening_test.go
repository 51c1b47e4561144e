package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/chat"
)

// short writes messages as "role: text" in a line, what is given before " | ".
func short(r Row) string {
	var out []string
	for i, m := range r.Messages {
		if i == r.Opening && i > 0 {
			out = append(out, "|")
		}
		said := m.Role + ":" + m.Content
		for _, call := range m.ToolCalls {
			said += "->" + call.Name
		}
		out = append(out, said)
	}
	return strings.Join(out, " ")
}

// pairsIn reads lines of a file as pairs, and why they are refused.
func pairsIn(t *testing.T, lines ...string) (pairs []Pair, refused []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pairs, report, err := LoadPairs([]string{path})
	if err != nil && report.Read == 0 {
		t.Fatal(err)
	}
	for reason, of := range report.Refused {
		for _, p := range of.Places {
			refused = append(refused, reason+": "+p.Detail)
		}
	}
	return pairs, refused
}

func TestPromptInAnyColumn(t *testing.T) {
	const sides = `"chosen":"Paris","rejected":"Rome"`
	const whole = `"chosen":[{"role":"user","content":"q"},{"role":"assistant","content":"Paris"}],` +
		`"rejected":[{"role":"user","content":"q"},{"role":"assistant","content":"Rome"}]`
	for _, x := range []struct{ name, row, chosen string }{
		{"prompt", `{"prompt":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{"question", `{"question":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{"query", `{"query":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{"input", `{"input":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{"instruction", `{"instruction":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{"instruction and input", `{"instruction":"q","input":"i",` + sides + `}`, "user:q\ni | assistant:Paris"},
		{"instruction and no input", `{"instruction":"q","input":"",` + sides + `}`, "user:q | assistant:Paris"},
		{"Alpaca of LLaMA-Factory", `{"instruction":"q","input":"","system":"s","history":[["a","b"]],` + sides + `}`,
			"system:s user:a assistant:b user:q | assistant:Paris"},
		{"system and question", `{"system":"s","question":"q",` + sides + `}`, "system:s user:q | assistant:Paris"},
		{"system and prompt", `{"system":"s","prompt":"q",` + sides + `}`, "system:s user:q | assistant:Paris"},
		{"system_prompt", `{"system_prompt":"s","prompt":"q",` + sides + `}`, "system:s user:q | assistant:Paris"},
		{"empty system", `{"system":"","question":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{"messages", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}],` + sides + `}`,
			"system:s user:q | assistant:Paris"},
		{"messages as a text", `{"messages":"[{\"role\":\"user\",\"content\":\"q\"}]",` + sides + `}`, "user:q | assistant:Paris"},
		{"Axolotl", `{"messages":[{"role":"user","content":"q"}],"chosen":{"role":"assistant","content":"Paris"},` +
			`"rejected":{"role":"assistant","content":"Rome"}}`, "user:q | assistant:Paris"},
		{
			"ShareGPT of LLaMA-Factory",
			`{"conversations":[{"from":"human","value":"q"}],"chosen":{"from":"gpt","value":"Paris"},` +
				`"rejected":{"from":"gpt","value":"Rome"}}`, "user:q | assistant:Paris",
		},
		{"OpenAI", `{"input":{"messages":[{"role":"user","content":"q"}],"tools":[]},` +
			`"preferred_output":[{"role":"assistant","content":"Paris"}],` +
			`"non_preferred_output":[{"role":"assistant","content":"Rome"}]}`, "user:q | assistant:Paris"},
		{"whole", `{` + whole + `}`, "user:q | assistant:Paris"},
		{"whole with a system column", `{"system":"s",` + whole + `}`, "system:s user:q | assistant:Paris"},
		{"whole and the prompt again", `{"prompt":"q",` + whole + `}`, "user:q | assistant:Paris"},
		{"whole, prompt and system", `{"prompt":"q","system":"s",` + whole + `}`, "system:s user:q | assistant:Paris"},
		{"whole, an empty prompt", `{"prompt":"",` + whole + `}`, "user:q | assistant:Paris"},
		{
			"whole, and a side as messages",
			`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"Paris"}],` +
				whole + `}`, "user:q | assistant:Paris",
		},
		{"prompt before the others", `{"question":"other","prompt":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{"null before another", `{"prompt":null,"question":"q",` + sides + `}`, "user:q | assistant:Paris"},
		{
			"an answer before a greeting's",
			`{"chosen":[{"role":"assistant","content":"hi"},{"role":"user","content":"q"},` +
				`{"role":"assistant","content":"Paris"}],"rejected":[{"role":"assistant","content":"hi"},` +
				`{"role":"user","content":"q"},{"role":"assistant","content":"Rome"}]}`,
			"assistant:hi user:q | assistant:Paris",
		},
	} {
		pairs, refused := pairsIn(t, x.row)
		if len(pairs) != 1 {
			t.Errorf("%s: refused: %v", x.name, refused)
			continue
		}
		if got := short(pairs[0].Chosen); got != x.chosen {
			t.Errorf("%s: chosen is %q, want %q", x.name, got, x.chosen)
		}
		if want := strings.Replace(x.chosen, "Paris", "Rome", 1); short(pairs[0].Rejected) != want {
			t.Errorf("%s: rejected is %q, want %q", x.name, short(pairs[0].Rejected), want)
		}
	}
}

func TestNoPromptIsRefused(t *testing.T) {
	const sides = `"chosen":"Paris","rejected":"Rome"`
	for _, x := range []struct{ row, why string }{
		{`{` + sides + `}`, noPrompt},
		{`{"topic":"q",` + sides + `}`, noPrompt},
		{`{"system":"s",` + sides + `}`, noPrompt},
		{`{"prompt":"",` + sides + `}`, noPrompt},
		{`{"prompt":"  \n",` + sides + `}`, noPrompt},
		{`{"prompt":[],` + sides + `}`, noPrompt},
		{`{"prompt":"[]",` + sides + `}`, noPrompt},
		{`{"prompt":null,"question":"",` + sides + `}`, noPrompt},
		{`{"input":{},` + sides + `}`, noPrompt},
		{`{"chosen":[{"role":"assistant","content":"Paris"}],"rejected":[{"role":"assistant","content":"Rome"}]}`, noPrompt},
		{`{"system":"s","chosen":[{"role":"user","content":"a"},{"role":"assistant","content":"Paris"}],` +
			`"rejected":[{"role":"user","content":"b"},{"role":"assistant","content":"Rome"}]}`, noPrompt},
		{`{"chosen":"\n\nHuman: q\n\nAssistant: Paris","rejected":"\n\nHuman: q\n\nAssistant: Rome"}`, noPrompt},
		{`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"Paris"}],` + sides + `}`, badShape},
		{`{"question":7,` + sides + `}`, badShape},
	} {
		pairs, refused := pairsIn(t, x.row)
		if len(pairs) != 0 {
			t.Errorf("%s is read as %q", x.row, short(pairs[0].Chosen))
		} else if len(refused) != 1 || !strings.HasPrefix(refused[0], x.why) {
			t.Errorf("%s is refused as %q, want %q", x.row, refused, x.why)
		}
	}
}

func TestToolsOfPairs(t *testing.T) {
	sides := `"preferred_output":[{"role":"assistant","content":"a"}],"non_preferred_output":[{"role":"assistant","content":"b"}]`
	pairs, refused := pairsIn(t,
		`{"input":{"messages":[{"role":"user","content":"q"}],"tools":[`+weather+`]},`+sides+`}`,
		`{"question":"q","functions":[`+weather+`],"chosen":"a","rejected":"b"}`)
	if len(pairs) != 2 {
		t.Fatal(refused)
	}
	for _, p := range pairs {
		if len(p.Chosen.Tools) != 1 || len(p.Rejected.Tools) != 1 || p.Chosen.Messages[0].Role != chat.User {
			t.Errorf("%+v", p)
		}
	}
}
