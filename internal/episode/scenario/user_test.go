package scenario_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

// A user is read, kept and named whole: each key of it makes another scenario.
func TestUserIsRead(t *testing.T) {
	list, err := scenario.Load(write(t, "s.jsonl", `{"user": {"goal": "Cancel #W1.", "persona": "Rude.", "knows": {"zip":"19122"}, "first": "Hi.", "max_turns": 4, "ends_on": ["bye"]}}
{"user": {"goal": "Cancel #W2.", "persona": "Rude.", "knows": {"zip":"19122"}, "first": "Hi.", "max_turns": 4, "ends_on": ["bye"]}}
{"user": {"goal": "Cancel #W1.", "persona": "Kind.", "knows": {"zip":"19122"}, "first": "Hi.", "max_turns": 4, "ends_on": ["bye"]}}
{"user": {"goal": "Cancel #W1.", "persona": "Rude.", "knows": "the zip is 19122", "first": "Hi.", "max_turns": 4, "ends_on": ["bye"]}}
{"user": {"goal": "Cancel #W1.", "persona": "Rude.", "knows": {"zip":"19122"}, "first": "Hello.", "max_turns": 4, "ends_on": ["bye"]}}
{"user": {"goal": "Cancel #W1.", "persona": "Rude.", "knows": {"zip":"19122"}, "first": "Hi.", "max_turns": 5, "ends_on": ["bye"]}}
{"user": {"goal": "Cancel #W1.", "persona": "Rude.", "knows": {"zip":"19122"}, "first": "Hi.", "max_turns": 4}}
{"user": {"says": ["Hi.", "#W1"]}}
{"user": {"says": ["Hi.", "#W1", "Thanks. ###STOP###"]}}
{"user": {"first": "Hi.", "says": ["#W1"]}}
{"task": "Hi.", "user": {"says": ["#W1"]}}
{"task": "Hi."}
{"user": {"goal": "Cancel #W1."}}
{"messages": [{"role": "user", "content": "Hi."}], "user": {"goal": "Cancel #W1."}}
{"user": {"says": ["Hi.", "#W1"]}, "gold": [{"name": "x", "arguments": {}}]}
{"user": {"says": ["Hi.", "#W1"]}, "gold": [{"name": "x", "arguments": {}, "asks": "Shall I?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ids, hashes := map[string]bool{}, map[string]bool{}
	for i, s := range list {
		if i < 14 && strings.Count(s.ID, "-") > 1 {
			t.Errorf("row %d is named like another: %s", i, s.ID)
		}
		ids[s.ID], hashes[s.Hash()] = true, true
		if s.UserBegins() {
			if len(s.Opening()) != 0 || s.Asks() != "Cancel #W1." || s.User.Limit() != 10 {
				t.Errorf("%s: %+v, %q", s.ID, s.Opening(), s.Asks())
			}
		} else if want := strings.Replace("Hi.", "Hi.", s.Opening()[0].Content, 1); s.Asks() != want ||
			!reflect.DeepEqual(s.Opening(), []chat.Message{{Role: chat.User, Content: want}}) {
			t.Errorf("%s: %+v, %q", s.ID, s.Opening(), s.Asks())
		}
	}
	if len(ids) != len(list) || len(hashes) != len(list) {
		t.Errorf("%d scenarios have %d ids and %d hashes", len(list), len(ids), len(hashes))
	}
	for i, want := range map[int][]string{7: {"#W1"}, 8: {"#W1", "Thanks. ###STOP###"}, 9: {"#W1"}, 10: {"#W1"}} {
		if got := list[i].Replies(); !reflect.DeepEqual(got, want) {
			t.Errorf("row %d replies %q", i, got)
		}
	}
	if !scenario.NeedUserModel(list) || scenario.NeedUserModel(list[7:12]) {
		t.Error("who needs a model is not told")
	}
	path := filepath.Join(t.TempDir(), "again.jsonl")
	if err := scenario.Save(path, list); err != nil {
		t.Fatal(err)
	}
	if again, err := scenario.Load(path); err != nil || !reflect.DeepEqual(again, list) {
		t.Errorf("saved and loaded: %+v, %v", again, err)
	}
}

// What cannot be played is refused, by file and line, with what is wrong.
func TestUserIsRefused(t *testing.T) {
	for row, want := range map[string]string{
		`{"user": "a person"}`:                                                                        `"user" is not a JSON object`,
		`{"user": null}`:                                                                              `"user" is not a JSON object`,
		`{"user": {"goall": "x"}}`:                                                                    `user: unknown key "goall" (did you mean "goal"?)`,
		`{"user": {"first": "Hi."}}`:                                                                  `neither "goal", for a model that plays it, nor "says"`,
		`{"user": {"goal": "x", "says": ["y"]}}`:                                                      `both "goal" and "says"`,
		`{"user": {"says": ["y"], "persona": "rude"}}`:                                                `do not go with "says"`,
		`{"user": {"says": ["y"], "knows": "z"}}`:                                                     `do not go with "says"`,
		`{"user": {"says": ["y"], "max_turns": 3}}`:                                                   `do not go with "says"`,
		`{"task": "Hi.", "user": {"goal": "x", "first": "Hi."}}`:                                      `which "task" or "messages" say already`,
		`{"user": {"goal": "x", "max_turns": -1}}`:                                                    `"max_turns" of "user" must be at least 1`,
		`{"user": {"goal": "x", "knows": 7}}`:                                                         `"knows" of "user" must be a text, or an object of facts`,
		`{"user": {"goal": "x", "knows": {}}}`:                                                        `"knows" of "user" must be a text, or an object of facts`,
		`{"user": {"goal": "x", "ends_on": [""]}}`:                                                    `"ends_on" of "user" holds an empty name`,
		`{"user": {"goal": "x", "first": "###STOP###"}}`:                                              `ends the conversation before it began`,
		`{"user": {"says": ["Hi.", " "]}}`:                                                            `"says"[1] of "user" is empty`,
		`{"user": {"says": ["Hi.", "Bye. ###STOP###", "No."]}}`:                                       `"says"[1] of "user" ends the conversation, and only its last words can`,
		`{"user": {"says": ["Hi. ###TRANSFER###"]}}`:                                                  `"says"[0] of "user" ends the conversation`,
		`{"task": "x", "gold": [{"name": "x", "arguments": {}, "asks": "?"}]}`:                        `gold[0]: "asks" has nobody to answer it`,
		`{"user": {"says": ["Hi."]}, "setup": [{"name": "x", "arguments": {}, "asks": "?"}]}`:         `setup[0]: "asks" is for gold calls`,
		`{"task": "x", "checks": [{"type": "call", "name": "x", "arguments": {}, "any_turn": true}]}`: `"any_turn" does not go with type "call"`,
		`{"id": "x"}`: `"messages" or "user" can be in its place`,
	} {
		_, err := scenario.Load(write(t, "s.jsonl", row))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s.jsonl:1") {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
}

// What is shown of a scenario is all that its row says, but for the ends of long checks and setup calls.
func TestScenariosAreShown(t *testing.T) {
	names := `"Ada"` + strings.Repeat(`, "Bo"`, 29)
	long := `{"id": "long", "split": "train", "task": "Who?", "setup": [{"name": "set", "arguments": {"rows": [` +
		names + `]}}], "checks": [{"type": "answer", "one_of": [` + names + `]}, {"type": "answer", "regex": "^<` +
		strings.Repeat("é|", 150) + `"}, {"type": "state", "name": "look", "arguments": {}, "equals": "a\nb"}, ` +
		`{"type": "unchanged"}]}`
	list, err := scenario.Load(write(t, "s.jsonl", `{"id": "a", "split": "test", "difficulty": "easy", "tags": ["kind:x"], "user": {"goal": "Cancel it.", "persona": "Rude.", "knows": {"zip": "19122"}, "ends_on": ["bye"]}, "setup": [{"name": "set", "arguments": {"n": 1}}], "gold": [{"name": "look", "arguments": {"n": 2}, "asks": "Which?", "asks_reasoning": "Two fit."}], "gold_answer": "Gone.", "checks": [{"type": "answer", "contains": "Gone"}]}
{"id": "b", "split": "train", "user": {"says": ["Hi.", "#W1"]}}
{"id": "c", "split": "train", "task": "Add."}
`+long))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range list {
		if err := s.WriteText(&b); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"scenario a (test, easy, kind:x)\n", "a model, who finds the first words, for at most 10 messages", "wants",
		"Cancel it.", "Rude.", `{"zip": "19122"}`, "bye", `set {"n": 1}`, "Which?", "Two fit.", `look {"n": 2}`,
		"Gone.",
		"check     answer: contains \"Gone\"\n", "user      Hi.\n  then says #W1\n",
		"scenario c (train)\n  user      Add.\n",
		`  check     answer: one_of ["Ada","Bo",`, `,"Bo… (30 in all)`, `regex "^<é|é`, "é… (304 characters)\n",
		`  check     state: equals "a\nb", name "look", arguments {}` + "\n", "  check     unchanged\n",
		"Bo… (191 characters)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if some, err := scenario.WithIDs(list, []string{"c", "a"}, "f"); err != nil || len(some) != 2 || some[0].ID != "a" {
		t.Errorf("%+v, %v", some, err)
	}
	if _, err := scenario.WithIDs(list, []string{"d"}, "f"); err == nil {
		t.Error("an unknown id is none")
	}
}
