"""Writes trl_steps.json: optimiser steps of TRL's SFTTrainer, DPOTrainer and GRPOTrainer on a tiny random model with a PEFT adapter.

Usage: python make_trl_steps.py
Needs: requirements.txt.

The model is that of hone's package testing/learntest, whose weights are sines of their places, so they need not be kept. Rows come in the
order in which hone's recipes take them. GRPO's episodes are drawn here, from the policy as it is at each step, and kept: hone trains on the
same ones. Numbers are float64 but for what transformers computes in float32 (norms, rotations).
"""

import json
import math
import os
import pathlib
import shutil
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", CUDA_VISIBLE_DEVICES="")

import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

VOCABULARY, SEED = 60, 11
SHAPE = dict(num_hidden_layers=2, hidden_size=24, intermediate_size=40, num_attention_heads=6, num_key_value_heads=2, head_dim=4,
             vocab_size=VOCABULARY, max_position_embeddings=256, rms_norm_eps=1e-5, tie_word_embeddings=True)
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
MASK = (1 << 64) - 1


def weights(model):
    """The weights of learntest.Weights, in its order."""
    names = ["model.embed_tokens.weight", "model.norm.weight"]
    for layer in range(SHAPE["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        names += [at + "input_layernorm.weight", at + "post_attention_layernorm.weight"]
        names += [at + ("self_attn." if t[0] in "qkvo" else "mlp.") + t + ".weight" for t in TARGETS]
    state = dict(model.state_dict())
    for number, name in enumerate(names):
        x = state[name]
        flat = np.array([math.sin((number * 7919 + j) * 12.9898) * 0.3 for j in range(x.numel())]).astype(np.float32)
        if x.dim() == 1:
            flat = (np.float32(1) + flat / np.float32(3)).astype(np.float32)
        x.copy_(torch.from_numpy(flat).reshape(x.shape))
    assert set(names) | {"lm_head.weight"} == set(state), set(state) - set(names)


def fresh():
    """The model in float64 with an adapter whose B are not 0, so that a step moves all of it."""
    torch.manual_seed(SEED)
    model = LlamaForCausalLM(LlamaConfig(**SHAPE, rope_theta=10000.0, attn_implementation="sdpa"))
    with torch.no_grad():
        weights(model)
    model = get_peft_model(model.double(), LoraConfig(r=3, lora_alpha=6, lora_dropout=0.0, target_modules=TARGETS, task_type="CAUSAL_LM"),
                           autocast_adapter_dtype=False)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if p.requires_grad:
                p.copy_((torch.rand(p.shape, generator=None, dtype=torch.float64) - 0.5).float() * 0.3)
    return model


def adapter(model):
    """The adapter's matrices by their names in a file of PEFT's."""
    out = {}
    for name, p in model.named_parameters():
        if ".default." in name:
            out[name.replace(".default.", ".")] = rounded(p.detach().flatten().tolist())
    return out


def rounded(x):
    return [rounded(v) for v in x] if isinstance(x, list) else float(f"{x:.8g}")


def draw(seed, k, i):
    """recipe.draw"""
    x = seed
    for c in (k, i):
        x = (x + c * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        x ^= x >> 31
    return x


def shuffled(n, seed, epoch):
    """recipe.shuffled"""
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = draw(seed, epoch, i) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def in_order(rows, epochs):
    """The rows as hone's recipes take them, pass by pass."""
    return [rows[i] for epoch in range(epochs) for i in shuffled(len(rows), SEED, epoch)]


def words():
    """A tokenizer that the trainers ask for and that no text of ours goes through."""
    vocabulary = {f"w{i}": i for i in range(VOCABULARY)}
    t = Tokenizer(WordLevel(vocabulary, unk_token="w0"))
    t.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="w0", eos_token="w1", unk_token="w0")


def ids(g, low, high):
    return torch.randint(2, VOCABULARY, (int(torch.randint(low, high, (1,), generator=g)),), generator=g).tolist()


def settings(folder, **more):
    return dict(dict(output_dir=folder, use_cpu=True, logging_steps=1, save_strategy="no", report_to="none", seed=SEED, adam_beta1=0.9,
                     adam_beta2=0.99, adam_epsilon=1e-8, weight_decay=0.0, max_grad_norm=1.0, learning_rate=5e-3, lr_scheduler_type="linear", warmup_steps=0,
                     gradient_checkpointing=False, bf16=False, fp16=False, disable_tqdm=True, train_sampling_strategy="sequential"), **more)


def logged(trainer, names):
    rows = [r for r in trainer.state.log_history if "loss" in r]
    return [{name: rounded(float(r[name])) for name in names} for r in rows]


def sft(folder):
    """20 steps over 20 rows of several turns each, of which what the assistant says is trained; a validation set after each fifth."""
    g = torch.Generator().manual_seed(1)

    def row():
        start, out, mask = list(range(2, 8)), [], []
        out, mask = start + ids(g, 2, 6), []
        mask = [0] * len(out)
        for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
            said, heard = ids(g, 1, 9), ids(g, 1, 6)
            out, mask = out + said + heard, mask + [1] * len(said) + [0] * len(heard)
        return {"input_ids": out, "assistant_masks": mask}

    rows, held = [row() for _ in range(20)], [row() for _ in range(7)]
    model = fresh()
    args = SFTConfig(**settings(folder, per_device_train_batch_size=4, num_train_epochs=1, max_length=None, eval_strategy="steps", eval_steps=5,
                                per_device_eval_batch_size=len(held), assistant_only_loss=False))
    trainer = SFTTrainer(model, args=args, train_dataset=Dataset.from_list(in_order(rows, 4)), eval_dataset=Dataset.from_list(held), processing_class=words())
    trainer.train()
    evaluated = [rounded(r["eval_loss"]) for r in trainer.state.log_history if "eval_loss" in r]
    steps = logged(trainer, ["loss", "grad_norm", "learning_rate"])
    assert len(steps) == 20 and len(evaluated) == 4, (len(steps), evaluated)
    return {"seed": SEED, "epochs": 4, "batch_size": 4, "rate": 5e-3, "rows": rows, "validation": held, "steps": steps,
            "eval_loss": evaluated, "after": adapter(model)}


DPO = [
    {"loss": "sigmoid", "beta": 0.1},
    {"loss": "sigmoid", "beta": 0.3, "label_smoothing": 0.1},
    {"loss": "sigmoid_norm", "beta": 2.0},
    {"loss": "sigmoid", "beta": 0.1, "rpo_alpha": 0.7},
]


def dpo(folder, o):
    """12 steps over pairs that share their prompt; the reference is the adapter at the start.

    TRL smooths the labels of the sigmoid loss no more, but those of AOT, which is the same on one pair at a time.
    """
    g = torch.Generator().manual_seed(2)
    pairs = [{"prompt_ids": list(range(2, 8)) + ids(g, 2, 6), "chosen_ids": ids(g, 2, 9), "rejected_ids": ids(g, 2, 9)} for _ in range(12)]
    model = fresh()
    smoothing = o.get("label_smoothing", 0.0)
    kinds, weights = ["aot" if smoothing else o["loss"]], [1.0]
    if "rpo_alpha" in o:
        kinds, weights = kinds + ["sft"], weights + [o["rpo_alpha"]]
    args = DPOConfig(**settings(folder, per_device_train_batch_size=1 if smoothing else 3, gradient_accumulation_steps=3 if smoothing else 1, num_train_epochs=1,
                                max_length=None, beta=o["beta"], loss_type=kinds, loss_weights=weights, label_smoothing=smoothing))

    class Trainer(DPOTrainer):
        def _prepare_dataset(self, dataset, *args, **kwargs):  # rows are ids already
            return dataset

    trainer = Trainer(model, args=args, train_dataset=Dataset.from_list(in_order(pairs, 3)), processing_class=words())
    trainer.train()
    steps = logged(trainer, ["loss", "grad_norm", "rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies", "logps/chosen", "logps/rejected"])
    assert len(steps) == 12, len(steps)
    return {"seed": SEED, "epochs": 3, "batch_size": 3, "rate": 5e-3, "settings": o, "pairs": pairs, "steps": steps, "after": adapter(model)}


GRPO = [
    {"loss": "dapo", "temperature": 1.0, "schedule": "linear"},
    {"loss": "dapo", "temperature": 0.7, "schedule": "constant", "beta": 0.05, "gradient": "ratio", "iterations": 2},
    {"loss": "grpo", "temperature": 0.7, "schedule": "linear", "beta": 0.02, "gradient": "own"},
]
TASKS, SIZE, STEPS = 2, 4, 10


def grpo(folder, o):
    """10 steps on two groups of four episodes with tool results in them, drawn from the policy as it is."""
    g = torch.Generator().manual_seed(3)
    prompts = {f"w{10 + i}": list(range(2, 8)) + ids(g, 2, 6) for i in range(TASKS)}
    episodes, adapters = [], {}
    model = fresh()

    def logprobs(ids):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0].double() / o["temperature"]
        return torch.log_softmax(logits, -1)

    def rollouts(asked, trainer):
        """An episode is one or two completions, with what a tool answers between them."""
        assert [asked[i * SIZE] for i in range(TASKS)] == list(prompts), asked
        out = {"prompt_ids": [], "completion_ids": [], "logprobs": [], "env_mask": []}
        model.eval()
        for name in asked:
            prompt, said, mask = prompts[name], [], []
            for turn in range(int(torch.randint(1, 3, (1,), generator=g))):
                if turn > 0:
                    heard = ids(g, 1, 5)
                    said, mask = said + heard, mask + [0] * len(heard)
                for _ in range(int(torch.randint(2, 7, (1,), generator=g))):
                    p = logprobs(prompt + said)[-1].exp()
                    said, mask = said + [int(torch.multinomial(p, 1, generator=g))], mask + [1]
            all = logprobs(prompt + said)
            each = [float(all[len(prompt) + i - 1, token]) for i, token in enumerate(said)]
            for key, value in zip(out, (prompt, said, each, mask)):
                out[key].append(value)
        model.train()
        rewards = (torch.randint(0, 5, (len(asked),), generator=g) / 4).tolist()
        if len(episodes) == 3:  # a group whose episodes are all alike
            rewards[:SIZE] = [0.5] * SIZE
        episodes.append([{"task": name, "prompt": out["prompt_ids"][i], "ids": out["completion_ids"][i], "mask": out["env_mask"][i],
                          "logprobs": rounded(out["logprobs"][i]), "reward": rewards[i]} for i, name in enumerate(asked)])
        return out

    def reward(prompts, completions, **kwargs):
        return [e["reward"] for e in episodes[-1]]

    iterations = o.get("iterations", 1)
    args = GRPOConfig(**settings(folder, per_device_train_batch_size=TASKS * SIZE, num_generations=SIZE, steps_per_generation=1, num_iterations=iterations,
                                 max_steps=STEPS, temperature=o["temperature"], lr_scheduler_type=o["schedule"], loss_type=o["loss"], beta=o.get("beta", 0.0),
                                 epsilon=0.2, epsilon_high=0.28, max_completion_length=32, shuffle_dataset=False, scale_rewards="group",
                                 mask_truncated_completions=False, use_bias_correction_kl=o.get("gradient") == "ratio"))
    args.train_sampling_strategy = "random"  # GRPO has a sampler of its own
    trainer = GRPOTrainer(model, reward_funcs=reward, args=args, train_dataset=Dataset.from_list([{"prompt": p} for p in prompts]), processing_class=words(),
                          rollout_func=rollouts)
    step = trainer.training_step

    def counting(*args, **kwargs):
        if trainer.state.global_step == 1:
            adapters["after_one"] = adapter(model)
        return step(*args, **kwargs)

    trainer.training_step = counting
    trainer.train()
    steps = logged(trainer, ["loss", "grad_norm", "learning_rate"])
    assert len(steps) == STEPS and len(episodes) == STEPS // iterations, (len(steps), len(episodes))
    return {"seed": SEED, "size": SIZE, "rate": 5e-3, "settings": o, "tasks": list(prompts), "episodes": episodes, "steps": steps,
            **adapters, "after": adapter(model)}


def main():
    torch.set_num_threads(1)
    folder = tempfile.mkdtemp()
    try:
        out = {"before": adapter(fresh()), "sft": sft(folder), "dpo": [dpo(folder, o) for o in DPO], "grpo": [grpo(folder, o) for o in GRPO]}
    finally:
        shutil.rmtree(folder)
    text = json.dumps(out)
    pathlib.Path(__file__).with_name("trl_steps.json").write_text(text.replace("}, {", "},\n{").replace('], "', '],\n"') + "\n")


if __name__ == "__main__":
    main()
