"""Writes ruler.json: what RULER (openpipe-art, art/rewards/ruler.py) makes of replies that are written below.

Usage: python make_ruler.py
Needs: requirements.txt.

The module is taken from the installed package as it is. What it imports of its own package and of model clients is replaced here: no
model is asked, the client gives back the reply at hand.
"""

import asyncio
import importlib.metadata
import importlib.util
import json
import pathlib
import random
import sys
import types

HERE = pathlib.Path(__file__).parent


class ModelResponse:
    def __init__(self, text):
        self.choices = [types.SimpleNamespace(message=types.SimpleNamespace(content=text))]


reply = ""


async def acompletion(**_):
    return ModelResponse(reply)


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


def load():
    module("litellm", acompletion=acompletion)
    module("litellm.types")
    module("litellm.types.utils", ModelResponse=ModelResponse)
    for name in ("openai", "openai.types", "openai.types.chat"):
        module(name)
    module("openai.types.chat.chat_completion_message_param", ChatCompletionMessageParam=dict)
    module("rich", print=lambda *a, **k: None)
    module("art", Tools=list, TrajectoryGroup=object)
    module("art.metrics", MetricsBuilder=None)
    package = importlib.metadata.distribution("openpipe-art")
    spec = importlib.util.spec_from_file_location("ruler", package.locate_file("art/rewards/ruler.py"))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    made._record_ruler_cost = lambda *_: None
    return made


def reply_of(ids, scores, **form):
    rows = [{"trajectory_id": i, "explanation": f"of {i}", "score": s} for i, s in zip(ids, scores)]
    return json.dumps({"scores": rows}, **form)


def cases():
    draw = random.Random(1)
    out = []
    for n in range(120):
        size = draw.randint(2, 8)
        ids = [str(i + 1) for i in range(size)]
        if n % 3 == 0:
            draw.shuffle(ids)
        scores = [draw.choice([0, 1, 0.5, round(draw.random(), 2), draw.random(), 1e-3, 0.1 + 0.2]) for _ in ids]
        out.append(("fine", size, reply_of(ids, scores, indent=draw.choice([None, 2]))))
    two = lambda ids, scores: reply_of(ids, scores)
    out += [
        ("a text for a score", 2, two("12", ["0.25", "1"])),
        ("keys beside those asked for", 2, '{"scores": [{"trajectory_id": "1", "explanation": "", "score": 1, "rank": 1}, {"trajectory_id": "2", "explanation": "", "score": 0, "rank": 2}], "winner": "1"}'),
        ("an id that nobody has", 2, two("13", [0, 1])),
        ("an id twice", 2, two("11", [0, 1])),
        ("one score too few", 2, two("1", [0])),
        ("one score too many", 2, two("123", [0, 1, 0.5])),
        ("above 1", 2, two("12", [1.5, 1])),
        ("below 0", 2, two("12", [-0.5, 1])),
        ("NaN", 2, two("12", [float("nan"), 1])),
        ("Infinity", 2, two("12", [float("inf"), 1])),
        ("a number for an id", 2, '{"scores": [{"trajectory_id": 1, "explanation": "", "score": 1}, {"trajectory_id": 2, "explanation": "", "score": 0}]}'),
        ("no explanation", 2, '{"scores": [{"trajectory_id": "1", "score": 1}, {"trajectory_id": "2", "score": 0}]}'),
        ("null for a score", 2, two("12", [None, 1])),
        ("true for a score", 2, two("12", [True, False])),
        ("prose", 2, "The first is better."),
        ("prose around it", 2, "Here: " + two("12", [0.25, 1])),
        ("a fence", 2, "```json\n" + two("12", [0.25, 1]) + "\n```"),
        ("a comma too many", 2, two("12", [0.25, 1])[:-2] + ",]}"),
        ("nothing", 2, ""),
        ("a list", 2, "[]"),
        ("no list", 2, '{"scores": null}'),
        ("a score twice", 2, '{"scores": [{"trajectory_id": "1", "explanation": "", "score": 0, "score": 1}, {"trajectory_id": "2", "explanation": "", "score": 1}]}'),
    ]
    return out


def main():
    global reply
    ruler = load()
    rows = []
    for name, size, reply in cases():
        row = {"name": name, "size": size, "reply": reply}
        lists = [[{"role": "user", "content": "task"}, {"role": "assistant", "content": str(i)}] for i in range(size)]
        try:
            row["scores"] = [[s.trajectory_id, repr(s.score)] for s in asyncio.run(ruler.ruler(lists))]
        except Exception as e:  # noqa: BLE001 what it refuses
            row["refused"] = type(e).__name__
        rows.append(row)
    version = importlib.metadata.version("openpipe-art")
    text = json.dumps({"by": f"openpipe-art {version}", "rubric": ruler.DEFAULT_RUBRIC.strip(), "cases": rows}, indent=1)
    (HERE / "ruler.json").write_text(text + "\n")


main()
