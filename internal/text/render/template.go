package render

import (
	_ "embed" // the template's text
	"fmt"
	"regexp"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/jinja"
)

// OwnSystem is the system message that a chat template writes in ChatML's form where a conversation has none, as
// SmolLM2's does; empty where it writes none.
func OwnSystem(source string) string {
	compiled, err := jinja.Compile("", source)
	if err != nil {
		return ""
	}
	v := &Vendor{template: compiled, options: VendorOptions{Now: defaultNow(), Template: source}, danger: &danger{}}
	c, err := v.conversation([]chat.Message{{Role: chat.User, Content: probeUser}}, nil)
	if err != nil {
		return ""
	}
	text, _, err := c.text(1, true)
	if err != nil {
		return ""
	}
	own, ok := strings.CutPrefix(text, "<|im_start|>system\n")
	system, rest, ended := strings.Cut(own, "<|im_end|>")
	if !ok || !ended || strings.Contains(system, probeUser) || !strings.Contains(rest, probeUser) {
		return ""
	}
	return system
}

// presets sets what is not passed: each variable, the system message where the conversation has none, and the date that
// strftime_now tells, in the forms in which the template asks for it. The line they stand on ends, which trim_blocks
// takes away again: the template's own first line stays a first line.
func presets(o VendorOptions) string {
	var b strings.Builder
	if o.Variables != nil {
		for i := range o.Variables.Len() {
			name, value := o.Variables.At(i)
			b.WriteString("{%- set " + name + " = " + name + " if " + name + " is defined else " +
				jinjaLiteral(value) + " %}")
		}
	}
	if o.System != "" {
		b.WriteString("{%- set messages = messages if messages and messages[0].role in ['system', 'developer'] else " +
			"[{'role': 'system', 'content': " + jinjaString(o.System) + "}] + (messages or []) %}")
	}
	if dates := datesOf(o); dates != nil {
		b.WriteString("{%- macro strftime_now(format) %}{{- " + jinjaLiteral(dates) + "[format] }}{%- endmacro %}")
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// datesOf is what strftime_now gives for each form that stands in the template as text; nil where none does.
func datesOf(o VendorOptions) *chat.Object {
	var dates *chat.Object
	calls := regexp.MustCompile(`strftime_now\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)`).FindAllStringSubmatch(o.Template,
		-1)
	if len(calls) < strings.Count(o.Template, "strftime_now(") {
		return nil // a form is computed
	}
	for _, call := range calls {
		form := call[1] + call[2]
		asked, err := jinja.Compile("", "{{ strftime_now("+jinjaString(form)+") }}")
		if err != nil {
			continue
		}
		text, _, err := asked.Render(jinja.Values{Variables: chat.NewObject(), Now: o.Now})
		if err != nil {
			continue
		}
		if dates == nil {
			dates = chat.NewObject()
		}
		dates.Set(form, text)
	}
	return dates
}

// jinjaLiteral writes a value as an expression. Long lists and objects stand on one line.
func jinjaLiteral(v chat.Value) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return jinjaString(v)
	case []chat.Value:
		var items []string
		for _, item := range v {
			items = append(items, jinjaLiteral(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *chat.Object:
		var members []string
		for i := range v.Len() {
			key, item := v.At(i)
			members = append(members, jinjaString(key)+": "+jinjaLiteral(item))
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	return fmt.Sprint(v) // a number or a truth value
}

// checkVariables is an error for a variable that the template never reads: a misspelt one would change nothing,
// silently.
func (v *Vendor) checkVariables() error {
	if v.options.Variables == nil {
		return nil
	}
	for _, name := range v.options.Variables.Keys() {
		if !v.template.Uses(name) {
			return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("the chat template has no variable %q", name),
				Where: v.options.Name, Next: "correct model.template_variables"}
		}
	}
	return nil
}

// jinjaString quotes text as a Jinja literal.
func jinjaString(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(text) + "'"
}
