package generate

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// shape is a kind of texts: what all of them look like, and a way to make one.
type shape struct {
	form *regexp.Regexp
	make func(*rand.Rand) string
}

// known are shapes with a meaning, the narrower first. Their texts come with what stands before the number in the
// example.
func knownShapes() []shape {
	re := regexp.MustCompile
	return []shape{
		{re(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`), uuid},
		{re(`^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$`), func(r *rand.Rand) string { return word(r) + "@example.com" }},
		{re(`^#[0-9a-fA-F]{6}$`), func(r *rand.Rand) string { return fmt.Sprintf("#%06x", r.IntN(1<<24)) }},
		{re(`^#[0-9a-fA-F]{3}$`), func(r *rand.Rand) string { return fmt.Sprintf("#%03x", r.IntN(1<<12)) }},
		{re(`^(?:\d{1,3}\.){3}0/\d{1,2}$`), cidr},
		{re(`^(?:\d{1,3}\.){3}\d{1,3}$`), address},
		{re(`^(?:[\d*][\d*/,-]*\s+){4}[\w*][\w*/,-]*$`), cron},
		{re(`^\d+\.\d+\.\d+$`), semver},
	}
}

func uuid(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.Uint32()&0xffff, r.Uint32()&0xfff, r.Uint32()&0xfff,
		r.Uint64()&0xffffffffffff)
}

func semver(r *rand.Rand) string {
	return fmt.Sprintf("%d.%d.%d", r.IntN(9), r.IntN(20), r.IntN(20))
}

// address is one of those that are nobody's.
func address(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return fmt.Sprintf("10.%d.%d.%d", r.IntN(256), r.IntN(256), 1+r.IntN(254))
	}
	return fmt.Sprintf("192.168.%d.%d", r.IntN(256), 1+r.IntN(254))
}

func cidr(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return fmt.Sprintf("10.%d.0.0/16", r.IntN(256))
	}
	return fmt.Sprintf("192.168.%d.0/24", r.IntN(256))
}

func cron(r *rand.Rand) string {
	minute, hour := fmt.Sprint(5*r.IntN(12)), fmt.Sprint(r.IntN(24))
	switch r.IntN(5) {
	case 0:
		return fmt.Sprintf("*/%d * * * *", 2+r.IntN(28))
	case 1:
		return fmt.Sprintf("%s %s * * *", minute, hour)
	case 2:
		return fmt.Sprintf("%s %s * * %d", minute, hour, r.IntN(7))
	case 3:
		return fmt.Sprintf("%s %s * * 1-5", minute, hour)
	}
	return fmt.Sprintf("%s %s %d * *", minute, hour, 1+r.IntN(28))
}

var (
	digitRun = regexp.MustCompile(`\d+`)
	oddText  = regexp.MustCompile("[\\s{}\\[\\]<>\"'`]|://|@")
	version  = regexp.MustCompile(`^([\^~v=<>]{1,2})\d+\.\d+\.\d+$`)
)

// shapeOf is the shape that an example has; ok is false where it has none: of words nothing follows for other words.
func shapeOf(example string) (shape, bool) {
	for _, s := range knownShapes() {
		if s.form.MatchString(example) {
			return s, true
		}
	}
	if m := version.FindStringSubmatch(example); m != nil {
		return shape{regexp.MustCompile(`^` + regexp.QuoteMeta(m[1]) + `\d+\.\d+\.\d+$`),
			func(r *rand.Rand) string { return m[1] + semver(r) }}, true
	}
	if !digitRun.MatchString(example) || oddText.MatchString(example) || len(example) > 40 {
		return shape{}, false
	}
	form := digitRun.ReplaceAllStringFunc(regexp.QuoteMeta(example), func(run string) string {
		return fmt.Sprintf(`\d{%d}`, len(run))
	})
	return shape{regexp.MustCompile(`^` + form + `$`), func(r *rand.Rand) string { return reshape(r, example) }}, true
}

// reshape is an example at times, as it may be one of few values that there are, and else one with other digits: no
// number longer or higher than the example's, as parts of an address or a version have bounds. Of one digit all are
// taken but 0.
func reshape(r *rand.Rand, example string) string {
	if r.IntN(6) == 0 {
		return example
	}
	return digitRun.ReplaceAllStringFunc(example, func(run string) string {
		n, err := strconv.Atoi(run)
		switch {
		case err != nil || n == 0:
			return run
		case len(run) == 1:
			return strconv.Itoa(1 + r.IntN(9))
		case run[0] == '0':
			text := strconv.Itoa(1 + r.IntN(n))
			return strings.Repeat("0", len(run)-len(text)) + text
		}
		low := 1
		for range len(run) - 1 {
			low *= 10
		}
		return strconv.Itoa(low + r.IntN(n-low+1))
	})
}

var (
	cronWord    = regexp.MustCompile(`(?i)\bcron\b`)
	addressWord = regexp.MustCompile(`\b(?:IP|IPv4)(?: address(?:es)?)?\b`)
	cidrWord    = regexp.MustCompile(`\bCIDR\b`)
	versionWord = regexp.MustCompile(`(?i)\bsem(?:antic[ -]?)?ver(?:sion(?:ing)?)?\b`)
	rangeWord   = regexp.MustCompile(`(?i)\b(?:range|constraint)s?\b`)
	colorWord   = regexp.MustCompile(`(?i)#RRGGBB\b`)
	uuidWord    = regexp.MustCompile(`\bUUID\b`)
)

// shapeInText is the shape that a description names, as "Cron expression".
func shapeInText(p param) (shape, bool) {
	has := func(at int) (shape, bool) { return knownShapes()[at], true }
	switch {
	case cronWord.MatchString(p.description) && !p.of("timezone", "tz", "name", "id"):
		return has(6)
	case cidrWord.MatchString(p.description) && p.of("cidr", "network", "subnet", "range"):
		return has(4)
	case addressWord.MatchString(p.description) && !p.of("name", "id", "format", "host"):
		return has(5)
	case versionWord.MatchString(p.description) && !rangeWord.MatchString(p.description):
		return has(7)
	case colorWord.MatchString(p.description):
		return has(2)
	case uuidWord.MatchString(p.description) && !p.of("id"): // which ids there are, the server says
		return has(0)
	}
	return shape{}, false
}
