package lint

import (
	"regexp"
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
}{
	{"url", regexp.MustCompile(`(?i)\b(https?|wss?|ftp)://[^\s"'<>)]+`)},
	{"mail", regexp.MustCompile(`(?i)\b[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+`)},
	{"host", regexp.MustCompile(`(?i)\b([a-z0-9{}*-]+\.)+(io|com|net|org|xyz|cn|ru|site|online|top|info|dev|app|me|co|cc|sh|evil|example|test)\b`)},
	{"account", regexp.MustCompile(`\b([A-Z]{2}\d{2}[A-Z0-9 ]{6,30}|bc1[a-z0-9]{20,}|0x[0-9a-fA-F]{6,40}|\+?\d{8,16}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})\b`)},
	{"tool", regexp.MustCompile("\\b[a-z][a-z0-9]*(_[a-z0-9]+)+\\b|`[a-zA-Z_-]+`|\\b(?i:the )?[a-z_-]+ (?i:tool|function)\\b|\\b[a-z]+[A-Z][a-zA-Z]+\\b")},
	{"secret tool", regexp.MustCompile(`\b(get|read|fetch|list|dump|reveal|load|retrieve|export|show)_[a-z0-9_]*(secret|password|credential|private_key|ssh|env|vault)[a-z0-9_]*\b`)},
	{"command", regexp.MustCompile(`(?i)\b(curl|wget|iwr|invoke-webrequest)\b[^|;\n]{0,200}(\||;|&&|-o)\s*(sudo\s+)?(ba|z|da)?(sh|python3?|perl|iex|chmod)\b|\brm\s+-rf?\s+(~|/|\$home|\*)|\bnc\s+-e\b|\bbase64\s+-d\s*\|\s*(ba)?sh|/dev/tcp/|\bpowershell\s+-e|chmod\s+777`)},
	{"path", regexp.MustCompile("(?:^|[\\s\"'`/(])\\.env(?:\\.[a-z]+)?\\b")},
	{"path", regexp.MustCompile("\\$\\{?[A-Z_]*(?:TOKEN|API_KEY|SECRET|PASSWORD)\\b|`env`|\\bprintenv\\b")},
	{"variable", regexp.MustCompile(`\b[A-Z][A-Z0-9]*_(?:API_KEY|TOKEN|SECRET|PASSWORD|ACCESS_KEY|SECRET_KEY)\b`)},
	{"path", regexp.MustCompile(`\.(?:pem|ppk|p12|pfx|kdbx|keystore|jks)\b`)},
	{"filled url", regexp.MustCompile(`https?://[^\s"'<>)]+[?&][a-z_]+=(?:[A-Z]{3,}|%s|\$[A-Za-z{]|\[[A-Za-z])`)},
	{"filled url", regexp.MustCompile(`(?i)https?://[^\s"'<>)]+[?&/=.]?(\{[^}]*(data|chat|conversation|history|message|prompt|secret|key|token|content|result|context|base64|output|summary|answer|query|text|input|user)[^}]*\}|<[a-z _-]*(data|chat|conversation|history|secret|key|token|content|base64|context)[a-z _-]*>)`)},
	{"path", regexp.MustCompile(`(?i)(?:~|\$\{?home\}?|%userprofile%|/root|/home/[\w.-]+|/users/[\w.-]+)[/\\]\.[a-z][\w./\\-]*`)},
	{"file", regexp.MustCompile(`(?i)(?:~|\$\{?home\}?|%[a-z]+%|/etc|/home|/root|/var|/users|/proc|[a-z]:)[/\\][\w./\\-]+`)},
	{"hidden field", regexp.MustCompile(`(?i)\bside_?notes?\b`)},
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
	for _, p := range places {
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
