"""Writes warpers.json: what transformers leaves of a distribution for temperature, top-k, top-p, min-p and banned tokens.

Needs: requirements.txt.

The processors, and their order, are those that generate() puts together. A case holds 64 times its logits, the settings,
the tokens that are left, and their natural-log probabilities. No two logits of a case are equal, but in the cases of
ties, since transformers leaves it to the sorting which of equally likely tokens top-p keeps; and no sum of probabilities
comes so near to top-p that rounding decides.
"""

import json
import pathlib
import random

import torch
import transformers

HERE = pathlib.Path(__file__).parent
SIZE = 100

SETTINGS = [
    {"top_k": 1}, {"top_k": 7}, {"top_k": 99}, {"top_k": 500}, {"top_k": 12, "temperature": 0.3}, {"top_k": 40, "temperature": 2.5},
    {"top_p": 0.01}, {"top_p": 0.5}, {"top_p": 0.9}, {"top_p": 0.999}, {"top_p": 0.9, "temperature": 0.25}, {"top_p": 0.9, "temperature": 3.0},
    {"min_p": 0.02}, {"min_p": 0.3}, {"min_p": 1.0}, {"min_p": 0.05, "temperature": 0.5}, {"min_p": 0.05, "temperature": 2.0},
    {"top_k": 5, "top_p": 0.8}, {"top_k": 20, "top_p": 0.95, "temperature": 1.7}, {"top_p": 0.97, "min_p": 0.1},
    {"top_k": 30, "top_p": 0.9, "min_p": 0.05, "temperature": 1.5}, {"top_k": 3, "top_p": 0.99, "min_p": 0.001, "temperature": 0.7},
    {"banned": 10}, {"banned": 10, "top_k": 6, "temperature": 0.8}, {"banned": 40, "top_p": 0.9, "temperature": 2.0},
    {"banned": 40, "top_k": 25, "top_p": 0.85, "min_p": 0.02, "temperature": 1.3},
    {"ties": True, "top_k": 4}, {"ties": True, "top_k": 9, "temperature": 0.6}, {"ties": True, "min_p": 0.2},
]


def logits(rng, ties):
    """64 times the logits. With ties, each value stands for four tokens."""
    if not ties:
        return rng.sample(range(-400, 300), SIZE)
    values = rng.sample(range(-400, 300), SIZE // 4) * 4
    rng.shuffle(values)
    return values


def is_near(scores, top_p):
    """Whether the likeliest tokens of scores add up to almost exactly top_p."""
    sums = torch.sort(scores.double(), descending=True).values.softmax(-1).cumsum(-1)
    return bool((sums - top_p).abs().min() < 3e-6)


model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    vocab_size=SIZE, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1))
cases = []
for i, settings in enumerate(SETTINGS):
    rng = random.Random(i)
    row = logits(rng, settings.get("ties", False))
    case = {"logits": row, "temperature": settings.get("temperature", 1.0), "top_k": settings.get("top_k", 0),
            "top_p": settings.get("top_p", 1.0), "min_p": settings.get("min_p", 0.0)}
    # The likeliest are among the banned, so that banning them changes what the rest is measured by.
    case["banned"] = sorted(sorted(range(SIZE), key=lambda t: -row[t])[:settings.get("banned", 0):2])
    config = transformers.GenerationConfig(do_sample=True, temperature=case["temperature"], top_k=case["top_k"], top_p=case["top_p"],
                                           min_p=case["min_p"] or None, suppress_tokens=case["banned"] or None)
    scores = torch.tensor([row], dtype=torch.float32) / 64
    for warper in model._get_logits_processor(config, input_ids_seq_length=1, device="cpu"):
        if isinstance(warper, transformers.TopPLogitsWarper):
            assert not is_near(scores[0], case["top_p"]), f"case {i}: rounding decides"
        scores = warper(torch.zeros(1, 1, dtype=torch.long), scores)
    case["left"] = torch.nonzero(scores[0] > -float("inf")).flatten().tolist()
    case["logprobs"] = [round(x, 5) for x in scores[0].double().log_softmax(-1)[case["left"]].tolist()]
    cases.append(case)

with open(HERE / "warpers.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
