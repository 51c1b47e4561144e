"""Runs an agent of openai-agents on a running `hone serve`, by both of OpenAI's protocols. Arguments: URL, key, model."""
import asyncio
import sys
from typing import Literal

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

url, key, name = sys.argv[1:]
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=url, api_key=key, max_retries=0)
called = []


@function_tool
def clock(zone: Literal["UTC", "CET"], hour: int) -> str:
    """Tell the time of a zone at an hour."""
    called.append((zone, hour))
    return "14:05"


async def main():
    for kind in OpenAIResponsesModel, OpenAIChatCompletionsModel:
        called.clear()
        # The framework requires a call in the first turn, and leaves the choice to the model behind it.
        agent = Agent(name="clock", instructions="Use the clock once, then answer.", tools=[clock], model=kind(model=name, openai_client=client),
                      model_settings=ModelSettings(tool_choice="required", temperature=0, max_tokens=300))
        result = Runner.run_streamed(agent, "What time is it in UTC at 14?", max_turns=8)
        kinds = [event.type async for event in result.stream_events()]
        assert called and called[0][0] in ("UTC", "CET") and type(called[0][1]) is int, called
        assert "raw_response_event" in kinds and "run_item_stream_event" in kinds, kinds
        print(kind.__name__, called, repr(result.final_output))


asyncio.run(main())
