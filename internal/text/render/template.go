package render

import (
	_ "embed" // the template's text
	"strconv"
	"strings"
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

// jinjaString quotes text as a Jinja literal.
func jinjaString(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(text) + "'"
}
