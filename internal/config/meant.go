package config

import (
	"fmt"
	"reflect"
	"strings"

	"hone/internal/suggest"
)

// mostMeant is how many keys are offered for one that is unknown.
const mostMeant = 4

// meantKey returns `; did you mean "x"?` for a key that the section t, at prefix, does not have. In this order: hone's name for what other
// trainers call so; the key in a section below; a near name; the key in other sections.
func meantKey(written, prefix string, t reflect.Type) string {
	var keys []string
	for _, f := range fieldsOf(t) {
		keys = append(keys, f.key)
	}
	if own := suggest.Alias(written, keys); own != "" {
		return fmt.Sprintf("; did you mean %q?", own)
	}
	places := sameKeys(written, prefix, t)
	if len(places) == 0 {
		if near := didYouMean(written, keys); near != "" {
			return near
		}
		places = sameKeys(written, "", reflect.TypeFor[Config]())
	}
	if len(places) == 0 || len(places) > mostMeant {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(places, " or "))
}

// sameKeys are the keys in the sections of t, and below these, that a key names by hone's name or by another trainer's.
func sameKeys(written, prefix string, t reflect.Type) (found []string) {
	for _, f := range fieldsOf(t) {
		switch {
		case f.typ.Kind() == reflect.Struct:
			found = append(found, sameKeys(written, prefix+f.key+".", f.typ)...)
		case f.key == written, suggest.Alias(written, []string{f.key}) != "":
			found = append(found, fmt.Sprintf("%q", prefix+f.key))
		}
	}
	return found
}
