package scenario_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

const talk = `{"role": "user", "content": "Put a hat in the basket."},
 {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"item\": \"hat\"}"}}]},
 {"role": "tool", "tool_call_id": "c1", "content": "1 hat"},
 {"role": "assistant", "content": "Done."},
 {"role": "user", "content": "And a boat."}`

// A scenario may begin in the midst of a conversation: it is kept word for word, names the scenario and splits it, and
// its last words of the user are the task.
func TestOpeningOfMessages(t *testing.T) {
	list, err := scenario.Load(write(t, "s.jsonl", `{"messages": [`+strings.ReplaceAll(talk, "\n", "")+`]}
{"messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "And a boat."}]}
{"task": "And a boat."}`))
	if err != nil {
		t.Fatal(err)
	}
	ids, hashes, together := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, key := range scenario.Together(list) {
		s := list[i]
		ids[s.ID], hashes[s.Hash()], together[key] = true, true, true
		if s.Asks() != "And a boat." {
			t.Errorf("%s asks %q", s.ID, s.Asks())
		}
	}
	if len(ids) != 3 || len(hashes) != 3 || len(together) != 3 {
		t.Errorf("%d ids, %d hashes, %d keys of splits", len(ids), len(hashes), len(together))
	}
	first := list[0].Opening()
	if len(first) != 5 || first[1].ToolCalls[0].Arguments != `{"item": "hat"}` || first[2].Name != "add" ||
		first[4].Content != "And a boat." {
		t.Errorf("%+v", first)
	}
	if _ = append(first[:4], chat.Message{}); list[0].Messages[4].Content == "" {
		t.Error("the opening is not the caller's own")
	}
	path := filepath.Join(t.TempDir(), "again.json")
	if err := scenario.Save(path, list); err != nil {
		t.Fatal(err)
	}
	if again, err := scenario.Load(path); err != nil || !reflect.DeepEqual(again, list) {
		t.Errorf("saved and loaded: %+v, %v", again, err)
	}
}

// What runs have stored of scenarios with a task goes on to name them.
func TestTasksKeepTheirNames(t *testing.T) {
	list, err := scenario.Load(write(t, "s.json", `[{"id": "a", "task": "Add.", "split": "train", "setup": [{"name": "reset", "arguments": {}}],
		"gold": [{"name": "add", "arguments": {"a": 1, "b": 2}}], "checks": [{"type": "answer", "number": 3}]}, {"task":"Say hi."}]`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]string{{"a", "f57d034d26ee2762765b881a7568055c432568f58ca24337848719faff39db10"},
		{"s-e276e57b8ac9", "049aa9940c54df1b5493c717ccd194651fb1410b593427ddc7fdc389c4d8a0ed"}} {
		if got := [2]string{list[i].ID, list[i].Hash()}; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// A conversation that no chat template would write is refused, with the place.
func TestBrokenOpenings(t *testing.T) {
	const user, call, result = `{"role": "user", "content": "a"}`, `{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}`,
		`{"role": "tool", "tool_call_id": "c", "content": "r"}`
	for messages, want := range map[string]string{
		user + `, {"role": "assistant", "content": "b"}`: `must end with the user`,
		user + `, ` + call:               `must end with the user`,
		call + `, ` + result:             `messages[0]: the user must speak before the assistant`,
		user + `, ` + result:             `messages[1]: a result of a tool, and no call is without one`,
		user + `, ` + call + `, ` + user: `messages[2]: the call "c" has no result before it`,
		user + `, ` + call + `, ` + strings.Replace(result, `"c"`, `"d"`,
			1): `messages[2]: tool_call_id is "d", and the next call without a result is "c"`,
		user + `, ` + strings.Replace(call, `"c"`, `""`, 1) + `, ` +
			result: `messages[1]: tool_calls[0]: it needs a name, and an id`,
		user + `, ` + call + `, ` + result + `, ` + call + `, ` +
			result: `messages[3]: tool_calls[0]: it needs a name, and an id that no other call has`,
		user + `, ` + strings.Replace(call, `"{}"`, `"[1]"`, 1) + `, ` +
			result: `arguments of f are not the text of a JSON object`,
		user + `, {"role": "system", "content": "s"}, ` +
			user: `messages[1]: a system message can only be the first`,
		user + `, ` +
			user: `messages[1]: two messages in a row have the role user`,
		`{"role": "user", "content": ""}`:                                        `messages[0]: it has neither content nor tool_calls`,
		`{"role": "critic", "content": "a"}`:                                     `messages[0]: role "critic" is none of`,
		`{"role": "user", "contents": "a"}`:                                      `messages[0]: unknown key "contents" (did you mean "content"?)`,
		`{"role": "user", "content": "a"}], "task": "b", "checks": [{"type": 1}`: `checks`,
		user +
			`], "task": "b", "tags": ["x"`: `"task" and "messages" are both there`,
	} {
		path := write(t, "s.jsonl", `{"messages": [`+messages+`]}`)
		if _, err := scenario.Load(path); err == nil || !strings.Contains(err.Error(), "s.jsonl:1\n") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", messages, err, want)
		}
	}
	if _, err := scenario.Load(write(t, "s.jsonl", `{"messages": [`+user+`, `+call+`, `+result+`]}`)); err != nil {
		t.Errorf("the model's turn after a result: %v", err)
	}
}
