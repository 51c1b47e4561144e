package render

import (
	_ "embed" // the template's text
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/jinja"
	"hone/internal/text/toolcall"
)

// A model's template may write calls with tokens that the model never learnt, or write none. Rewritten puts another
// form of them into the conversation's own texts before the template sees it: tools become part of the system message,
// calls of the assistant's, and results a user's message. The turns stay the template's. Reasoning stands between
// <think> and </think> before the text where the template has no place for it.

//go:embed rewritten.jinja
var rewrittenTemplate string

// What stands before the tools, behind them, and before a result; and at the very front where reasoning is part of the
// text, which the model does not do by itself.
const (
	beforeRewritten = "\n\n# Tools\n\n" +
		"You may call these functions, which are listed with JSON Schemas of their parameters:"
	afterRewritten = "\n\nTo call one, answer with this and nothing else, the parameters filled in:\n"
	result         = "Result:\n"
	reasonsInText  = "{#- reasoning is part of the text #}"
)

// Rewritten is a template with another form of calls; ok is false for forms that hone writes no template for: it does
// for calls that are JSON, bare or between Hermes' tags.
func Rewritten(source string, f toolcall.Format) (rewritten string, ok bool) {
	frame, ok := f.Frame()
	if !ok || f.Name() != "llama3_json" && f.Name() != toolcall.Hermes().Name() {
		return "", false
	}
	example := frame.Open + "NAME" + frame.Middle + `{"PARAMETER": VALUE}` + frame.Close
	// The name is written with its quotes.
	open, middle := strings.TrimSuffix(frame.Open, `"`), strings.TrimPrefix(frame.Middle, `"`)
	thinks := strings.Contains(source, "reasoning_content")
	text := strings.NewReplacer(
		"@SYSTEM@", jinjaString(OwnSystem(source)),
		"@BEFORE_TOOLS@", jinjaString(beforeRewritten),
		"@TOOLS_ALONE@", jinjaString(strings.TrimLeft(beforeRewritten, "\n")),
		"@AFTER_TOOLS@", jinjaString(afterRewritten+example), "@RESULT@", jinjaString(result),
		"@BETWEEN@", jinjaString(frame.Between), "@OPEN@", jinjaString(open), "@MIDDLE@", jinjaString(middle),
		"@CLOSE@", jinjaString(frame.Close), "@THINKS@", strconv.FormatBool(thinks),
	).Replace(rewrittenTemplate)
	if !thinks {
		text = reasonsInText + text
	}
	return text + source, true
}

// Writes reports whether a template writes calls in a form: whether the form reads a call of it and leaves no more than
// stands around words. Where calls end in their own way, or the template wants another conversation, its text tells.
func Writes(source string, f toolcall.Format) bool {
	compiled, err := jinja.Compile("", source)
	if err != nil {
		return false
	}
	o := VendorOptions{Now: defaultNow(), Template: source}
	v := &Vendor{template: compiled, options: o, danger: &danger{}, format: f}
	v.learnArguments()
	written := func(m chat.Message) string {
		c, err := v.conversation(probeTurn(m), probeTools())
		if err != nil {
			return ""
		}
		before, _, err := c.text(c.shift+1, true)
		whole, _, wholeErr := c.text(c.shift+2, false)
		if err != nil || wholeErr != nil {
			return ""
		}
		return strings.TrimPrefix(whole, before)
	}
	call := written(probeCall(""))
	read := f.Parse(call, toolcall.Options{Tools: probeTools()})
	around := strings.Replace(written(chat.Message{Role: chat.Assistant, Content: probeContent}), probeContent, "", 1)
	isRead := len(read.Calls) == 1 && read.Calls[0].Name == probeTool &&
		strings.Contains(read.Calls[0].Arguments, probeArgument)
	if isRead && strings.Join(strings.Fields(read.Content), "") == strings.Join(strings.Fields(around), "") {
		return true
	}
	told, ok := toolcall.Detect(source)
	return (isRead || call == "") && ok && told.Name() == f.Name()
}
