package config

import (
	"strings"
	"time"
)

// Sampler is a server that samples the episodes of training. Without a URL they are sampled in this process.
type Sampler struct {
	URL    string `yaml:"url" doc:"base URL of a server that returns token ids and logprobs: of vLLM and hone serve up to and including /v1, of SGLang without; empty samples in this process"`
	API    string `yaml:"api" enum:"vllm,sglang" doc:"how the server is spoken to; hone serve is spoken to as vLLM is"`
	Model  string `yaml:"model" doc:"the base model's name at the server; empty takes the only one that is no adapter"`
	KeyEnv string `yaml:"key_env" doc:"variable that holds the key; empty sends none"`
	Slots  int    `yaml:"slots" min:"1" max:"4096" doc:"episodes that ask the server at once"`

	Adapters      string `yaml:"adapters" doc:"folder through which adapters are handed to the server, which reads it too; empty takes the folder policies of the run"`
	AdaptersThere string `yaml:"adapters_there" doc:"the same folder as the server sees it, such as /adapters in a container; empty is the same path"`

	Timeout     time.Duration `yaml:"timeout" min:"0.001" max:"86400" doc:"deadline of one attempt at a completion"`
	Retries     int           `yaml:"retries" min:"0" max:"100" doc:"attempts after the first, at a completion that did not come; after them its episode counts as infrastructure_error, and is not trained on"`
	MaxMismatch float64       `yaml:"max_mismatch" min:"0" max:"10" doc:"bound on how far the server's logprobs are from the trainer's: the mean mismatch KL of a step's tokens, in nats a token; of the probe before a step, which has few tokens, four times as much. A run above it stops"`
}

// check refuses what would act nowhere.
func (s *Sampler) check() error {
	switch {
	case s.URL == "" && (s.Model != "" || s.KeyEnv != "" || s.Adapters != "" || s.AdaptersThere != ""):
		return &ValueError{"sampler.url", "it is empty, so nothing of sampler is used"}
	case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		return &ValueError{"sampler.url", "it must begin with http:// or https://"}
	case s.URL != "" && s.MaxMismatch == 0:
		return &ValueError{"sampler.max_mismatch",
			"two programs never agree to the last bit, so each run would stop; 0.01 is the default"}
	}
	return nil
}
