package programs

import "testing"

// Objects that stand one behind the other are a list, as FastMCP shows one; one object, or other things, are none.
func TestJoined(t *testing.T) {
	for text, want := range map[string]string{
		"{\"id\": 1}\n{\"id\": 2}":               `[{"id":1},{"id":2}]`,
		"{\n  \"id\": 1\n}\n{\n  \"id\": 2\n}\n": `[{"id":1},{"id":2}]`,
		"{\"id\": 1}":                            "",
		"{\"id\": 1}\n[2]":                       "",
		"{\"id\": 1}\nand more":                  "",
		"[{\"id\": 1}]":                          "",
		"":                                       "",
	} {
		got, ok := Joined(text)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q: %s, %v", text, got, ok)
		}
	}
	text := "{\"id\": 1, \"name\": \"a\"}\n{\"id\": 2, \"name\": \"b\"}"
	if all := Listings(text); len(all) != 1 || len(all[0].Records) != 2 {
		t.Errorf("listed as %v", all)
	}
	if rows := Records(text); len(rows) != 2 {
		t.Errorf("read as %v", rows)
	}
}
