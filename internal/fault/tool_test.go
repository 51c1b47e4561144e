package fault

import (
	"strings"
	"testing"
)

// A name that no tool has here is told with the one that is meant, whatever separates it from a server's.
func TestNoTool(t *testing.T) {
	names := []string{"a__add", "b__add", "get_item_1a2b3c4d", "search", "readFile", "long__list_3f4e5d6c"}
	for name, want := range map[string]string{
		"add":              `; here it is called "a__add" or "b__add"`,
		"a.add":            `; here it is called "a__add"`,
		"a/add":            `; here it is called "a__add"`,
		"a:add":            `; here it is called "a__add"`,
		"mcp__a__add":      `; here it is called "a__add"`,
		"c.add":            `; here it is called "a__add" or "b__add"`,
		"get.item":         `; here it is called "get_item_1a2b3c4d"`,
		"get item":         `; here it is called "get_item_1a2b3c4d"`,
		"x.get.item":       `; here it is called "get_item_1a2b3c4d"`,
		"Search":           `; here it is called "search"`,
		"web.search":       `; here it is called "search"`,
		"list":             `; here it is called "long__list_3f4e5d6c"`,
		"serch":            `; did you mean "search"?`,
		"something-unlike": `; there are a__add, b__add, get_item_1a2b3c4d, long__list_3f4e5d6c, readFile, search`,
	} {
		if got := NoTool(name, names); !strings.HasPrefix(got, "there is no tool ") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := NoTool("x", nil); got != `there is no tool "x"` {
		t.Error(got)
	}
}
