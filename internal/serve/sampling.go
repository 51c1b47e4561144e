package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"hone/internal/policy"
)

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

// maxStops is OpenAI's bound.
const maxStops = 4

func (q *request) checkSampling() *apiError {
	switch {
	case q.TopP != nil && !(*q.TopP > 0 && *q.TopP <= 1):
		return invalid("top_p", "top_p must lie in (0, 1]")
	case q.TopK != nil && *q.TopK < -1:
		return invalid("top_k", "top_k must be positive, or 0 or -1 for off")
	case q.MinP != nil && !(*q.MinP >= 0 && *q.MinP <= 1):
		return invalid("min_p", "min_p must lie in [0, 1]")
	case len(q.Stop) > maxStops:
		return invalid("stop", fmt.Sprintf("stop has %d texts; at most %d can be looked for", len(q.Stop), maxStops))
	case slices.Contains(q.Stop, ""):
		return invalid("stop", "stop holds an empty text")
	case q.TopLogprobs != nil && (*q.TopLogprobs < 0 || *q.TopLogprobs > policy.MaxTopLogprobs):
		return invalid("top_logprobs", fmt.Sprintf("top_logprobs must lie in [0, %d]", policy.MaxTopLogprobs))
	case q.TopLogprobs != nil && *q.TopLogprobs > 0 && !q.Logprobs:
		return invalid("top_logprobs", "top_logprobs goes with logprobs: true")
	}
	for key, bias := range q.LogitBias {
		if id, err := strconv.ParseInt(key, 10, 32); err != nil || id < 0 {
			return invalid("logit_bias", fmt.Sprintf("%q is not a token id", key))
		}
		if bias != 0 && bias != banBias {
			return &apiError{http.StatusBadRequest, "invalid_request_error", "logit_bias", "unsupported_value",
				fmt.Sprintf("logit_bias of token %s is %v; only %d, which bans a token, is supported", key, bias, banBias)}
		}
	}
	return nil
}

// banBias is the least of OpenAI's biases, which it says bans the token.
const banBias = -100

// banned are the tokens that logit_bias bans, ascending; nil where there are none.
func (q *request) banned() policy.Constraint {
	var ids policy.Banned
	for key, bias := range q.LogitBias {
		if id, err := strconv.ParseInt(key, 10, 32); err == nil && bias == banBias {
			ids = append(ids, int32(id))
		}
	}
	if ids == nil {
		return nil
	}
	slices.Sort(ids)
	return ids
}

// sampling is what the sampler is asked for.
func (q *request) sampling(defaultMaxTokens int, stopIDs []int32) policy.Sampling {
	s := policy.Sampling{Temperature: 1, MaxTokens: defaultMaxTokens, StopIDs: append(stopIDs[:len(stopIDs):len(stopIDs)], q.StopTokenIDs...), Stop: q.Stop}
	if q.Temperature != nil {
		s.Temperature = *q.Temperature
	}
	if q.TopP != nil {
		s.TopP = *q.TopP
	}
	if q.TopK != nil {
		s.TopK = max(*q.TopK, 0)
	}
	if q.MinP != nil {
		s.MinP = *q.MinP
	}
	if q.TopLogprobs != nil {
		s.TopLogprobs = *q.TopLogprobs
	}
	if q.MaxTokens != nil {
		s.MaxTokens = *q.MaxTokens
	}
	if q.MaxCompletionTokens != nil { // the newer name wins
		s.MaxTokens = *q.MaxCompletionTokens
	}
	return s
}
