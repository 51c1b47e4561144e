"""Compares the logprobs that hone and transformers + peft give to the same ids, in float32 on the CPU.

Usage: python parity.py HONE, the binary; the CPU plug-in and the model must be installed (make setup).
Needs: requirements.txt. transformers reads the GGUF file with its own reader, so weights are compared too.

Each line printed is a mean and a largest |difference| over all tokens. These must agree: the base model, an adapter
trained and written by hone and loaded in peft, the model that hone merge makes of the two and transformers loads, and an
adapter made by peft and loaded in hone. Adapters come once more scaled by 1.1 on one side, and must differ: it shows that
the bound can fail.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["TQDM_DISABLE"] = "1"  # read when transformers is imported

import safetensors.torch
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
BOUND = 1e-3  # of the mean |difference| of a logprob, in nats
ROUNDED = 3e-2  # the same, of weights rounded to bfloat16
EFFECT = 0.1  # what an adapter must change at least, or its comparison would say nothing
RANK, ALPHA = 16, 32
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def installed(hone):
    """Paths of the CPU plug-in and the model."""
    rows = json.loads(subprocess.run([hone, "engine", "list", "--json"], check=True, capture_output=True).stdout)
    paths = {row["name"]: pathlib.Path(row["path"]) for row in rows}
    return paths["cpu"], paths["SmolLM2-135M-Instruct"]


def conversations():
    """Rows of ids: rendered conversations, so special tokens, JSON and prose. hone compiles once for all: 257 to 289 ids."""
    rows = json.loads((HERE / "chatml/golden.json").read_text())
    return [row["ids"][:289] for row in rows if len(row.get("ids", [])) > 256][:4]


def hone_logprobs(hone, rows, adapter=None):
    command = [hone, "inspect", "logprobs"] + (["--adapter", adapter] if adapter else [])
    text = "".join(json.dumps({"ids": ids}) + "\n" for ids in rows)
    out = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
    return torch.tensor([x for line in out.splitlines() for x in json.loads(line)["logprobs"][1:]], dtype=torch.float64)


@torch.no_grad()
def torch_logprobs(model, rows):
    parts = []
    for ids in rows:
        ids = torch.tensor([ids])
        logits = model(input_ids=ids).logits[0, :-1].double()
        parts.append(logits.log_softmax(-1).gather(-1, ids[0, 1:, None])[:, 0])
    return torch.cat(parts)


def load_base(path):
    return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()


def random_adapter(model_path, out):
    """A peft adapter whose A and B are both random, so that every matrix counts."""
    torch.manual_seed(1)
    config = LoraConfig(task_type="CAUSAL_LM", r=RANK, lora_alpha=ALPHA, target_modules="all-linear")
    model = get_peft_model(load_base(model_path), config)
    for name, p in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(p, std=0.02)
    assert set(model.peft_config["default"].target_modules) == set(TARGETS)
    model.eval().save_pretrained(out)
    return model


def scaled(adapter, out, factor):
    """A copy of an adapter whose B matrices are multiplied by a factor."""
    shutil.copytree(adapter, out)
    path = pathlib.Path(out) / "adapter_model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors = {k: v * factor if "lora_B" in k else v for k, v in tensors.items()}
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})
    return out


def merge(hone, adapter, out, dtype):
    subprocess.run([hone, "merge", "-q", "--base-model", "SmolLM2-135M-Instruct", "--adapter", adapter, "--output-dir", out, "--dtype", dtype], check=True, stdout=subprocess.DEVNULL)
    return transformers.AutoModelForCausalLM.from_pretrained(out, dtype="auto").eval()


def same_tokens(hone, folder):
    """Whether transformers' tokenizer of a merged model gives hone's ids of the base model, and the template is there."""
    texts = ["<|im_start|>user\nHello  World 12345\n\n\tGr\u00fc\u00dfe, \u4f60\u597d \U0001f600 don't<|im_end|>\n", "x = {\"a\": [1, 2.5e-3]}  # _y_", " "]
    command = [hone, "inspect", "tokens"]
    out = subprocess.run(command, input="".join(json.dumps({"text": t}) + "\n" for t in texts), check=True, capture_output=True, text=True).stdout
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True)
    assert "<|im_start|>user\nhi<|im_end|>" in prompt, prompt
    return [json.loads(line)["ids"] for line in out.splitlines()] == [tokenizer(t)["input_ids"] for t in texts]


class Report:
    failed = False

    def say(self, what, right):
        self.failed |= not right
        print(f"{'ok  ' if right else 'FAIL'} {what}: {'the same' if right else 'not the same'}", flush=True)

    def check(self, what, ours, theirs, differ=False, bound=BOUND):
        d = (ours - theirs).abs()
        right = d.mean() > bound if differ else d.mean() < bound
        self.failed |= not right
        wanted = f"must differ by more than {bound:g}" if differ else f"< {bound:g}"
        print(f"{'ok  ' if right else 'FAIL'} {what}: mean |d| {d.mean():.2e} ({wanted}), max {d.max():.2e}, {len(d)} tokens", flush=True)


def main():
    hone = sys.argv[1]
    plugin, model_path = installed(hone)
    rows = conversations()
    report = Report()
    with tempfile.TemporaryDirectory() as tmp:
        trained, made = tmp + "/trained", tmp + "/made"
        command = ["go", "run", "testdata/reference/trained_adapter.go", model_path, plugin, trained]
        subprocess.run(command, cwd=ROOT, input=json.dumps(rows[0]), text=True, check=True)

        base = torch_logprobs(load_base(model_path), rows)
        report.check("base model", hone_logprobs(hone, rows), base)

        ours = hone_logprobs(hone, rows, trained)
        assert (ours - base).abs().mean() > EFFECT, "the trained adapter does next to nothing"
        report.check("hone's adapter in peft", ours, torch_logprobs(PeftModel.from_pretrained(load_base(model_path), trained), rows))
        whole = merge(hone, trained, tmp + "/merged_f32", "f32")
        report.check("hone's merged model in transformers", ours, torch_logprobs(whole, rows))
        whole = merge(hone, trained, tmp + "/merged_bf16", "bf16")
        assert whole.dtype == torch.bfloat16, "the merged model's config.json names another type"
        report.check("the same in bfloat16, computed in float32", ours, torch_logprobs(whole.float(), rows), bound=ROUNDED)
        report.say("its tokenizer in transformers", same_tokens(hone, tmp + "/merged_f32"))
        wrong = scaled(trained, tmp + "/wrong", 1.1)
        report.check("the same, scaled by 1.1 in peft", ours, torch_logprobs(PeftModel.from_pretrained(load_base(model_path), wrong), rows), differ=True)

        theirs = torch_logprobs(random_adapter(model_path, made), rows)
        assert (theirs - base).abs().mean() > EFFECT, "the random adapter does next to nothing"
        report.check("peft's adapter in hone", hone_logprobs(hone, rows, made), theirs)
        report.check("the same, scaled by 1.1 in hone", hone_logprobs(hone, rows, scaled(made, tmp + "/scaled", 1.1)), theirs, differ=True)
    sys.exit(report.failed)


main()
