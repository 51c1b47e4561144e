package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// vocabulary are words that are common and short, so that a small model can copy them.
const vocabulary = `apple river stone cloud green tiger paper house light music ocean bread chair silver garden winter
summer bridge candle forest horse island jacket kettle lemon mirror night orange pencil queen rabbit school table
window yellow zebra anchor basket camera desert engine flower guitar hammer insect jungle kitchen ladder market needle
office pocket ribbon saddle ticket valley wagon blanket copper dragon eagle feather glass honey iron jewel lake moon`

func word(r *rand.Rand) string { return pick(r, strings.Fields(vocabulary)) }

func title(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// phrase is two or three words, perhaps with a number.
func phrase(r *rand.Rand) string {
	text := word(r) + " " + word(r)
	if r.IntN(3) == 0 {
		text += fmt.Sprintf(" %d", 2+r.IntN(97))
	}
	return text
}

func oneOf(list string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return pick(r, strings.Split(list, "|")) }
}

func date(r *rand.Rand) string {
	return fmt.Sprintf("%04d-%02d-%02d", 1995+r.IntN(35), 1+r.IntN(12), 1+r.IntN(28))
}

func clock(r *rand.Rand) string { return fmt.Sprintf("%02d:%02d", r.IntN(24), 5*r.IntN(12)) }

// invention makes a text for parameters whose names hold one of its words, or whose description all of its hints.
type invention struct {
	words []string
	hints []string
	make  func(*rand.Rand) string
}

// inventions are tried in order.
func inventions() []invention {
	w := func(names string) []string { return strings.Fields(names) }
	return []invention{
		{
			w("timezone tz zone"),
			[]string{"iana"},
			oneOf("Europe/Paris|America/New_York|Asia/Tokyo|Africa/Cairo|Australia/Sydney|America/Sao_Paulo|" +
				"Asia/Kolkata|Europe/Helsinki|America/Denver|Asia/Singapore|Pacific/Auckland|Africa/Nairobi"),
		},
		{w("email mail"), nil, func(r *rand.Rand) string { return word(r) + "@example.com" }},
		{w("url uri link href"), nil, func(r *rand.Rand) string { return "https://example.com/" + word(r) }},
		{w("expression formula equation"), nil, arithmetic},
		{w("datetime timestamp"), nil, func(r *rand.Rand) string { return date(r) + "T" + clock(r) + ":00Z" }},
		{nil, []string{"hh:mm"}, clock},
		{w("date deadline due birthday day"), []string{"yyyy-mm-dd"}, date},
		{w("time"), nil, clock},
		{w("color colour"), nil, func(r *rand.Rand) string { return fmt.Sprintf("#%06x", r.IntN(1<<24)) }},
		{w("language lang locale"), nil, oneOf("en|fr|de|es|it|pt")},
		{w("currency"), nil, oneOf("USD|EUR|GBP|JPY|CHF|CAD")},
		{w("country"), nil, oneOf("France|Japan|Brazil|Kenya|Norway|Canada")},
		{w("city location place address"), nil, oneOf("Paris|Tokyo|Lima|Nairobi|Oslo|Toronto|Athens|Seoul")},
		{w("directory dir folder repo repository cwd root workspace"), nil, func(*rand.Rand) string { return "." }},
		{w("path file filename filepath destination"), nil, func(r *rand.Rand) string {
			return word(r) + "-" + word(r) + ".txt"
		}},
		{w("pattern glob"), nil, oneOf("*.txt|*.md|*.json")},
		{w("regex regexp"), nil, func(r *rand.Rand) string { return word(r) + ".*" }},
		{w("branch"), nil, func(r *rand.Rand) string { return word(r) + "-" + word(r) }},
		{w("revision commit ref"), nil, oneOf("HEAD")},
		{w("query search keyword term q"), nil, word},
		{w("priority severity importance"), nil, oneOf("high|low|medium")},
		{w("author owner user username person assignee"), nil, oneOf("Ada|Grace|Linus|Marie|Alan|Edith")},
		{
			w("content text message body description note comment thought insight observation prompt summary memo " +
				"remark contents details"), nil, sentence,
		},
		{w("type category kind tag group label topic"), nil, oneOf("person|project|place|tool|event|company")},
		{w("number digit"), nil, func(r *rand.Rand) string { return fmt.Sprint(1000 + r.IntN(900_000)) }},
		{w("title subject name"), nil, func(r *rand.Rand) string { return title(word(r)) + " " + title(word(r)) }},
	}
}

func arithmetic(r *rand.Rand) string {
	text := fmt.Sprintf("%d %s %d", 12+r.IntN(988), pick(r, []string{"+", "-", "*"}), 3+r.IntN(97))
	if r.IntN(2) == 0 {
		text += fmt.Sprintf(" %s %d", pick(r, []string{"+", "-"}), 2+r.IntN(48))
	}
	return text
}

func sentence(r *rand.Rand) string {
	return fmt.Sprintf("The %s %s is %s the %s",
		word(r), word(r), pick(r, []string{"near", "behind", "older than", "next to", "made for"}), word(r))
}

// inventText is a text that fits what a parameter is called, "" where its name says nothing.
func (f filler) inventText(p param, around []string) string {
	if f.sql(p) {
		return ""
	}
	switch p.format {
	case "date-time":
		if f.tool.creates() { // what is planned lies ahead
			day, _ := programs.Natural(f.r, nil, "date")
			return day + "T" + clock(f.r) + ":00Z"
		}
		return date(f.r) + "T" + clock(f.r) + ":00Z"
	case "date":
		return date(f.r)
	case "time":
		return clock(f.r) + ":00"
	case "email":
		return word(f.r) + "@example.com"
	case "uri", "url":
		return "https://example.com/" + word(f.r)
	case "uuid":
		return uuid(f.r)
	}
	if v, ok := programs.Natural(f.r, append(slices.Clone(around), nouns(f.tool.Name)...), p.name); ok &&
		!slices.Contains(words(p.name), "path") && !slices.Contains(words(p.name), "id") {
		return v
	}
	own, description := words(strings.TrimRight(p.name, "0123456789")), strings.ToLower(p.description)
	if slices.Contains(own, "id") {
		return ""
	}
	if slices.Contains(own, "path") && f.tool.hasVerb("directory", "folder", "dir") {
		return word(f.r) + "-" + word(f.r)
	}
	if slices.Contains(own, "pattern") &&
		(strings.Contains(description, "regular expression") || strings.Contains(description, "regex")) {
		own = []string{"regex"}
	}
	if p.of("hex", "foreground", "background", "fill", "stroke") && f.saysAny("color", "colour") {
		own = []string{"color"}
	}
	for _, one := range inventions() {
		if slices.ContainsFunc(one.words, func(w string) bool { return slices.Contains(own, w) }) ||
			slices.ContainsFunc(one.hints, func(hint string) bool { return strings.Contains(description, hint) }) {
			return one.make(f.r)
		}
	}
	return ""
}

// saysAny reports whether the tool's name or description says one of some things.
func (f filler) saysAny(things ...string) bool {
	about := strings.ToLower(f.tool.Name + " " + f.tool.Description)
	return slices.ContainsFunc(things, func(thing string) bool { return strings.Contains(about, thing) })
}
