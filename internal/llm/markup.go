package llm

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Markup is a form in which models write calls and reasoning, and what makes a server of it read them.
type Markup struct {
	Form string // whose form it is
	Name string // of a form of calls, as package toolcall has it
	VLLM string // the flags of vLLM (the tables in vllm/tool_parsers/__init__.py and vllm/reasoning/__init__.py)
	// the flags of SGLang (srt/function_call/function_call_parser.py, srt/parser/reasoning_parser.py); "" where it has
	// no parser of the form
	SGLang string
}

// markups are marks that no answer has whose calls were read, in the order in which they are looked for: some have
// others within.
func markups() []struct {
	mark string
	Markup
} {
	calls := func(form, name, vllm, sglang string) Markup {
		if sglang != "" {
			sglang = "--tool-call-parser " + sglang
		}
		return Markup{form, name, "--enable-auto-tool-choice --tool-call-parser " + vllm, sglang}
	}
	return []struct {
		mark string
		Markup
	}{
		{"<function=", calls("Qwen3-Coder", "qwen3_coder", "qwen3_xml", "qwen3_coder")},
		{"<arg_key>", calls("GLM-4.5", "glm45", "glm45", "glm45")},
		{"<minimax:tool_call>", calls("MiniMax-M2", "minimax_m2", "minimax_m2", "minimax-m2")},
		{"<tool_call>", calls("Hermes and Qwen", "hermes", "hermes", "qwen25")},
		{"<|tool_call>call:", calls("Gemma 4", "gemma4", "gemma4", "gemma4")},
		{"<|tool_call_start|>", calls("LFM2", "lfm2", "lfm2", "lfm2")},
		{"[TOOL_CALLS]", calls("Mistral", "mistral", "mistral", "mistral")},
		{"<|python_tag|>", calls("Llama 3", "llama3_json", "llama3_json", "llama3")},
		{"functools[", calls("Phi-4-mini", "phi4_mini", "phi4_mini_json", "")},
		{"<|tool_calls_section_begin|>", calls("Kimi-K2", "kimi_k2", "kimi_k2", "kimi_k2")},
		{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", calls("DeepSeek-V3", "deepseek_v3", "deepseek_v3", "deepseekv3")},
		{"<｜tool▁calls▁begin｜>", calls("DeepSeek-V3.1", "deepseek_v31", "deepseek_v31", "deepseekv31")},
		{"<｜DSML｜function_calls>", calls("DeepSeek-V3.2", "deepseek_v32", "deepseek_v32", "deepseekv32")},
		{"<｜DSML｜tool_calls>", calls("DeepSeek-V4", "deepseek_v4", "deepseek_v4", "deepseekv4")},
		{"<|channel|>commentary", calls("gpt-oss", "harmony", "openai", "gpt-oss")},
		{"<function_calls>", calls("Olmo 3", "olmo3", "olmo3", "")},
	}
}

// UnreadCall is the form of a call that an endpoint left in the text of its answer; ok is false where there is none.
// tools are the names of those that were offered: a model may also write the JSON of a call alone.
func UnreadCall(content string, tools ...string) (Markup, bool) {
	for _, m := range markups() {
		if strings.Contains(content, m.mark) {
			return m.Markup, true
		}
	}
	flat := strings.Join(strings.Fields(content), "")
	for _, name := range tools {
		if strings.Contains(flat, `{"name":"`+name+`"`) &&
			(strings.Contains(flat, `"arguments":`) || strings.Contains(flat, `"parameters":`)) {
			return Markup{"Llama 3 (JSON alone)", "llama3_json",
				"--enable-auto-tool-choice --tool-call-parser llama3_json", "--tool-call-parser llama3"}, true
		}
		if strings.HasPrefix(flat, "["+name+"(") {
			return Markup{"Llama 4 (a call of Python)", "pythonic",
				"--enable-auto-tool-choice --tool-call-parser pythonic", "--tool-call-parser pythonic"}, true
		}
	}
	return Markup{}, false
}

// Almost is the form of what is a call in all but form in the text of an answer: UnreadCall's, or one that no server
// reads.
func Almost(content string, tools ...string) (Markup, bool) {
	if m, ok := UnreadCall(content, tools...); ok {
		return m, true
	}
	flat := strings.Join(strings.Fields(content), "")
	if loneJSON.MatchString(flat) {
		return Markup{Form: "JSON alone"}, true
	}
	for _, name := range tools {
		quoted := regexp.QuoteMeta(name)
		for _, x := range []struct{ form, pattern string }{
			{"a name before JSON", `(?m)^\W*` + quoted + `\W*\s*\{\s*"`},
			{
				"a call of Python",
				`(?m)^[\s>*` + "`" + `-]*(?:\w+\s*=\s*)?(?:await\s+)?(?:\w+\.)?` + quoted +
					`\s*\((?:\s*\)|\s*\{|\s*\w+\s*[=:]|\s*["'])`,
			},
			{"ReAct", `(?mi)^\W*action\W*:\W*` + quoted + `\b`},
			{"tags of the tool's name", `<` + quoted + `(?:\s[^<>]*)?(?:/>|>(?s:.*?)</` + quoted + `>)`},
			{"an attribute", `<\w+[^<>]*\bname\s*=\s*["']?` + quoted + `["']?[^<>]*>`},
		} {
			if of, err := regexp.Compile(x.pattern); err == nil && of.MatchString(content) {
				return Markup{Form: x.form}, true
			}
		}
	}
	return Markup{}, false
}

// loneJSON is an object, without white space, that names what is called and has arguments, in the words in use.
var loneJSON = regexp.MustCompile(`[{,]["']?(?:name|tool|tool_name|function|function_name|action|recipient_name)["']?:["'][\w./-]+["'],["']?(?:arguments|parameters|params|args|input|tool_input|action_input)["']?:["']?[{\[]`)

// Mend is what helps.
func (m Markup) Mend() string {
	if m.VLLM == "" {
		return "no server reads this form: hone sft on demonstrations teaches one that is read"
	}
	if m.SGLang == "" {
		return "restart vLLM with " + m.VLLM
	}
	return "restart vLLM with " + m.VLLM + ", or SGLang with " + m.SGLang
}

// UnsplitReasoning is the form of reasoning that an endpoint left in the text of its answer; ok is false where there is
// none.
func UnsplitReasoning(content string) (Markup, bool) {
	for _, x := range []struct {
		mark string
		Markup
	}{
		{"</think>", Markup{"<think>", "", "--reasoning-parser deepseek_r1 (qwen3 for Qwen3)",
			"--reasoning-parser deepseek-r1 (qwen3 for Qwen3)"}},
		{"[/THINK]", Markup{"[THINK]", "", "--reasoning-parser mistral", "--reasoning-parser mistral"}},
		{"<|channel|>analysis",
			Markup{"gpt-oss's channel analysis", "", "--reasoning-parser openai_gptoss", "--reasoning-parser gpt-oss"}},
	} {
		if strings.Contains(content, x.mark) {
			return x.Markup, true
		}
	}
	return Markup{}, false
}

// Forms counts the answers of episodes, completions that call nothing, and those of them that hold a call in all but
// form: a model that writes another form than it is read in does not fail at the task, and is to be told from one that
// does.
type Forms struct {
	Answers, Held int
	by            map[Markup]int
}

// Add takes an episode in.
func (f *Forms) Add(t *trajectory.Trajectory) {
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	if t.Shown != nil {
		names = append(names, t.Shown.Names...)
	}
	for _, c := range t.Calls() {
		if !slices.Contains(names, c.Call.Name) {
			names = append(names, c.Call.Name)
		}
	}
	for _, turn := range t.Turns {
		if len(turn.Calls) > 0 {
			continue
		}
		f.Answers++
		// one of its own form that is broken is counted as such
		if form, ok := Almost(turn.Content, names...); ok && turn.ParseError == "" {
			if f.by == nil {
				f.by = map[Markup]int{}
			}
			f.Held++
			f.by[form]++
		}
	}
}

// Join takes in what others counted.
func (f *Forms) Join(o Forms) {
	f.Answers, f.Held = f.Answers+o.Answers, f.Held+o.Held
	for form, n := range o.by {
		if f.by == nil {
			f.by = map[Markup]int{}
		}
		f.by[form] += n
	}
}

// Most is the form that most of them have.
func (f Forms) Most() Markup {
	all := slices.Collect(maps.Keys(f.by))
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(f.by[b], f.by[a]), cmp.Compare(a.Form, b.Form)) < 0
	})
	if len(all) == 0 {
		return Markup{}
	}
	return all[0]
}

// String says how many there are, as "31 of 63 answers hold a call in another form", and which form.
func (f Forms) String() string {
	verb := "hold"
	if f.Held == 1 {
		verb = "holds"
	}
	text := fmt.Sprintf("%d of %s %s a call in another form", f.Held, fault.Count(f.Answers, "answer"), verb)
	if len(f.by) > 1 {
		return fmt.Sprintf("%s, most as %s (%d)", text, f.Most().Form, f.by[f.Most()])
	}
	return text + ", as " + f.Most().Form
}
