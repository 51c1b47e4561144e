"""TRL's GRPOTrainer on the tasks, the server, the start and the reward of experiments/gpu/race/run.sh, for success against GPU minutes.

    python experiments/gpu/race/peer.py --model MERGED --tasks scenarios.json --system system.txt --server "node calc.js" --out DIR

TRL runs its own loop of tool calls with transformers' generate. The prompt is hone's, id for id: the system message
already describes the tools, and the chat template writes the rest as hone does. --same TRAJECTORIES trains nothing, and
fails where these are not the prompts that hone's episodes had. hone evaluates the adapters in DIR, as it evaluates its own.
"""

import argparse
import inspect
import json
import keyword
import pathlib
import subprocess
import threading
import time

BEGAN = time.time()

# ChatML as hone writes it for a model whose own template knows no tools; the tools stand in the system message.
TEMPLATE = """{%- for message in messages %}
{%- if message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user\n' }}{% endif %}
{{- '<tool_response>\n' + message.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\n' }}{% else %}{{ '\n' }}{% endif %}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{%- if not loop.first or message.content %}{{ '\n' }}{% endif %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""


class Server:
    """An MCP server over stdio, one call at a time."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock, self.id = threading.Lock(), 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "race", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = self.ask("tools/list", {})["tools"]

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        with self.lock:
            self.id += 1
            self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
            while True:
                answer = json.loads(self.process.stdout.readline())
                if answer.get("id") == self.id:
                    break
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def function(self, tool):
        """tool as the Python function that TRL wants: with a name, typed parameters and a docstring."""

        def call(**arguments):
            result = self.ask("tools/call", {"name": tool["name"], "arguments": arguments})
            text = "\n".join(c["text"] for c in result["content"] if c["type"] == "text")
            return "Error: " + text if result.get("isError") else text

        types = {"string": str, "number": float, "integer": int, "boolean": bool, "array": list, "object": dict}
        properties = tool["inputSchema"].get("properties", {})
        required = tool["inputSchema"].get("required", [])
        parameters = []
        for name in sorted(properties, key=lambda n: n not in required):
            kind = types.get(properties[name].get("type"), str)
            default = inspect.Parameter.empty if name in required else None
            if keyword.iskeyword(name):
                name += "_"  # a Python function cannot have it; the model sees hone's description, and calls go through **arguments
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default))
        call.__name__ = tool["name"]
        call.__signature__ = inspect.Signature(parameters, return_annotation=str)
        call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": str}
        lines = "".join(f"\n    {p.name}: {p.name}." for p in parameters)
        call.__doc__ = f"{tool['description']}\n\nArgs:{lines}\n\nReturns:\n    The result."
        return call


def reward(completions, scenario, **_):
    """1 where every check passes, and 0.3 times the share of gold calls made: rewards {checks: 1, call: 0.3} of hone."""
    scores = []
    for messages, text in zip(completions, scenario):
        task = json.loads(text)
        calls = [c["function"] for m in messages for c in m.get("tool_calls") or []]
        made = sum(any(c["name"] == g["name"] and c["arguments"] == g["arguments"] for c in calls) for g in task["gold"])
        last = messages[-1] if messages else {}
        said = (last.get("content") or "").strip() if last.get("role") == "assistant" and not last.get("tool_calls") else None
        answers = [c["equals"] for c in task["checks"] if c["type"] == "answer"]
        passed = made == len(task["gold"]) and all(said == a for a in answers)
        scores.append(float(passed) + 0.3 * made / len(task["gold"]))
    return scores


def prompt(system, task):
    return [{"role": "system", "content": system}, {"role": "user", "content": task["task"]}]


def same(a):
    """Compares the prompts of hone's first episodes with those of the same tasks here."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(a.model)
    tokenizer.chat_template = TEMPLATE
    tasks = {t["id"]: t for t in json.loads(pathlib.Path(a.tasks).read_text())}
    system, compared = pathlib.Path(a.system).read_text(), 0
    with open(a.same) as lines:
        for line in lines:
            t = json.loads(line)
            if t["stage"] != "grpo" or compared == 64:
                continue
            text = tokenizer.apply_chat_template(prompt(system, tasks[t["scenario_id"]]), add_generation_prompt=True, tokenize=False)
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            if ids != t["turns"][0]["bridge_ids"]:
                raise SystemExit(f"{t['id']}: hone's prompt has {len(t['turns'][0]['bridge_ids'])} tokens, this one {len(ids)}, and they are not the same")
            compared += 1
    print(f"{compared} prompts are the same, id for id")
    if not compared:
        raise SystemExit("no episode of hone to compare with")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "tasks", "system", "server", "out"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--groups", type=int, default=16)
    p.add_argument("--group-size", type=int, default=8)
    p.add_argument("--rows", type=int, default=32, help="rows of a forward pass")
    p.add_argument("--rate", type=float, default=3e-4)
    p.add_argument("--every", type=int, default=10)
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--same")
    a = p.parse_args()
    if a.same:
        return same(a)

    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import add_response_schema, qwen2_5_chat_template

    server = Server(a.server.split())
    system = pathlib.Path(a.system).read_text()
    tasks = [t for t in json.loads(pathlib.Path(a.tasks).read_text()) if t["split"] == "train"]
    rows = [{"prompt": prompt(system, t), "scenario": json.dumps(t)} for t in tasks]

    tokenizer = AutoTokenizer.from_pretrained(a.model)
    tokenizer.chat_template = qwen2_5_chat_template  # TRL knows the format of calls by the template it knows
    add_response_schema(tokenizer)
    tokenizer.chat_template = TEMPLATE

    lora = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    cuda = torch.cuda.is_available()
    model = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.bfloat16 if cuda else torch.float32)
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)

    class Keep(TrainerCallback):
        def on_step_end(self, args, state, control, **kw):
            seconds = time.time() - BEGAN
            if state.global_step % a.every == 0 or state.global_step == a.steps:
                kw["model"].save_pretrained(out / f"step-{state.global_step:04d}")
            if seconds > 60 * a.minutes:
                control.should_training_stop = True

        def on_log(self, args, state, control, logs=None, **kw):
            with (out / "metrics.jsonl").open("a") as f:
                f.write(json.dumps({"step": state.global_step, "seconds": round(time.time() - BEGAN, 1), **(logs or {})}) + "\n")

    config = GRPOConfig(
        output_dir=str(out / "trainer"), max_steps=a.steps, learning_rate=a.rate, lr_scheduler_type="constant",
        per_device_train_batch_size=min(a.rows, a.groups * a.group_size), gradient_accumulation_steps=max(1, a.groups * a.group_size // a.rows),
        num_generations=a.group_size, max_completion_length=512, max_tool_calling_iterations=3, temperature=1.0, top_k=0, top_p=1.0,
        beta=0.0, loss_type="dapo", scale_rewards="group", epsilon=0.2, epsilon_high=0.28, max_grad_norm=1.0,
        bf16=cuda, use_cpu=not cuda, gradient_checkpointing=False, logging_steps=1, save_strategy="no", report_to="none", seed=a.seed,
        generation_kwargs={"max_new_tokens": 64},
    )
    trainer = GRPOTrainer(model=model, peft_config=lora, reward_funcs=reward, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer,
                          tools=[server.function(t) for t in server.tools if f"\n{t['name']}(" in system], callbacks=[Keep()])
    trainer.train()


if __name__ == "__main__":
    main()
