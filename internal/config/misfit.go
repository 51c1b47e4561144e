package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// misfit is the error of the first value that is not what its key takes, nil where there is none. It is for a file that
// could not be decoded: the decoder would speak of Go's types.
func (s source) misfit(n ast.Node, t reflect.Type, prefix string) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil
	}
	fields := map[string]field{}
	for _, f := range fieldsOf(t) {
		fields[f.key] = f
	}
	for it := m.MapRange(); it.Next(); {
		f := fields[it.Key().GetToken().Value]
		if f.typ.Kind() == reflect.Struct {
			if err := s.misfit(it.Value(), f.typ, prefix+f.key+"."); err != nil {
				return err
			}
			continue
		}
		if yaml.NodeToValue(it.Value(), reflect.New(f.typ).Interface()) != nil {
			return s.at(it.Value().GetToken(),
				fmt.Sprintf("%s takes %s, not %s", prefix+f.key, typeText(f.typ), nodeText(it.Value(), f.typ)),
				"hone config schema describes each key")
		}
	}
	return nil
}

// typeText says what values a type stands for.
func typeText(t reflect.Type) string {
	switch {
	case isDuration(t):
		return "a duration such as 90s or 5m"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Uint64:
		return "a whole number from 0 on"
	case t.Kind() == reflect.Int:
		return "a whole number"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t == reflect.TypeFor[TrainableTokens]():
		return AutoTokens + ", " + NoTokens + " or a list of texts"
	case t.Kind() == reflect.Slice:
		return "a list of texts"
	case t.Kind() == reflect.Map:
		return "a mapping"
	}
	return "a text"
}

// nodeText says what stands in the file where a type was wanted.
func nodeText(n ast.Node, t reflect.Type) string {
	text := n.GetToken().Value
	switch n.Type() {
	case ast.SequenceType:
		if t.Kind() == reflect.Slice {
			return "a list of something else"
		}
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.StringType, ast.LiteralType:
		if strings.Trim(text, "0123456789") == "" && text != "" { // beyond what the parser takes for a number
			return text + ", which is too large"
		}
		return fmt.Sprintf("%q", text)
	}
	return text
}
