package policy

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"hone/internal/fault"
)

// How a server is spoken to.
const (
	// VLLM is OpenAI's completions with return_token_ids, and routes that load adapters: vLLM 0.10.2 and later, and
	// hone serve.
	VLLM = "vllm"
	// SGLang is SGLang's own /generate.
	SGLang = "sglang"
)

// RemoteOptions of a Sampler. URL is required.
type RemoteOptions struct {
	URL   string       // of the server: VLLM's up to and including /v1, SGLang's without
	API   string       // VLLM or SGLang; empty: VLLM
	Model string       // the base model's name there; empty: the only model that is no adapter
	Key   fault.Secret // sent as a bearer token where not empty
	Slots int          // completions asked for at once; 0: 16

	MaxContext  int     // most ids of prompt and completion; 0: what the server says
	VocabSize   int     // ids are below it; 0: not checked
	Temperature float64 // that completions train at: the logprobs must be told at it. 0: they need not be

	Retries int           // attempts after the first; 0: 4, negative: none
	Timeout time.Duration // of one attempt; 0: 10 minutes
	BackOff time.Duration // upper bound of the first wait, doubled each time; 0: 500 ms

	// Gone is called, at most once, where the server answers nothing any more: neither a completion, after all
	// attempts, nor the list of its models. nil: nobody is told.
	Gone func(error)

	Transport http.RoundTripper // nil: http.DefaultTransport
}

// withDefaults is the options with their defaults; it refuses what cannot be asked.
func (o RemoteOptions) withDefaults() (RemoteOptions, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		// The URL itself is not shown: what makes it wrong may be a password inside it.
		return o, &fault.Error{Code: fault.CodeUsage, What: "cannot use the URL of the sampler",
			Why:  "it must be http(s)://host[:port]/path, without a user name or a query",
			Next: "set sampler.url, and put a key into the variable that sampler.key_env names"}
	}
	o.URL = strings.TrimRight(o.URL, "/")
	if o.API == SGLang {
		o.URL = strings.TrimSuffix(o.URL, "/v1")
	}
	if o.Slots == 0 {
		o.Slots = 16
	}
	if o.Retries == 0 {
		o.Retries = 4
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.BackOff == 0 {
		o.BackOff = 500 * time.Millisecond
	}
	return o, nil
}
