"""The peer of gpu/bench: torch + transformers + peft at the same shape, random weights, same rows, one JSON line each.

peer.py --rows train:ckpt,train:plain,decode:1024,unshared
"""
import argparse, json, statistics, sys, time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, DynamicCache, Qwen3Config

p = argparse.ArgumentParser()
p.add_argument("--rows", default="train:ckpt,train:plain,decode:1024,decode:2048,decode:4096")
p.add_argument("--repeat", type=int, default=5)
args = p.parse_args()


def emit(row, times, **more):
    line = {"row": row, "who": "torch " + torch.__version__.split("+")[0], "runs": len(times), "more": more}
    if times:
        line |= {"ms": statistics.median(times), "least_ms": min(times)}
    print(json.dumps(line), flush=True)


def timed(f, repeat, warm=2):
    times = []
    for i in range(repeat + warm):
        torch.cuda.synchronize()
        start = time.perf_counter()
        f()
        torch.cuda.synchronize()
        if i >= warm:
            times.append((time.perf_counter() - start) * 1e3)
    return times


torch.manual_seed(0)
config = Qwen3Config(vocab_size=151936, hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32,
                     num_key_value_heads=8, head_dim=128, max_position_embeddings=1 << 17, rope_theta=1e6, tie_word_embeddings=True)
torch.set_default_device("cuda")
torch.set_default_dtype(torch.bfloat16)
model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
torch.set_default_dtype(torch.float32)


def decode(context):
    """One token of 64 sequences whose caches hold so many tokens, as generate() feeds it."""
    model.eval()
    cache = DynamicCache(config=config)
    for layer in range(config.num_hidden_layers):
        kv = torch.randn(2, 64, 8, context, 128, dtype=torch.bfloat16)
        cache.update(kv[0], kv[1], layer)
    ids = torch.randint(0, config.vocab_size, (64, 1))

    @torch.no_grad()
    def step():
        nonlocal ids
        out = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        ids = torch.distributions.Categorical(logits=out.logits[:, -1].float()).sample()[:, None]

    return timed(step, args.repeat)


def train(adapted, rows, length, first):
    ids = torch.randint(0, config.vocab_size, (rows, length))
    labels = ids.clone()
    labels[:, :first] = -100
    weights = [w for w in adapted.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-5, fused=True)
    adapted.train()

    def step():
        adapted(input_ids=ids, labels=labels, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return timed(step, args.repeat)


adapted = None
for name in args.rows.split(","):
    kind, _, what = name.partition(":")
    try:
        if kind == "decode":
            emit(name, decode(int(what)))
        else:
            if adapted is None:
                adapted = get_peft_model(model, LoraConfig(r=32, lora_alpha=64, target_modules="all-linear"))
                adapted.enable_input_require_grads()
            if what == "plain":
                adapted.gradient_checkpointing_disable()
            else:
                adapted.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            rows, length, first = (4, 4608, 4096) if kind == "unshared" else (4, 4096, 1)
            times = train(adapted, rows, length, first)
            if kind == "unshared":  # 16 texts are four such micro-batches
                times = [4 * t for t in times]
            emit(name, times, memory_GB=torch.cuda.max_memory_allocated() / 1e9)
    except torch.cuda.OutOfMemoryError as e:
        emit(name, [], error="out of memory: " + str(e)[:120])
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
