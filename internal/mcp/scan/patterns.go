package scan

import (
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// posePatterns are marks with which a text poses as what the model's own program writes.
var posePatterns = compile([]pattern{
	{High, "a marker of a chat template", `<\|?(im_start|im_end|im_sep|start_header_id|end_header_id|eot_id|eom_id|system|user|assistant|end|endoftext|begin_of_text|python_tag|start_of_role|end_of_role|channel|message|return|tool_call|fim_prefix)\|>|\[/?inst\]|<</?sys>>|<(start|end)_of_turn>|\[/?(tool_calls|available_tools|tool_results|system_prompt)\]`},
	{High, "a tag of tool calls", `</?(tool_call|tool_calls|function_calls?|tool_response|tool_results?|function_results?|tool_use|antml:[a-z_]+)\b[^>]*>|<(invoke|parameter) name=|<function=`},
	{High, "a turn of a chat",
		`(^|\n|\. ?)(human|user|assistant|ai) ?: .{1,300}(\n|\. ?)(assistant|ai|human|user) ?: `},
	{High, "a tag that poses as the system's", `<\s*(important|system|secret|hidden|instructions?|admin|assistant|system[-_]?(prompt|message|override|instructions?|note|reminder)|developer|critical|override|directive|internal|priority|mandatory|core_?rules?|policy|rules)\s*>\s*[\p{L}"'(*-][\s\S]*?<\s*/`},
	{Medium, "a tag that poses as the system's", `<\s*((?-i:IMPORTANT|HIDDEN|INSTRUCTIONS|SYSTEM)|system[-_](prompt|message|override|instructions?|note|reminder))\s*>`},
	{High, "a line that poses as the system's",
		`(?-i:\b(?:SYSTEM|ADMIN|DEVELOPER|ROOT|SYSTEM MESSAGE|SYSTEM PROMPT|SYSTEM UPDATE)) ?: ?[\p{L}]`},
	{Medium, "a line that poses as the system's", `\b(?:this is (?:a )?|(?:message|notice|order|instruction|update|directive|note)s? from )(?:your |the )?(?:anthropic|openai|google|microsoft|developers?|creators?|administrators?|system|platform|security team)\b`},
	{Medium, "a message that poses as the system's", `"role"\s*:\s*"(system|developer)"\s*,\s*"content"\s*:`},
	{Low, "a tag that poses as the system's", `</?\s*(system|secret|admin|assistant|developer)\s*>`},
	{High, "a line that poses as the system's", `(^|\n|[.!] ?)(system|assistant|developer) ?: ?(you|the|always|never|ignore|do|new|from|all|override|this|disregard|forget)\b`},
	{High, "a line that poses as the system's", `[\[({#*=<-]\s*(begin |end |new |start )?(of )?(anthropic |openai |google |ai )?(system|admin|administrator|developer|root|kernel|safety team|security team)[ _-]?(override|message|prompt|instructions?|notice|note|directive|command|alert|update|mode|policy|notification|reminder|level|priority)?( prompt| message| instructions?| description| update| override| notice)?\s*(\]|\)|\}|:|-{2,}|={2,}|\*\*|##|>>)`},
	{High, "a line that poses as the system's", `\b(system|developer|admin) (override|notice|directive|alert|note) ?:|(^|\n|[.!*(\[#|:-] ?)([a-z]+ )?(note|message|instructions?|notice|memo|reminder|directive|attention) (to|for) (the |all |any )?(ai|assistant|model|llm|agent|language model|chatbot)s?\b( [a-z]+)? ?[:,.-]|\bend of (the )?(tool|function|system) (description|prompt|instructions?|message)|\bbegin (system|hidden|new|secret)\b|(^|\n|\. ?)#{1,6} ?(system|instructions?|admin|developer)\b *(prompt|message|note|override|instructions?)? *(\n|:)`},
})

var secretPatterns = compile([]pattern{
	{High, "names private keys", `\b(id_rsa|id_ed25519|id_ecdsa|id_dsa)\b`},
	{High, "names a folder of secrets", `(~|\$\{?home\}?|%userprofile%|/root|/home/[\w.-]+|/users/[\w.-]+)[/\\]\.?(ssh|aws|gnupg|kube|docker|azure|config/gcloud|cursor|claude|netrc|npmrc|pypirc|git-credentials|pgpass|bash_history|zsh_history|password-store|mozilla|electrum|bitcoin)\b`},
	{High, "names a file of secrets", `\.aws/credentials\b|\.kube/config\b|\.docker/config\.json\b|(^|[\s"'/(])\.(netrc|git-credentials|pgpass)\b|\b(claude_desktop_config|mcp)\.json\b|\bwallet\.dat\b`},
	{High, "names the system's passwords", `/etc/(shadow|gshadow|sudoers|master\.passwd)\b|/etc/passwd\b`},
	{High, "names a process's environment", `/proc/(self|\d+|\*)/environ\b`},
	{Medium, "asks for a file of settings and keys",
		`\b(read|open|cat|load|send|include|upload|contents? of)\b.{0,30}(^|[\s"'` + "`" + `/(])\.env\b`},
})

type pattern struct {
	severity Severity
	message  string
	text     string
}

type compiled struct {
	severity Severity
	message  string
	*regexp.Regexp
}

func compile(patterns []pattern) []compiled {
	var out []compiled
	for _, p := range patterns {
		out = append(out, compiled{p.severity, p.message, regexp.MustCompile(`(?i)` + p.text)})
	}
	return out
}

func (c *checker) secretPaths(at, text string) {
	for _, p := range secretPatterns {
		if m := p.FindStringIndex(text); m != nil {
			c.add(SecretPath, Low, at, text, m[0], m[1], p.message)
		}
	}
}

var (
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}={0,2}`)
	hexRun    = regexp.MustCompile(`(?i)\b(?:0x)?[0-9a-f]{128,}\b`)
	escapeRun = regexp.MustCompile(`(?i)(\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|%[0-9a-f]{2}|&#x?[0-9a-f]{2,6};){12,}`)
)

// longBlob is how long a run of base64 may be that does not decode to text: longer than keys, hashes and tokens that
// examples show.
const longBlob = 160

func (c *checker) blobs(at, text string) {
	for _, m := range base64Run.FindAllStringIndex(text, -1) {
		run := text[m[0]:m[1]]
		if len(run) >= longBlob && isMixed(run) && base64Text(run) == "" {
			c.add(EncodedBlob, Low, at, text, m[0], m[1], "a long run of base64")
			return
		}
	}
	if m := hexRun.FindStringIndex(text); m != nil {
		c.add(EncodedBlob, Low, at, text, m[0], m[1], "a long run of hexadecimal digits")
	}
	if m := escapeRun.FindStringIndex(text); m != nil {
		c.add(EncodedBlob, Low, at, text, m[0], m[1], "a long run of escapes")
	}
}

// base64Text returns what base64 says where that is a text of words, else "".
func base64Text(run string) string {
	run = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(run, "="))
	data, err := base64.RawStdEncoding.DecodeString(run[:len(run)/4*4])
	if err != nil || !utf8.Valid(data) || len(data) < 8 {
		return ""
	}
	for _, r := range string(data) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return ""
		}
	}
	return string(data)
}

// isMixed tells encoded data from a long path or a row of letters: all three kinds of characters, at about the entropy
// of random base64 (6 bits a character).
func isMixed(run string) bool {
	var counts [256]int
	var lower, upper, digit bool
	for i := range len(run) {
		b := run[i]
		counts[b]++
		lower, upper, digit =
			lower || b >= 'a' && b <= 'z', upper || b >= 'A' && b <= 'Z', digit || b >= '0' && b <= '9'
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(run))
			bits -= p * math.Log2(p)
		}
	}
	return lower && upper && digit && bits > 4.5
}
