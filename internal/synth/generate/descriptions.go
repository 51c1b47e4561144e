package generate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	// bullet is a line of a list: "- date: 2024-12-10", "* `iso`", "• fast (the default)".
	bullet = regexp.MustCompile("^\\s*(?:[-*•]|\\d+[.)])\\s+[`'\"]*([\\w./+-]{1,40})[`'\"]*\\s*(?:$|[:=(,]|-\\s|–|—)")
	// offering are words before a list of values in a line.
	offering = regexp.MustCompile("(?i)(?:\\bone of(?: the following| these)?(?: \\w+)?\\s*:|\\bone of\\s|\\b(?:can " +
		"be|may be|must be|either)\\s*:|\\b(?:supported|valid|allowed|available|accepted|possible|permitted|output|" +
		"known|supports)(?: [\\w-]+){0,3}\\s*(?:are|is|include)?\\s*:|\\b(?:options|values|choices|formats|types|" +
		"modes|units|kinds)\\s*(?:are|include|:))\\s*(.+)")
	// inBrackets is a list of single words between brackets: "(temperature, length, mass, etc.)".
	inBrackets  = regexp.MustCompile(`\s\(([\w./'"-]+(?:(?:, (?:or |and )?|\|)[\w./'"-]+){2,})\)`)
	listedWord  = regexp.MustCompile("^[`'\"]?([\\w][\\w./+-]{0,39}|[\\w])[`'\"]?$")
	endOfList   = regexp.MustCompile(`\.(?:\s|$)|[;()\n]|\be\.g\.|\bdefaults?\b`)
	asideOfList = regexp.MustCompile(`\s*\([^()]*\)`)
)

// mostListed bounds the values that are taken of one description.
const mostListed = 40

// listedValues are the values that a description says a text may have: "one of: date, iso", "Supported: a, b, c", a
// list with a line for each. None where fewer than two are told.
func listedValues(description string) (list []json.RawMessage) {
	if found := bullets(description); len(found) > 1 {
		return asTexts(found)
	}
	if m := offering.FindStringSubmatch(asideOfList.ReplaceAllString(description, "")); m != nil {
		if found := wordsOfList(m[1]); len(found) > 1 {
			return asTexts(found)
		}
	}
	for _, m := range inBrackets.FindAllStringSubmatch(description, -1) {
		if found := wordsOfList(m[1]); len(found) > 2 {
			return asTexts(found)
		}
	}
	return nil
}

// bullets are the words that lines of a list begin with.
func bullets(description string) (found []string) {
	for row := range strings.SplitSeq(description, "\n") {
		if m := bullet.FindStringSubmatch(row); m != nil && !slices.Contains(found, m[1]) {
			found = append(found, m[1])
		}
	}
	return found
}

// wordsOfList are the words of "a, b, or c", "a|b|c" or "a or b", until one is no single word.
func wordsOfList(text string) (found []string) {
	if at := endOfList.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	if !strings.ContainsAny(text, ",|") && !strings.Contains(text, "/") && !strings.Contains(text, " or ") {
		return nil
	}
	if !strings.ContainsAny(text, ",|") && !strings.Contains(text, " or ") {
		text = strings.ReplaceAll(text, "/", ",")
	}
	text = strings.NewReplacer(" or ", ",", " and ", ",", "|", ",").Replace(" " + text + " ")
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimRight(strings.TrimSpace(part), ".")
		if part == "" {
			continue
		}
		m := listedWord.FindStringSubmatch(part)
		if m == nil {
			return found
		}
		if !slices.Contains([]string{"etc", "or", "and", "required", "optional", "default", "string", "more",
			"others", "other", "number", "case-insensitive", "case-sensitive", "inclusive"}, strings.ToLower(m[1])) &&
			!slices.Contains(found, m[1]) {
			found = append(found, m[1])
		}
	}
	return found
}

func asTexts(found []string) (list []json.RawMessage) {
	for _, text := range found[:min(mostListed, len(found))] {
		list = append(list, quote(text))
	}
	return list
}
