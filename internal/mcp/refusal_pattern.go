package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// RefusalPattern returns the pattern for "refusal" by which a text that counts as no error looks like one, "" where it
// does not.
func RefusalPattern(text string) string {
	var object map[string]any
	if json.Unmarshal([]byte(unfenced(text)), &object) == nil {
		return objectPattern(object)
	}
	for _, form := range errorForms {
		if at := form.FindStringIndex(text); at != nil && !isReport(text[:at[1]], text[at[1]:]) {
			pattern, _ := json.Marshal(form.String()) // a string always has JSON
			return string(pattern)
		}
	}
	return ""
}

// unfenced is a text without the fenced block of Markdown that it is.
func unfenced(text string) string {
	const mark = "```"
	block, opens := strings.CutPrefix(strings.TrimSpace(text), mark)
	block, closes := strings.CutSuffix(block, mark)
	if _, inside, ok := strings.Cut(block, "\n"); ok && opens && closes {
		return inside
	}
	return text
}

func objectPattern(object map[string]any) string {
	for _, key := range []string{"status", "result", "outcome"} {
		if value, ok := object[key].(string); ok && errorWord.MatchString(value) {
			return fmt.Sprintf(`{"%s": "%s"}`, key, value)
		}
	}
	for _, key := range []string{"success", "ok", "succeeded"} {
		if object[key] == false {
			return fmt.Sprintf(`{"%s": false}`, key)
		}
	}
	for _, key := range []string{"isError", "is_error", "error", "errors"} {
		if object[key] == true {
			return fmt.Sprintf(`{"%s": true}`, key)
		}
	}
	for _, key := range []string{"error", "errors"} {
		switch value := object[key].(type) {
		case string:
			if value != "" {
				return fmt.Sprintf(`{"%s": {"$regex": "."}}`, key)
			}
		case map[string]any:
			if len(value) > 0 {
				return fmt.Sprintf(`{"%s": {"$subset": {}}}`, key)
			}
		case []any:
			if pattern := listPattern(object, key); len(value) > 0 && pattern != "" {
				return pattern
			}
		}
	}
	return ""
}

// listPattern is for a list of errors. GraphQL has one beside data that are null, or that are there in part; a check
// that did its work has one beside its warnings.
func listPattern(object map[string]any, key string) string {
	data, hasData := object["data"]
	_, isCheck := object["warnings"]
	switch {
	case data != nil || isCheck:
		return ""
	case hasData:
		return fmt.Sprintf(`{"data": null, "%s": {"$includes": [{"$any": true}]}}`, key)
	}
	return fmt.Sprintf(`{"%s": {"$includes": [{"$any": true}]}}`, key)
}

// isReport reports whether a text that begins as an error, and the rest of it, only speaks of errors.
func isReport(begins, rest string) bool {
	return article.MatchString(begins) || topic.MatchString(begins+rest) ||
		strings.HasSuffix(begins, ":") && nothingWrong.MatchString(rest) || logLine.MatchString(rest)
}

// errorForms are how a text begins that is an error, perhaps behind an emoji. Each is narrow, for it is pasted into
// configurations, where nothing else keeps it from what only speaks of errors.
var errorForms = []*regexp.Regexp{
	regexp.MustCompile(mayBegin + `(error|failed|failure|exception)(\*\*)?\s*:`),
	regexp.MustCompile(mayBegin + `(error|failed|failure|exception)` +
		`(\s*$|\s*[(\[,!]|[.](\s|$)|\s+["'\d–—-]|\s+(` + then + `)\b|\s+\w+ing\s+\S)`),
	regexp.MustCompile(mayBegin + `traceback\s*[(:]`),
	regexp.MustCompile(mayBegin + `\[(error|failed|failure|fatal|exception)\]`),
	regexp.MustCompile(mayBegin + `([\w.-]+\s+){1,3}(error|exception)(\s+\(?-?\d+\)?)?:`), // "MCP error -32602: no"
	// "sqlite3.OperationalError: no"; a name in small letters is a key
	regexp.MustCompile(mayBegin + `(uncaught\s+)?([\w$]+(\.|::))*` +
		`(?-i)[A-Z][\w$]*(Error|Exception)(\s*[(\[][^\n]*?[)\]])?:`),
}

const (
	mayBegin = `^[\s\p{So}\pM]*(?i)(\*\*)?`
	then     = `to|while|when|during|in|at|on|from|with|because|code|message|reason|response|occurred|raised|thrown|` +
		`caught|no|not|cannot|could|invalid|insufficient|internal|missing|validation|assertion|un\w+`
)

var (
	// What a report of the last error says where there was none, and the counts of a report.
	nothingWrong = regexp.MustCompile(`^(?i)[ \t]*((0(\.0*)?|none|null|nil|false|n/a|-)?[ \t]*(\n|$)|` +
		`(\d+|none)[ \t]*[,;|/][ \t]*\w+[ \t]*[:=][ \t]*(\d|none\b))`)
	article = regexp.MustCompile(`^\s*(?i)(the|an?|no)\s`) // a sentence of errors
	topic   = regexp.MustCompile(`^\s*(?i)\w+\s+(handling|reporting|logging|tracking|monitoring|testing)` +
		`(\s+[–—-]|\s+(in|for|with|and|of|as)\s+\w)`)
	logLine   = regexp.MustCompile(`(?i)\n\s*\[(trace|debug|info|notice|warn|warning)\]`)
	errorWord = regexp.MustCompile(`^(?i)(error|fail|failed|failure|refused|denied)$`)
)
