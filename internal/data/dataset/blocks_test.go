package dataset

import (
	"compress/gzip"
	"strings"
	"testing"
)

// Anthropic's calls and results are parts of contents.
func TestBlocks(t *testing.T) {
	tools := `"tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{}}}]`
	call := `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"f","input":{"a":1.50}},{"type":"tool_use","id":"t2","name":"f","input":{}}]}`
	results := `{"type":"tool_result","tool_use_id":"t2","content":"two"},{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"one"}],"is_error":true}`
	end := `{"role":"assistant","content":[{"type":"text","text":"Done."}]}`
	before := `u:q a:I look.(hm)[t1 f{"a":1.50}][t2 f{}] t:two<t2> t:one<t1> `
	for row, want := range map[string]string{
		`{"system":"s","messages":[{"role":"user","content":"q"},` + call + `,{"role":"user","content":[` + results +
			`]},` + end + `],` + tools + `}`: "s:s " + before + "a:Done.",
		`{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"q"},` +
			call + `,{"role":"user","content":[` + results + `,{"type":"text","text":"and?"}]},` + end + `]}`: "s:s " +
			before + "u:and? a:Done.",
		`{"messages":[{"role":"user","content":"q"},` + call +
			`,{"role":"user","content":"and?"}]}`: unanswered,
		`{"messages":[{"role":"user","content":[` + results +
			`]}]}`: noCall,
		`{"messages":[{"role":"user","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}]}`:                                      badContent,
		`{"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]}`:                                                            "hone learns text and calls alone",
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"image"}]}]}`: "hone learns text and calls alone",
	} {
		if got := told(t, row); got != want && !(strings.HasPrefix(got, "refused") && strings.Contains(got, want)) {
			t.Errorf("%s:\n got  %s\n want %s", row, got, want)
		}
	}
}

// A weight in between is refused: taken as 1, it would train what was to count in part.
func TestWeightsInBetween(t *testing.T) {
	for _, form := range []string{
		`{"messages":[{"role":"user","content":"q","weight":0.5},{"role":"assistant","content":"a","weight":W}]}`,
		`{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a","weight":W}]}`,
		`{"conversations":[{"from":"system","value":"<tools>[]</tools>"},{"from":"human","value":"q"},{"from":"gpt","value":"a","weight":W}]}`,
	} {
		for weight, refused := range map[string]bool{
			"0.5": true, "2": true, "-1": true, "0": false, "1": false, "1.0": false, "null": false, `"0.5"`: true,
			`"0"`: false, "true": false, `"half"`: true,
		} {
			if got := told(t, strings.ReplaceAll(form, "W", weight)); strings.Contains(got, badWeight) != refused ||
				refused != strings.HasPrefix(got, "refused") {
				t.Errorf("%s of %s: %s", weight, form, got)
			}
		}
	}
}

// What is wrong with a file and not with a row is told, and is no row.
func TestDamageIsNoRow(t *testing.T) {
	row := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`
	rows, report, err := load(t, "rows.json", "["+row+",\n"+row, Options{})
	if err != nil || len(rows) != 2 || report.Read != 2 || report.NumRefused() != 0 ||
		!strings.Contains(strings.Join(report.Lines(), "\n"), "damaged: "+Cut) {
		t.Errorf("%+v %q %v", report, report.Lines(), err)
	}
	if _, _, err := load(t, "rows.json", "[\n", Options{}); err == nil || !strings.Contains(err.Error(), "not closed") {
		t.Errorf("%v", err)
	}
	if _, _, err := load(t, "rows.jsonl", row+"\r"+row, Options{}); err == nil ||
		!strings.Contains(err.Error(), `tr '\r' '\n'`) {
		t.Errorf("%v", err)
	}
}

// Text in Latin-1 says how it becomes UTF-8, where that is all that is wrong.
func TestLatin1(t *testing.T) {
	row := "{\"messages\":[{\"role\":\"user\",\"content\":\"\xe9\"}]}"
	if _, _, err := load(t, "rows.jsonl", row, Options{}); err == nil || !strings.Contains(err.Error(),
		"iconv -f LATIN1 -t UTF-8 /") || !strings.Contains(err.Error(), "rows.jsonl > ") {
		t.Errorf("%v", err)
	}
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(row)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	if _, _, err := load(t,
		"rows.jsonl.gz", packed.String(), Options{}); err == nil || !strings.Contains(err.Error(), "gzip -dc < /") ||
		!strings.Contains(err.Error(), "rows.jsonl.gz | iconv -f LATIN1 -t UTF-8 > utf8.jsonl, where it is Latin-1") {
		t.Errorf("%v", err)
	}
	if _, _, err := load(t, "rows.jsonl", row+"\n{}", Options{}); err == nil || strings.Contains(err.Error(), "iconv") {
		t.Errorf("%v", err)
	}
}
