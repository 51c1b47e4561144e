package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"hone/internal/fault"
)

// field is one key of a section, read from its struct tags.
type field struct {
	key, doc string
	enum     []string
	min, max *float64 // seconds for a duration
	index    int
	typ      reflect.Type
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		d := field{key: f.Tag.Get("yaml"), doc: f.Tag.Get("doc"), index: i, typ: f.Type}
		if e := f.Tag.Get("enum"); e != "" {
			d.enum = strings.Split(e, ",")
		}
		d.min, d.max = bound(f.Tag.Get("min")), bound(f.Tag.Get("max"))
		out = append(out, d)
	}
	return out
}

// bound panics on a tag that is no number: a mistake in this package that its first test shows.
func bound(tag string) *float64 {
	if tag == "" {
		return nil
	}
	v, err := strconv.ParseFloat(tag, 64)
	if err != nil {
		panic("config: bound " + tag + " is not a number")
	}
	return &v
}

func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[time.Duration]() }

func checkTags(c *Config) error { return checkSection(reflect.ValueOf(c).Elem(), "") }

func checkSection(v reflect.Value, prefix string) error {
	for _, f := range fieldsOf(v.Type()) {
		value, path := v.Field(f.index), prefix+f.key
		if value.Kind() == reflect.Struct {
			if err := checkSection(value, path+"."); err != nil {
				return err
			}
			continue
		}
		if isMapOfSections(f.typ) {
			for _, name := range sortedKeys(value) {
				if err := checkSection(value.MapIndex(name), path+"."+name.String()+"."); err != nil {
					return err
				}
			}
			continue
		}
		if f.enum != nil && !slices.Contains(f.enum, value.String()) {
			why := fmt.Sprintf("%q is none of %s", value.String(), strings.Join(f.enum, ", "))
			return &ValueError{path, why + didYouMean(value.String(), f.enum)}
		}
		if number, ok := numberOf(value); ok {
			if why := f.outside(number); why != "" {
				return &ValueError{path, why}
			}
		}
	}
	return nil
}

// isMapOfSections reports whether a key has sections by names that the user chooses.
func isMapOfSections(t reflect.Type) bool {
	return t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct
}

func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	return keys
}

func numberOf(v reflect.Value) (float64, bool) {
	switch {
	case isDuration(v.Type()):
		return time.Duration(v.Int()).Seconds(), true
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

func (f field) outside(x float64) string {
	unit := ""
	if isDuration(f.typ) {
		unit = "s"
	}
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "it is not a finite number"
	case f.min != nil && x < *f.min:
		return fmt.Sprintf("%v%s is below %v%s", x, unit, *f.min, unit)
	case f.max != nil && x > *f.max:
		return fmt.Sprintf("%v%s is above %v%s", x, unit, *f.max, unit)
	}
	return ""
}

// didYouMean returns `; did you mean "x"?` where one of the names is close to what was written, else "".
func didYouMean(written string, names []string) string {
	near := fault.Nearest(written, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}
