package scan

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// sentencesOf numbers the sentences. A full stop inside a name or a path ends none; the end of a line does, unless the
// next line goes on in small letters.
func sentencesOf(f folded) []int {
	out := make([]int, len(f.key))
	n := 0
	for i, r := range f.key {
		out[i] = n
		switch r {
		case '\n':
			if i+1 == len(f.key) || !unicode.IsLower(f.shown[i+1]) {
				n++
			}
		case '。', '！', '？', '؟', '۔', '।', ';', '؛':
			n++
		case '.', '!', '?':
			if i+1 == len(f.key) || !inWord(f.key[i+1]) && f.key[i+1] != '/' && f.key[i+1] != '.' {
				n++
			}
		}
	}
	return out
}

// places are what the classifier sees that is no word of a language.
var places = []struct {
	name string
	*regexp.Regexp
	may func(lower, text string) bool // false only where no match can be: the expressions take most of the time
}{
	{"url", regexp.MustCompile(`(?i)\b(https?|wss?|ftp)://[^\s"'<>)]+`), holds("://")},
	{"mail", regexp.MustCompile(`(?i)\b[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+`), holds("@")},
	{"host", regexp.MustCompile(`(?i)\b([a-z0-9{}*-]+\.)+(io|com|net|org|xyz|cn|ru|site|online|top|info|dev|app|me|co|cc|sh|evil|example|test)\b`), holds(".")},
	{"account", regexp.MustCompile(`\b([A-Z]{2}\d{2}[A-Z0-9 ]{6,30}|bc1[a-z0-9]{20,}|0x[0-9a-fA-F]{6,40}|\+?\d{8,16}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})\b`), hasDigit},
	{
		"tool", regexp.MustCompile("\\b[a-z][a-z0-9]*(_[a-z0-9]+)+\\b|`[a-zA-Z_-]+`|\\b(?i:the )?[a-z_-]+ " +
			"(?i:tool|function)\\b|\\b[a-z]+[A-Z][a-zA-Z]+\\b"), namesTool,
	},
	{"secret tool", regexp.MustCompile(`\b(get|read|fetch|list|dump|reveal|load|retrieve|export|show)_[a-z0-9_]*(secret|password|credential|private_key|ssh|env|vault)[a-z0-9_]*\b`), holds("_")},
	{
		"command",
		regexp.MustCompile(`(?i)\b(curl|wget|iwr|invoke-webrequest)\b[^|;\n]{0,200}(\||;|&&|-o)\s*(sudo\s+)?(ba|z|da)?(sh|python3?|perl|iex|chmod)\b|\brm\s+-rf?\s+(~|/|\$home|\*)|\bnc\s+-e\b|\bbase64\s+-d\s*\|\s*(ba)?sh|/dev/tcp/|\bpowershell\s+-e|chmod\s+777`),
		holds("curl", "wget", "iwr", "-web", "rm", "nc", "64", "/dev/tcp", "power", "chmod"),
	},
	{"path", regexp.MustCompile("(?:^|[\\s\"'`/(])\\.env(?:\\.[a-z]+)?\\b"), holds(".env")},
	{"path", regexp.MustCompile("\\$\\{?[A-Z_]*(?:TOKEN|API_KEY|SECRET|PASSWORD)\\b|`env`|\\bprintenv\\b"),
		holds("$", "env")},
	{"variable", regexp.MustCompile(`\b[A-Z][A-Z0-9]*_(?:API_KEY|TOKEN|SECRET|PASSWORD|ACCESS_KEY|SECRET_KEY)\b`),
		holds("_")},
	{"path", regexp.MustCompile(`\.(?:pem|ppk|p12|pfx|kdbx|keystore|jks)\b`), holds(".")},
	{"filled url", regexp.MustCompile(`https?://[^\s"'<>)]+[?&][a-z_]+=(?:[A-Z]{3,}|%s|\$[A-Za-z{]|\[[A-Za-z])`),
		holds("://")},
	{"filled url", regexp.MustCompile(`(?i)https?://[^\s"'<>)]+[?&/=.]?(\{[^}]*(data|chat|conversation|history|message|prompt|secret|key|token|content|result|context|base64|output|summary|answer|query|text|input|user)[^}]*\}|<[a-z _-]*(data|chat|conversation|history|secret|key|token|content|base64|context)[a-z _-]*>)`), holds("://")},
	{
		"path", regexp.MustCompile(
			`(?i)(?:~|\$\{?home\}?|%userprofile%|/root|/home/[\w.-]+|/users/[\w.-]+)[/\\]\.[a-z][\w./\\-]*`,
		), holds("/", "\\"),
	},
	{
		"file", regexp.MustCompile(
			`(?i)(?:~|\$\{?home\}?|%[a-z]+%|/etc|/home|/root|/var|/users|/proc|[a-z]:)[/\\][\w./\\-]+`,
		), holds("/", "\\"),
	},
	{"hidden field", regexp.MustCompile(`(?i)\bside_?notes?\b`), holds("note")},
}

// holds reports texts that hold one of some parts. The parts have no s and no k in them: an expression that ignores
// case takes other letters for those too.
func holds(parts ...string) func(lower, text string) bool {
	return func(lower, _ string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(lower, p) })
	}
}

func hasDigit(_, text string) bool { return strings.ContainsAny(text, "0123456789") }

// namesTool reports texts that may name a tool: by a mark, by the word, or by a capital behind a small letter.
func namesTool(lower, text string) bool {
	if strings.ContainsAny(text, "_`") || strings.Contains(lower, "tool") || strings.Contains(lower, "function") {
		return true
	}
	for i := 1; i < len(text); i++ {
		if 'A' <= text[i] && text[i] <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z' {
			return true
		}
	}
	return false
}

// ownMachine are addresses that lead nowhere else.
var ownMachine = regexp.MustCompile(`(?i)(^|[@/])(localhost|127\.0\.0\.1)([:/?#]|$)`)

func placesOf(f folded) map[string][]hit {
	text := f.String()
	runeAt := make([]int, len(text)+1)
	n := 0
	for i := range text {
		runeAt[i] = n
		n++
	}
	runeAt[len(text)] = n
	out := map[string][]hit{}
	lower := strings.ToLower(text)
	for _, p := range places {
		if !p.may(lower, text) {
			continue
		}
		for _, m := range p.FindAllStringIndex(text, 20) {
			if (p.name == "url" || p.name == "mail" || p.name == "host") && ownMachine.MatchString(text[m[0]:m[1]]) {
				continue
			}
			out[p.name] = append(out[p.name], hit{concept: p.name, start: runeAt[m[0]], end: runeAt[m[1]]})
		}
	}
	for _, p := range secretPatterns {
		if m := p.FindStringIndex(text); m != nil && !strings.HasPrefix(text[m[1]:], ".pub") {
			out["path"] = append(out["path"], hit{concept: "path", start: runeAt[m[0]], end: runeAt[m[1]]})
		}
	}
	for _, p := range posePatterns {
		for _, m := range p.FindAllStringIndex(text, 4) {
			out["pose"] = append(out["pose"], hit{concept: p.message, start: runeAt[m[0]], end: runeAt[m[1]]})
		}
	}
	return out
}
