"""Writes families/NAME.json.gz: what transformers and peft compute with a tiny model of each family, in float32.

Usage: python make_families.py [NAME...]
Needs: requirements.txt.

Weights are not kept: both sides make them by the formula of draw(). A golden holds config.json and the adapter's
configuration as the libraries save them, the tensors' names and shapes, and arrays: logits of each text by the base
model; loss and gradients of the adapter for both texts; losses of three steps of AdamW, and the adapter after them; 64
tokens drawn greedily with the adapter. A file whose numbers are confirmed to within CONFIRMED is left as it is: the
last bits are the processor's.

Then hone trains the same adapters from the files that transformers and peft wrote (trained_families.go), and what it
writes is loaded by them: its adapter in peft and its merged model in transformers must give the logits of the model
trained here.
"""

import base64
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zlib

os.environ["TQDM_DISABLE"] = "1"  # read when transformers is imported

import numpy
import safetensors.torch
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
CONFIRMED = 1e-5
WRITTEN = 1e-4  # bound of logits of what hone has trained and written
RATE, BETAS, CLIP, STEPS = 2e-3, (0.9, 0.99), 1.0, 3
NUM_GENERATED = 64

SHAPE = dict(vocab_size=96, hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2)
PLAIN = dict(rope_type="default", rope_theta=100.0)


def longrope(original):
    return dict(rope_type="longrope", rope_theta=100.0, partial_rotary_factor=0.75, original_max_position_embeddings=original,
                short_factor=[1.0, 1.1, 1.3], long_factor=[1.0, 2.0, 4.0])


# Two texts that begin alike, so that the shared prefix takes part; the second is longer than every window below.
TEXTS = [[5, 17, 60, 3, 44, 81, 9, 9, 23, 71, 12, 90, 33, 4],
         [5, 17, 60, 3, 44, 28, 66, 51, 7, 88, 19, 40, 2, 75, 31, 93, 62, 14, 55, 8, 37]]
PREFIX = 5
UNTRAINED = 3  # tokens after the prefix

CASES = {
    "llama": (transformers.LlamaConfig(**SHAPE, attention_bias=True, mlp_bias=True, rope_parameters=dict(
        rope_type="llama3", rope_theta=100.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32)), dict(use_rslora=True)),
    "smollm2": (transformers.LlamaConfig(**SHAPE, tie_word_embeddings=True, rope_parameters=PLAIN),
                dict(target_modules=r".*layers\.(0|2)\.(?!mlp).*_proj|.*up_proj")),
    "smollm3": (transformers.SmolLM3Config(**{**SHAPE, "num_hidden_layers": 4}, rope_parameters=PLAIN, no_rope_layers=[1, 0, 1, 0]), {}),
    "qwen2": (transformers.Qwen2Config(**SHAPE, use_sliding_window=True, sliding_window=7, max_window_layers=1, rope_parameters=PLAIN),
              dict(rank_pattern={"q_proj": 5, r"layers\.1\..*down_proj": 1}, alpha_pattern={"^model.layers.0.mlp.up_proj": 9, "v_proj": 2})),
    "qwen3": (transformers.Qwen3Config(**SHAPE, head_dim=12, attention_bias=True, rope_parameters=dict(
        rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=32)), {}),
    "mistral": (transformers.MistralConfig(**SHAPE, head_dim=12, sliding_window=6, rope_parameters=PLAIN), {}),
    "phi3": (transformers.Phi3Config(**SHAPE, original_max_position_embeddings=112, rope_parameters=longrope(112)), {}),
    "phi3_long": (transformers.Phi3Config(**SHAPE, sliding_window=9, original_max_position_embeddings=8, rope_parameters=longrope(8)),
                  dict(use_rslora=True)),
    "gemma2": (transformers.Gemma2Config(**SHAPE, head_dim=12, query_pre_attn_scalar=24, sliding_window=6,
                                         attn_logit_softcapping=3.0, final_logit_softcapping=1.5, rope_parameters=PLAIN), {}),
    "gemma3": (transformers.Gemma3TextConfig(**{**SHAPE, "num_hidden_layers": 4}, head_dim=12, tie_word_embeddings=False, query_pre_attn_scalar=24, sliding_window=6,
                                             layer_types=["sliding_attention", "full_attention"] * 2, rope_parameters=dict(
        full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000.0), sliding_attention=dict(rope_type="default", rope_theta=30.0))), {}),
}


# Rows of tokens beside the matrices: of a head of its own those of other tokens, and of one that is the embedding with all that gemma2 does
# to either. Most of them stand in the texts.
CASES["llama_tokens"] = (CASES["llama"][0], dict(trainable_token_indices={"embed_tokens": [9, 3, 70], "lm_head": [12, 90]}))
CASES["gemma2_tokens"] = (CASES["gemma2"][0], dict(trainable_token_indices=[60, 9]))


def draw(name, shape, kind):
    """Numbers in +-1 that depend on the tensor's name and each one's index alone, scaled to the tensor's kind."""
    x = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint32) * numpy.uint32(0x9E3779B1) + numpy.uint32(zlib.crc32(name.encode()))
    for shift, factor in ((15, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> numpy.uint32(shift))) * numpy.uint32(factor)
    x ^= x >> numpy.uint32(16)
    unit = x.astype(numpy.float64) / 2**31 - 1
    if kind == "norm":
        out = 1 + 0.5 * unit
    elif kind == "offset norm":
        out = 0.5 * unit
    elif kind == "bias":
        out = 0.3 * unit
    elif kind == "adapter B":
        out = 0.3 * unit
    elif kind == "embedding":
        out = 0.1 * unit  # small, or a tied head would only repeat tokens
    else:
        out = unit * (3 / shape[-1]) ** 0.5
    return torch.from_numpy(out.astype(numpy.float32).reshape(shape))


def kind_of(name, config):
    if "lora_B" in name:
        return "adapter B"
    if name.endswith("bias"):
        return "bias"
    if "embed" in name:
        return "embedding"
    if "norm" in name:
        return "offset norm" if config.model_type.startswith("gemma") else "norm"
    return "map"


def pack(x):
    return base64.b64encode(numpy.ascontiguousarray(x.detach().numpy(), dtype="<f4").tobytes()).decode()


def unpack(text):
    return numpy.frombuffer(base64.b64decode(text), dtype="<f4")


def saved(model, out):
    """config.json (or the adapter's) and the tensors' shapes by name, as the library saves them into a folder."""
    model.save_pretrained(out, **({} if isinstance(model, PeftModel) else {"max_shard_size": "20KB"}))
    config = json.loads(next(p for p in (out / "adapter_config.json", out / "config.json") if p.exists()).read_text())
    tensors = {name: x for shard in out.glob("*.safetensors") for name, x in safetensors.torch.load_file(shard).items()}
    config.pop("peft_version", None)
    if isinstance(config.get("target_modules"), list):
        config["target_modules"].sort()  # a set, in the order of this run's hashes
    return config, {name: list(x.shape) for name, x in sorted(tensors.items())}


def total_loss(model):
    """Mean negative log-likelihood of the trained tokens of both texts, each computed by itself."""
    total, count = 0, 0
    for ids in TEXTS:
        logits = model(input_ids=torch.tensor([ids])).logits[0]
        at = torch.arange(PREFIX + UNTRAINED, len(ids))
        total = total - logits[at - 1].log_softmax(-1)[torch.arange(len(at)), torch.tensor(ids)[at]].sum()
        count += len(at)
    return total / count


@torch.no_grad()
def greedy(model):
    ids = list(TEXTS[1])
    margin = float("inf")
    for _ in range(NUM_GENERATED):
        best = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].topk(2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
    assert margin > 2e-4, f"a choice of tokens hangs on {margin}: not a fair golden"
    assert len(set(ids)) > len(set(TEXTS[1])) + 5, "it repeats itself"
    return ids[len(TEXTS[1]):]


def golden(config, lora, tmp):
    """The golden, and the logits of the second text after training; base and adapter are written into tmp."""
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(draw(name, p.shape, kind_of(name, config)))
        logits = [model(input_ids=torch.tensor([ids])).logits[0] for ids in TEXTS]
    config_json, weights = saved(model, tmp / "model")
    lora = {"r": 3, "lora_alpha": 6, "target_modules": "all-linear", **lora}
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **lora)).eval()
    named = {name.replace(".default.", ".").removesuffix(".default"): p for name, p in model.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for name, p in named.items():
            p.copy_(draw(name, p.shape, kind_of(name, config)))
    adapter_json, adapter = saved(model, tmp / "adapter")
    assert sorted(named) == sorted(adapter), "names differ from the file's"
    generated = greedy(model)

    optimizer = torch.optim.AdamW(named.values(), lr=RATE, betas=BETAS, eps=1e-8, weight_decay=0)
    losses, norms, gradients = [], [], None
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = total_loss(model)
        loss.backward()
        if gradients is None:
            gradients = torch.cat([named[name].grad.flatten() for name in sorted(named)])
        norms.append(torch.nn.utils.clip_grad_norm_(named.values(), CLIP))
        losses.append(loss.detach())
        optimizer.step()
    return last_logits(model), {
        "config": config_json, "weights": weights, "adapter_config": adapter_json, "adapter": adapter,
        "texts": TEXTS, "prefix": PREFIX, "untrained": UNTRAINED, "rate": RATE, "generated": generated,
        "arrays": {
            "logits": pack(torch.cat(logits)), "gradients": pack(gradients),
            "losses": pack(torch.stack(losses)), "norms": pack(torch.stack(norms)),
            "trained": pack(torch.cat([named[name].flatten() for name in sorted(named)])),
        },
    }


@torch.no_grad()
def last_logits(model):
    return model(input_ids=torch.tensor([TEXTS[1]])).logits[0]


def check_hone(trained, tmp):
    """Compares what hone trains and writes with the models trained here."""
    jobs = [{"model": str(tmp / name / "model"), "adapter": str(tmp / name / "adapter"), "out": str(tmp / name), "texts": TEXTS,
             "untrained": PREFIX + UNTRAINED, "rate": RATE, "steps": STEPS} for name in trained]
    for job in jobs:
        os.rename(job["adapter"], job["adapter"] + "_peft")
        job["adapter"] += "_peft"
    subprocess.run(["go", "run", "testdata/reference/trained_families.go"], cwd=ROOT, input=json.dumps(jobs), text=True, check=True,
                   env={**os.environ, "GOEXPERIMENT": "simd"})
    failed = []
    for name, want in trained.items():
        def load(folder):
            return transformers.AutoModelForCausalLM.from_pretrained(tmp / name / folder, dtype=torch.float32, attn_implementation="eager").eval()
        base = last_logits(load("model"))
        in_peft = last_logits(PeftModel.from_pretrained(load("model"), tmp / name / "adapter"))
        merged = last_logits(load("merged"))
        moved, d_peft, d_merged = [float((x - want).abs().max()) for x in (base, in_peft, merged)]
        right = d_peft < WRITTEN and d_merged < WRITTEN and moved > 100 * WRITTEN
        failed += [] if right else [name]
        print(f"{'ok  ' if right else 'FAIL'} {name}: hone's adapter in peft {d_peft:.1e}, its merged model in transformers {d_merged:.1e} "
              f"(< {WRITTEN:g}); without adapter {moved:.1e}", flush=True)
    return failed


def confirms(old, new):
    same = {k: v for k, v in old.items() if k != "arrays"} == {k: v for k, v in new.items() if k != "arrays"}
    if not same or old["arrays"].keys() != new["arrays"].keys():
        return False
    pairs = [(unpack(old["arrays"][k]), unpack(new["arrays"][k])) for k in old["arrays"]]
    return all(a.shape == b.shape and abs(a - b).max() < CONFIRMED for a, b in pairs)


def main():
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as tmp:
        tmp, trained = pathlib.Path(tmp), {}
        for name in sys.argv[1:] or CASES:
            trained[name], made = golden(*CASES[name], tmp / name)
            path = HERE / "families" / f"{name}.json.gz"
            if path.exists() and confirms(json.loads(gzip.decompress(path.read_bytes())), made):
                print(f"{name}: confirmed", flush=True)
                continue
            text = json.dumps(made, separators=(",", ":")).encode()
            path.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
            print(f"{name}: written, {path.stat().st_size} bytes", flush=True)
        failed = check_hone(trained, tmp)
    sys.exit(f"not the same: {failed}" if failed else 0)


main()
