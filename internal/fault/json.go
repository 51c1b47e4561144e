package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// JSON is an error of encoding/json in the words of who wrote the text, who knows nothing of Go's types. Other errors
// are left as they are.
func JSON(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON: %w", syntax)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is not JSON: it ends early")
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	what := "it"
	if wrong.Field != "" {
		what = strconv.Quote(wrong.Field)
	}
	return fmt.Errorf("%s must be %s, not %s", what, jsonName(wrong.Type), withArticle(wrong.Value))
}

// jsonName is JSON's name of what a type is read from.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonName(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number"
}

// withArticle puts an article before what encoding/json says it found: "array", "number" or "number 1.5".
func withArticle(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	switch value {
	case "bool":
		return "true or false"
	case "array", "object":
		return "an " + value
	}
	return "a " + value
}
