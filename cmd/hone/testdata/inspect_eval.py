"""Runs an evaluation of Inspect (inspect-ai) on a running `hone serve`: tools that it requires, streams, and an answer by a schema.

Arguments: URL, key, model. Prints one line for each evaluation.
"""
import os
import sys
import tempfile
from typing import Literal

url, key, name = sys.argv[1:]
os.environ |= {"HONE_BASE_URL": url, "HONE_API_KEY": key, "INSPECT_DISPLAY": "none"}

from inspect_ai import Task, eval as inspect
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import accuracy, Score, scorer, Target
from inspect_ai.solver import generate, TaskState, use_tools
from inspect_ai.tool import tool
from inspect_ai.util import JSONSchema

called = []


@tool
def clock():
    async def execute(zone: Literal["UTC", "CET"], hour: int) -> str:
        """Tell the time of a zone at an hour.

        Args:
            zone: the zone
            hour: the hour of the day
        """
        called.append((zone, hour))
        return "14:05"

    return execute


@scorer(metrics=[accuracy()])
def went():
    """A sample is right where a call was made, its result stands behind it under its id, and the model went on from there."""

    async def score(state: TaskState, target: Target) -> Score:
        roles = [m.role for m in state.messages]
        calls = state.messages[1].tool_calls or []
        results = [m for m in state.messages if m.role == "tool"]
        right = (roles[:3] == ["user", "assistant", "tool"] and roles[-1] == "assistant" and calls and calls[0].function == "clock" and not calls[0].parse_error
                 and results[0].tool_call_id == calls[0].id and results[0].error is None and results[0].text == target.text)
        return Score(value=1 if right else 0, explanation=f"{roles} {calls} {results}")

    return score


@scorer(metrics=[accuracy()])
def fits():
    """A sample is right where its answer has the form that was asked for."""
    import json

    async def score(state: TaskState, target: Target) -> Score:
        try:
            said = json.loads(state.output.completion)
        except ValueError as e:
            return Score(value=0, explanation=f"{e}: {state.output.completion}")
        return Score(value=1 if set(said) == {"colour", "count"} and type(said["count"]) is int else 0, explanation=state.output.completion)

    return score


def run(what, task, **more):
    with tempfile.TemporaryDirectory() as logs:
        [log] = inspect(task, model=get_model(f"openai-api/hone/{name}", **more), log_dir=logs, log_format="json", max_connections=2, max_retries=0, fail_on_error=True)
    assert log.status == "success", log.error.message
    assert log.results.scores[0].metrics["accuracy"].value == 1, [s.scores for s in log.samples]
    usage = log.stats.model_usage[f"openai-api/hone/{name}"]
    assert usage.input_tokens > 0 and usage.output_tokens > 0, usage
    print(what, len(log.samples), "samples,", usage.input_tokens, "+", usage.output_tokens, "tokens")


asks = [Sample(input=f"What time is it in {zone} at {hour}?", target="14:05") for zone, hour in (("UTC", 14), ("CET", 9))]
for streams in False, True:
    called.clear()
    # The first turn must call. The next one may, and what it says is the end.
    turns = [use_tools(clock(), tool_choice="any"), generate(tool_calls="single"), use_tools(clock(), tool_choice="auto"), generate(tool_calls="none")]
    run("tools, streamed:" if streams else "tools, whole:", Task(dataset=asks, solver=turns, scorer=went(), config=GenerateConfig(temperature=0, max_tokens=60)), stream=streams)
    assert len(called) >= 2 and all(zone in ("UTC", "CET") and type(hour) is int for zone, hour in called), called
schema = ResponseSchema(name="colours", strict=True, json_schema=JSONSchema(type="object", properties={
    "colour": JSONSchema(enum=["red", "green"]), "count": JSONSchema(type="integer")}, required=["colour", "count"], additionalProperties=False))
run("an answer by a schema:", Task(dataset=[Sample(input="Colours?")], solver=generate(), scorer=fits(), config=GenerateConfig(temperature=0, max_tokens=100, response_schema=schema)))
