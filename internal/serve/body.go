package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"hone/internal/fault"
)

const maxBody = 8 << 20 // bytes

// readBody reads the JSON of a request into a dialect's struct. A parameter that is neither one of its fields nor idle
// is refused: it was sent to change the answer, and would not. What is idle, or unknown further inside, is left aside.
func readBody(
	w http.ResponseWriter, r *http.Request, into any, idle ...string,
) (aside fault.Asides, refused *apiError) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return nil, &apiError{http.StatusRequestEntityTooLarge, "invalid_request_error", "", "request_too_large",
			fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	}
	if err != nil {
		return nil, invalid("", "the body cannot be read: "+err.Error())
	}
	body = plainly(body, reflect.TypeOf(into).Elem())
	if err = json.Unmarshal(body, into); err != nil {
		return nil, badBody(body, reflect.TypeOf(into).Elem(), err)
	}
	return checkFields(body, reflect.TypeOf(into).Elem(), idle)
}

// badBody is the refusal of a body that cannot be read into a type. It names the parameter, whatever reads it.
func badBody(body []byte, t reflect.Type, err error) *apiError {
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		wrong.Field = strings.TrimPrefix(wrong.Field, "knobs.") // which stand among the others
	}
	param, text := "", fault.JSON(err).Error()
	var given map[string]json.RawMessage
	if json.Unmarshal(body, &given) == nil {
		fields := fieldsOf(t)
		for _, name := range slices.Sorted(maps.Keys(given)) {
			of, known := fields[strings.ToLower(name)]
			if known && json.Unmarshal(given[name], reflect.New(of).Interface()) != nil {
				param = name
				break
			}
		}
	}
	if param != "" && !strings.Contains(text, param) {
		text = fmt.Sprintf("%q %s", param, strings.TrimPrefix(text, "it "))
	}
	return invalid(param, "the body is not such a request: "+text)
}

func checkFields(body []byte, t reflect.Type, idle []string) (aside fault.Asides, refused *apiError) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil {
		return nil, invalid("", "the body is no JSON object")
	}
	aside = fault.Asides{}
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		_, known := fields[strings.ToLower(name)]
		switch {
		case known, string(given[name]) == "null", isHarmless(name, given[name]):
		case !slices.ContainsFunc(idle, func(k string) bool { return strings.EqualFold(k, name) }):
			return nil, &apiError{http.StatusBadRequest, "invalid_request_error", name, "unsupported_parameter",
				name + " is not supported"}
		case saysMore(name, given[name]):
			aside.Add("the parameter "+name, "at the top")
		}
	}
	unread(body, t, "", 0, aside)
	return aside, nil
}

// texts is one text or a list of them.
type texts []string

// UnmarshalJSON implements json.Unmarshaler. An empty text in place of a list is none, as null is.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var one *string
	if err := json.Unmarshal(raw, &one); err != nil {
		if json.Unmarshal(raw, (*[]string)(t)) != nil {
			return errors.New("must be a string or an array of strings")
		}
		return nil
	}
	*t = nil
	if one != nil && *one != "" {
		*t = texts{*one}
	}
	return nil
}
