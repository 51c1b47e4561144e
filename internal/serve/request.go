package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/fault"
)

// request is what a client asks for, in whatever dialect it was said.
type request struct {
	model    string
	messages []chat.Message
	// how the answer begins, as the client has it: what is sampled goes on from there, and it is not said again
	begun   *chat.Message
	prompts [][]int32 // in place of messages: texts to go on with, of which nothing is read back but text
	raw     []string  // the same before they are encoded, where they are texts
	tools   []chat.Tool
	strict  map[string]bool // tools whose arguments are held to their schema where the model calls them by itself
	choice  toolChoice
	oneCall bool
	answer  *answerForm // nil: any text

	sampling policy.Sampling // MaxTokens 0: the server's default; StopIDs beside the renderer's own
	seed     *int64
	n        int // completions of each prompt
	banned   policy.Banned

	stream   bool
	usage    bool // a stream ends with what was used
	logprobs bool
	ids      bool // token ids are told
	echo     bool // a completion begins with its prompt

	ignoreEOS bool // sampling.StopIDs are all that stop, not beside the renderer's own

	extra *responseTerms // of responses alone

	aside fault.Asides // what of it is not taken

	agent   *Steps // of a task: the server's own tools are called; nil: the client's, by the client
	session string // of a task: its name
}

// toolChoice is which tools must be called, or may be. Named is a name with "required".
type toolChoice struct {
	mode, name string
	allowed    []string // of the tools; nil is all
}

const (
	choiceAuto     = "auto"
	choiceNone     = "none"
	choiceRequired = "required"
)

// answerForm is the form of an answer: a JSON Schema, or where that is nil any JSON object.
type answerForm struct {
	schema json.RawMessage
	strict bool
	param  string // what it was asked with
}

// developer is OpenAI's newer name of the role system; chat templates know the older one.
const developer = "developer"

// maxStops is OpenAI's bound.
const maxStops = 4

// check refuses what no model can be asked. A server that is an agent, which else is nil, gives it its tools.
func (q *request) check(agent *Agent, header http.Header) *apiError {
	if q.n == 0 {
		q.n = 1
	}
	if q.choice.mode == "" {
		q.choice.mode = choiceAuto
	}
	if q.prompts == nil && q.raw == nil {
		if refused := checkMessages(q.messages); refused != nil {
			return refused
		}
	}
	if agent != nil {
		if refused := agent.task(q, header); refused != nil {
			return refused
		}
	}
	names := map[string]bool{}
	for _, t := range q.tools {
		if names[t.Name] {
			return invalid("tools", fmt.Sprintf("two tools are called %q", t.Name))
		}
		names[t.Name] = true
	}
	switch {
	case q.begun != nil && (q.choice.mode == choiceRequired || q.answer != nil):
		return invalid("messages", "the answer is held to a form, and its beginning is given: ask for one of the two")
	case q.choice.mode == choiceRequired && len(q.tools) == 0:
		return invalid("tool_choice", "a call is required, and there are no tools")
	case q.choice.name != "" && !names[q.choice.name]:
		return invalid("tool_choice",
			fmt.Sprintf("the tool %q is to be called, and is not among the tools", q.choice.name))
	}
	return q.checkSampling()
}

// checkResults refuses a result that a template would show in the place of another call's: most write no ids, so with
// the first of two results missing the second stands under the first call.
func checkResults(messages []chat.Message) *apiError {
	for i, m := range messages {
		has := map[string]bool{}
		for k := i + 1; k < len(messages) && messages[k].Role == chat.ToolRole; k++ {
			has[messages[k].ToolCallID] = true
		}
		without := -1
		for j, c := range m.ToolCalls {
			switch {
			case !has[c.ID] && without < 0:
				without = j
			case has[c.ID] && without >= 0:
				return invalid("messages",
					fmt.Sprintf("messages[%d] makes the call %q, which has no result, before %q, "+
						"which has one: give each its result", i, m.ToolCalls[without].ID, c.ID))
			}
		}
	}
	return nil
}

func checkMessages(messages []chat.Message) *apiError {
	if len(messages) == 0 {
		return invalid("messages", "messages is empty")
	}
	calls := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if m.Role == developer {
			m.Role = chat.System
		}
		switch m.Role {
		case chat.System, chat.User, chat.Assistant:
		case chat.ToolRole:
			if !calls[m.ToolCallID] {
				return invalid("messages",
					fmt.Sprintf("messages[%d] is the result of a call %q that no message before it makes",
						i, m.ToolCallID))
			}
		default:
			return invalid("messages", fmt.Sprintf("messages[%d] has role %q; known are system, developer, user, "+
				"assistant and tool", i, m.Role))
		}
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			if m.Role != chat.Assistant {
				return invalid("messages", fmt.Sprintf("messages[%d] makes calls, and its role is %s", i, m.Role))
			}
			calls[c.ID] = true
			arguments, ok := argumentsOf(c.Arguments)
			if !ok {
				return invalid("messages",
					fmt.Sprintf("messages[%d].tool_calls[%d], of %q, has arguments that are no JSON object: %.200s",
						i, j, c.Name, c.Arguments))
			}
			c.Arguments = arguments
		}
	}
	if refused := checkResults(messages); refused != nil {
		return refused
	}
	numberCalls(messages)
	nameResults(messages)
	return nil
}

func (q *request) checkSampling() *apiError {
	s := &q.sampling
	switch {
	case !(s.Temperature >= 0 && s.Temperature <= 2):
		return invalid("temperature", "temperature must lie in [0, 2]")
	case !(s.MinP >= 0 && s.MinP <= 1):
		return invalid("min_p", "min_p must lie in [0, 1]")
	case len(s.Stop) > maxStops:
		return invalid("stop", fmt.Sprintf("stop has %d texts; at most %d can be looked for", len(s.Stop), maxStops))
	case slices.Contains(s.Stop, ""):
		return invalid("stop", "stop holds an empty text")
	case s.TopLogprobs < 0 || s.TopLogprobs > policy.MaxTopLogprobs:
		return invalid("top_logprobs", fmt.Sprintf("top_logprobs must lie in [0, %d]", policy.MaxTopLogprobs))
	case s.TopLogprobs > 0 && !q.logprobs:
		return invalid("top_logprobs", "top_logprobs goes with logprobs: true")
	}
	return nil
}

// knobs are the parameters of sampling that dialects have alike. Pointers tell "absent" from zero.
type knobs struct {
	Temperature  *float64           `json:"temperature"` // absent: 1, as OpenAI and Anthropic have it
	TopP         *float64           `json:"top_p"`
	TopK         *int               `json:"top_k"` // this and the next are vLLM's
	MinP         *float64           `json:"min_p"`
	Seed         *int64             `json:"seed"`
	StopTokenIDs []int32            `json:"stop_token_ids"` // beside the renderer's own
	LogitBias    map[string]float64 `json:"logit_bias"`     // bans only
}

// into gives a request the knobs; what lies outside of their bounds is refused.
func (k *knobs) into(q *request) *apiError {
	q.sampling.Temperature, q.seed = 1, k.Seed
	q.sampling.StopIDs = k.StopTokenIDs
	if k.Temperature != nil {
		q.sampling.Temperature = *k.Temperature
	}
	if k.TopP != nil {
		if q.sampling.TopP = *k.TopP; !(*k.TopP > 0 && *k.TopP <= 1) {
			return invalid("top_p", "top_p must lie in (0, 1]")
		}
	}
	if k.TopK != nil {
		if *k.TopK < -1 {
			return invalid("top_k", "top_k must be positive, or 0 or -1 for off")
		}
		q.sampling.TopK = max(*k.TopK, 0)
	}
	if k.MinP != nil {
		q.sampling.MinP = *k.MinP
	}
	for key, bias := range k.LogitBias {
		id, err := strconv.ParseInt(key, 10, 32)
		switch {
		case err != nil || id < 0:
			return invalid("logit_bias", fmt.Sprintf("%q is not a token id", key))
		case bias == banBias:
			q.banned = append(q.banned, int32(id))
		case bias != 0:
			return unsupportedError("logit_bias",
				fmt.Sprintf("that of token %s is %v; only %d, which bans a token, is supported", key, bias, banBias))
		}
	}
	slices.Sort(q.banned)
	return nil
}

// banBias is the least of OpenAI's biases, which it says bans the token.
const banBias = -100

// limit takes the bound of a completion's length; nil is none.
func (q *request) limit(name string, n *int) *apiError {
	if n == nil {
		return nil
	}
	if *n < 1 {
		return invalid(name, name+" must be positive")
	}
	q.sampling.MaxTokens = *n
	return nil
}

// promptTools are the tools the prompt lists: none where the client wants none called, and those that it allows.
func (q *request) promptTools() []chat.Tool {
	if q.choice.mode == choiceNone {
		return nil
	}
	if q.choice.allowed == nil {
		return q.tools
	}
	return slices.DeleteFunc(slices.Clone(q.tools), func(t chat.Tool) bool {
		return !slices.Contains(q.choice.allowed, t.Name)
	})
}

// chosen is OpenAI's tool_choice where it is an object; chat completions and responses put its parts in other places.
type chosen struct {
	Type, Name string
	Function   struct{ Name string }
	allowedTools
	Allowed allowedTools `json:"allowed_tools"`
}

// allowedTools are tools of the list that may be called, of which mode tells whether one must.
type allowedTools struct {
	Mode  string
	Tools []struct {
		Type, Name string
		Function   struct{ Name string }
	}
}

// readChoice reads OpenAI's tool_choice: a word, the name of a function, or those that are allowed.
func (q *request) readChoice(raw json.RawMessage) *apiError {
	q.choice = toolChoice{mode: choiceAuto}
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var word string
	var c chosen
	if json.Unmarshal(raw, &word) != nil {
		if err := json.Unmarshal(raw, &c); err != nil {
			return invalid("tool_choice", "tool_choice is neither a word nor such an object: "+choiceForms)
		}
		word = c.Type
	}
	switch word {
	case choiceAuto, choiceNone, choiceRequired:
		q.choice.mode = word
	case "any": // as Mistral calls it
		q.choice.mode = choiceRequired
	case "function":
		if q.choice = (toolChoice{mode: choiceRequired, name: c.Name + c.Function.Name}); q.choice.name == "" {
			return invalid("tool_choice",
				`tool_choice names no function: its form is {"type": "function", "function": {"name": ...}}`)
		}
	case "allowed_tools":
		return q.allow(c)
	default:
		return invalid("tool_choice", fmt.Sprintf("tool_choice is %q; known are %s", word, choiceForms))
	}
	return nil
}

const choiceForms = `"auto", "none", "required", {"type": "function", "function": {"name": ...}} and {"type": "allowed_tools", ...}`

// allow takes the tools that may be called. Those of other kinds than functions are left aside, as they are of the
// list.
func (q *request) allow(c chosen) *apiError {
	of := c.Allowed
	if of.Tools == nil && of.Mode == "" {
		of = c.allowedTools
	}
	switch of.Mode {
	case "", choiceAuto:
	case choiceRequired:
		q.choice.mode = choiceRequired
	default:
		return invalid("tool_choice", fmt.Sprintf("allowed_tools has mode %q; known are auto and required", of.Mode))
	}
	q.choice.allowed = []string{}
	for i, t := range of.Tools {
		name := t.Name + t.Function.Name
		if t.Type != "" && t.Type != "function" {
			continue
		}
		if !slices.ContainsFunc(q.tools, func(x chat.Tool) bool { return x.Name == name }) {
			return invalid("tool_choice",
				fmt.Sprintf("allowed_tools: tools[%d] is %q, which is not among the tools", i, name))
		}
		q.choice.allowed = append(q.choice.allowed, name)
	}
	if len(q.choice.allowed) == 0 {
		return invalid("tool_choice", `allowed_tools names no function: its form is {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": ...}}]}}`)
	}
	return nil
}
