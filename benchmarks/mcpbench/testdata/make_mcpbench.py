"""Writes golden.json: what MCP-Bench's evaluator and aggregator make of execution logs that are written below.

Usage: python make_mcpbench.py
Needs: requirements.txt.

The two files come from github.com/Accenture/mcp-bench at COMMIT, and are held against their SHA-256. MCP_BENCH may name a
git directory that has the commit. Where neither can be had, golden.json stays as it is, and this says so.
"""

import hashlib
import importlib.util
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import urllib.request

COMMIT = "09e52332b22428bf891be59047e01cb9adc063b4"
FILES = {
    "benchmark/evaluator.py": "a0ab0a48af74209225845323937f20ac3a0ce29cb69d00ec3ef3b62ac0be8d2a",
    "benchmark/results_aggregator.py": "faf1b37b86eefeac83a05a0f470b8ed7c7c19a44fbde43a3c4159c11f6dc77a9",
}
HERE = pathlib.Path(__file__).parent


def source(path):
    git = os.environ.get("MCP_BENCH")
    if git:
        data = subprocess.run(["git", "-C", git, "show", f"{COMMIT}:{path}"], check=True, capture_output=True).stdout
    else:
        with urllib.request.urlopen(f"https://raw.githubusercontent.com/Accenture/mcp-bench/{COMMIT}/{path}", timeout=30) as answer:
            data = answer.read()
    if (found := hashlib.sha256(data).hexdigest()) != FILES[path]:
        sys.exit(f"{path} has SHA-256 {found}, not {FILES[path]}")
    return data


def load(path):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "module.py")
        file.write_bytes(source(path))
        spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}, "required": ["name"]}

# name -> server and schema; SCHEMAS below are each of a tool of its own.
SCHEMAS = {
    "plain": PERSON,
    "closed": {**PERSON, "additionalProperties": False},
    "empty": {},
    "null": None,
    "false": False,
    "true": True,
    "list": [],
    "any type": {"type": "any"},
    "old maximum": {"type": "object", "properties": {"n": {"type": "number", "maximum": 3, "exclusiveMaximum": True}}},
    "draft 4": {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "properties": {"n": {"type": "number", "maximum": 3, "exclusiveMaximum": True}}},
    "draft 7 date": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"on": {"type": "string", "format": "date"}, "format": {"type": "string"}}},
    "unknown draft": {"$schema": "https://example.com/my-schema", "type": "object", "required": ["name"]},
    "nullable": {"type": "object", "properties": {"name": {"type": "string", "nullable": True}}},
    "local ref": {"type": "object", "properties": {"to": {"$ref": "#/$defs/person"}}, "$defs": {"person": PERSON}},
    "lost ref": {"type": "object", "properties": {"to": {"$ref": "#/$defs/nobody"}}, "required": ["to"]},
    "choice": {"type": "object", "properties": {"unit": {"enum": ["km", "mile", 3, None]}}, "required": ["unit"]},
    "pattern": {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[A-Z]{2}\\d+$"}}},
    "one of": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "no type": {"required": ["name"]},
    "array": {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True}}},
    "const format": {"type": "object", "properties": {"kind": {"const": {"format": "date"}}}},
}

ARGUMENTS = [
    {},
    {"name": "Ann"},
    {"name": "Ann", "age": 30},
    {"name": "Ann", "age": 30.0},
    {"name": "Ann", "age": 30.5},
    {"name": "Ann", "age": -1},
    {"name": "Ann", "age": True},
    {"name": "Ann", "age": "30"},
    {"name": None},
    {"name": 1, "more": []},
    {"n": 3}, {"n": 2}, {"n": 1e2},
    {"on": "2026-02-30"}, {"on": "tomorrow"}, {"on": 1}, {"format": 1},
    {"to": {"name": "Ann"}}, {"to": {}}, {"to": 3},
    {"unit": "km"}, {"unit": "KM"}, {"unit": 3}, {"unit": 3.0}, {"unit": None}, {"unit": "3"},
    {"id": "AB12"}, {"id": "ab12"}, {"id": "AB12\n"},
    {"a": 1}, {"b": 1}, {"a": 1, "b": 1},
    {"ids": [1, 2]}, {"ids": []}, {"ids": [1, 1.0]}, {"ids": [1, "2"]},
    {"kind": {"format": "date"}}, {"kind": {}},
]


def call(tool, success, **parameters):
    row = {"tool": tool, "parameters": parameters, "success": success}
    return {**row, "server": "people"} if tool in TOOLS else row


TOOLS = {f"people:{name}": {"server": "people", "input_schema": schema} for name, schema in SCHEMAS.items()}
TOOLS["clock:now"] = {"server": "clock"}  # without a schema at all


def tasks():
    """Execution logs, each of one task."""
    yield []
    yield [call("people:plain", True, name="Ann")]
    yield [call("people:plain", False, name="Ann"), call("people:nobody", False)]
    yield [call("", False), call("people:nobody", False, name="Ann")]
    yield [call("people:plain", True, name="Ann")] * 5 + [call("people:plain", False, age="x")]
    yield [call("people:plain", True, name="Ann"), {**call("clock:now", True), "server": "clock"}]
    draw = random.Random(7)
    names = [*TOOLS, "people:nobody", "now"]
    for _ in range(40):
        log = []
        for _ in range(draw.randrange(1, 9)):
            name = draw.choice(names)
            row = {"tool": name, "parameters": draw.choice(ARGUMENTS), "success": name in TOOLS and draw.random() < 0.7}
            if name in TOOLS:
                row["server"] = TOOLS[name]["server"]
            log.append(row)
        yield log


def main():
    config = types.ModuleType("config")
    config.config_loader = types.ModuleType("config.config_loader")
    sys.modules |= {"config": config, "config.config_loader": config.config_loader}
    try:
        evaluator, aggregator = load("benchmark/evaluator.py"), load("benchmark/results_aggregator.py")
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"NOT CHECKED: the sources of MCP-Bench cannot be had here ({e}); golden.json stays as it is")
        return
    judge = evaluator.TaskEvaluator(None)
    # Each schema with each arguments, of which the verdict alone is of interest.
    verdicts = [
        {"tool": name, "arguments": json.dumps(arguments), "compliant": judge._check_schema_compliance(name, arguments, TOOLS)}
        for name, arguments in itertools.product(TOOLS, ARGUMENTS)
    ]
    rows, results = [], []
    for log in tasks():
        rates = judge._calculate_tool_accuracy_metrics(log, TOOLS, 1.0)
        servers = judge._calculate_server_utilization_metrics(log)
        rows.append({"calls": [{"tool": c["tool"], "arguments": json.dumps(c["parameters"]), "success": c["success"]} for c in log],
                     "rates": rates, "servers": servers["server_count"]})
        scores = dict.fromkeys(["task_fulfillment", "grounding", "tool_appropriateness", "parameter_accuracy", "dependency_awareness", "parallelism_and_efficiency"], 5)
        results.append({"status": "completed", "evaluation": {**scores, **rates, "server_utilization_metrics": servers},
                        "execution_time": 1, "total_rounds": 1, "execution_results": log})
    means = aggregator.ResultsAggregator().aggregate_model_results(results)
    golden = {"commit": COMMIT, "tools": TOOLS, "verdicts": verdicts, "tasks": rows,
              "accuracy_metrics": means["accuracy_metrics"], "server_utilization_metrics": means["server_utilization_metrics"],
              "avg_tool_calls_per_task": means["performance_metrics"]["avg_tool_calls_per_task"]}
    (HERE / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
