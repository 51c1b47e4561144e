package scan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Chain says that tools of two servers make a way by which data can leave: one reads what is private, the other sends.
// Neither does harm alone, so a chain is worth knowing and blocks nothing; a text that orders to go that way is a
// finding of its own.
const Chain Code = "cross-server-chain"

// Chains returns a finding for each sending tool beside which another server reads what is private, at the sending
// tool. It is what others call a toxic flow, or two parts of the lethal trifecta.
func Chains(tools []Tool) (found []Finding) {
	var readers []Tool
	for _, t := range tools {
		if what := t.reads(); what != "" {
			readers = append(readers, t)
		}
	}
	for _, t := range tools {
		way := t.sends()
		if way == "" {
			continue
		}
		var from []string
		for _, r := range readers {
			if id := r.Server + "/" + r.Name; r.Server != t.Server && !slices.Contains(from, id) {
				from = append(from, id)
			}
		}
		if len(from) == 0 {
			continue
		}
		slices.Sort(from)
		more := ""
		if n := len(from); n > 3 {
			from, more = from[:3], fmt.Sprintf(" and %d more", n-3)
		}
		found = append(found, Finding{
			Code:     Chain,
			Severity: Low,
			Server:   t.Server,
			Tool:     t.Name,
			Pointer:  "/name",
			Excerpt:  quote(t.Name),
			Message: fmt.Sprintf("sends (%s), and beside it %s%s of another server read: "+
				"data can go from there to here", way, strings.Join(from, ", "), more),
		})
	}
	return found
}

// What a tool reads and where it sends is told by the words of its name, and of the first sentence of its description
// where the name has no verb of the kind.
const (
	readVerbs = ` read get list search query fetch find open load export show view download dump recall retrieve select inspect `
	sendVerbs = ` send post publish upload forward share email mail tweet notify push submit reply message invite `
	webVerbs  = ` fetch request http curl webhook navigate browse scrape crawl visit `
	private   = ` file directory folder note mail email inbox message document doc database table sql row secret credential password key env environment memory graph node repository repo
		calendar contact clipboard history chat transcript ticket issue record invoice customer account order drive thread `
	targets = ` to recipient recipients url uri webhook channel channel_id address email phone chat_id receiver endpoint destination cc bcc `
)

// reads is the private thing that a tool reads, "" where it reads none.
func (t Tool) reads() string {
	return t.verbAndObject(readVerbs, func(word string) bool { return isOf(private, word) })
}

// sends is the way by which a tool sends what it is given, "" where it does not: it has a verb of sending and takes a
// place to send to, or takes the address of a page that it asks for.
func (t Tool) sends() string {
	place := ""
	for _, name := range t.parameters() {
		if isOf(targets, strings.ToLower(name)) {
			place = name
			break
		}
	}
	if place == "" {
		return ""
	}
	isPage := slices.Contains([]string{"url", "uri", "endpoint"}, strings.ToLower(place))
	for _, word := range t.words() {
		if isOf(sendVerbs, word) || isPage && isOf(webVerbs, word) {
			return word + ", " + place
		}
	}
	return ""
}

func (t Tool) verbAndObject(verbs string, object func(string) bool) string {
	words := t.words()
	if !slices.ContainsFunc(words, func(w string) bool { return isOf(verbs, w) }) {
		return ""
	}
	for _, w := range words {
		if object(w) {
			return w
		}
	}
	return ""
}

// words are those of a tool's name and of the first sentence about it, without an s at their ends.
func (t Tool) words() (words []string) {
	first, _, _ := strings.Cut(t.Description, ".")
	for _, w := range append(splitName(t.Name), splitName(first)...) {
		w = strings.ToLower(w)
		if len(w) > 3 && strings.HasSuffix(w, "ies") {
			w = strings.TrimSuffix(w, "ies") + "y"
		} else if len(w) > 3 && !strings.HasSuffix(w, "ss") {
			w = strings.TrimSuffix(w, "s")
		}
		words = append(words, w)
		if len(words) == 24 { // what comes later is about details
			break
		}
	}
	return words
}

func isOf(list, word string) bool {
	return slices.Contains(strings.Fields(list), word)
}

// parameters are the names of what a tool takes, sorted.
func (t Tool) parameters() (names []string) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // what is no schema names none
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
