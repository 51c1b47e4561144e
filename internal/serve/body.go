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

// readBody reads the JSON of a request into a dialect's struct. A parameter that is neither one of its fields nor idle is refused: it
// was sent to change the answer, and would not.
func readBody(w http.ResponseWriter, r *http.Request, into any, idle ...string) *apiError {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return &apiError{http.StatusRequestEntityTooLarge, "invalid_request_error", "", "request_too_large", fmt.Sprintf("the body is longer than %d bytes", maxBody)}
	}
	if err == nil {
		err = json.Unmarshal(plainly(body, reflect.TypeOf(into).Elem()), into)
	}
	if err != nil {
		return invalid("", "the body is not such a request: "+fault.JSON(err).Error())
	}
	return checkFields(body, reflect.TypeOf(into).Elem(), idle)
}

func checkFields(body []byte, t reflect.Type, idle []string) *apiError {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil {
		return invalid("", "the body is no JSON object")
	}
	known := slices.Clone(idle)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known = append(known, name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		same := func(k string) bool { return strings.EqualFold(k, name) } // as json.Unmarshal compares them
		if string(given[name]) != "null" && !slices.ContainsFunc(known, same) && !isHarmless(name, given[name]) {
			return &apiError{http.StatusBadRequest, "invalid_request_error", name, "unsupported_parameter", name + " is not supported"}
		}
	}
	return nil
}

// texts is one text or a list of them.
type texts []string

// UnmarshalJSON implements json.Unmarshaler. An empty text in place of a list is none, as null is.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var one *string
	if err := json.Unmarshal(raw, &one); err != nil {
		return json.Unmarshal(raw, (*[]string)(t))
	}
	*t = nil
	if one != nil && *one != "" {
		*t = texts{*one}
	}
	return nil
}
