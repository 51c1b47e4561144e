package curate

import (
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// rule finds values of one kind: the last group of its pattern that takes part, or all of it.
type rule struct {
	kind    string
	pattern *regexp.Regexp
	trim    string // what a sentence may have behind it
	// fits says how many bytes of a value are one, 0 where it is none, by what stands before and behind it; nil takes
	// all.
	fits func(before, value, behind string) int
}

// rules in the order in which they count. Forms of keys are those that their issuers document.
var rules = []rule{
	{
		Secret, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), "", nil,
	},
	{Secret, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`), "", nil}, // JWT
	{Secret, regexp.MustCompile(`\b(?:` + strings.Join(prefixed, "|") + `)`), "", nil},
	{Secret, regexp.MustCompile(`hooks\.slack\.com/services/(T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/[A-Za-z0-9_]{16,})`), "",
		nil},
	{Secret, regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"']*:([^\s/@"']+)@`), "", real},
	{Secret, regexp.MustCompile(`(?i)[?&;](?:[a-z_.-]*(?:token|api[_-]?key|apikey|secret|password|passwd|signature|credential)|sig|auth|pwd|code_verifier|x-amz-signature)=([^&\s"'<>#]{6,})`), `.,;)\`, real},
	{Secret, regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/=_.~-]{12,})`), ".", random},
	{Secret, regexp.MustCompile(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:token|apikey|key)\s+([^\s"']{12,})`),
		".", random},
	// all of a leaf (Texts), quotes too
	{Secret, regexp.MustCompile(`(?i)\A[\w.-]*(?:password|passwd|passphrase|passcode|\bpwd|_pwd|_pass): "(\S{6,})"\z`),
		"", password},
	{Secret, regexp.MustCompile(`(?i)(?:password|passwd|passphrase|passcode|\bpwd|_pwd|_pass)\\?["']?(?:\s*[:=]{1,2}>?\s*)(?:\\?["'])?([^\s"',;&\\<>]{6,})`), `.)]}`, password},
	{Secret, regexp.MustCompile(`(?i)(?:password|passwd|passphrase|passcode|\bpwd|_pwd|_pass|\bpw|_pw)\\?["']?(?:=|\s*[:=]{1,2}>?\s*\\?["'])([^\s"',;&\\<>]{4,})`), `.)]}`, isSpoken},
	{
		Secret, regexp.MustCompile(`(?i)\b(?:password|passphrase|passcode|passwd|pwd)\s+(?:is|was|to|=|of)\s+["'` +
			"`" + `]?([^\s"'` + "`" + `,;]{6,})`), `.)!?`, password,
	},
	{Secret, regexp.MustCompile(`(?i)(?:secret|token|api[_-]?key|apikey|access[_-]?key|auth[_-]?key|private[_-]?key|secret[_-]?key|client[_-]?secret|credential|signing[_-]?key|encryption[_-]?key)s?(?:[_-][a-z]+)?\\?["']?\s*(?:[:=]{1,2}>?)\s*(?:\\?["'])?([^\s"',;&\\]{12,})`), `.)]}`, random},
	{Secret, regexp.MustCompile(`\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET|PAT)=["']?([^\s"',;&\\]{12,})`), `.)]}`, random},
	{
		Secret, regexp.MustCompile(
			`(?i)\b(?:token|secret|api key|apikey|access key|credentials?|cookie)\s+(?:is|was|are|value|=|:)?\s*["'` + "`" + `]?([A-Za-z0-9_+/=.~-]{20,})`,
		), `.`, random,
	},
	{Email, regexp.MustCompile(`[\pL\pN](?:[\pL\pN._%+'-]*[\pL\pN_+-])?@(?:[\pL\pN](?:[\pL\pN-]*[\pL\pN])?\.)+\pL{2,}`),
		"", email},
	{IBAN, regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}`), " ", iban},
	{Card, regexp.MustCompile(`\b\d(?:[ -]?\d){12,18}\b`), "", card},
	{Phone, regexp.MustCompile(`\+\d[\d ().\x{00A0}/-]{6,20}\d`), "", phone},
	{Phone, regexp.MustCompile(`\(\d{3}\) ?\d{3}[-. ]\d{4}\b`), "", phone},
	{Phone, regexp.MustCompile(`\b\d{3}-\d{3}-\d{4}\b`), "", phone},
	{Phone, regexp.MustCompile(`(?:(?i:(?:\b|_)(?:phone|tel|telephone|telefon|telefono|mobile|cell[_ ]?phone|fax|whatsapp))|[a-z](?:Phone|Tel|Telephone|Telefon|Mobile|Fax|Whats[Aa]pp))(?i:[_ ]?(?:number|no))?\b[^\d\n+]{0,24}?(\(?\d[\d ().\x{00A0}/-]{6,18}\d)`), "", phoneAfterLabel},
	{Phone, regexp.MustCompile(`(?i)\b(?:call|text|ring|reach|dial)(?:\s+(?:me|us|him|her|them|you|back|up|at|on|my|our|the|cell|desk|office|number|line|directly|now))+[\s:]+(\(?\d[\d ().\x{00A0}/-]{6,18}\d)`), "", phoneAfterLabel},
	{Phone, regexp.MustCompile(`(?i)\b(?:call|text|ring|reach|cell|dial)\b[^\d\n+]{0,12}?(\(?\d{1,4}[) .\x{00A0}/-]{1,2}\d[\d ().\x{00A0}/-]{4,14}\d)`), "", phoneAfterLabel},
	// with the prefix of a trunk
	{
		Phone, regexp.MustCompile(
			`(?i)\b(?:call|text|ring|reach|dial)\s+(?:(?:[\pL'.]+\s+){0,3}(?:at|on)[\s:]+)?(0\d{8,11})\b`,
		), "", phoneAfterLabel,
	},
	// of North America
	{Phone, regexp.MustCompile(`(?i)(?:\b|_)cell\b[^\d\n+]{0,12}?([2-9]\d{2}[2-9]\d{6})\b`), "", phone},
	{SSN, regexp.MustCompile(`(?:(?i:(?:\b|_)(?:ssn|social[_ -]?security(?:[_ -]?(?:number|no\.?))?))|[a-z](?:Ssn|SSN))\b[^\d\n]{0,12}(\d{3}[ -]?\d{2}[ -]?\d{4})\b`), "", ssn},
	{SSN, regexp.MustCompile(`\b\d{3}-\d{2}-\d{4}\b`), "", ssn},
	{IP, regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}`), "", ipv4},
	{IP, regexp.MustCompile(`[0-9A-Fa-f]{1,4}:[0-9A-Fa-f:]{3,37}[0-9A-Fa-f]`), "", ipv6},
	{
		Name, regexp.MustCompile(`(?:^|[^\pL\pN._~-]|file://)(?:/var)?/(?:home|Users)/([^/\\\s"'` + "`" +
			`:;,<>|()\[\]{}$*]+)`), ".", user,
	},
	{
		Name, regexp.MustCompile(`[A-Za-z]:\\{1,2}(?:Users|Documents and Settings)\\{1,2}([^/\\\s"'` + "`" +
			`:;,<>|()\[\]{}$*%]+)`), "", user,
	},
}

// prefixed are keys that are known by how they begin.
var prefixed = []string{
	`(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}`,                        // AWS
	`gh[pousr]_[A-Za-z0-9]{36,}`, `github_pat_[A-Za-z0-9_]{22,}`, // GitHub
	`gl(?:pat|dt|rt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{20,}`,                   // GitLab
	`sk-(?:proj|svcacct|admin|ant|or)-[A-Za-z0-9_-]{20,}`, `sk-[A-Za-z0-9]{32,}`, // OpenAI, Anthropic, OpenRouter
	`hf_[A-Za-z0-9]{30,}`, `api_org_[A-Za-z]{30,}`, // Hugging Face
	`xox[abeoprs]-[A-Za-z0-9-]{10,}`, `xapp-[0-9]-[A-Za-z0-9-]{20,}`, // Slack
	`[rs]k_(?:live|test)_[A-Za-z0-9]{10,}`, `whsec_[A-Za-z0-9]{20,}`, // Stripe
	`AIza[A-Za-z0-9_-]{35}`, `ya29\.[A-Za-z0-9_-]{20,}`, `GOCSPX-[A-Za-z0-9_-]{28}`, // Google
	`npm_[A-Za-z0-9]{36}`, `pypi-[A-Za-z0-9_-]{50,}`, `rubygems_[a-f0-9]{48}`, // package registries
	// SendGrid, Mailgun, Resend
	`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}`, `key-[a-f0-9]{32}`, `re_[A-Za-z0-9_]{30,}`,
	`dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}`, `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`, // Docker, Shopify
	`do[opr]_v1_[a-f0-9]{64}`, `hv[sbr]\.[A-Za-z0-9_-]{24,}`, `pul-[a-f0-9]{40}`, // DigitalOcean, Vault, Pulumi
	`[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`,                        // Discord
	`[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`,                                                        // Telegram
	`lin_api_[A-Za-z0-9]{32,}`, `(?:ntn|secret)_[A-Za-z0-9]{40,}`, `figd_[A-Za-z0-9_-]{40,}`, // Linear, Notion, Figma
	`AGE-SECRET-KEY-1[A-Z0-9]{58}`, `EAA[A-Za-z0-9]{90,}`, `gsk_[A-Za-z0-9]{40,}`, `pplx-[A-Za-z0-9]{40,}`,
	`xai-[A-Za-z0-9]{60,}`, `r8_[A-Za-z0-9]{37}`, `dapi[a-f0-9]{32}`, `nvapi-[A-Za-z0-9_-]{60,}`,
	`sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}`, `ATATT3[A-Za-z0-9_=-]{100,}`,
}

func whole(is bool, value string) int {
	if is {
		return len(value)
	}
	return 0
}

// stands reports whether a value stands for one that is not there: YOUR_API_KEY, <token>, ${TOKEN}, ****, xxxx, or that
// of a program.
var stands = regexp.MustCompile(`(?i)^(?:[*x.•#_-]+|[<$%{\[(].*|.*[>}\])]|(?:your|my|the|some|example|sample|dummy|fake|insert|replace|change)[_-].*|.*(?:redacted|placeholder|changeme|os\.environ|process\.env|getenv).*|none|null|nil|undefined|true|false|string|required|optional|missing|invalid|expired)$`)

// real is a value that stands for no other.
func real(_, value, _ string) int { return whole(!stands.MatchString(value), value) }

// password is a word that is none of a sentence: of letters and something else.
func password(_, value, _ string) int {
	letters, others := 0, 0
	for _, r := range value {
		if unicode.IsLetter(r) {
			letters++
		} else {
			others++
		}
	}
	folder := strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~/") // pwd, the working directory
	return whole(!stands.MatchString(value) && (letters > 0 && others > 0 || others >= 8) &&
		!strings.ContainsAny(value, "()") && !folder, value)
}

// isSpoken is a password of letters alone too, where it is quoted or set: a word of a sentence is neither.
func isSpoken(_, value, _ string) int {
	return whole(!stands.MatchString(value) && !variable.MatchString(value) && !strings.ContainsAny(value, "()") &&
		!strings.ContainsAny(value[:1], "/~$."), value)
}

// variable is what code calls a password that it has from elsewhere.
var variable = regexp.MustCompile(`(?i)^(?:[a-z]*[_.])*(?:password|passwd|passphrase|passcode|pass|pwd|pw|secret|token|value|input|text|hidden|self|args|config|settings|form|user|env|enabled|disabled)$`)

// random is a value that is drawn, and no name of anything: letters and digits together, or letters that nobody can
// say, of many kinds.
func random(_, value, _ string) int {
	digits := strings.ContainsFunc(value, unicode.IsDigit)
	drawn := digits && strings.ContainsFunc(value, unicode.IsLetter) || len(value) >= 32 &&
		strings.ContainsFunc(value, unicode.IsUpper) && strings.ContainsFunc(value, unicode.IsLower) || unsayable(value)
	return whole(drawn && entropy(value) >= 3 && !stands.MatchString(value) && !strings.Contains(value, "://") &&
		!uuid.MatchString(value), value)
}

// unsayable are 10 letters or more that are no words, however they are joined: of both cases in turn or with three runs
// of capitals, as in base64, or nearly without vowels.
func unsayable(value string) bool {
	if len(value) < 10 || strings.ContainsFunc(value,
		func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && r != '=' }) {
		return false
	}
	turns, vowels := 0, 0
	for i := range len(value) {
		if strings.IndexByte("aeiouyAEIOUY", value[i]) >= 0 {
			vowels++
		}
		if i > 0 && unicode.IsUpper(rune(value[i])) != unicode.IsUpper(rune(value[i-1])) {
			turns++
		}
	}
	cases := strings.ToLower(value) != value && strings.ToUpper(value) != value
	return cases && (2*turns >= len(value) || len(capitals.FindAllString(value, 3)) == 3 && len(value) >= 16) ||
		8*vowels <= len(value)
}

// capitals stand side by side again and again in base64, and once at most in a name.
var capitals = regexp.MustCompile(`[A-Z]{2,}`)

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// entropy is that of a text's letters, in bits each (Shannon).
func entropy(text string) float64 {
	counts, n, h := map[rune]float64{}, 0.0, 0.0
	for _, r := range text {
		counts[r]++
		n++
	}
	for _, c := range counts {
		h -= c / n * math.Log2(c/n)
	}
	return h
}

// email is no address of a repository, which is git@host:path.
func email(_, value, behind string) int {
	repository := strings.HasPrefix(value, "git@") ||
		len(behind) > 1 && behind[0] == ':' && unicode.IsLetter(rune(behind[1]))
	return whole(!repository, value)
}

func digitsOf(value string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, value)
}

// card is a number of a payment card: of its network's range, with Luhn's check digit (ISO/IEC 7812).
func card(before, value, _ string) int {
	d := digitsOf(value)
	two, _ := strconv.Atoi(d[:2])
	four, _ := strconv.Atoi(d[:4])
	issued := d[0] == '4' && (len(d) == 13 || len(d) == 16 || len(d) == 19) ||
		len(d) == 16 && (two >= 51 && two <= 55 || four >= 2221 && four <= 2720) ||
		len(d) == 15 && (two == 34 || two == 37) || len(d) >= 16 &&
		(four == 6011 || two == 65 || two == 62 || two == 35 || four/10 >= 644 && four/10 <= 649 || two == 50 ||
			two >= 56 && two <= 58 || two == 67) || len(d) == 14 && (two == 36 || two == 38 || two == 30)
	sum := 0
	for i := range len(d) {
		x := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if x *= 2; x > 9 {
				x -= 9
			}
		}
		sum += x
	}
	return whole(issued && sum%10 == 0 && !strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "-"), value)
}

// lengths of IBANs by country (SWIFT, IBAN registry, release 99); those of other countries are found by their check
// digits alone.
const lengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 " +
	"ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 " +
	"LI21 LT20 LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 " +
	"SE24 SI19 SK24 SM27 TN24 TR26 UA29 VA22 VG24 XK20"

// iban is an account number whose check digits are right (ISO 13616: the remainder by 97 is 1). What follows it may
// look like a part of it.
func iban(_, value, _ string) int {
	at := strings.Index(lengths, value[:2])
	if at < 0 || at%5 != 0 {
		return 0
	}
	want, _ := strconv.Atoi(lengths[at+2 : at+4])
	end, n, remainder := 0, 0, 0
	for ; end < len(value) && n < want; end++ {
		if value[end] != ' ' {
			n++
		}
	}
	compact := strings.ReplaceAll(value[:end], " ", "")
	if n < want {
		return 0
	}
	for _, c := range compact[4:] + compact[:4] {
		if c >= 'A' {
			remainder = (remainder*100 + int(c-'A') + 10) % 97
		} else {
			remainder = (remainder*10 + int(c-'0')) % 97
		}
	}
	return whole(remainder == 1, value[:end])
}

// phone is a number of 8 to 15 digits (E.164) that is no part of a longer one.
func phone(before, value, behind string) int {
	n := len(digitsOf(value))
	joined := behind != "" && (behind[0] >= '0' && behind[0] <= '9' ||
		len(behind) > 1 && strings.ContainsRune(".-:", rune(behind[0])) && behind[1] >= '0' && behind[1] <= '9')
	part := before != "" && strings.ContainsRune("0123456789.-_#", rune(before[len(before)-1]))
	date := len(value) >= 10 && (value[4] == '-' && value[7] == '-')
	return whole(n >= 8 && n <= 15 && !joined && !part && !date, value)
}

// phoneAfterLabel is a number behind a word that says so, and none of a time (seconds or milliseconds since 1970, a day
// as YYYYMMDD) nor one that stands for another (anonymous).
func phoneAfterLabel(before, value, behind string) int {
	if stamp.MatchString(value) {
		return 0
	}
	return phone(before, value, behind)
}

var stamp = regexp.MustCompile(
	`^(?:1[4-9]\d{8}(?:\d{3})?|(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|10{4,}\d{1,3})$`,
)

// ssn is a number that the Social Security Administration of the United States may have given out: no part of it is all
// zeros, and it does not begin with 666 or 9.
func ssn(before, value, behind string) int {
	part := before != "" && strings.ContainsRune("0123456789.-_#/", rune(before[len(before)-1])) ||
		behind != "" && strings.ContainsRune("-/", rune(behind[0]))
	d := digitsOf(value)
	return whole(d[:3] != "000" && d[:3] != "666" && d[0] != '9' && d[3:5] != "00" && d[5:] != "0000" && !part, value)
}

// numbered are the words before what only looks like an address: a version, or a place in a text.
var numbered = regexp.MustCompile(`(?i)(?:version|ver\.?|release|build|section|sec\.?|chapter|clause|figure|fig\.?|table|oid|§|firmware|driver|rfc|[\pL\pN]/|[<>=~^]=|\bv)\s*$`)

// ipv4 is the address of a machine other than this one, and no version or mask.
func ipv4(before, value, behind string) int {
	a, err := netip.ParseAddr(value)
	last := byte(' ')
	if before != "" {
		last = before[len(before)-1]
	}
	word := last == '.' || last == '-' || last == '_' || last >= '0' && last <= '9' || last >= 'a' && last <= 'z' ||
		last >= 'A' && last <= 'Z'
	more := behind != "" && (behind[0] >= '0' && behind[0] <= '9' ||
		behind[0] == '-' && len(behind) > 1 && behind[1] != '-' && unicode.IsLetter(rune(behind[1])) ||
		len(behind) > 1 && behind[0] == '.' && behind[1] >= '0' && behind[1] <= '9')
	return whole(err == nil && !word && !more && !a.IsLoopback() && !a.IsUnspecified() && !a.IsMulticast() &&
		!strings.HasPrefix(value, "255.") && !strings.HasPrefix(value, "0.") && !numbered.MatchString(before), value)
}

// ipv6 is one of an interface, by the ranges that are given out (RFC 4291, RFC 4193).
func ipv6(before, value, behind string) int {
	a, err := netip.ParseAddr(value)
	if err != nil || before != "" && strings.ContainsAny(before[len(before)-1:], ":.0123456789abcdefABCDEF") ||
		strings.HasPrefix(behind, ":") {
		return 0
	}
	first := a.As16()[0]
	pairs := !slices.ContainsFunc(strings.Split(value, ":"), func(s string) bool { return len(s) != 2 }) // EUI-64
	return whole(!pairs && (first>>5 == 1 || first>>1 == 0x7E || a.IsLinkLocalUnicast()), value)
}

// user is the name of a person's account, not of one that each machine of its kind has.
func user(_, value, _ string) int {
	general := []string{
		"shared", "public", "default", "guest", "user", "users", "username", "you", "me", "name", "root", "admin",
		"administrator", "runner", "runneradmin", "ubuntu", "debian", "ec2-user", "vagrant", "node", "app", "www-data",
		"linuxbrew", "vscode", "coder", "jovyan", "test", "dev", "docker", "git", "jenkins", "all", "..", ".",
	}
	return whole(!slices.Contains(general, strings.ToLower(value)), value)
}
