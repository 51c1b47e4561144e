package fault

import (
	"slices"
	"strings"
)

// Alias is the name among names for what other trainers call written, such as learning_rate for lr; "" where it is none
// of theirs.
func Alias(written string, names []string) string {
	plain := func(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }
	for _, same := range others()[plain(written)] {
		if i := slices.IndexFunc(names, func(name string) bool { return plain(name) == same }); i >= 0 {
			return names[i]
		}
	}
	return ""
}

// others are hone's names by those of TRL 1.16 (SFTConfig, GRPOConfig and what they inherit of transformers'
// TrainingArguments), PEFT (LoraConfig), Axolotl (config reference), verl and vLLM, and by the short forms that people
// say. Where hone has one name for each of several places, all are there: the first that a place has is meant.
func others() map[string][]string {
	out := map[string][]string{}
	for name, written := range map[string]string{
		"learning_rate":  "lr",
		"batch_size":     "bs per_device_train_batch_size train_batch_size",
		"micro_batch":    "micro_batch_size per_device_train_batch_size",
		"epochs":         "num_train_epochs num_epochs n_epochs",
		"steps":          "max_steps num_steps total_training_steps",
		"temperature":    "temp",
		"group_size":     "num_generations rollout_n n_samples",
		"rank":           "lora_r lora_rank r",
		"lora_rank":      "lora_r r",
		"alpha":          "lora_alpha",
		"dropout":        "lora_dropout",
		"rslora":         "use_rslora peft_use_rslora",
		"target_modules": "lora_target_modules lora_target_linear",
		"beta1":          "adam_beta1",
		"beta2":          "adam_beta2",
		"epsilon":        "adam_epsilon eps",
		"schedule":       "lr_scheduler_type lr_scheduler scheduler",
		"warmup":         "warmup_ratio warmup_steps",
		"weight_decay":   "wd",
		"max_grad_norm":  "gradient_clipping grad_clip clip_grad",
		"beta":           "kl_coef kl_beta kl_loss_coef",
		"clip_low":       "epsilon clip_ratio_low cliprange",
		"clip_high":      "epsilon_high clip_ratio_high",
		"loss":           "loss_type loss_agg_mode",
		"max_tokens":     "max_completion_length max_new_tokens max_response_length",
		"context":        "max_length max_seq_length sequence_len max_model_len",
		"base":           "model_name_or_path base_model",
		"base_model":     "model_name_or_path",

		"checkpoint_every": "save_steps",
		"eval_every":       "eval_steps",
		"every":            "eval_steps",
		"validation":       "val_set_size",
		"recompute":        "gradient_checkpointing",
		"packing":          "sample_packing",
		"dtype":            "torch_dtype bf16 fp16",
		"moments":          "optim optimizer",
		"minibatches":      "steps_per_generation ppo_mini_batch_size",
	} {
		for _, other := range strings.Fields(written) {
			out[other] = append(out[other], name)
			slices.Sort(out[other])
		}
	}
	return out
}
