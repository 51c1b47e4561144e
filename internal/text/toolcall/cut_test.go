package toolcall

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"": "{}", " ": "{}", "{": "{}", "{}": "{}", `{"`: "{}", `{"ci`: "{}", `{"city"`: "{}", `{"city":`: "{}",
		`{"city": "`: `{"city": ""}`, `{"city": "Ber`: `{"city": "Ber"}`, `{"city": "Berlin"`: `{"city": "Berlin"}`,
		`{"city": "Berlin",`: `{"city": "Berlin"}`, `{"city": "Berlin", "da`: `{"city": "Berlin"}`,
		`{"city": "Berlin", "days": `: `{"city": "Berlin"}`, `{"n": 1`: `{"n": 1}`, `{"n": 1.`: "{}", `{"n": -`: "{}",
		`{"a": 1, "n": 2e`: `{"a": 1}`, `{"b": tr`: "{}", `{"b": true`: `{"b": true}`, `{"b": nul`: "{}",
		`{"l": [`: `{"l": []}`, `{"l": [1, 2`: `{"l": [1, 2]}`, `{"l": [1, `: `{"l": [1]}`,
		`{"l": ["a", "b`: `{"l": ["a", "b"]}`, `{"o": {"k": {"x": "y`: `{"o": {"k": {"x": "y"}}}`,
		`{"o": {"k": {"x"`: `{"o": {"k": {}}}`, `{"l": [{"a": 1}, {"a": `: `{"l": [{"a": 1}, {}]}`,
		`{"t": "a\`: `{"t": "a"}`, `{"t": "a\\`: `{"t": "a\\"}`, `{"t": "a\"`: `{"t": "a\""}`,
		`{"t": "a\u00`: `{"t": "a"}`, `{"t": "a\ud83d`: `{"t": "a"}`, `{"t": "a\ud83d\ude`: `{"t": "a"}`,
		`{"t": "a\ud83d\ude42`: `{"t": "a\ud83d\ude42"}`, `{"t": "{[,`: `{"t": "{[,"}`,
		`{"t": "x,y", "u": "{`: `{"t": "x,y", "u": "{"}`, `{"a": "b"} `: `{"a": "b"}`,
		`{"t": "a\\\`: `{"t": "a\\"}`,
	} {
		if got, ok := CutObject(text); !ok || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"null", "[1", `"a`, "city=Berlin", `{city: 1, a`, `{"a": 1}}`, `{"a": 1} {`, `{'a': 1`, "1",
	} {
		if got, ok := CutObject(text); ok {
			t.Errorf("%q: %q", text, got)
		}
	}
	whole := `{"city": "B\u00e9\\r \"q\"", "n": [1, 2.5, {"t": true, "z": null}], "o": {"a": {}}}`
	for i := range whole { // wherever a limit cuts
		if got, ok := CutObject(whole[:i]); !ok || !isObject(got) {
			t.Errorf("%q: %q, %v", whole[:i], got, ok)
		}
	}
	long := `{"l": [` + strings.Repeat(`"a", `, 1<<16)
	if got, ok := CutObject(long); !ok || len(got) < len(long)-8 {
		t.Errorf("%d of %d bytes, %v", len(got), len(long), ok)
	}
}
