package render

import (
	_ "embed" // the template's text
	"fmt"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
)

//go:embed chatml.jinja
var chatmlTemplate string

// Template is the chat template that makes other servers prompt as ChatML does, for chat_template.jinja beside the
// weights. It knows tools in the JSON format only: in the compact format it leaves the tools argument alone, and the
// caller sends SystemText as the system message.
//
// Such a server tokenises the whole text again, so its ids are ChatML's unless message content looks like a special
// token or an assistant's begins with white space.
func (c *ChatML) Template() string {
	return strings.NewReplacer(
		"@SYSTEM@", jinjaString(c.options.System),
		"@LISTS_TOOLS@", strconv.FormatBool(c.options.ToolFormat == ToolsJSON),
		"@BEFORE_TOOLS@", jinjaString(beforeJSON),
		"@AFTER_TOOLS@", jinjaString(afterJSON),
	).Replace(chatmlTemplate)
}

// presets sets each variable that is not passed to its value, so that a template needs none passed. The line it stands on
// ends, which trim_blocks takes away again: the template's own first line stays a first line.
func presets(variables *chat.Object) string {
	if variables == nil || variables.Len() == 0 {
		return ""
	}
	var b strings.Builder
	for i := range variables.Len() {
		name, value := variables.At(i)
		b.WriteString("{%- set " + name + " = " + name + " if " + name + " is defined else " + jinjaLiteral(value) + " %}")
	}
	b.WriteByte('\n')
	return b.String()
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

// checkVariables is an error for a variable that the template never reads: a misspelt one would change nothing, silently.
func (v *Vendor) checkVariables() error {
	if v.options.Variables == nil {
		return nil
	}
	for _, name := range v.options.Variables.Keys() {
		if !v.template.Uses(name) {
			return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("the chat template has no variable %q", name), Where: v.options.Name,
				Next: "correct model.template_variables"}
		}
	}
	return nil
}

// jinjaString quotes text as a Jinja literal.
func jinjaString(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(text) + "'"
}
