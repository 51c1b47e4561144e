"""Writes ../templates.json: what real chat templates write for calls, and which forms' marks the templates hold.

Usage: python make_templates.py [folder of downloads]. Needs: requirements.txt. It fetches the wheel of trl and the
source archive of llama-cpp-python and renders their templates as Hugging Face does. The conversations are ours; the
templates are not kept.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent
PACKAGES = {  # the requirement, whether as source, the archive's name and SHA-256
    "trl": ("trl==1.16.0", False, "trl-1.16.0-py3-none-any.whl", "c4726e139dd40e1a41661511c639c8a68416782b2e3e8c0befebd77bb7ba0396"),
    "llama.cpp": ("llama-cpp-python==0.3.36", True, "llama_cpp_python-0.3.36.tar.gz", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"),
}

# The form of each template whose calls are compared, what the calls begin with, and what the template writes behind them.
WRITES = {
    "trl/qwen2_5.jinja": ("hermes", "<tool_call>", "<|im_end|>\n"),
    "trl/qwen3.jinja": ("hermes", "<tool_call>", "<|im_end|>\n"),
    "trl/qwen3_instruct_2507.jinja": ("hermes", "<tool_call>", "<|im_end|>\n"),
    "llama.cpp/Qwen-QwQ-32B.jinja": ("hermes", "<tool_call>", "<|im_end|>\n"),
    "llama.cpp/Qwen3-Coder.jinja": ("qwen3_coder", "<tool_call>", "<|im_end|>\n"),
    "trl/qwen3_6.jinja": ("qwen3_coder", "<tool_call>", "<|im_end|>\n"),
    "trl/llama3_1.jinja": ("llama3_json", '{"name"', "<|eot_id|>"),
    "trl/llama3_2.jinja": ("llama3_json", '{"name"', "<|eot_id|>"),
    "trl/deepseekv3.jinja": ("deepseek_v3", "<｜tool", "<｜end▁of▁sentence｜>"),
    "llama.cpp/deepseek-ai-DeepSeek-V3.1.jinja": ("deepseek_v31", "<｜tool", "<｜end▁of▁sentence｜>"),
    "llama.cpp/deepseek-ai-DeepSeek-V3.2.jinja": ("deepseek_v32", "<｜DSML", "<｜end▁of▁sentence｜>"),
    "llama.cpp/deepseek-ai-DeepSeek-V4.jinja": ("deepseek_v4", "<｜DSML", "<｜end▁of▁sentence｜>"),
    "llama.cpp/GLM-4.6.jinja": ("glm45", "<tool_call>", ""),
    "trl/glm4moe.jinja": ("glm45", "<tool_call>", ""),
    "llama.cpp/MiniMax-M2.jinja": ("minimax_m2", "<minimax", "[e~[\n"),
    "llama.cpp/Kimi-K2-Instruct.jinja": ("kimi_k2", "<|tool_calls_section", "<|im_end|>"),
    "llama.cpp/mistralai-Mistral-Nemo-Instruct-2407.jinja": ("mistral_v3", "[TOOL", "</s>"),
    "llama.cpp/unsloth-mistral-Devstral-Small-2507.jinja": ("mistral", "[TOOL", "</s>"),
    "llama.cpp/mistralai-Ministral-3-14B-Reasoning-2512.jinja": ("mistral", "[TOOL", "</s>"),
    "trl/lfm2_v2.jinja": ("lfm2", "<|tool_call", "<|im_end|>\n"),
    "trl/gemma4_v5.jinja": ("gemma4", "<|tool_call", "<|tool_response>"),
    "trl/gptoss.jinja": ("harmony", " to=", ""),
}

# What Detect looks for. Which of them a template holds is all that Detect sees of it.
MARKS = [
    "<|channel|>", "<|message|>", "functions.", "<|tool_call>call:", "<start_function_call>", "<|tool_call_start|>", "<|tool_list_start|>",
    "<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>", "｜DSML｜", "function_calls>", "tool_calls>", "<｜tool▁calls▁begin｜>", "```",
    "<minimax:tool_call>", "<invoke name=", "<tool_call>", "<arg_key>", "<arg_value>", "<function=", "<parameter=", "<function_calls>",
    "[TOOL_CALLS]", "[ARGS]", "functools[", "<|tool|>", "<|/tool|>", '"name": ', '\\"name\\": ', "<tool_calls>[", "func_name1(", "ipython",
    '"parameters": ',
]

CALLS = [
    [("weather", {"city": "Paris"})],
    [("now", {})],
    [("weather", {"city": "Paris"}), ("now", {})],
    [("weather", {"days": 7, "ratio": 0.5, "metric": True, "unit": None, "tags": ["a", "b"], "where": {"k": [1, {"l": "m"}]}})],
    [("weather", {"city": "it's \"x\"\n<&> é 日 🙂 \\", "Zone": "b", "alpha": "c"})],
]
CONTENTS = ["", "Let me look."]


def downloads(folder):
    """Yields name and text of every template."""
    for source, (package, as_source, name, sha256) in PACKAGES.items():
        archive = folder / name
        if not archive.exists():
            form = "--no-binary" if as_source else "--only-binary"
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", form, package.partition("==")[0],
                            "--dest", folder, package], check=True)
        if hashlib.sha256(archive.read_bytes()).hexdigest() != sha256:
            sys.exit(f"{name}: not the archive that is pinned")
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as z:
                for n in sorted(z.namelist()):
                    if n.endswith(".jinja"):
                        yield f"{source}/{pathlib.Path(n).name}", z.read(n).decode()
        else:
            with tarfile.open(archive) as z:
                for m in sorted(z.getmembers(), key=lambda m: m.name):
                    if m.name.endswith(".jinja") and "models/templates" in m.name:
                        yield f"{source}/{pathlib.Path(m.name).name}", z.extractfile(m).read().decode()


def compiled(text):
    env = jinja2.sandbox.SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, **_: json.dumps(x, ensure_ascii=ensure_ascii, indent=indent)
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = lambda f: "01 Jan 2026"
    return env.from_string(text.replace("{% generation %}", "").replace("{% endgeneration %}", "").replace("{%- generation -%}", ""))


def refuse(message):
    raise ValueError(message)


def written(template, content, calls, strings, mark):
    """What the template writes for an assistant message."""
    tool_calls = [
        {"id": f"callid{i:03}", "type": "function", "function": {"name": n, "arguments": json.dumps(a, ensure_ascii=False) if strings else a}}
        for i, (n, a) in enumerate(calls)
    ]
    user = {"role": "user", "content": "Hi"}
    options = {"bos_token": "<s>", "eos_token": "</s>", "tools": None}
    full = template.render(messages=[user, {"role": "assistant", "content": content, "tool_calls": tool_calls}], add_generation_prompt=False, **options)
    full = full[full.index("Hi") :]  # a system prompt may show a call
    if mark == " to=":
        return full[full.index("<|start|>assistant") + len("<|start|>assistant") :]
    start = full.index(content or mark)
    if content and mark in full[:start]:
        raise ValueError("the content stands behind the calls")
    return full[start:]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    cases, hashes = [], {}
    for name, text in downloads(folder):
        hashes[name] = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "marks": [m for m in MARKS if m in text]}
        if name not in WRITES:
            continue
        form, mark, after = WRITES[name]
        template = compiled(text)
        for content in CONTENTS:
            for calls in CALLS:
                try:
                    out = written(template, content, calls, form == "deepseek_v3", mark)
                except ValueError:
                    continue  # Llama and Mistral Nemo write no content beside calls, and Llama one call; Gemma writes the content last
                cases.append({"template": name, "form": form, "content": content,
                              "calls": [{"name": n, "arguments": json.dumps(a, ensure_ascii=False)} for n, a in calls],
                              "text": out.removesuffix(after)})
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    known = ",\n".join(json.dumps(k) + ": " + json.dumps(v, ensure_ascii=False) for k, v in hashes.items())
    (HERE.parent / "templates.json").write_text('{"templates": {\n' + known + '\n},\n"cases": [\n' + lines + "\n]}\n")
    print(len(hashes), "templates,", len(cases), "cases")


if __name__ == "__main__":
    main()
