package proxy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/serve"
)

// AddSteps has the client told of calls that were made in its place, beside the answer that follows: in a stream by
// comments, in a whole answer under the key "hone", as a server that is an agent tells of its own.
func (x *Exchange) AddSteps(steps ...serve.Step) { x.made = append(x.made, steps...) }

// tellOwnCalls tells of them in a stream, in front of its next event.
func (x *Exchange) tellOwnCalls() bool {
	for _, s := range x.made {
		text, err := json.Marshal(s)
		if err == nil && !x.stream.Send(": hone.result "+strings.ReplaceAll(string(text), "\n", " ")) {
			return false
		}
	}
	x.made = nil
	return true
}

// withOwnCalls is a whole answer that tells of them.
func (x *Exchange) withOwnCalls(body []byte) ([]byte, error) {
	if x.made == nil {
		return body, nil
	}
	text, err := json.Marshal(serve.Steps{Steps: x.made})
	if err != nil {
		return nil, err
	}
	return With(body, "hone", text)
}

// Supersede puts aside an answer that the client is not told. What it used is the client's all the same: it is added to
// the usage that the client is told with the next one.
func (x *Exchange) Supersede(a *Answer) {
	if a.Usage != nil {
		x.before.PromptTokens += a.Usage.PromptTokens
		x.before.CompletionTokens += a.Usage.CompletionTokens
	}
}

// addUsage is an answer, or an event of one, with the usage of those before it added to its own.
func (x *Exchange) addUsage(object []byte) ([]byte, error) {
	if x.before == (Usage{}) {
		return object, nil
	}
	usage, err := Get(object, "usage")
	if err != nil || !strings.HasPrefix(string(usage), "{") {
		return object, err
	}
	var u Usage
	if err := json.Unmarshal(usage, &u); err != nil {
		return nil, err
	}
	read, written := u.PromptTokens+x.before.PromptTokens, u.CompletionTokens+x.before.CompletionTokens
	for _, m := range []struct {
		name string
		n    int
	}{{"prompt_tokens", read}, {"completion_tokens", written}, {"total_tokens", read + written}} {
		if usage, err = With(usage, m.name, []byte(strconv.Itoa(m.n))); err != nil {
			return nil, err
		}
	}
	return With(object, "usage", usage)
}

// Insert returns the body of a request with more messages: more[i] stand behind its message i. All others stay as they
// are.
func Insert(body []byte, more map[int][]chat.Message) ([]byte, error) {
	raw, err := Get(body, "messages")
	if err != nil {
		return nil, err
	}
	old, err := elements(raw)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for i, m := range old {
		all = append(all, m)
		for _, m := range more[i] {
			text, err := json.Marshal(m)
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
	}
	return With(body, "messages", slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]")))
}
