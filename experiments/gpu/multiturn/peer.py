"""The peer of experiments/gpu/bench's row multiturn: a whole GRPO step of TRL at Qwen3-4B's shape, random weights, one JSON line for each thing measured.

peer.py [--parts trl,liger] [--rows 8] [--toy]

trl: GRPOTrainer runs its own loop of tool calls with transformers' generate, and takes its step. Of TRL one function is replaced: what reads
a call out of a completion, since random weights write none; it finds one in each turn but the last. All else is TRL's: it feeds the
whole history anew each turn, recomputes layers in the backward pass, and sums micro-batches of --rows rows. All rows are equally long, so nothing is
padded, and attention needs no mask: the best case of this side.
liger: the same trainer with Liger's layer kernels, on tokens that are given, over three micro-batches: vLLM would have sampled them.
"""
import argparse, gc, json, os, random, statistics, sys, tempfile, time, traceback

BEGAN = time.perf_counter()
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
import trl
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from trl.trainer import grpo_trainer

p = argparse.ArgumentParser()
p.add_argument("--parts", default="trl,liger")
p.add_argument("--rows", type=int, default=8, help="rows of a micro-batch")
p.add_argument("--toy", action="store_true", help="a tiny model and short texts, on the CPU")
args = p.parse_args()

# As experiments/gpu/bench/multiturn.go has them.
SHAPE = dict(tasks=8, group=8, system=4000, task=30, turns=3, completion=171, results=100)
if args.toy:
    SHAPE = dict(tasks=2, group=2, system=80, task=6, turns=3, completion=5, results=20)
    args.rows = min(args.rows, 2)
EPISODES = SHAPE["tasks"] * SHAPE["group"]
SAMPLED = SHAPE["turns"] * SHAPE["completion"]
CUDA = torch.cuda.is_available() and not args.toy
VOCAB = 512 if args.toy else 151936
SPECIAL = ["<unk>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_response>", "</tool_response>", "<tool_call>", "</tool_call>", "system", "user", "assistant"]
WORDS = [f"w{i}" for i in range(VOCAB - len(SPECIAL))]

# ChatML, each message the text of the last with something behind it.
TEMPLATE = """{%- for message in messages %}
{%- if message.role == 'tool' %}{{- '<|im_start|> user <tool_response> ' + message.content + ' </tool_response> <|im_end|>\n' }}
{%- elif message.role == 'assistant' %}{{- '<|im_start|> assistant ' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}{{- '<tool_call> ' + call.function.name + ' ' + (call.function.arguments | tojson) + ' </tool_call>' }}{%- endfor %}{{- ' <|im_end|>\n' }}
{%- else %}{{- '<|im_start|> ' + message.role + ' ' + message.content + ' <|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|> assistant ' }}{% endif %}"""


def emit(name, seconds, **more):
    print(json.dumps({"row": name, "who": f"TRL {trl.__version__}", "seconds": round(seconds, 3), "more": more}), flush=True)


def now():
    if CUDA:
        torch.cuda.synchronize()
    return time.perf_counter()


def build():
    sizes = dict(vocab_size=VOCAB, hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128)
    if args.toy:
        sizes |= dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16 if CUDA else torch.float32)
    try:
        with torch.device("cuda" if CUDA else "cpu"):
            return AutoModelForCausalLM.from_config(Qwen3Config(max_position_embeddings=1 << 17, rope_theta=1e6, tie_word_embeddings=True,
                bos_token_id=1, eos_token_id=3, pad_token_id=1, **sizes), attn_implementation="sdpa")
    finally:
        torch.set_default_dtype(torch.float32)


def tokenizer():
    """A token for each word."""
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(SPECIAL + WORDS)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t = PreTrainedTokenizerFast(tokenizer_object=t, unk_token="<unk>", pad_token="<|endoftext|>", eos_token="<|im_end|>")
    t.chat_template = TEMPLATE
    t.response_schema = {}  # TRL asks whether there is one; who reads completions is `read`
    return t


def words(n, seed):
    return " ".join(random.Random(seed).choices(WORDS, k=n))


def lookup(key: str) -> str:
    """Looks something up.

    Args:
        key: What to look up.

    Returns:
        What was found.
    """
    return words(SHAPE["results"] - 7, key)  # the template adds so many


def read(tokenizer, ids, prefix=None, tools=None):
    """In place of TRL's parse_response: a call, but in the last turn."""
    message = {"role": "assistant", "content": "w1"}
    behind = len(prefix) + len(ids) - SHAPE["system"] - SHAPE["task"]
    if behind < SAMPLED + (SHAPE["turns"] - 2) * SHAPE["results"]:
        message["tool_calls"] = [{"type": "function", "function": {"name": "lookup", "arguments": {"key": str(sum(ids))}}}]
    return message


def reward(completions, **_):
    return [float(i % 2) for i in range(len(completions))]  # a group that is all alike would teach nothing


class Timed(GRPOTrainer):
    """Says what took how long."""

    name = "trl"

    def training_step(self, *a, **k):
        start, self.generated = now(), 0.0
        loss = super().training_step(*a, **k)
        seconds = now() - start - self.generated
        self.micros.append(seconds)
        emit(f"{self.name} micro-batch", seconds, of=self.args.gradient_accumulation_steps, rows=self.args.per_device_train_batch_size, all_rows=EPISODES)
        return loss

    def _generate(self, prompts):
        start, self.each = now(), []
        out = super()._generate(prompts)
        self.generated = self.sampling = now() - start
        self.lengths = [len(p) + len(c) for p, c in zip(out[0], out[1])]
        sampled = sum(map(sum, out[2]))
        if self.name == "trl":
            if sampled != EPISODES * SAMPLED:
                print(f"{sampled} tokens were sampled, not {EPISODES * SAMPLED}", file=sys.stderr)
            emit("trl sampling", self.generated, turns=[round(s, 2) for s in self.each], sampled=sampled, episodes=len(prompts),
                 prompt=len(out[0][0]), row=max(self.lengths))
        return out

    def _generate_single_turn(self, *a, **k):
        start = now()
        out = super()._generate_single_turn(*a, **k)
        self.each.append(now() - start)
        return out


class Clock(TrainerCallback):
    def on_step_begin(self, *a, **k):
        self.start = now()

    def on_step_end(self, *a, **k):
        self.seconds = now() - self.start


def trainer_of(cls, model, batches, **more):
    folder = tempfile.mkdtemp()
    lora = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    system = words(SHAPE["system"] - 5, 1)  # beside five tokens of the template before the task, which has three behind it
    rows = [{"prompt": [{"role": "system", "content": system}, {"role": "user", "content": words(SHAPE["task"] - 3, 2 + i)}]} for i in range(SHAPE["tasks"])]
    config = GRPOConfig(
        output_dir=folder, max_steps=1, learning_rate=1e-5, lr_scheduler_type="constant", per_device_train_batch_size=args.rows,
        gradient_accumulation_steps=batches, num_generations=SHAPE["group"], max_completion_length=SAMPLED + SHAPE["turns"] * (SHAPE["results"] + 20),
        max_tool_calling_iterations=SHAPE["turns"] - 1, temperature=1.0, top_k=0, top_p=1.0, beta=0.0, loss_type="dapo", scale_rewards="group", epsilon=0.2,
        epsilon_high=0.28, max_grad_norm=1.0, bf16=CUDA, use_cpu=not CUDA, gradient_checkpointing=True, logging_steps=1, save_strategy="no", report_to="none",
        seed=1, disable_tqdm=True, generation_kwargs={"max_new_tokens": SHAPE["completion"], "min_new_tokens": SHAPE["completion"]}, **more.pop("config", {}))
    clock = Clock()
    t = cls(model=model, peft_config=lora, reward_funcs=reward, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer(), callbacks=[clock], **more)
    t.micros, t.generated, t.clock = [], 0.0, clock
    return t


def warm(model):
    """Kernels are chosen and memory is taken before anything counts."""
    ids = torch.randint(len(SPECIAL), VOCAB, (EPISODES, SHAPE["system"] + SHAPE["task"]), device=model.device)
    with torch.no_grad():
        model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, min_new_tokens=4, do_sample=True)
    gc.collect()
    if CUDA:
        torch.cuda.empty_cache()


def report(t, start):
    more = {"opened_s": round(start - BEGAN, 1), "rows": args.rows}
    if CUDA:
        more["memory_GB"] = round(torch.cuda.max_memory_allocated() / 1e9, 1)
        torch.cuda.reset_peak_memory_stats()
    return more


def whole_step():
    model = build()
    warm(model)
    grpo_trainer.parse_response = read
    t = trainer_of(Timed, model, EPISODES // args.rows, tools=[lookup])
    start = now()
    t.train()
    emit("trl step", t.clock.seconds, sampling_s=round(t.sampling, 3), training_s=round(t.clock.seconds - t.sampling, 3), row=max(t.lengths),
         median_micro_s=round(statistics.median(t.micros), 3), **report(t, start))


class Given(Timed):
    """Training alone."""

    name = "liger"


def given(prompts, trainer):
    """Tokens that were sampled elsewhere."""
    draw = random.Random(3)
    ids = lambda n: [draw.randrange(len(SPECIAL), VOCAB) for _ in range(n)]
    shared = ids(SHAPE["system"])
    length = SAMPLED + (SHAPE["turns"] - 1) * SHAPE["results"]
    mask = ([1] * SHAPE["completion"] + [0] * SHAPE["results"]) * SHAPE["turns"]
    return {"prompt_ids": [shared + ids(SHAPE["task"]) for _ in prompts], "completion_ids": [ids(length) for _ in prompts], "logprobs": None,
            "env_mask": [mask[:length] for _ in prompts]}


def training():
    batches = 3 if EPISODES // args.rows >= 3 else 1
    while batches * args.rows % SHAPE["group"]:  # whole groups
        batches += 1
    t = trainer_of(Given, build(), batches, rollout_func=given, config={"use_liger_kernel": CUDA})
    start = now()
    t.train()
    each = t.micros[1:] or t.micros  # the first one compiles Liger's kernels
    emit("liger step", statistics.median(each) * EPISODES / args.rows, median_micro_s=round(statistics.median(each), 3), micros=len(t.micros), **report(t, start))


failed = False
for part in args.parts.split(","):
    try:
        {"trl": whole_step, "liger": training}[part]()
    except Exception as e:
        failed = True
        traceback.print_exc()
        emit(part + " step", 0, error=f"{type(e).__name__}: {e}"[:400])
    gc.collect()
    if CUDA:
        torch.cuda.empty_cache()
sys.exit(failed)
