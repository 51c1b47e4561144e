package render

import (
	"testing"

	"hone/internal/chat"
	"hone/internal/jinja"
)

// Setting variables changes nothing about a template that does not use them, whatever its first line begins with.
func TestPresetsChangeNothingElse(t *testing.T) {
	variables := chat.NewObject("other", true, "another", []chat.Value{"x"})
	for _, text := range []string{
		"a", "\na", "\n\na", "  {% if true %}a{% endif %}", "\t{# b #}\na", "{{- 'a' }}", "",
	} {
		render := func(source string) string {
			compiled, err := jinja.Compile("", source)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := compiled.Render(jinja.Values{})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if got, want := render(presets(VendorOptions{Variables: variables, System: "S"})+text),
			render(text); got != want {
			t.Errorf("%q: %q, without presets %q", text, got, want)
		}
	}
}
