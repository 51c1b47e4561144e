"""The peer of experiments/gpu/bench: torch + transformers + peft at the same shapes, random weights, same rows, one JSON line each.

peer.py --rows train:ckpt,train:liger+ckpt,train:compile@8B,unshared,decode:1024,decode16:4096,prefill,train_long:57344:liger+ckpt

A row is KIND[:SIZE][:SETTINGS][@SHAPE]. Settings of training rows, joined by +: plain, ckpt (checkpoints of layers), compile
(torch.compile of the whole forward pass), blocks (torch.compile of each layer by itself: compiled once), liger (liger-kernel's
Qwen3, with the head fused into the loss). None is ckpt. What fails or takes too long is a row with an error.
"""
import argparse, contextlib, gc, importlib.util, json, os, shutil, signal, statistics, sys, time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, DynamicCache, Qwen3Config
from transformers.models.qwen3 import modeling_qwen3

p = argparse.ArgumentParser()
p.add_argument("--rows", default="train:ckpt,train:plain,decode:1024,decode:2048,decode:4096")
p.add_argument("--repeat", type=int, default=5)
p.add_argument("--limit", type=int, default=120, help="seconds a row may take; three times as many for train_long")
p.add_argument("--toy", action="store_true", help="tiny models and short texts, on the CPU where there is no GPU")
args = p.parse_args()

SHAPES = {"0.6B": (28, 1024, 3072, 16), "1.7B": (28, 2048, 6144, 16), "4B": (36, 2560, 9728, 32), "8B": (36, 4096, 12288, 32)}
SETTINGS = {"plain", "ckpt", "compile", "blocks", "liger"}
QWEN3 = dict(vars(modeling_qwen3))  # liger replaces some of it
DEVICE = "cuda" if torch.cuda.is_available() or not args.toy else "cpu"
torch.set_default_device(DEVICE)


class TimeUp(BaseException):  # torch.compile catches what is an Exception
    pass


def time_up(*_):
    raise TimeUp("it took too long: --limit")


def emit(row, times, **more):
    line = {"row": row, "who": "torch " + torch.__version__.split("+")[0], "runs": len(times), "more": more}
    if times:
        line |= {"ms": statistics.median(times), "least_ms": min(times)}
    print(json.dumps(line), flush=True)


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(f, repeat=args.repeat, warm=2):
    times = []
    for i in range(repeat + warm):
        synchronize()
        start = time.perf_counter()
        f()
        synchronize()
        if i >= warm:
            times.append((time.perf_counter() - start) * 1e3)
    return times


def build(shape):
    """A model with random bfloat16 weights."""
    layers, hidden, intermediate, heads = SHAPES[shape]
    sizes = dict(vocab_size=151936, hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers,
                 num_attention_heads=heads, num_key_value_heads=8, head_dim=128)
    if args.toy:
        sizes = dict(vocab_size=512, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=heads // 8,
                     num_key_value_heads=2, head_dim=16)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        return AutoModelForCausalLM.from_config(Qwen3Config(max_position_embeddings=1 << 17, rope_theta=1e6,
            tie_word_embeddings=shape != "8B", **sizes), attn_implementation="sdpa")
    finally:
        torch.set_default_dtype(torch.float32)


def need(package, why):
    if importlib.util.find_spec(package) is None:
        raise RuntimeError(f"the package {package} is missing: {why}")


def adapted(shape, settings):
    """A model with an adapter of rank 32 on all linear maps, ready to train with the settings."""
    if "compile" in settings or "blocks" in settings or "liger" in settings:
        need("triton", "it comes with torch for CUDA")
        if not any(shutil.which(c) for c in (os.environ.get("CC", "gcc"), "clang", "cc")):
            raise RuntimeError("a C compiler is missing, which triton builds its launchers with")
    model = build(shape)
    if "liger" in settings:
        need("liger_kernel", "experiments/gpu/wheels.sh fetches it")
        from liger_kernel.transformers import apply_liger_kernel_to_qwen3
        apply_liger_kernel_to_qwen3(model=model, fused_linear_cross_entropy=True)
    model = get_peft_model(model, LoraConfig(r=32, lora_alpha=64, target_modules="all-linear"))
    model.enable_input_require_grads()
    if "ckpt" in settings:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if "blocks" in settings:
        for layer in model.get_base_model().model.layers:
            layer.compile()
    if "compile" in settings:
        model.compile()
    return model


def train(shape, settings, rows, length, first, repeat=args.repeat, warm=2):
    model = adapted(shape, settings)
    ids = torch.randint(0, model.config.vocab_size, (rows, length))
    labels = ids.clone()
    labels[:, :first] = -100
    weights = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-5, fused=True)
    model.train()

    def step():
        model(input_ids=ids, labels=labels, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return timed(step, repeat, warm)


def decode(model, slots, context):
    """One token of each sequence whose caches hold so many tokens, as generate() feeds it."""
    c = model.config
    cache = DynamicCache(config=c)
    for layer in range(c.num_hidden_layers):
        kv = torch.randn(2, slots, c.num_key_value_heads, context, c.head_dim, dtype=torch.bfloat16)
        cache.update(kv[0], kv[1], layer)
    ids = torch.randint(0, c.vocab_size, (slots, 1))

    def step():
        nonlocal ids
        out = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        ids = torch.distributions.Categorical(logits=out.logits[:, -1].float()).sample()[:, None]

    return timed(step)


def prefill(model, texts, length):
    """Caches of 64 texts and the logits behind them, in batches of 8 or 16 texts, whichever are faster."""
    by_batch = {}
    for rows in (8, 16):
        ids = torch.randint(0, model.config.vocab_size, (rows, length))
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            times = timed(lambda: model(input_ids=ids, use_cache=True, logits_to_keep=1), 3, 1)
            by_batch[rows] = [t * texts / rows for t in times]
    if not by_batch:
        raise RuntimeError("out of memory in batches of 8 texts")
    best = min(by_batch, key=lambda rows: statistics.median(by_batch[rows]))
    return by_batch[best], best


def measure(name):
    rest, _, shape = name.partition("@")
    kind, *parts = rest.split(":")
    shape = shape or "4B"
    size = next((int(x) for x in parts if x.isdigit()), 0)
    settings = set(next((x for x in parts if not x.isdigit()), "ckpt").split("+"))
    if shape not in SHAPES or settings - SETTINGS:
        raise ValueError("there is no such row")
    if kind in ("decode", "decode16", "prefill"):
        model = build(shape).eval()
        with torch.no_grad():
            if kind == "prefill":
                times, batch = prefill(model, 64, 32 if args.toy else 2048)
                return times, {"batch": batch}
            return decode(model, 16 if kind == "decode16" else 64, size // 64 if args.toy else size), {}
    short = 64 if args.toy else 1
    if kind == "train":
        return train(shape, settings, 4, 4096 // short, 1), {}
    if kind == "train_long":
        return train(shape, settings, 1, size // short, 1, 1, 1), {}
    if kind == "unshared":  # 16 texts are four such micro-batches
        return [4 * t for t in train(shape, settings, 4, 4608 // short, 4096 // short)], {}
    raise ValueError("there is no such row")


signal.signal(signal.SIGALRM, time_up)
for name in args.rows.split(","):
    signal.alarm(args.limit * (3 if name.startswith("train_long") else 1))
    error = None
    try:
        times, more = measure(name)
    except (Exception, TimeUp) as e:
        error = f"{type(e).__name__}: {e}"[:300]
    signal.alarm(0)
    if error:
        emit(name, [], error=error)
    else:
        if DEVICE == "cuda":
            more["memory_GB"] = round(torch.cuda.max_memory_allocated() / 1e9, 1)
        emit(name, times, **more)
    vars(modeling_qwen3).update(QWEN3)
    torch._dynamo.reset()
    gc.collect()
    if DEVICE == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
