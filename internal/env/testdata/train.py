"""Six steps of TRL's GRPOTrainer on a tiny random model whose turns are scripted.

Of each group the last episode is broken, each time otherwise. Arguments: the server's URL, and a folder with openenv.
Prints rewards and advantages of each step as JSON, on the last line.
"""

import json
import os
import sys

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
sys.path.append(sys.argv[2])
sys.path.insert(0, os.getcwd())

import torch
from datasets import load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

import hone_env

marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
letters = Tokenizer(
    models.BPE(vocab={c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[])
)
letters.pre_tokenizer, letters.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=letters, eos_token=marks[2], pad_token=marks[0], additional_special_tokens=marks
)
tokenizer.add_tokens(["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"])
tokenizer.chat_template = qwen3_chat_template
torch.manual_seed(0)
model = AutoModelForCausalLM.from_config(
    AutoConfig.for_model(
        "qwen3",
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        vocab_size=len(tokenizer),
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
)
rows = {r["scenario"]: r for r in load_dataset("json", data_files="rows.jsonl", split="train")}
Environment = hone_env.environment(sys.argv[1])
order = ["seed", "call", "verify"] * 2
steps, begun = [], []


class Broken(Environment):
    """The fourth of each group has another scenario, one that breaks."""

    def reset(self, **row):
        begun.append(self)
        if len(begun) % 4 == 0:
            row = dict(rows[order[len(begun) // 4 - 1]])
            if row["scenario"] == "seed":
                row["hash"] = "of another scenario"
        super().reset(**row)


def reward(completions, environments, **_):
    steps.append({"broken": order[len(steps)], "rewards": hone_env.reward(completions, environments)})
    return steps[-1]["rewards"]


trainer = GRPOTrainer(
    model=model,
    train_dataset=load_dataset("json", data_files="rows.jsonl", split="train").select([0]),
    processing_class=tokenizer,
    environment_factory=Broken,
    reward_funcs=reward,
    args=GRPOConfig(
        output_dir="trl",
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=512,
        max_steps=len(order),
        report_to=[],
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        loss_type="grpo",
    ),
)
hone_env.exact(trainer)
call = {
    "name": "create_entities",
    "arguments": {"entities": [{"name": "Ada", "entityType": "person", "observations": []}]},
}


def speak(prompts, *_, **__):
    said = []
    for i, prompt in enumerate(prompts):
        wants = {"name": "crash", "arguments": {}} if i == 3 and order[len(steps)] == "call" else call
        if "<tool_response>" in tokenizer.decode(prompt):
            text = "Done."
        elif i == 1:
            text = "No idea."
        else:
            text = "<tool_call>\n" + json.dumps(wants) + "\n</tool_call>"
        said.append(tokenizer(text + marks[2])["input_ids"])
    return said, None


trainer._generate_single_turn = speak
scored = trainer._generate_and_score_completions


def keep(inputs):
    out = scored(inputs)
    steps[-1]["advantages"] = out["advantages"].tolist()
    return out


trainer._generate_and_score_completions = keep
trainer.train()
print(json.dumps(steps))
