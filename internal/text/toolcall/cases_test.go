package toolcall

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
)

// reading is what a parser makes of a text.
type reading struct {
	Content string
	Calls   []struct{ Name, Arguments string }
}

// goldenCase is a text in one wire form, what the maker of the text put into it, and what vLLM's parser reads in it;
// testdata/reference makes them.
type goldenCase struct {
	Form, Name, Text string
	Complete, Bad    bool
	Want             reading
	VLLM             *reading
}

func readCases(t testing.TB) (tools []chat.Tool, cases []goldenCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tools []struct {
			Name       string
			Parameters json.RawMessage
		}
		Cases []goldenCase
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, tool := range file.Tools {
		tools = append(tools, chat.Tool{Name: tool.Name, InputSchema: tool.Parameters})
	}
	return tools, file.Cases
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func (r reading) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", r.Content)
	for _, c := range r.Calls {
		fmt.Fprintf(&b, " %s(%s)", c.Name, c.Arguments)
	}
	return b.String()
}

// same compares readings; exact says whether white space around the content counts.
func (r reading) same(other reading, exact bool) bool {
	a, b := r.Content, other.Content
	if !exact {
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	}
	if a != b || len(r.Calls) != len(other.Calls) {
		return false
	}
	for i, c := range r.Calls {
		if c.Name != other.Calls[i].Name || !sameJSON(c.Arguments, other.Calls[i].Arguments) {
			return false
		}
	}
	return true
}

func TestCases(t *testing.T) {
	tools, cases := readCases(t)
	if len(cases) < 400 {
		t.Fatalf("only %d cases", len(cases))
	}
	forms := map[string]int{}
	for _, c := range cases {
		forms[c.Form]++
		f, err := ByName(c.Form)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Tools: tools}
		result := f.Parse(c.Text, o)
		got := reading{Content: result.Content}
		for _, x := range result.Calls {
			got.Calls = append(got.Calls, struct{ Name, Arguments string }{x.Name, x.Arguments})
		}
		if !got.same(c.Want, true) || result.Complete != c.Complete || (result.Err != "") != c.Bad {
			t.Errorf("%s/%s: %q\n got  %v complete %v err %q\n want %v complete %v bad %v", c.Form, c.Name, c.Text,
				got, result.Complete, result.Err, c.Want, c.Complete, c.Bad)
		}
		for i := range len(c.Text) + 1 {
			checkStream(t, f, o, result, c.Text[:i], c.Text[i:])
		}
		checkStream(t, f, o, result, strings.Split(c.Text, "")...)
	}
	if len(forms) != len(All()) {
		t.Errorf("cases for %d forms of %d", len(forms), len(All()))
	}
}

// Where vLLM 0.32's parser reads something else, and why we do not follow it. A form stands behind each name.
func differences() map[string]string {
	const (
		drops   = "vLLM drops text around or between calls; here nothing is swallowed"
		whole   = "vLLM gives up the whole text where one block is bad or cut; here the others are kept"
		invents = "vLLM reads a call where there is none or only a piece of one; here that is text with an error"
		tagless = "vLLM takes what came of XML-like parameters and refuses whole objects; " +
			"here it is the other way round, and flagged"
		hides   = "vLLM drops what it cannot read; here it is text with an error"
		untyped = "a tool without a schema: vLLM drops the call or makes every value a string; " +
			"here what is valid JSON is JSON"
		limits = "vLLM's expression does not read this: brackets in Phi-4's arguments, FunctionGemma's values that " +
			"are no strings"
		nested = "vLLM makes strings of Gemma 4's nested numbers and literals, though the form marks strings"
	)
	return map[string]string{
		"text before": drops, "text after": drops, "a line of text between": drops, "space around": drops,
		"cut after the first": whole, "broken, then good": whole, "cut in the middle": invents, "broken": hides,
		"cut before the end": tagless, "unknown tool": untyped, "types": nested, "nested": nested,
		"three": limits, "numbers": limits, "optional null": limits, "optional integer": limits,
		"text that is a number": limits, "text that is JSON": limits, "empty values": limits, "escapes": limits,
	}
}

func TestVLLMReadsTheSame(t *testing.T) {
	_, cases := readCases(t)
	reasons, used := differences(), map[string][]string{}
	same := 0
	for _, c := range cases {
		if c.VLLM == nil {
			continue
		}
		if c.Want.same(*c.VLLM, false) {
			same++
			continue
		}
		used[c.Name] = append(used[c.Name], c.Form)
		if reasons[c.Name] == "" {
			t.Errorf("%s/%s: %q\n want %v\n vLLM %v", c.Form, c.Name, c.Text, c.Want, *c.VLLM)
		}
	}
	for name, why := range reasons {
		if len(used[name]) == 0 {
			t.Errorf("%s: no case differs, yet %s", name, why)
		}
		t.Logf("%s: %v: %s", name, used[name], why)
	}
	if same != 356 {
		t.Errorf("%d texts are read the same, 356 were", same)
	}
}
