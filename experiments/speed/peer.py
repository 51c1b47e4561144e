"""What hone's speed is compared with: python peer.py ROW MODEL.gguf prints one number a run, in the row's unit.

A row is a function here; run.py names it. Each does what the Go benchmark beside it does, in the way its library offers.
"""

import gzip
import json
import os
import pathlib
import sys
import time

os.environ["TQDM_DISABLE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
REFERENCE = pathlib.Path(__file__).parent.parent / "testdata/reference"

# The shapes of bench_test.go.
PREFIX, ROWS, ROW, TRAINED = 450, 16, 155, 60
SLOTS, PROMPT, SAMPLED = 64, 40, 40


def timed(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def load(path):
    import torch
    import transformers

    path = pathlib.Path(path)
    return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)


def train(path, runs=1, micro_batch=4, count=ROWS, prefix=PREFIX, row=ROW, trained=TRAINED, dtype="float32"):
    """transformers + peft + torch's AdamW; rows are whole, since there is no shared prefix. Logits of the rows only."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(1)
    model = load(path).to(getattr(torch, dtype))
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, target_modules="all-linear")).train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, betas=(0.9, 0.99), weight_decay=0)
    ids = torch.randint(1000, 41000, (count, prefix + row))
    ids[:, :prefix] = ids[0, :prefix]

    def step(rows):
        for part in rows.split(micro_batch):
            logits = model(input_ids=part, logits_to_keep=trained + 1, use_cache=False).logits[:, :-1]
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), part[:, -trained:].flatten(), reduction="sum")
            (loss / (len(rows) * trained)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        optimizer.zero_grad()

    step(ids[:1])
    return [(prefix + count * row) / timed(lambda: step(ids)) for _ in range(runs)]


def whole(path, dtype):
    """train on 4 rows of 512 that share nothing, one by one and all at once: the faster counts."""
    return [max(max(train(path, 2, at_once, 4, 0, 512, 511, dtype)) for at_once in (1, 4))]


def whole_f32(path):
    return whole(path, "float32")


def whole_bf16(path):
    return whole(path, "bfloat16")


def sample(path, runs=1):
    """transformers' generate on one batch; every row has the prefix."""
    import torch

    torch.manual_seed(1)
    model = load(path).eval()
    ids = torch.randint(1000, 41000, (SLOTS, PREFIX + PROMPT))
    ids[:, :PREFIX] = ids[0, :PREFIX]

    def generate(ids, n):
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0, temperature=1.0,
                             max_new_tokens=n, min_new_tokens=n, pad_token_id=0)
        assert out.shape[1] == ids.shape[1] + n

    generate(ids[:2], 2)
    return [SLOTS * SAMPLED / timed(lambda: generate(ids, SAMPLED)) for _ in range(runs)]


def tokenizer(_, runs=5):
    """Hugging Face's tokenizers (Rust), one text at a time on one thread, special tokens not recognised."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    read = lambda name: json.loads(gzip.decompress((REFERENCE / "tokenizer" / name).read_bytes()))
    v, rows = read("smollm2_vocabulary.json.gz"), read("smollm2_golden.json.gz")["encode"]
    t = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(v["tokens"])}, merges=[tuple(m.split(" ")) for m in v["merges"]]))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    texts = [row["text"] for row in rows]

    def encode():
        for text in texts:
            t.encode(text, add_special_tokens=False)

    encode()
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    return [megabytes / timed(encode) for _ in range(runs)]


def mixed(_):
    """Hugging Face's tokenizers (Rust) on the texts of bench_tokenizers.py, which it leaves for hone."""
    import bench_tokenizers

    bench_tokenizers.fetch("qwen3")
    parts = bench_tokenizers.mixed()
    bench_tokenizers.write(bench_tokenizers.CACHE / "mixed.txt", parts)
    return bench_tokenizers.reference("qwen3", parts)[0]


def template(_, runs=5, renders=200):
    """jinja2 as transformers sets it up, in nanoseconds a render."""
    from transformers.utils import chat_template_utils

    from make_template import variables
    from template_conversations import CONVERSATIONS

    values = variables(CONVERSATIONS["agent"])
    compiled = chat_template_utils._compile_jinja_template((REFERENCE / "template/agent.jinja").read_text())

    def render():
        for _ in range(renders):
            compiled.render(**values)

    render()
    return [timed(render) / renders * 1e9 for _ in range(runs)]


if __name__ == "__main__":
    sys.path.append(str(REFERENCE))
    rows = {"train": train, "whole_f32": whole_f32, "whole_bf16": whole_bf16, "sample": sample, "tokenizer": tokenizer, "mixed": mixed,
            "template": template}
    for number in rows[sys.argv[1]](sys.argv[2]):
        print(number)
