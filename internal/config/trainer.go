package config

import (
	"strings"
	"time"
)

// TinkerAPI is the trainer.api of a server that takes the steps.
const TinkerAPI = "tinker"

// Trainer is what takes the optimiser steps of train, sft and dpo: the engine, or a server.
type Trainer struct {
	API    string `yaml:"api" enum:"engine,tinker" doc:"what takes the steps of train, sft and dpo: the engine of this machine, or a server of the Tinker API, which samples too"`
	URL    string `yaml:"url" doc:"base URL of that server, without /api/v1"`
	Model  string `yaml:"model" doc:"the base model's name there, the same model that model.base is; empty takes the only one"`
	KeyEnv string `yaml:"key_env" doc:"variable that holds the key; empty sends none"`
	Slots  int    `yaml:"slots" min:"1" max:"4096" doc:"completions that the server is asked for at once"`

	Timeout     time.Duration `yaml:"timeout" min:"0.001" max:"86400" doc:"deadline of one thing that the server is asked to do: a pass, a step, a completion"`
	Retries     int           `yaml:"retries" min:"0" max:"100" doc:"attempts after the first, at a request that was not answered; a step is taken once all the same"`
	MaxMismatch float64       `yaml:"max_mismatch" min:"0" max:"10" doc:"bound on how far its completions' logprobs are from those of its passes, as sampler.max_mismatch"`
}

func defaultTrainer() Trainer {
	return Trainer{API: "engine", Slots: 16, Timeout: time.Hour, Retries: 4, MaxMismatch: 0.01}
}

// Away reports whether a server takes the steps.
func (t Trainer) Away() bool { return t.API == TinkerAPI }

// check refuses what would act nowhere.
func (t Trainer) check() error {
	switch {
	case !t.Away() && (t.URL != "" || t.Model != "" || t.KeyEnv != ""):
		return &ValueError{"trainer.api", "it is engine, so no server is asked: set trainer.api: tinker"}
	case t.Away() && t.URL == "":
		return &ValueError{"trainer.url", "it is empty, and trainer.api: tinker asks a server"}
	case t.Away() && !strings.HasPrefix(t.URL, "http://") && !strings.HasPrefix(t.URL, "https://"):
		return &ValueError{"trainer.url", "it must begin with http:// or https://"}
	case t.Away() && t.MaxMismatch == 0:
		return &ValueError{"trainer.max_mismatch",
			"two programs never agree to the last bit, so each run would stop; 0.01 is the default"}
	}
	return nil
}
