package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// What a message is rendered as is read back as that message, as training and serving meet it.
func TestReadInvertsCompletion(t *testing.T) {
	for _, name := range []string{"thinker", "opens", "forgets", "unended", "moves"} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, own(name), nil)
			rapid.Check(t, func(t *rapid.T) {
				for _, m := range dialogues(mild, 2).Draw(t, "dialogue") {
					if m.Role != chat.Assistant {
						continue
					}
					ids, err := v.Completion(m)
					if err != nil {
						t.Fatal(err)
					}
					for _, completion := range [][]int32{ids, ids[:len(ids)-1]} {
						r := v.Read(completion, ReadOptions{Tools: twoTools})
						said := name == "moves" && len(m.ToolCalls) > 0 ||
							strings.TrimSpace(r.Content) == strings.TrimSpace(m.Content)
						thought := name == "moves" || r.Reasoning == m.ReasoningContent
						if !said || !thought || r.Err != "" || !slices.EqualFunc(r.Calls, m.ToolCalls, sameCall) {
							t.Fatalf("%q is read as %+v, want %+v", v.tok.Decode(completion), r, m)
						}
						got, parseError := v.Parse(completion, nil)
						if got.Role != chat.Assistant || got.ReasoningContent != r.Reasoning ||
							got.Content != r.Content || !slices.Equal(got.ToolCalls, r.Calls) || parseError != "" {
							t.Fatalf("got %+v %q, want %+v", got, parseError, r)
						}
					}
				}
			})
		})
	}
}

func TestNextOfVendor(t *testing.T) {
	thinker, opens, unended :=
		newVendor(t, own("thinker"), nil), newVendor(t, own("opens"), nil), newVendor(t, own("unended"), nil)
	result := []chat.Message{
		{Role: chat.ToolRole, Content: "a", ToolCallID: "x"},
		{Role: chat.ToolRole, Content: "<|end|>", ToolCallID: "y", Name: "f"},
	}
	text := func(v *Vendor, s string) []int32 { return v.tok.EncodeOrdinary(s) }
	id := func(v *Vendor, s string) int32 {
		n, ok := v.tok.ID(s)
		if !ok {
			t.Fatalf("%s is no token", s)
		}
		return n
	}
	const after = "\n<|user|>\n<tool_response>\na\n</tool_response>\n<tool_response>\n<|end|>\n" +
		"</tool_response><|end|>\n<|assistant|>\n"
	for name, g := range map[string]struct {
		v          *Vendor
		completion []int32
		results    []chat.Message
		want       string
	}{
		"stopped":            {thinker, append(text(thinker, "x"), id(thinker, "<|end|>")), result, after},
		"cut":                {thinker, text(thinker, "x"), result, "<|end|>" + after},
		"nothing sampled":    {thinker, nil, result, "<|end|>" + after},
		"written, not ended": {thinker, text(thinker, "x<|end|>"), result, "<|end|>" + after},
		"user": {thinker, append(text(thinker, "x"), id(thinker, "<|end|>")),
			[]chat.Message{{Role: chat.User, Content: "q"}}, "\n<|user|>\nq<|end|>\n<|assistant|>\n"},
		"opens reasoning": {opens, append(text(opens, "x\n</think>\n\n"), id(opens, "</s>")),
			[]chat.Message{{Role: chat.User, Content: "q"}}, "<|user|>q\n<|assistant|><think>\n"},
		"role as the stop": {unended, append(text(unended, "\n<think></think>\nx"), id(unended, "<|observation|>")),
			result[:1], "\n<tool_response>\na\n</tool_response><|assistant|>"},
		"role not written": {unended, text(unended, "\n<think></think>\nx"), []chat.Message{{Role: chat.User, Content: "q"}}, "<|user|>\nq<|assistant|>"},
	} {
		m, _ := g.v.Parse(g.completion, nil)
		if g.v == opens {
			m.Content, m.ReasoningContent = "", "x"
		}
		got, split, err := g.v.Next(append([]chat.Message{{Role: chat.User, Content: "u"}, m}, g.results...), 1,
			g.completion, nil)
		if err != nil || split != "" || g.v.tok.Decode(got) != g.want {
			t.Errorf("%s: got %q (%v, %s), want %q", name, g.v.tok.Decode(got), err, split, g.want)
		}
	}
	said := chat.Message{Role: chat.Assistant, Content: "x"}
	if _, _, err := thinker.Next([]chat.Message{said, said}, 0, nil, nil); !isUsage(err) {
		t.Errorf("an assistant message among results: %v", err)
	}
	if _, _, err := thinker.Next([]chat.Message{said, {Role: "critic"}}, 0, nil, nil); !isUsage(err) {
		t.Errorf("an unknown role: %v", err)
	}
}

func TestSplitsAreReported(t *testing.T) {
	v := newVendor(t, own("thinker"), nil)
	call := chat.Message{Role: chat.Assistant, ReasoningContent: "Hm.",
		ToolCalls: []chat.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}}}
	messages := []chat.Message{
		{Role: chat.User, Content: "a"}, call, {Role: chat.ToolRole, ToolCallID: "c", Content: "r"},
		{Role: chat.Assistant, Content: "x", ReasoningContent: "So."}, {Role: chat.User, Content: "b"},
		{Role: chat.Assistant, Content: "y"},
	}
	rows, err := v.Sequences(messages, 0, nil)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if !strings.Contains(rows[1].Rewrite, "before message 5") || !strings.Contains(rows[1].Rewrite, "Hm.") {
		t.Errorf("split: %s", rows[1].Rewrite)
	}
	if text := v.tok.Decode(rows[0].IDs); !strings.Contains(text, "Hm.") ||
		!strings.HasSuffix(text, "<think>\nSo.\n</think>\n\nx<|end|>") {
		t.Errorf("the first row loses reasoning: %q", text)
	}
	if text := v.tok.Decode(rows[1].IDs); strings.Contains(text, "Hm.") || !strings.HasSuffix(text, "y<|end|>") {
		t.Errorf("the second row keeps reasoning: %q", text)
	}
	// A default system message is none of the caller's.
	v = newVendor(t, own("thinker"), func(o *VendorOptions) { o.System = "Be good." })
	if rows, err = v.Sequences(messages, 0, nil); err != nil || len(rows) != 2 || rows[0].Spans[0].Message != 0 ||
		!strings.Contains(rows[1].Rewrite, "before message 5") || !strings.HasPrefix(v.tok.Decode(rows[0].IDs),
		"[system]Be good.") {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestThinkingTurnedOff(t *testing.T) {
	v := newVendor(t, own("thinker"), func(o *VendorOptions) { o.Variables = chat.NewObject("enable_thinking", false) })
	messages := []chat.Message{
		{Role: chat.User, Content: "a"},
		{Role: chat.Assistant, Content: "<think>\nHm.\n</think>\n\nx"},
	}
	rows, err := v.Sequences(messages, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := v.tok.Decode(rows[0].IDs); text != "<|user|>\na<|end|>\n<|assistant|>\n<think>\n\n</think>\n\nx<|end|>" {
		t.Errorf("got %q", text)
	}
	// Thinking on: reasoning that stands in the content is reasoning.
	v = newVendor(t, own("thinker"), nil)
	if rows, err = v.Sequences(messages, 0, nil); err != nil ||
		!strings.HasSuffix(v.tok.Decode(rows[0].IDs), "<|assistant|>\n<think>\nHm.\n</think>\n\nx<|end|>") {
		t.Errorf("got %+v, %v", rows, err)
	}
}

func TestUnterminatedReasoning(t *testing.T) {
	opens, thinker := newVendor(t, own("opens"), nil), newVendor(t, own("thinker"), nil)
	for text, v := range map[string]*Vendor{"Hm": opens, "<think>\nHm": thinker} {
		r := v.Read(v.tok.EncodeOrdinary(text), ReadOptions{})
		if r.Err != "unterminated reasoning: no </think>" || r.Reasoning != "Hm" || r.Content != "" {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
	// A model that writes the tag which the prompt has written too.
	if r := opens.Read(opens.tok.EncodeOrdinary("<think>\nHm\n</think>\n\nx"), ReadOptions{}); r.Reasoning != "Hm" ||
		r.Content != "x" {
		t.Errorf("%+v", r)
	}
	if r := thinker.Read(thinker.tok.EncodeOrdinary("x </think> y"), ReadOptions{}); r.Reasoning != "" ||
		r.Content != "x </think> y" {
		t.Errorf("%+v", r)
	}
}

func TestReadMends(t *testing.T) {
	v := newVendor(t, own("thinker"), nil)
	ids := v.tok.EncodeOrdinary("<tool_call>\n{'name': 'f', 'arguments': {}}\n</tool_call>")
	if r := v.Read(ids, ReadOptions{}); len(r.Calls) != 0 || r.Err == "" {
		t.Errorf("strictly: %+v", r)
	}
	if r := v.Read(ids, ReadOptions{Repair: true}); len(r.Calls) != 1 || len(r.Repairs) == 0 ||
		slices.Contains(r.Repairs, toolcall.Repair("")) {
		t.Errorf("mended: %+v", r)
	}
}

func TestReadText(t *testing.T) {
	harmony, err := toolcall.ByName("harmony")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]toolcall.Result{
		"a":                       {Content: "a", Complete: true},
		"<think>r</think>a":       {Reasoning: "r", Content: "a", Complete: true},
		"[THINK]r[/THINK]a":       {Reasoning: "r", Content: "a", Complete: true},
		"r\n</think>\n\na":        {Reasoning: "r", Content: "a", Complete: true},
		" \n<think>\nr":           {Reasoning: "r", Err: "unterminated reasoning: no </think>"},
		"a <think>r</think>":      {Content: "a <think>r</think>", Complete: true},
		"<tool_call>\n</think> {": {Content: "<tool_call>\n</think> {", Err: "unterminated tool call: no </tool_call>"},
	} {
		if r := ReadText(text, toolcall.Hermes(), ReadOptions{}); r.Content != want.Content ||
			r.Reasoning != want.Reasoning || r.Complete != want.Complete || r.Err != want.Err {
			t.Errorf("%q is read as %+v, want %+v", text, r, want)
		}
	}
	if r := ReadText("<|channel|>analysis<|message|>r<|end|><|start|>assistant<|channel|>final<|message|>a",
		harmony, ReadOptions{}); r.Reasoning != "r" || r.Content != "a" {
		t.Errorf("%+v", r)
	}
}

func TestVendorRefuses(t *testing.T) {
	tok := extended(t)
	for name, o := range map[string]VendorOptions{
		"broken":           {Template: "{% if %}"},
		"unknown form":     {Template: "{% for m in messages %}{{ m.content }}{% endfor %}"},
		"raises":           {Template: "{{ raise_exception('no') }}", Format: toolcall.Hermes()},
		"writes nothing":   {Template: "x", Format: toolcall.Hermes()},
		"no special token": {Template: "{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}", Format: toolcall.Hermes()},
		"no special at all": {
			Template: "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ eos_token }}{% endfor %}",
			Format:   toolcall.Hermes(),
			EOS:      "</s>",
		},
	} {
		if _, err := NewVendor(tok, o); !isUsage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	v := newVendor(t, own("thinker"), nil)
	user := chat.Message{Role: chat.User, Content: "q"}
	call := func(arguments string) chat.Message {
		return chat.Message{Role: chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "c", Name: "f", Arguments: arguments}}}
	}
	for name, messages := range map[string][]chat.Message{
		"no assistant":         {user},
		"unknown role":         {user, {Role: "critic"}},
		"no object":            {user, call(`[1]`)},
		"repeated key":         {user, call(`{"a": 1, "a": 2}`)},
		"call written as text": {user, {Role: chat.Assistant, Content: "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"}},
		"unterminated":         {user, {Role: chat.Assistant, Content: "<tool_call>\n"}},
	} {
		if rows, err := v.Sequences(messages, 0, nil); !isUsage(err) {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		if last := messages[len(messages)-1]; last.Role == chat.Assistant {
			if ids, err := v.Completion(last); !isUsage(err) {
				t.Errorf("%s: %q, %v", name, v.tok.Decode(ids), err)
			}
		}
	}
	if _, err := v.Completion(user); !isUsage(err) {
		t.Errorf("a user message is no completion: %v", err)
	}
	if _, err := v.Prompt(nil, []chat.Tool{{Name: "f", InputSchema: []byte(`{"a"`)}}); !isUsage(err) {
		t.Errorf("a broken schema: %v", err)
	}
	if v.Template() != v.options.Template || v.ToolFormat().Name() != "hermes" {
		t.Error("Template and ToolFormat")
	}
	if KnowsTools("{% if %}") || KnowsTools("{{ raise_exception('no') }}") || KnowsTools("{{ messages | length }}") {
		t.Error("a template without tools is taken for one with")
	}
}

func TestSameValue(t *testing.T) {
	same := func(a, b string) bool { return sameCall(chat.ToolCall{Arguments: a}, chat.ToolCall{Arguments: b}) }
	for _, pair := range [][2]string{
		{`{}`, ``},
		{`{"a":1,"b":[true,null]}`, `{"b": [true, null], "a": 1}`},
		{`{"a":1e16}`, `{"a": 10000000000000000.0}`},
	} {
		if !same(pair[0], pair[1]) {
			t.Errorf("%s is not %s", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{
		{`{"a":1}`, `{"a":"1"}`}, {`{"a":1}`, `{"b":1}`}, {`{"a":1}`, `{"a":1,"b":2}`}, {`{"a":[1]}`, `{"a":[1,2]}`},
		{`{"a":{}}`, `{"a":[]}`}, {`{"a":[]}`, `{"a":{}}`},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567891}`}, {`{`, `{}`},
	} {
		if same(pair[0], pair[1]) {
			t.Errorf("%s is %s", pair[0], pair[1])
		}
	}
}

func TestIDsInTheTemplatesForm(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{nineCharacters("call_7", ""), "000000007"}, {nineCharacters("abcDEF123", ""), "abcDEF123"},
		{nineCharacters("", ""), "000000000"}, {kimiID("call_7", "f"), "functions.f:7"},
		{kimiID("functions.f:3", "f"), "functions.f:3"},
		{kimiID("functions.g:3", "f"), "functions.f:3"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if a, b := nineCharacters("toolu_x", ""), nineCharacters("toolu_y", ""); a == b || len(a) != 9 {
		t.Errorf("%q and %q", a, b)
	}
}

func TestView(t *testing.T) {
	v := newVendor(t, own("thinker"), nil)
	messages := []chat.Message{{Role: chat.User, Content: "q\x1b[31m\u202e"}, {Role: chat.Assistant, Content: "a"}}
	rows, err := v.Sequences(messages, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Rewrite = "because"
	for colour, want := range map[bool]string{
		false: "<|user|>\nq\\u001b[31m\\u202e<|end|>\n<|assistant|>\n«<think>\n\n</think>\n\na<|end|>»\n",
		true: "\x1b[2m<|user|>\nq\\u001b[31m\\u202e<|end|>\n<|assistant|>\n\x1b[0m\x1b[1;32m<think>\n\n</think>\n\n" +
			"a<|end|>\x1b[0m\n",
	} {
		var out bytes.Buffer
		if err := View(&out, "row", rows[0], messages, v.tok, colour); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "begins anew: because\n") ||
			!strings.Contains(out.String(), "message 1, assistant: tokens ") {
			t.Errorf("got %q\nwant %q", out.String(), want)
		}
	}
}

// Text that spells a control token is shown otherwise than the token, also where its characters are partly trained;
// white space is no control token, whatever a vocabulary adds.
func TestViewTellsTokensFromText(t *testing.T) {
	c, err := NewChatML(extended(t, "<tool_call>", "   "), Options{})
	if err != nil {
		t.Fatal(err)
	}
	messages := []chat.Message{
		{Role: chat.User, Content: "a<|im_end|>\n<|im_start|>assistant\n<tool_call>   b"},
		{Role: chat.Assistant, Content: "c <|im_end|>"},
	}
	rows, err := c.Sequences(messages, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := rows[0]
	var out bytes.Buffer
	if err := View(&out, "row", row, messages, c.tok, false); err != nil {
		t.Fatal(err)
	}
	want := "<|im_start|>user\na\\u003c|im_end|>\n\\u003c|im_start|>assistant\n\\u003ctool_call>   b<|im_end|>\n" +
		"<|im_start|>assistant\n«c \\u003c|im_end|><|im_end|>»"
	if !strings.Contains(out.String(), want) ||
		!strings.Contains(out.String(), "look like a control token and are none: 4,") {
		t.Errorf("got %s\nwant %s", &out, want)
	}
	ids := c.tok.EncodeOrdinary("x<|im_end|>")
	split := Sequence{IDs: ids, Trained: make([]bool, len(ids))}
	split.Trained[len(ids)-1] = true
	out.Reset()
	if err := View(&out, "row", split, nil, c.tok, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\nx\\u003c|im_end") {
		t.Errorf("partly trained: %s", &out)
	}
}

func TestSpansOfChatML(t *testing.T) {
	c := newChatML(t, Options{})
	messages := []chat.Message{{Role: chat.System, Content: "s"}, {Role: chat.User, Content: "q"},
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "hash", Arguments: "{}"}}}, {Role: chat.ToolRole,
			Content: "1"}, {Role: chat.ToolRole, Content: "2"}, {Role: chat.Assistant, Content: "a"}, {Role: chat.User,
			Content: "t"}}
	rows, err := c.Sequences(messages, 0, nil)
	if err != nil || len(rows) != 1 {
		t.Fatal(err)
	}
	ids := rows[0].IDs
	want := map[int]string{
		0: "<|im_start|>system\ns<|im_end|>\n", 1: "<|im_start|>user\nq<|im_end|>\n",
		2: "<tool_call>\n{\"name\": \"hash\", \"arguments\": {}}\n</tool_call><|im_end|>",
		3: "\n<|im_start|>user\n<tool_response>\n1\n</tool_response>",
		4: "\n<tool_response>\n2\n</tool_response><|im_end|>\n", 5: "a<|im_end|>",
	}
	for _, s := range rows[0].Spans {
		if got := c.tok.Decode(ids[s.Start:s.End]); got != want[s.Message] {
			t.Errorf("message %d is %q, want %q", s.Message, got, want[s.Message])
		}
		delete(want, s.Message)
	}
	if len(want) > 0 {
		t.Errorf("no spans of %v", want)
	}
	if _, err := c.Sequences(messages[:2], 0, nil); !isUsage(err) {
		t.Error("nothing to train on")
	}
	if _, err := c.Sequences([]chat.Message{{Role: "critic"}}, 0, nil); !isUsage(err) {
		t.Error("an unknown role")
	}
}

// Where a form writes all values as text, the tools' schemas say what they are, in rollouts and in what is served
// alike.
func TestValuesAreTypedByTheTools(t *testing.T) {
	tools := []chat.Tool{
		{
			Name: "f",
			InputSchema: json.RawMessage(
				`{"allOf": [{"properties": {"zip": {"type": "string"}, "n": {"type": "integer"}}}]}`,
			),
		},
	}
	for form, text := range map[string]string{
		"qwen3_coder": "<tool_call>\n<function=f>\n<parameter=zip>\n01234\n</parameter>\n<parameter=n>\n7\n" +
			"</parameter>\n<parameter=more>\n7\n</parameter>\n</function>\n</tool_call>",
		"glm45": "<tool_call>f\n<arg_key>zip</arg_key>\n<arg_value>7</arg_value>\n<arg_key>n</arg_key>\n<arg_value>7</arg_value>\n</tool_call>",
		"minimax_m2": "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"zip\">7</parameter>\n" +
			"<parameter name=\"n\">7</parameter>\n</invoke>\n</minimax:tool_call>",
	} {
		f, err := toolcall.ByName(form)
		if err != nil {
			t.Fatal(err)
		}
		v := *newVendor(t, own("thinker"), nil)
		v.format = f
		for _, told := range [][]chat.Tool{tools, nil} {
			ids := v.tok.EncodeOrdinary(text)
			m, parseError := v.Parse(ids, told)
			if parseError != "" || len(m.ToolCalls) != 1 {
				t.Fatalf("%s: %+v, %s", form, m, parseError)
			}
			var values struct{ Zip, N any }
			if err := json.Unmarshal([]byte(m.ToolCalls[0].Arguments), &values); err != nil {
				t.Fatal(err)
			}
			// 01234 is no number
			if _, isText := values.Zip.(string); values.N != 7.0 || isText != (told != nil || form == "qwen3_coder") {
				t.Errorf("%s, tools %v: %s", form, told != nil, m.ToolCalls[0].Arguments)
			}
			if served, _ := readParts(v.Reader(nil, told),
				[]string{text[:40], text[40:]}); !slices.Equal(served.ToolCalls, m.ToolCalls) {
				t.Errorf("%s, tools %v: served is %+v, sampled %+v", form, told != nil, served.ToolCalls, m.ToolCalls)
			}
		}
	}
}

// Values as Python prints them are of their schema's type wherever a call is read: in rollouts, in what is served, and
// where JSON is mended.
func TestPythonValuesAreReadAlike(t *testing.T) {
	tools := []chat.Tool{{Name: "f", InputSchema: json.RawMessage(
		`{"properties": {"meta": {"type": "object"}, "tags": {"type": "array"}, "on": {"type": "boolean"}, ` +
			`"text": {"type": "string"}, "mixed": {"type": ["string", "object"]}}}`)}}
	v := *newVendor(t, own("thinker"), nil)
	v.format, _ = toolcall.ByName("qwen3_coder")
	for _, x := range []struct{ parameter, value, want string }{
		{"meta", `{'theme': 'dark', 'on': True}`, `{"meta": {"theme": "dark", "on": true}}`},
		{"tags", `['a', None]`, `{"tags": ["a", null]}`},
		{"on", `False`, `{"on": false}`},
		{"meta", `{'theme': dark}`, `{"meta": "{'theme': dark}"}`},
		{"tags", `{'a': 1}`, `{"tags": "{'a': 1}"}`},
		{"text", `{'a': 1}`, `{"text": "{'a': 1}"}`},
		{"mixed", `{'a': 1}`, `{"mixed": "{'a': 1}"}`},
	} {
		text := "<tool_call>\n<function=f>\n<parameter=" + x.parameter + ">\n" + x.value +
			"\n</parameter>\n</function>\n</tool_call>"
		sampled, _ := v.Parse(v.tok.EncodeOrdinary(text), tools)
		served, _ := readParts(v.Reader(nil, tools), []string{text[:50], text[50:]})
		mended := ReadText(text, v.format, ReadOptions{Tools: tools, Repair: true})
		want := chat.ToolCall{Name: "f", Arguments: x.want}
		for where, calls := range map[string][]chat.ToolCall{
			"sampled": sampled.ToolCalls, "served": served.ToolCalls, "mended": mended.Calls,
		} {
			if len(calls) != 1 || !sameCall(calls[0], want) {
				t.Errorf("%s: %s is read as %+v, want %s", where, x.value, calls, x.want)
			}
		}
	}
}
