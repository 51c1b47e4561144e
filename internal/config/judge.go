package config

import "time"

// Judge is the model that scores episodes which no rule can. Without a model there is none.
type Judge struct {
	Model    string `yaml:"model" doc:"who judges: PROVIDER/MODEL, http://HOST/v1/MODEL, base for the base model on this machine, or an adapter's folder; empty for nobody"`
	Fallback string `yaml:"fallback" doc:"who judges where the model fails, named in the same way; what it scores is marked in the data"`

	Rubric    string `yaml:"rubric" doc:"file with what is judged by, as docs/rubrics/mcp-bench.yaml; empty takes the built-in one"`
	Reference string `yaml:"reference" doc:"file with what the judge knows and the agent does not, as hone-bench import writes: a line for each scenario, {\"id\": ...} and the keys that the rubric's reference.KEY name"`
	Scenarios string `yaml:"scenarios" enum:"unchecked,all" doc:"which scenarios train has judged: those without checks, or all. eval judges those without checks alone"`

	Samples     int     `yaml:"samples" min:"0" max:"64" doc:"questions about a group, each in another order, whose scores are averaged; 0 takes the rubric's number, else 2"`
	Temperature float64 `yaml:"temperature" min:"0" max:"2" doc:"of the judge's replies; a model that chooses its own is asked without it"`
	MaxTokens   int     `yaml:"max_tokens" min:"16" doc:"most tokens of a reply, its thoughts among them"`
	Context     int     `yaml:"context" min:"512" doc:"most tokens of a question and its reply (a token counted as 3 bytes): of longer attempts the beginning and end of each text are shown"`
	Tie         float64 `yaml:"tie" min:"0" max:"0.5" doc:"scores of a group that differ by no more than this are one"`
	Cap         float64 `yaml:"cap" min:"0" max:"1" doc:"most that an attempt earns in a group where no call of its own succeeded, unless the scenario wants none; 1 caps nothing"`

	BudgetUSD   float64       `yaml:"budget_usd" min:"0" doc:"US dollars for all answers in one process, the fallback's among them, reserved before a question is sent; 0 is no limit. The price is that of the provider's prices"`
	TokenBudget int           `yaml:"token_budget" min:"0" doc:"tokens for the same answers, reserved in the same way; 0 is no limit"`
	Concurrency int           `yaml:"concurrency" min:"1" max:"1024" doc:"most questions at once; fewer are asked while the endpoint is overloaded"`
	Timeout     time.Duration `yaml:"timeout" min:"0.001" max:"86400" doc:"deadline of one attempt at a question"`
	Patience    time.Duration `yaml:"patience" min:"0" max:"604800" doc:"how long a question is tried again while the endpoint is overloaded or gone"`
	OnFailure   string        `yaml:"on_failure" enum:"mask,stop" doc:"what a judge that fails does: mask its group, which is then not trained on (judge_error), or stop the run, which can be resumed"`
}

func defaultJudge() Judge {
	return Judge{Scenarios: "unchecked", MaxTokens: 4096, Context: 65536, Tie: 0.02, Cap: 0.5, Concurrency: 8,
		Timeout: 2 * time.Minute, Patience: 10 * time.Minute, OnFailure: "mask"}
}

// check refuses a judge that could not be asked.
func (j *Judge) check() error {
	if j.Fallback != "" && j.Model == "" {
		return &ValueError{"judge.fallback", "it is asked where judge.model fails, and none is named"}
	}
	if j.Model == "" {
		return nil
	}
	if j.MaxTokens > j.Context/2 {
		return &ValueError{"judge.max_tokens", "it leaves less than half of judge.context for the question"}
	}
	return nil
}
