"""Writes trl.json: losses, gradients, advantages and corrections as TRL computes them, on random batches with masks.

Usage: python make_trl.py
Needs: requirements.txt.

Losses are GRPOTrainer._compute_loss, run on a trainer that has nothing but its settings and returns given logprobs. Advantages and
corrections stand in the middle of a long method; their statements are cut out of TRL's own source and run. Numbers are float64,
written with 10 digits.
"""

import ast
import collections
import inspect
import json
import pathlib
import textwrap
import types

import torch
from trl import rewards
from trl.trainer import grpo_trainer, rloo_trainer

GROUPS, SIZE, LENGTH = 2, 4, 10  # LENGTH: tokens of the longest completion
TERMS = {"a": 1.0, "b": -0.5, "c": 2.0}


def statement(module, method, find):
    """The statement of a method, in TRL's source, that find accepts."""
    source = textwrap.dedent(inspect.getsource(method))
    found = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.If) and find(ast.unparse(n))]
    node = max(found, key=lambda n: -len(ast.unparse(n)))
    code = compile(ast.Module([node], []), module.__file__, "exec")

    def run(**names):
        scope = dict(vars(module), **names)
        exec(code, scope)
        return scope

    return run


advantage = statement(grpo_trainer, grpo_trainer.GRPOTrainer._generate_and_score_completions,
                      lambda s: s.startswith("if self.multi_objective_aggregation == 'sum_then_normalize'"))
leave_one_out = statement(rloo_trainer, rloo_trainer.RLOOTrainer._generate_and_score_completions, lambda s: "baselines = " in s)
correction = statement(grpo_trainer, grpo_trainer.GRPOTrainer._generate_and_score_completions,
                       lambda s: s.startswith("if self.use_vllm") and "vllm_importance_sampling_ratio = " in s)


def rounded(x):
    return [rounded(v) for v in x] if isinstance(x, list) else None if x != x else float(f"{x:.10g}")


def numbers(tensor):
    return rounded(tensor.detach().tolist())


def batch(seed, alike):
    """A batch: scores of terms, completions with tool results in them (mask 0), logprobs of four policies."""
    g = torch.Generator().manual_seed(seed)
    n = GROUPS * SIZE

    def uniform(low, high, *shape):
        return low + (high - low) * torch.rand(*shape, generator=g, dtype=torch.float64)

    scores = torch.round(uniform(0, 1, n, len(TERMS)) * 4) / 4
    scores[1, 2] = torch.nan  # an episode without a term
    if alike:
        scores[:SIZE] = torch.tensor([0.5, 0.25, 1.0], dtype=torch.float64)
    completion, tool = torch.zeros(n, LENGTH, dtype=torch.float64), torch.ones(n, LENGTH, dtype=torch.float64)
    for i in range(n):
        length = 3 + int(uniform(0, LENGTH - 2, 1))
        completion[i, :length] = 1
        if length > 5:
            start = 1 + int(uniform(0, 3, 1))
            tool[i, start:start + 2] = 0
    new = uniform(-4, -0.05, n, LENGTH)
    return types.SimpleNamespace(scores=scores, completion=completion, tool=tool, mask=completion * tool, new=new, old=new + uniform(-0.6, 0.6, n, LENGTH),
                                 sampler=new + uniform(-0.5, 0.5, n, LENGTH), reference=new + uniform(-1, 1, n, LENGTH),
                                 # which TRL has in float32, and its threshold too
                                 entropy=uniform(0, 2, n, LENGTH).float().double())


def advantages(b, name):
    weights = torch.tensor(list(TERMS.values()), dtype=torch.float64)
    if name == "leave_one_out":
        reward = (b.scores * weights).nansum(dim=1)
        grouped = reward.view(-1, SIZE)
        return leave_one_out(rewards=reward, grouped_rewards=grouped, num_generations=SIZE, scorable_counts=torch.full((GROUPS, 1), SIZE),
                             grouped_sum=grouped.nansum(dim=1, keepdim=True))["advantages"]
    per_term = name == "per_term"
    self = types.SimpleNamespace(multi_objective_aggregation="normalize_then_sum" if per_term else "sum_then_normalize", reward_weights=weights,
                                 scale_rewards={"centred": "none"}.get(name, name), reward_funcs=list(TERMS))
    return advantage(self=self, rewards_per_func=b.scores, num_generations=SIZE, device="cpu", mode="train",
                     unscorable_mask=torch.isnan(b.scores).all(dim=1))["advantages"]


def corrected(b, c):
    """The weights of a correction, (B, T) or (B, 1)."""
    self = types.SimpleNamespace(use_vllm=True, vllm_importance_sampling_correction=True, vllm_importance_sampling_mode=f"{c['level']}_{c['mode']}",
                                 vllm_importance_sampling_clip_min=c["low"], vllm_importance_sampling_clip_max=c["high"])
    return correction(self=self, old_per_token_logps=b.old, sampling_per_token_logps=b.sampler, completion_mask=b.completion,
                      tool_mask=b.tool)["vllm_importance_sampling_ratio"]


def loss(b, advantage, o, adaptive=False):
    """The loss of a batch under settings in hone's words, and its gradient by each logprob. An adaptive bonus takes none, and says by what entropy it adapts."""
    new = b.new.clone().requires_grad_()
    entropies = b.entropy.clone().requires_grad_()
    low, high, dual, c = o.get("low", 0.2), o.get("high", 0.28), o.get("dual"), o.get("correction")
    trainer = types.SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *args, **kwargs: (new, entropies, None), aux_loss_enabled=False,
        top_entropy_quantile=o.get("top_entropy", 1.0), entropy_coef=o.get("entropy", 0.0), use_adaptive_entropy=adaptive, _last_world_entropy=float("inf"), _entropy_window_stats=None, off_policy_mask_threshold=o.get("off_policy"), get_off_policy_mask=grpo_trainer.GRPOTrainer.get_off_policy_mask,
        importance_sampling_level="sequence" if o["loss"] == "gspo" else "token", beta=o.get("beta", 0.0), loss_type="grpo" if o["loss"] == "gspo" else o["loss"],
        # TRL bounds CISPO's ratio by epsilon_high itself, from above alone
        epsilon_low=low, epsilon_high=1 + high if o["loss"] == "cispo" else high, use_vllm=c is not None, vllm_importance_sampling_correction=c is not None,
        current_gradient_accumulation_steps=1, model=types.SimpleNamespace(training=True), max_completion_length=LENGTH, _entropy_bonus_enabled="entropy" in o,
        args=types.SimpleNamespace(use_bias_correction_kl=o.get("gradient") == "ratio", delta=dual, steps_per_generation=1, entropy_target=0.2,
                                   entropy_coef_delta=0.0, entropy_coef_min=0.0, entropy_coef_max=1.0),
        accelerator=types.SimpleNamespace(num_processes=1, gather=lambda x: x, reduce=lambda x, reduction: x, sync_gradients=True,
                                          pad_across_processes=lambda x, **kwargs: x),
        _metrics={"train": collections.defaultdict(list)})
    trainer.get_high_entropy_mask = types.MethodType(grpo_trainer.GRPOTrainer.get_high_entropy_mask, trainer)
    inputs = dict(prompt_ids=torch.zeros(len(new), 1), prompt_mask=torch.ones(len(new), 1), completion_ids=torch.zeros_like(new),
                  completion_mask=b.completion, tool_mask=b.tool, advantages=advantage, num_items_in_batch=b.mask.sum(), ref_per_token_logps=b.reference,
                  # without a correction hone's ratio is to the sampler
                  old_per_token_logps=b.sampler if c is None else b.old, sampling_per_token_logps=b.sampler)
    if c is not None:
        inputs["importance_sampling_ratio"] = corrected(b, c)
    value = grpo_trainer.GRPOTrainer._compute_loss(trainer, None, inputs)
    if adaptive:
        return rounded(trainer._last_world_entropy)
    value.backward()
    return {"mean_entropy": loss(b, advantage, o, True) if "entropy" in o else None, "loss": rounded(value.item()), "gradient": numbers(new.grad), "by_entropy": numbers(entropies.grad) if "entropy" in o else None}


def settings():
    for name in ("dapo", "grpo", "bnpo", "dr_grpo", "gspo"):
        yield {"loss": name}
        yield {"loss": name, "dual": 1.4}
        yield {"loss": name, "beta": 0.3, "estimator": "k3", "gradient": "own"}
        yield {"loss": name, "beta": 0.3, "estimator": "k3", "gradient": "ratio"}
        yield {"loss": name, "off_policy": 0.02}
    yield {"loss": "gspo", "low": 0.01, "high": 0.02}
    yield {"loss": "dapo", "low": 0.1, "high": 0.5, "beta": 0.1, "estimator": "k3", "gradient": "ratio", "off_policy": 0.05, "dual": 1.6}
    yield {"loss": "cispo", "low": 1.0, "high": 0.28}
    yield {"loss": "cispo", "low": 1.0, "high": 0.1, "beta": 0.2, "estimator": "k3", "gradient": "own"}
    yield {"loss": "dapo", "entropy": 0.03}
    yield {"loss": "dapo", "entropy": 0.03, "beta": 0.3, "estimator": "k3", "gradient": "own"}
    yield {"loss": "dapo", "entropy": 0.03, "correction": {"level": "token", "mode": "mask", "low": 0.7, "high": 1.3}}
    for name in ("grpo", "bnpo", "dr_grpo", "gspo", "cispo"):
        yield {"loss": name, "entropy": 0.03, "low": 1.0 if name == "cispo" else 0.2}
    for name in ("dapo", "grpo", "dr_grpo", "gspo"):
        yield {"loss": name, "entropy": 0.03, "top_entropy": 0.3}
    yield {"loss": "dr_grpo", "entropy": 0.03, "top_entropy": 0.5, "beta": 0.3, "estimator": "k3", "gradient": "own", "off_policy": 0.02}
    for name in ("dapo", "grpo", "dr_grpo", "gspo", "cispo"):
        for share in (0.2, 0.5, 0.95):
            yield {"loss": name, "top_entropy": share, "low": 1.0 if name == "cispo" else 0.2}
    yield {"loss": "dapo", "top_entropy": 0.3, "dual": 1.4, "off_policy": 0.02, "beta": 0.3, "estimator": "k3", "gradient": "own"}
    yield {"loss": "dapo", "top_entropy": 0.3, "correction": {"level": "token", "mode": "truncate", "low": 0.7, "high": 1.3}}
    for level in ("token", "sequence"):
        for mode in ("truncate", "mask"):
            c = {"level": level, "mode": mode, "low": 0.7, "high": 1.3}
            yield {"loss": "dapo", "correction": c}
            yield {"loss": "cispo", "low": 1.0, "high": 0.28, "correction": c}
            yield {"loss": "gspo", "beta": 0.3, "estimator": "k3", "gradient": "own", "correction": c}


def main():
    # The adding up of masked numbers in TRL's code asks for float64 masks, which the batches have.
    out = []
    for seed, alike in ((1, False), (2, True), (3, False)):
        b = batch(seed, alike)
        row = {name: numbers(getattr(b, name)) for name in ("scores", "mask", "completion", "new", "old", "sampler", "reference", "entropy")}
        row["advantages"] = {name: numbers(advantages(b, name)) for name in ("group", "centred", "batch", "per_term", "leave_one_out")}
        row["losses"] = [dict(loss(b, advantages(b, "group"), o), settings=o) for o in settings()]
        out.append(row)
    overlong = rewards.get_soft_overlong_punishment(max_completion_len=20, soft_punish_cache=8)
    text = json.dumps({"size": SIZE, "length": LENGTH, "terms": TERMS, "batches": out,
                       "overlong": {"limit": 20, "buffer": 8, "scores": overlong([[0] * n for n in range(25)])}})
    pathlib.Path(__file__).with_name("trl.json").write_text(text.replace("}, {", "},\n{") + "\n")


if __name__ == "__main__":
    main()
