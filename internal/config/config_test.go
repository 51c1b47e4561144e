package config

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"hone/internal/fault"
)

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{"", "# nothing\n", "sft:\n"} {
		got, err := Parse("hone.yaml", []byte(src))
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		if !reflect.DeepEqual(got, c) {
			t.Errorf("%q does not give the defaults:\n%+v\n%+v", src, got, c)
		}
	}
}

// A run that an older hone began goes on: its configuration names keys that are no more, which were switched off.
func TestParsePassesOverWhatWasOff(t *testing.T) {
	c, err := Parse("f",
		[]byte("rewards:\n  rules:\n    valid_tool_name_rate: 0\n    execution_success_rate: 0.0\n  checks: 2\n"))
	if want := Default(); err != nil || c.Rewards.Checks != 2 || c.Rewards.Call != want.Rewards.Call {
		t.Errorf("%+v, %v", c.Rewards, err)
	}
}

func TestParseKeepsDefaultsOfASection(t *testing.T) {
	c, err := Parse("hone.yaml", []byte("seed: 7\nmcp: {timeout: 2s}\nlora: {rank: 4}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Seed, want.MCP.Timeout, want.LoRA.Rank = 7, 2*time.Second, 4
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
}

// Every error is a usage error that names the file, and where the text is at fault the line, the column and the text.
func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ name, src, where, why string }{
		{"unknown key", "sed: 7\n", "f:1:1\n     1 | sed: 7\n         ^", `unknown key "sed"; did you mean "seed"?`},
		{"another trainer's key", "lora:\n  lora_r: 8\n", "f:2:3\n", `unknown key "lora.lora_r"; did you mean "rank"?`},
		{"another trainer's key of a section below", "sft:\n  lr: 1e-4\n", "f:2:3\n", `unknown key "sft.lr"; did you mean "sft.optimizer.learning_rate"?`},
		{"a key of a section below", "grpo:\n  beta: 0.1\n", "f:2:3\n", `unknown key "grpo.beta"; did you mean "grpo.kl.beta"?`},
		{"another trainer's key at the top", "num_generations: 8\n", "f:1:1\n", `unknown key "num_generations"; did you mean "grpo.group_size"?`},
		{"a key of several sections", "lr: 1e-4\n", "f:1:1\n", `did you mean "sft.optimizer.learning_rate" or "dpo.optimizer.learning_rate" or "grpo.optimizer.learning_rate"?`},
		{"unknown nested key", "lora:\n  rnk: 8\n", "f:2:3\n     2 |   rnk: 8\n           ^", `unknown key "lora.rnk"; did you mean "rank"?`},
		{"unknown key like none", "zzzzzz: 1\n", "f:1:1\n", `unknown key "zzzzzz"`},
		{"length without a budget", "rewards: {length: {weight: -1}}\n", "f", "rewards.length.budget: rewards.length.weight needs it"},
		{"credit of terms by turn", "grpo: {advantage: per_term, credit: {level: turn}}\n", "f", "compares terms of whole episodes"},
		{"a discount of nothing", "grpo: {credit: {discount: 0.5}}\n", "f", "are of the level turn"},
		{"nothing to earn", "rewards:\n  {checks: 0, call: 0, tool: 0, end: 0}\n", "f:2:12\n", "no episode could earn anything"},
		{"wrong type", "grpo:\n  steps: many\n", "f:2:10\n     2 |   steps: many\n                  ^", `grpo.steps takes a whole number, not "many"`},
		{"no number", "engine: {program_cache: abc}\n", "f:1:25\n", `engine.program_cache takes a number, not "abc"`},
		{"no truth", "lora: {rslora: 3}\n", "f:1:16\n", "lora.rslora takes true or false, not 3"},
		{"moved", "sft:\n  lora: {rank: 8}\n", "f:2:3\n     2 |   lora: {rank: 8}\n           ^", "sft.lora is lora now"},
		{"retired", "rewards: {rules: {valid_tool_name_rate: 0.1}}\n", "f:1:11\n", "hone has no key rewards.rules any more"},
		{"a user without a server", "rollout:\n  user: {model: m}\n", "f:2:9\n", "rollout.user: it needs both the url and the model"},
		{"no duration", "rollout: {timeout: soon}\n", "f:1:20\n", `rollout.timeout takes a duration such as 90s or 5m, not "soon"`},
		{"a list for a text", "name: [a]\n", "f:1:7\n", "name takes a text, not a list"},
		{"a mapping for a number", "seed: {a: 1}\n", "f:1:", "seed takes a whole number from 0 on, not a mapping"},
		{"a text for a list", "mcp: {only: calc}\n", "f:1:13\n", `mcp.only takes a list of texts, not "calc"`},
		{"a list in a list", "mcp: {only: [[calc]]}\n", "f:1:13\n", "mcp.only takes a list of texts, not a list of something else"},
		{"below 0", "name: x\nseed: -1\n", "f:2:7\n", "seed takes a whole number from 0 on, not -1"},
		{"beyond 64 bits", "seed: 99999999999999999999999\n", "f:1:7\n", "not 99999999999999999999999, which is too large"},
		{"section is a text", "sft: fast\n", "f:1:6\n", "sft is not a mapping"},
		{"file is a list", "- a\n", "f:1:1\n", "the file is not a mapping"},
		{"enum", "eval:\n  split: testt\n", "f:2:10\n", `eval.split: "testt" is none of validation, test; did you mean "test"?`},
		{"below", "grpo: {group_size: 1}\n", "f:1:20\n", "grpo.group_size: 1 is below 2"},
		{"above", "sft: {optimizer: {learning_rate: 2}}\n", "f:1:34\n", "2 is above 1"},
		{"duration", "mcp: {timeout: 2h}\n", "f:1:16\n", "mcp.timeout: 7200s is above 3600s"},
		{"truncated greedy sampling", "eval: {top_p: 0.9}\n", "f:1:15\n", "eval.top_p: greedy sampling"},
		{"top-k of greedy sampling", "eval: {top_k: 40, temperature: 0}\n", "f:1:15\n", "set eval.temperature above 0"},
		{"min-p above 1", "eval: {temperature: 1, min_p: 1.5}\n", "f:1:31\n", "eval.min_p: 1.5 is above 1"},
		{"top-p of nothing", "eval: {temperature: 1, top_p: 0}\n", "f:1:31\n", "eval.top_p: 0 is below 0.0001"},
		{"truncated rollouts", "rollout: {top_p: 0.9}\n", "f:1:11\n", `unknown key "rollout.top_p"`},
		{"not finite", "rollout: {temperature: .nan}\n", "f:1:24\n", "not a finite number"},
		{"variables are a text", "model:\n  template_variables: x\n", "f:2:23\n", `model.template_variables takes a mapping, not "x"`},
		{"variable of the conversation", "model: {template_variables: {messages: []}}\n", "f:1:29\n", `"messages" is the conversation's own`},
		{"variable without a name", "model: {template_variables: {no-name: 1}}\n", "f:1:29\n", `"no-name" is no name of a variable`},
		{"variable not finite", "model: {template_variables: {x: [{y: .inf}]}}\n", "f:1:29\n", `"x": it is not a finite number`},
		{"variable of another kind", "model: {template_variables: {x: 2026-01-01T00:00:00Z, y: !!binary aGk=}}\n", "f:1:29\n", `"y": a value of type`},
		{"no room for a prompt", "model: {context: 64}\nrollout: {max_tokens: 64}\n", "f", "rollout.max_tokens: one completion fills"},
		{"name with a path", "name: ../x\n", "f:1:7\n", "holds no path"},
		{"alias", "name: &a x\nruns_dir: *a\n", "f:1:7\n", "aliases"},
		{"merge key", "sft:\n  <<: {epochs: 2}\n", "f:2:3\n", "merge keys"},
		{"two documents", "seed: 1\n---\nseed: 2\n", "f:2:1\n", "more than one document"},
		{"duplicate key", "seed: 1\nseed: 2\n", "f:2:1\n", "already defined"},
		{"approval mode", "mcp:\n  approval:\n    mode: yes\n", "f:3:11\n", `mcp.approval.mode: "yes" is none of ask, auto, readonly`},
		{"accepted tool of spaces", "mcp: {allow_findings: [\" \"]}\n", "f:1:23\n", `mcp.allow_findings: " " is neither tool nor server/tool`},
		{"accepted tools of no server", "mcp: {allow_findings: [/add]}\n", "f:1:23\n", `"/add" is neither tool nor server/tool`},
		{"accepted tools of a class over two names", "mcp: {allow_findings: [\"[a/b]\"]}\n", "f:1:23\n", `"[a/b]" is neither tool nor server/tool`},
		{"accepted tool behind two slashes", "mcp: {allow_findings: [odd//poll]}\n", "f:1:23\n", `"odd//poll" is neither tool nor server/tool`},
		{"accepted server without a tool", "mcp: {allow_findings: [odd/]}\n", "f:1:23\n", `"odd/" is neither tool nor server/tool`},
		{"accepted tools that end with a slash", "mcp: {allow_findings: [odd/poll/]}\n", "f:1:23\n", `"odd/poll/" is neither tool nor server/tool`},
		{"accepted tools of half a digest", "mcp: {allow_findings: [odd/poll@1a2b3c4d]}\n", "f:1:23\n",
			`"odd/poll@1a2b3c4d" has 8 digits behind the @, and a digest has 32`},
		{"accepted tools by half a class", "mcp: {allow_findings: [\"calc/[a\"]}\n", "f:1:23\n", `"calc/[a" is neither tool nor server/tool`},
		{"approval rule of spaces", "mcp: {approval: {deny: [\"calc/ \"]}}\n", "f:1:24\n", `mcp.approval.deny: "calc/ " is neither server nor server/tool`},
		{"approval rule without a tool", "mcp: {approval: {allow: [calc, \"calc/\"]}}\n", "f:1:25\n", `"calc/" is neither`},
		{"approval rule without a server", "mcp: {approval: {ask: [/add]}}\n", "f:1:23\n", `"/add" is neither`},
		{"approval is a list", "mcp: {approval: [ask]}\n", "f:1:17\n", "mcp.approval is not a mapping"},
		{"no yaml", "seed: [1\n", "f:1:", "']'"},
		{"too large", strings.Repeat("#", MaxFileBytes+1), "f", "more than 1048576 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tc.src))
			if fault.CodeOf(err) != fault.CodeUsage {
				t.Fatalf("code %d of %v", fault.CodeOf(err), err)
			}
			f := err.(*fault.Error)
			if !strings.HasPrefix(f.Where, tc.where) || !strings.Contains(f.Why, tc.why) {
				t.Errorf("where %q\nwant  %q\nwhy   %q\nwant  %q", f.Where, tc.where, f.Why, tc.why)
			}
			if f.Next == "" {
				t.Error("no next step")
			}
		})
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hone.yaml")
	if _, err := Load(path); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "hone config show > hone.yaml") {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("seed: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(path); err != nil || c.Seed != 3 {
		t.Errorf("seed %d, %v", c.Seed, err)
	}
}

// What is printed as resolved configuration gives the same configuration back, and fits the schema.
func TestYAMLRoundTrips(t *testing.T) {
	schema := compiledSchema(t)
	rapid.Check(t, func(r *rapid.T) {
		c := Default()
		c.Seed = rapid.Uint64().Draw(r, "seed")
		c.Name = rapid.StringMatching(`[a-z0-9 :#'"{}-]{0,12}`).Draw(r, "name")
		c.MCP.Timeout = time.Duration(rapid.Int64Range(1e6, 3600e9).Draw(r, "timeout"))
		c.MCP.Only = rapid.SliceOf(rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"yes", "1e3", ".mcp.json", "~", "a: b", "\t"}))).Draw(r, "only")
		c.MCP.Approval.Deny = rapid.SliceOf(rapid.StringMatching(`[a-z*]{1,5}(/[a-z*_:#-]{1,8})?`)).Draw(r, "deny")
		c.SFT.Optimizer.LearningRate = rapid.Float64Range(0, 1).Draw(r, "lr")
		c.Model.TemplateVariables = drawVariables(r)
		c.Eval.Split = rapid.SampledFrom([]string{"validation", "test"}).Draw(r, "split")
		if err := c.Validate(); err != nil {
			r.Fatal(err)
		}
		b, err := c.YAML()
		if err != nil {
			r.Fatal(err)
		}
		got, err := Parse("resolved", b)
		if err != nil {
			r.Fatalf("%v\n%s", err, b)
		}
		if !reflect.DeepEqual(got, c) {
			r.Fatalf("got  %+v\nwant %+v\n%s", got, c, b)
		}
		if err := schema.Validate(asJSON(r, b)); err != nil {
			r.Fatalf("the schema refuses it: %v", err)
		}
	})
}

func drawVariables(r *rapid.T) Variables {
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Uint64().AsAny(),
		rapid.Float64Range(-1e9, 1e9).Filter(func(x float64) bool { return x != math.Trunc(x) }).AsAny())
	list := rapid.SliceOfN(scalar, 1, 3)
	v := Variables{}
	for range rapid.IntRange(0, 3).Draw(r, "variables") {
		name := rapid.SampledFrom([]string{"enable_thinking", "reasoning_effort", "x", "yes"}).Draw(r, "variable")
		switch rapid.IntRange(0, 2).Draw(r, "kind") {
		case 0:
			v[name] = scalar.Draw(r, "value")
		case 1:
			v[name] = list.Draw(r, "list")
		default:
			v[name] = map[string]any{"k": scalar.Draw(r, "value"), "l": list.Draw(r, "list")}
		}
	}
	return v
}

func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	schema := compiledSchema(t)
	for _, src := range []string{
		"sed: 7", "lora: {rnk: 8}", "grpo: {steps: many}", "eval: {split: testt}", "grpo: {group_size: 1}",
		"mcp: {timeout: soon}", "model: {template_variables: x}", "rewards: {repeat: 0.2}", "rewards: {extra: 1.5}",
		"rewards: {checks: -1}",
		"model: {template_variables: {no-name: 1}}",
	} {
		if _, err := Parse("f", []byte(src)); err == nil {
			t.Errorf("%s: Parse accepts it", src)
		}
		if err := schema.Validate(asJSON(t, []byte(src))); err == nil {
			t.Errorf("%s: the schema accepts it", src)
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	var walk func(t2 reflect.Type, path string)
	walk = func(t2 reflect.Type, path string) {
		for _, f := range fieldsOf(t2) {
			if f.key == "" || f.doc == "" {
				t.Errorf("%s%s: a key without a name or a description", path, f.key)
			}
			if f.typ.Kind() == reflect.Struct {
				walk(f.typ, path+f.key+".")
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("hone.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("hone.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asJSON(t interface{ Fatal(...any) }, src []byte) any {
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
