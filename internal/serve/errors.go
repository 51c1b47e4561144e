package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"hone/internal/episode/policy"
)

// apiError is why a request is refused. In OpenAI's form it is {"error": {"message", "type", "param", "code"}}; a
// dialect may write it in another.
type apiError struct {
	Status  int    `json:"-"`
	Type    string `json:"type"`
	Param   string `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string { return e.Message }

// invalid is the usual refusal: status 400, naming the parameter.
func invalid(param, message string) *apiError {
	return &apiError{http.StatusBadRequest, "invalid_request_error", param, "invalid_value", message}
}

// unsupportedError is the refusal of what would change the answer and is not there.
func unsupportedError(param, message string) *apiError {
	return &apiError{http.StatusBadRequest, "invalid_request_error", param, "unsupported_value", param + ": " + message}
}

// under is the error where a dialect has other names of parameters.
func (e *apiError) under(names map[string]string) *apiError {
	name, other := names[e.Param]
	if !other {
		return e
	}
	own := *e
	own.Param = name
	return &own
}

// body is the error in OpenAI's form.
func (e *apiError) body() any {
	body := struct {
		apiError
		Param *string `json:"param"` // null where no parameter is to blame
	}{apiError: *e}
	if e.Param != "" {
		body.Param = &e.Param
	}
	return map[string]any{"error": body}
}

// refuse answers with an error in OpenAI's form.
func refuse(w http.ResponseWriter, e *apiError) { refuseAs(w, e, e.body()) }

func refuseAs(w http.ResponseWriter, e *apiError, body any) {
	if w.Header().Get("Retry-After") == "" &&
		(e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable) {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, e.Status, body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only where the client is gone
}

// tooLong has the words by which agents know, of Anthropic's server or of OpenAI's, that they are to shorten the
// conversation.
func tooLong(prompt, most int) string {
	return fmt.Sprintf("prompt is too long: %d tokens > %d maximum (this model's maximum context length is %d tokens)",
		prompt, most, most)
}

// errForm says that a grammar gave out.
var errForm = errors.New("the answer grew past what its form can be checked for: bound the schema's arrays and " +
	"texts, or max_tokens")

// asRefusal is what a client is told of an error.
func asRefusal(err error) *apiError {
	var refused *apiError
	var long *policy.ContextError
	var none *policy.ConstraintError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &long):
		return &apiError{http.StatusBadRequest, "invalid_request_error", "messages", "context_length_exceeded",
			tooLong(long.NumPrompt, long.MaxContext)}
	case errors.As(err, &none):
		return invalid("logit_bias",
			"nothing may be sampled: logit_bias bans every token, or every one that the asked form leaves")
	case errors.Is(err, errForm):
		return &apiError{http.StatusBadRequest, "invalid_request_error", "", "form_too_long", err.Error()}
	case errors.Is(err, errTaskTime):
		return &apiError{http.StatusGatewayTimeout, "server_error", "", "task_timeout", err.Error()}
	case errors.Is(err, errDraining):
		return &apiError{http.StatusServiceUnavailable, "server_error", "", "shutting_down", err.Error()}
	case errors.Is(err, errBusy):
		return &apiError{http.StatusTooManyRequests, "rate_limit_error", "", "queue_full", err.Error()}
	}
	// The cause is in the log: it may name paths and addresses that are no client's business.
	return &apiError{http.StatusInternalServerError, "server_error", "", "server_error",
		"sampling failed; the server's log says why"}
}
