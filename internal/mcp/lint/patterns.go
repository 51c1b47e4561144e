package lint

import (
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// instruction is a way to speak to the model about more than the tool. Patterns are matched without regard to case on
// folded text. What tools say of their own use ("call list_tables first", "you must pass a path") is not among them.
var instructionPatterns = compile([]pattern{
	{High, "a tag that poses as the system's", `</?\s*(important|system|secret|hidden|instructions?|admin|assistant|system[-_]?prompt)\s*>`},
	{High, "a marker of a chat template", `<\|?(im_start|im_end|start_header_id|eot_id|system|user|assistant|endoftext)\|>|\[/?inst\]|<</?sys>>|<(start|end)_of_turn>`},
	{High, "asks to ignore other instructions", `\b(ignore|disregard|forget|override|bypass|do not follow)\b.{0,30}\b(previous|prior|above|earlier|preceding|all other|any other|existing|system|your)\b.{0,30}\b(instructions?|prompts?|rules?|guidelines?|messages?|directions?|constraints?|polic(y|ies)|safety)\b`},
	{High, "asks to hide something from the user", `\b(do not|don'?t|never|must not|should not|without|avoid)\b.{0,20}\b(tell(ing)?|mention(ing)?|inform(ing)?|show(ing)?|reveal(ing)?|disclos(e|ing)|notify(ing)?|alert(ing)?|report(ing)?|display(ing)?)\b.{0,40}\b(the |your )?(user|human|person|operator)\b`},
	{High, "asks to hide something from the user", `\b(user|human)\b.{0,20}\b(must|should|need|do(es)?)( not|n'?t)\b.{0,15}\b(know|see|notice|be (told|informed|aware|notified))\b|\b(secretly|covertly|surreptitiously|without the (user|human)('?s)? (knowledge|noticing|knowing|awareness))\b`},
	{High, "asks to skip the user's consent", `\b(do not|don'?t|never|no need to|without)\b.{0,15}\b(ask(ing)?|request(ing)?|wait(ing)?|seek(ing)?|requir(e|ing)|prompt(ing)?)\b.{0,30}\b(permission|confirmation|approval|consent)\b|\buser (has )?(already )?(approved|consented|authori[sz]ed|agreed)\b`},
	{High, "speaks about every tool", `\b(before|after|when(ever)?|prior to|each time|every time)\b.{0,25}\b(using|calling|invoking|running|executing|call|use|invoke|run)\b (any|all|every|each|another)( of the)?( other| available)? (tools?|functions?)\b`},
	{Medium, "wants to be preferred to other tools", `\b(always|must|only)\b.{0,20}\b(use|call|invoke|prefer|choose)\b (this|the current) (tool|function)\b.{0,40}\b(instead of|rather than|over|before|in place of)\b.{0,20}\b(any|all|every|other)\b`},
	{High, "asks for the conversation or the prompt", `\b(include|pass|send|append|attach|put|forward|leak|reveal|output|print|repeat|copy|provide|write|submit)\b.{0,50}\b(system prompt|(full|entire|whole|complete|previous) (conversation|chat)|(conversation|chat) history|(all )?previous messages|your instructions|hidden instructions)\b`},
	{High, "asks for credentials", `\b(include|pass|send|append|attach|put|forward|leak|upload|exfiltrate|copy|submit|read)\b.{0,40}\b(contents? of|user'?s?|all|any)\b.{0,30}\b(api[ _-]?keys?|passwords?|credentials|private keys?|ssh keys?|secrets|access tokens|environment variables)\b`},
	{High, "gives the model another role", `\byou are (now|no longer)\b|\bnew (system )?instructions?\s*:|\b(enter|enable|activate)\b.{0,10}\b(developer|debug|god|jailbreak|dan) mode\b|\bfrom now on,? (you|always|never)\b|(^|[.\n] ?)(system|assistant) ?: ?(you|the|always|never|ignore|do)\b`},
	{High, "redirects mail", `\b(bcc|cc|forward|redirect|reroute|send|sent|copy)\b.{0,80}\b[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+`},
})

var secretPatterns = compile([]pattern{
	{High, "names private keys", `\b(id_rsa|id_ed25519|id_ecdsa|id_dsa)\b`},
	{High, "names a folder of secrets", `(~|\$\{?home\}?|%userprofile%|/root|/home/[\w.-]+|/users/[\w.-]+)[/\\]\.?(ssh|aws|gnupg|kube|docker|azure|config/gcloud|cursor|claude|netrc|npmrc|pypirc|git-credentials|pgpass|bash_history|zsh_history|password-store|mozilla|electrum|bitcoin)\b`},
	{High, "names a file of secrets", `\.aws/credentials\b|\.kube/config\b|\.docker/config\.json\b|(^|[\s"'/(])\.(netrc|git-credentials|pgpass)\b|\b(claude_desktop_config|mcp)\.json\b|\bwallet\.dat\b`},
	{High, "names the system's passwords", `/etc/(shadow|gshadow|sudoers|master\.passwd)\b|/etc/passwd\b`},
	{High, "names a process's environment", `/proc/(self|\d+|\*)/environ\b`},
	{Medium, "asks for a file of settings and keys", `\b(read|open|cat|load|send|include|upload|contents? of)\b.{0,30}(^|[\s"'` + "`" + `/(])\.env\b`},
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

func (c *checker) instructions(at, text string) {
	for _, p := range instructionPatterns {
		if m := p.FindStringIndex(text); m != nil && !isExample(text[m[0]:m[1]]) {
			c.add(Instruction, p.severity, at, text, m[0], m[1], p.message)
		}
	}
}

// isExample excuses addresses at the domains that are kept for documentation (RFC 2606).
func isExample(match string) bool {
	return regexp.MustCompile(`(?i)@([a-z0-9-]+\.)*(example\.(com|org|net)|example|test|invalid|localhost)$`).MatchString(match)
}

func (c *checker) secretPaths(at, text string) {
	for _, p := range secretPatterns {
		if m := p.FindStringIndex(text); m != nil {
			c.add(SecretPath, p.severity, at, text, m[0], m[1], p.message)
		}
	}
}

var (
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
	hexRun    = regexp.MustCompile(`(?i)\b(0x)?[0-9a-f]{128,}\b`)
	escapeRun = regexp.MustCompile(`(?i)(\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|%[0-9a-f]{2}|&#x?[0-9a-f]{2,6};){12,}`)
)

// longBlob is how long a run of base64 may be that does not decode to text: longer than keys, hashes and tokens that
// examples show.
const longBlob = 160

func (c *checker) blobs(at, text string) {
	for _, m := range base64Run.FindAllStringIndex(text, -1) {
		run := text[m[0]:m[1]]
		if decoded := decodedText(run); decoded != "" {
			c.add(EncodedBlob, High, at, text, m[0], m[1], "base64 of the text "+excerpt(decoded, 0, 60))
			return
		}
		if len(run) >= longBlob && mixed(run) {
			c.add(EncodedBlob, Medium, at, text, m[0], m[1], "a long run of base64")
			return
		}
	}
	if m := hexRun.FindStringIndex(text); m != nil {
		c.add(EncodedBlob, Medium, at, text, m[0], m[1], "a long run of hexadecimal digits")
	}
	if m := escapeRun.FindStringIndex(text); m != nil {
		c.add(EncodedBlob, Medium, at, text, m[0], m[1], "a long run of escapes")
	}
}

// decodedText returns what base64 says where that is a text of words, else "".
func decodedText(run string) string {
	run = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(run, "="))
	data, err := base64.RawStdEncoding.DecodeString(run[:len(run)/4*4])
	if err != nil || !utf8.Valid(data) || strings.Count(string(data), " ") < 2 {
		return ""
	}
	for _, r := range string(data) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return ""
		}
	}
	return string(data)
}

// mixed tells encoded data from a long path or a row of letters: all three kinds of characters, at about the entropy of
// random base64 (6 bits a character).
func mixed(run string) bool {
	var counts [256]int
	var lower, upper, digit bool
	for i := range len(run) {
		b := run[i]
		counts[b]++
		lower, upper, digit = lower || b >= 'a' && b <= 'z', upper || b >= 'A' && b <= 'Z', digit || b >= '0' && b <= '9'
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
