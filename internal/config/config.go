// Package config is hone.yaml: one struct, its defaults, its bounds, its JSON Schema, and errors that point at the
// line.
//
// Bounds and descriptions are struct tags, read by Validate and by Schema alike, so the two cannot disagree:
//
//	doc:"..."        what the key means, with its unit
//	enum:"a,b"       the values a text may have
//	min:"0" max:"1"  inclusive bounds of a number or a duration (in seconds)
package config

import (
	"strings"
	"time"
)

// Config is the whole of hone.yaml. Every key has a default; the file holds only what differs.
type Config struct {
	Name      string    `yaml:"name" doc:"name of the run: its folder under runs_dir; empty takes the verb and the time"`
	RunsDir   string    `yaml:"runs_dir" doc:"folder that holds the runs"`
	Seed      uint64    `yaml:"seed" doc:"seed of every random stream of the run"`
	MCP       MCP       `yaml:"mcp" doc:"the servers whose tools are to be learnt"`
	Model     Model     `yaml:"model" doc:"the base model"`
	Scenarios Scenarios `yaml:"scenarios" doc:"the tasks"`
	Rollout   Rollout   `yaml:"rollout" doc:"how one episode is run"`
	Rewards   Rewards   `yaml:"rewards" doc:"what an episode earns: a sum of terms"`
	Judge     Judge     `yaml:"judge" doc:"a model that scores what no rule can"`
	LoRA      LoRA      `yaml:"lora" doc:"shape of the adapter that sft, dpo and train begin with"`
	SFT       SFT       `yaml:"sft" doc:"supervised fine-tuning"`
	DPO       DPO       `yaml:"dpo" doc:"direct preference optimisation, on pairs"`
	GRPO      GRPO      `yaml:"grpo" doc:"reinforcement learning on groups of trajectories"`
	Eval      Eval      `yaml:"eval" doc:"evaluation"`
	Engine    Engine    `yaml:"engine" doc:"what the tensors run on"`
	Trainer   Trainer   `yaml:"trainer" doc:"what takes the steps of train, sft and dpo"`
	Sampler   Sampler   `yaml:"sampler" doc:"a server that samples the episodes of hone train, in place of the engine"`
	Metrics   Metrics   `yaml:"metrics" doc:"who is told of what a run measures, beside metrics.jsonl"`

	Providers map[string]Provider `yaml:"providers" doc:"endpoints that hone eval --compare and judge.model take models of, by name: NAME/MODEL. openai, anthropic and openrouter are known"`
}

// MCP names the servers and bounds what is asked of them.
type MCP struct {
	Config  string        `yaml:"config" doc:"file with the servers, in the mcpServers or the servers form"`
	Only    []string      `yaml:"only" doc:"names of the servers to use; empty takes all"`
	Timeout time.Duration `yaml:"timeout" min:"0.001" max:"3600" doc:"deadline of one call"`

	MaxTools    int     `yaml:"max_tools" min:"0" doc:"most tools shown in one episode; of a larger catalog those are chosen that fit the task, or in train the tasks of a step, which share them as far as those that they need allow it. 0 shows all where they take no more than model.context (of one below 16384: half of it), and else 40"`
	Distractors int     `yaml:"distractors" min:"-1" doc:"of max_tools, those drawn at random; 0 takes a quarter, -1 none"`
	SearchShare float64 `yaml:"search_share" min:"0" max:"1" doc:"share of model.context above which the list of tools (a token counted as 4 bytes) is not shown but searched, with a tool search_tools; 0 never searches"`

	Resources string `yaml:"resources" enum:"off,tools" doc:"tools offers the resources of each server to the model as two tools, list_resources and read_resource; off leaves resources alone"`

	AllowFindings []string `yaml:"allow_findings" doc:"tools whose suspicious texts, which discover shows, are accepted: server/tool@DIGEST as a refusal names it, for one text; server/tool or tool, for any text of it; * for any; --allow-findings adds to them"`

	Approval Approval `yaml:"approval" doc:"which tool calls are sent"`
	Sandbox  Sandbox  `yaml:"sandbox" doc:"what the processes of the servers may reach"`
}

// Model is the base model.
type Model struct {
	Base    string `yaml:"base" doc:"a GGUF file, a folder with safetensors, or a name that hone engine list shows"`
	Context int    `yaml:"context" min:"0" doc:"longest sequence in tokens, at least 64; 0 takes 2048, or 16384 on a GPU, and at most three quarters of the model's positions"`

	ChatTemplate string `yaml:"chat_template" doc:"file with the chat template, in place of the model's own"`
	ToolFormat   string `yaml:"tool_format" doc:"how the model writes tool calls, by the name hone inspect parse --help lists; empty tells it from the chat template, over which hone writes llama3_json and hermes itself"`

	TemplateVariables Variables `yaml:"template_variables" doc:"variables of the chat template, as {enable_thinking: false}, wherever a conversation is rendered"`
}

// Scenarios says where the tasks are.
type Scenarios struct {
	File     string `yaml:"file" doc:"scenarios file, .json or .jsonl"`
	Programs bool   `yaml:"programs" doc:"run the programs that command checks of the scenarios name; they are outside the sandbox of the servers"`
}

// Rollout bounds one episode.
type Rollout struct {
	System       string        `yaml:"system" doc:"system message of every episode; empty has none but what the chat template writes of its own. An adapter is served, evaluated and merged under the one it was trained with"`
	Temperature  float64       `yaml:"temperature" min:"0" max:"10" doc:"sampling temperature; 0 is greedy"`
	MaxTurns     int           `yaml:"max_turns" min:"1" doc:"most completions of one episode"`
	MaxTokens    int           `yaml:"max_tokens" min:"0" doc:"most tokens of one completion, thinking included; 0 takes 512, or on a GPU 1024, 4096 where the chat template has the model think first, and at most a quarter of model.context"`
	MaxToolCalls int           `yaml:"max_tool_calls" min:"1" doc:"most tool calls of one episode"`
	MaxMalformed int           `yaml:"max_malformed" min:"0" doc:"messages with a malformed tool call that are answered by what is wrong with them, in one episode; the next ends the episode (outcome policy_error). 0 ends it at the first"`
	CompleteTask bool          `yaml:"complete_task" doc:"offer the model a tool complete_task, whose call ends the episode with the answer that it gives, beside a message without a call"`
	MaxResult    int           `yaml:"max_result" min:"16" doc:"most bytes of a tool result shown to the model"`
	LongResults  string        `yaml:"long_results" enum:"cut,summary" doc:"what is shown of a longer one: its beginning and end (cut), or what the model of rollout.summary makes of it"`
	Summary      Endpoint      `yaml:"summary" doc:"the model that summarises, for rollout.long_results: summary"`
	User         UserModel     `yaml:"user" doc:"the model that plays the users of scenarios that give them a goal"`
	Timeout      time.Duration `yaml:"timeout" min:"1" doc:"most time that the tools may work in one episode, of each turn its longest call; what is sampled, and waiting for other episodes, does not count. One that needs more ends there (outcome limit). A call that hangs is bounded by mcp.timeout"`
}

// Endpoint is a model behind an OpenAI-compatible server.
type Endpoint struct {
	URL    string `yaml:"url" doc:"base URL, up to and including /v1"`
	Model  string `yaml:"model" doc:"name of the model there"`
	KeyEnv string `yaml:"key_env" doc:"variable that holds the key; empty sends none"`
}

// UserModel is a model behind an OpenAI-compatible server that plays users.
type UserModel struct {
	URL         string  `yaml:"url" doc:"base URL, up to and including /v1"`
	Model       string  `yaml:"model" doc:"name of the model there"`
	KeyEnv      string  `yaml:"key_env" doc:"variable that holds the key; empty sends none"`
	Temperature float64 `yaml:"temperature" min:"0" max:"2" doc:"sampling temperature of what the user says; 0 is greedy. The seed follows from seed, scenario, rollout and turn"`
	MaxTokens   int     `yaml:"max_tokens" min:"1" max:"65536" doc:"most tokens of one message of the user, thinking included"`
	TokenBudget int     `yaml:"token_budget" min:"0" doc:"most tokens, read and written, that a command may pay for; 0 is no limit"`
}

// Optimizer is AdamW; the rate rises over a share of the steps and falls, the gradient's global norm is clipped.
type Optimizer struct {
	LearningRate float64 `yaml:"learning_rate" min:"0" max:"1" doc:"peak learning rate"`
	MaxGradNorm  float64 `yaml:"max_grad_norm" min:"0" doc:"bound of the gradient's global norm; 0 is none"`
	Schedule     string  `yaml:"schedule" enum:"linear,cosine,constant" doc:"the rate after the warm-up: it falls to 0 in a straight line or as half a cosine, or stays"`
	Warmup       float64 `yaml:"warmup" min:"0" max:"1" doc:"share of the steps over which the rate rises to its peak; above 0 at least one step"`
	Beta1        float64 `yaml:"beta1" min:"0.01" max:"0.999999" doc:"decay of Adam's first moment"`
	Beta2        float64 `yaml:"beta2" min:"0.01" max:"0.999999" doc:"decay of Adam's second moment"`
	Epsilon      float64 `yaml:"epsilon" min:"1e-30" max:"1" doc:"added to the root of Adam's second moment"`
	WeightDecay  float64 `yaml:"weight_decay" min:"0" max:"10" doc:"AdamW's: a step takes learning rate times this of the adapter away"`
}

// SFT is supervised fine-tuning on demonstrations.
type SFT struct {
	Optimizer Optimizer `yaml:"optimizer" doc:"Adam"`
	Epochs    int       `yaml:"epochs" min:"0" doc:"passes over the demonstrations; 0 makes 2, or 3 where those are fewer than 150 steps; with a patience at most 8"`
	Steps     int       `yaml:"steps" min:"0" doc:"steps, in place of epochs: as many passes as they take; 0 takes what the epochs have. The learning rate falls over the steps that are taken"`
	BatchSize int       `yaml:"batch_size" min:"1" doc:"trajectories of one step"`
	Unroll    string    `yaml:"unroll" enum:"whole,turns,prefixes" doc:"rows of one conversation: whole is one, or as many as the chat template's rewrites need; turns is one for each user turn, which alone is trained; prefixes is one for each user turn, of which all is trained, so early turns several times"`

	Validation float64 `yaml:"validation" min:"0" max:"0.9" doc:"share of the tasks whose conversations are held out of training, for measuring the loss on them; data that has a split validation is measured on that one instead, whatever the share; 0 holds nothing out"`
	EvalEvery  int     `yaml:"eval_every" min:"0" doc:"steps between measurements of the held-out loss; 0 is an epoch"`
	Patience   int     `yaml:"patience" min:"0" doc:"measurements in a row without a new least held-out loss, after which training stops and the adapter that was best is the one that is left; 0 never stops it early, and leaves the last one, at which the learning rate is 0"`

	CheckpointEvery int `yaml:"checkpoint_every" min:"1" doc:"steps between checkpoints"`
}

// DPO is direct preference optimisation on pairs; batch.Preference has the formulas.
type DPO struct {
	Optimizer      Optimizer `yaml:"optimizer" doc:"Adam"`
	Epochs         int       `yaml:"epochs" min:"1" doc:"passes over the pairs"`
	BatchSize      int       `yaml:"batch_size" min:"1" doc:"pairs of one step"`
	Loss           string    `yaml:"loss" enum:"sigmoid,sigmoid_norm" doc:"of a pair: sigmoid is DPO's; sigmoid_norm takes means over the tokens of each side, so that long ones weigh no more, and wants a beta of about 2"`
	Beta           float64   `yaml:"beta" min:"1e-6" max:"100" doc:"how far the policy may leave the one it began as: less is farther"`
	LabelSmoothing float64   `yaml:"label_smoothing" min:"0" max:"0.49" doc:"share of the pairs that are thought to be the wrong way round"`
	RPOAlpha       float64   `yaml:"rpo_alpha" min:"0" max:"100" doc:"weight of the likelihood of the preferred sides, which is added to the loss; 0 adds none"`

	Validation float64 `yaml:"validation" min:"0" max:"0.9" doc:"share of the tasks whose pairs are held out of training, for measuring the loss on them; pairs of a split validation are measured on instead, whatever the share; 0 holds nothing out"`
	EvalEvery  int     `yaml:"eval_every" min:"0" doc:"steps between measurements of the held-out loss; 0 is an epoch. The adapter that was best is the one that is left"`
	Patience   int     `yaml:"patience" min:"0" doc:"measurements in a row without a new least held-out loss, after which training stops; 0 never stops it early"`

	CheckpointEvery int `yaml:"checkpoint_every" min:"1" doc:"steps between checkpoints"`
}

// Engine says what the tensors run on.
type Engine struct {
	Backend      string `yaml:"backend" enum:"auto,cuda,cpu,go" doc:"cuda and cpu are XLA plug-ins, go needs none and is slow, auto takes the named or installed plug-in"`
	Plugin       string `yaml:"plugin" doc:"path of a PJRT plug-in; empty takes the installed one"`
	Devices      int    `yaml:"devices" min:"1" max:"64" doc:"devices of this machine that train and sample at once, each with the whole model, unless shard_weights: GPUs, or, on the CPU plug-in, shares of its cores, which gains nothing"`
	ShardWeights string `yaml:"shard_weights" enum:"auto,on,off" doc:"whether each of several devices holds a part of the linear maps only (fully sharded, FSDP), which are gathered layer by layer: slower, and the way for a model that one device does not hold; auto where nothing else fits"`
	DType        string `yaml:"dtype" enum:"auto,f32,bf16" doc:"what weights, activations and caches are: auto is bf16 on a GPU, f32 elsewhere; norms, softmax, logits, adapters and the optimiser are f32 in any case"`
	Slots        int    `yaml:"slots" min:"0" doc:"completions sampled at once on each device; 0 takes 16, or on a GPU as many as a step of GRPO has episodes, or fewer where the memory does not hold them"`
	JoinWeights  string `yaml:"join_weights" enum:"auto,on,off" doc:"whether the sampler of a GPU has a copy of the weights in which linear maps that read the same input are one: faster, and nearly as large as the weights; auto is off where else fewer than 8 slots would fit"`
	DecodeSteps  int    `yaml:"decode_steps" min:"0" max:"1024" doc:"steps of sampling that a device is told of at once, which changes no token; 0 takes 1, or on a GPU 64, which end early for whoever waits"`
	MicroBatch   int    `yaml:"micro_batch" min:"0" doc:"training rows computed at once on each device, at most those of a step; 0 takes 1, or on a GPU as many as have 4096 tokens, 1 to 16, or fewer where those do not fit"`
	Recompute    string `yaml:"recompute" enum:"auto,none,layer" doc:"what a training step computes again in its backward pass instead of keeping it (gradient checkpointing): layer is each layer from its input, a third more work in a fraction of the memory; auto is layer where nothing else fits"`
	KeepTokens   int    `yaml:"keep_tokens" min:"0" doc:"with recompute: layer, how many tokens are computed at once at most where layers are kept all the same; 0 is none, and with recompute: auto what the memory holds"`
	RowMultiple  int    `yaml:"row_multiple" min:"0" max:"65536" doc:"training rows are padded to a multiple of this many tokens, long ones to one of few lengths; 0 takes 64, or 256 on a GPU"`
	Packing      string `yaml:"packing" enum:"auto,tree,off" doc:"how sft and dpo compute the rows of a step: as a tree, what several rows begin with once, or each behind what all of them begin with; auto is tree where that saves a third of the tokens, but not on a GPU, whose attention kernel knows no trees, nor where memory is short"`
	Moments      string `yaml:"moments" enum:"float32,8bit" doc:"how Adam's moments are stored: 8 bytes for each number of the adapter, or 2 by block-wise quantisation"`

	ProgramCache float64 `yaml:"program_cache" min:"0" max:"1048576" doc:"disk for compiled programs in hone's cache folder, in GiB, with which a second start need not compile: those used longest ago are removed; 0 keeps none"`

	Memory float64 `yaml:"memory" min:"0" doc:"memory of a device that a run is planned to fit in, in GiB; 0 takes what is free on the GPU, or on the machine and in its control group"`
}

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		RunsDir: "runs",
		MCP: MCP{Config: ".mcp.json", Only: []string{}, AllowFindings: []string{}, Timeout: 30 * time.Second,
			Resources: "off", Approval: Approval{Mode: "default", Deny: []string{}, Ask: []string{},
				Allow: []string{}},
			Sandbox: DefaultSandbox()},
		Model:     Model{Base: "SmolLM2-135M-Instruct", TemplateVariables: Variables{}},
		Scenarios: Scenarios{File: "scenarios.json"},
		Rollout: Rollout{
			Temperature: 1, MaxTurns: 16, MaxToolCalls: 24, MaxResult: 12000, LongResults: "cut",
			Timeout: 5 * time.Minute, User: UserModel{MaxTokens: 512},
		},
		Rewards: Rewards{
			Checks: 1, Call: 0.5, Tool: 0.2, End: 0.2, Extra: 0.5, Repeat: -0.2, Invalid: -0.2, Parse: -0.2,
			Economy: Economy{Factor: 1.5}, Program: RewardProgram{Command: []string{}, Weight: 1, Timeout: time.Minute},
			Judge: 1, Rating: 1, Expressions: map[string]Expression{},
		},
		Judge: defaultJudge(),
		LoRA: LoRA{Rank: 16, Alpha: 32, TargetModules: []string{AllLinear}, RankPattern: []string{},
			AlphaPattern: []string{}, TrainableTokens: TrainableTokens{AutoTokens}},
		SFT: SFT{
			Optimizer: defaultOptimizer(3e-4), // with batches of 8 and two passes it is what docs/SYNTH.md measured
			BatchSize: 8, Unroll: "whole", CheckpointEvery: 10,
		},
		DPO: DPO{Optimizer: defaultOptimizer(2e-5), Epochs: 1, BatchSize: 8, Loss: "sigmoid", Beta: 0.1,
			CheckpointEvery: 10},
		GRPO: GRPO{
			Recipe: AutoRecipe, Optimizer: defaultOptimizer(0),
			Steps: 50, GroupSize: 8, ScenariosPerStep: 16,
			Advantage: "centred", Credit: Credit{Level: "episode", Discount: 1}, NegativeWeight: 1, Loss: "dapo",
			NumIterations: 1, Minibatches: 4, ClipLow: 0.2, ClipHigh: 0.28, KL: KL{Estimator: "k3",
				Gradient: "own"}, Correction: Correction{Level: "none", Mode: "truncate",
				High: 2}, Entropy: Entropy{Delta: 0.005}, TopEntropy: 1, Imitation: Imitation{Weight: 1, Memory: 256},
			Demonstrations: Demonstrations{Rows: -1, Weight: 1}, Distillation: Distillation{Until: 0.5},
			StragglerWait: 3, Patience: 3, CheckpointEvery: 10,
		},
		Eval: Eval{Every: 20, Temperature: ByCard, Split: "validation", Repeats: 1, TopP: 1, Confidence: 0.95,
			FailOnError: "0.5"},
		Trainer: defaultTrainer(),
		Sampler: Sampler{API: "vllm", Slots: 16, Timeout: 10 * time.Minute, Retries: 4, MaxMismatch: 0.01},
		Engine: Engine{Backend: "auto", Devices: 1, ShardWeights: "auto", DType: "auto", JoinWeights: "auto",
			Recompute: "auto", Packing: "auto", Moments: "float32", ProgramCache: 4},
		Metrics:   defaultMetrics(),
		Providers: map[string]Provider{},
	}
}

func defaultOptimizer(rate float64) Optimizer {
	return Optimizer{LearningRate: rate, MaxGradNorm: 1, Schedule: "linear", Warmup: 0.1, Beta1: 0.9, Beta2: 0.99,
		Epsilon: 1e-8}
}

// Validate reports the first value out of its bounds as a *ValueError, whose Path names the key.
func (c *Config) Validate() error {
	if err := checkTags(c); err != nil {
		return err
	}
	if err := c.MCP.checkAllow(); err != nil {
		return err
	}
	if err := c.MCP.Approval.check(); err != nil {
		return err
	}
	if err := c.MCP.Sandbox.check(); err != nil {
		return err
	}
	if err := c.Model.TemplateVariables.check(); err != nil {
		return err
	}
	if err := c.LoRA.check("lora."); err != nil {
		return err
	}
	if r := c.Rewards; r.Checks == 0 && r.Call == 0 && r.Tool == 0 && r.End == 0 &&
		(len(r.Program.Command) == 0 || r.Program.Weight == 0) && (c.Judge.Model == "" || r.Judge == 0) && !r.earns() {
		return &ValueError{"rewards.checks",
			"no episode could earn anything: rewards.call, rewards.tool and rewards.end are 0 too"}
	}
	if err := c.Rewards.Overlong.check(); err != nil {
		return err
	}
	if err := c.Rewards.checkExpressions(); err != nil {
		return err
	}
	if err := c.Rewards.Length.check(); err != nil {
		return err
	}
	if err := c.Trainer.check(); err != nil {
		return err
	}
	if err := c.Sampler.check(); err != nil {
		return err
	}
	if err := c.GRPO.check(); err != nil {
		return err
	}
	if c.GRPO.Loss == "raft" && c.LoRA.Dropout > 0 {
		return &ValueError{"lora.dropout", "with grpo.loss: raft, sampler and trainer would differ by what is left " +
			"out; set it to 0"}
	}
	if err := c.checkLengths(); err != nil {
		return err
	}
	if r := c.Rollout; r.LongResults == "summary" && r.MaxResult < 200 {
		return &ValueError{"rollout.max_result", "a summary needs 200 bytes at least"}
	}
	if r := c.Rollout; r.LongResults == "summary" && (r.Summary.URL == "" || r.Summary.Model == "") {
		return &ValueError{"rollout.summary",
			"rollout.long_results: summary needs the url and the model that summarises"}
	}
	if u := c.Rollout.User; (u.URL == "") != (u.Model == "") {
		return &ValueError{"rollout.user", "it needs both the url and the model that plays the user"}
	}
	if err := c.Eval.check(); err != nil {
		return err
	}
	if err := c.Metrics.check(); err != nil {
		return err
	}
	if err := c.Judge.check(); err != nil {
		return err
	}
	if err := checkProviders(c.Providers); err != nil {
		return err
	}
	if strings.ContainsAny(c.Name, `/\`) || c.Name == ".." || c.Name == "." {
		return &ValueError{"name", "the name of a run is the name of a folder, so it holds no path"}
	}
	if c.RunsDir == "" {
		return &ValueError{"runs_dir", "it is empty"}
	}
	return nil
}

// ValueError is a value that cannot be used. Path is its key, such as "lora.rank".
type ValueError struct{ Path, Why string }

func (e *ValueError) Error() string { return e.Path + ": " + e.Why }
