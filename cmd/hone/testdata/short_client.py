"""Drives a running `hone serve` and a `hone proxy` before it with the openai and anthropic clients: what does not hang on what a model says.

Arguments: URL and key of the server, those of the proxy, and the model.
"""
import json
import sys

import anthropic
import openai

url, key, proxy_url, proxy_key, model = sys.argv[1:]
direct = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
proxy = openai.OpenAI(base_url=proxy_url, api_key=proxy_key, max_retries=0)
claude = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=key, max_retries=0)
user = [{"role": "user", "content": "Hi."}]
short = {"model": model, "messages": user, "temperature": 0, "max_tokens": 8}
schema = {"type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}, "hour": {"type": "integer", "minimum": 0, "maximum": 23}},
          "required": ["zone", "hour"], "additionalProperties": False}


def fits(a):
    assert set(a) == {"zone", "hour"} and a["zone"] in ("UTC", "CET") and 0 <= a["hour"] <= 23, a


def refused(error, ask):
    try:
        ask()
    except error as e:
        return e
    sys.exit(f"no {error.__name__}")


def streamed(client, **ask):
    """The text, the calls by name and arguments, and the finish reason of an answer in parts."""
    content, calls, reason = "", {}, None
    for chunk in client.chat.completions.create(stream=True, **ask):
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            content += choice.delta.content or ""
            for c in choice.delta.tool_calls or []:
                name, arguments = calls.get(c.index, ("", ""))
                calls[c.index] = (name + (c.function.name or ""), arguments + (c.function.arguments or ""))
    return content, [calls[i] for i in sorted(calls)], reason


def whole(client, **ask):
    choice = client.chat.completions.create(**ask).choices[0]
    return choice.message.content or "", [(c.function.name, c.function.arguments) for c in choice.message.tool_calls or []], choice.finish_reason


# Chat completions: keys, models, streams, a call that is required, an answer of a form.
assert [m.id for m in direct.models.list()] == [m.id for m in proxy.models.list()] == [model]
for at in url, proxy_url:
    refused(openai.AuthenticationError, openai.OpenAI(base_url=at, api_key="wrong", max_retries=0).models.list)
for client in direct, proxy:
    refused(openai.NotFoundError, lambda: client.chat.completions.create(**(short | {"model": "other"})))
assert refused(openai.BadRequestError, lambda: direct.chat.completions.create(extra_body={"repetition_penalty": 1.1}, **short)).param == "repetition_penalty"
clock = {"type": "function", "function": {"name": "clock", "parameters": schema}}
call = {"model": model, "messages": user, "temperature": 0, "max_tokens": 120, "tools": [clock], "tool_choice": "required", "parallel_tool_calls": False}
for ask in short, call:
    said = whole(direct, **ask)
    assert said == streamed(direct, **ask) == whole(proxy, **ask) == streamed(proxy, **ask), said
[(name, arguments)] = said[1]
assert name == "clock" and said[2] == "tool_calls", said
fits(json.loads(arguments))
form = {"type": "json_schema", "json_schema": {"name": "t", "schema": schema, "strict": True}}
fits(json.loads(whole(direct, response_format=form, **(short | {"max_tokens": 120}))[0]))
text = direct.completions.create(model=model, prompt="One, two,", temperature=0, max_tokens=8).choices[0].text
assert text == "".join(c.choices[0].text for c in direct.completions.create(model=model, prompt="One, two,", temperature=0, max_tokens=8, stream=True))

# Responses: a call that is required, in events, and what is kept of it.
ask = {"model": model, "temperature": 0, "max_output_tokens": 120, "input": "Hi.", "tool_choice": "required", "parallel_tool_calls": False,
       "tools": [{"type": "function", "name": "clock", "parameters": schema, "strict": True}]}
said = direct.responses.create(**ask)
made = said.output[-1]
assert said.status == "completed" and made.type == "function_call" and made.name == "clock", said
fits(json.loads(made.arguments))
events = list(direct.responses.create(stream=True, **ask))
assert [e.sequence_number for e in events] == list(range(len(events))), events
assert events[0].type == "response.created" and events[-1].type == "response.completed", events
assert events[-1].response.output[-1].arguments == made.arguments, (events[-1], said)
assert direct.responses.retrieve(said.id).output[-1].arguments == made.arguments

# Anthropic's messages: the same in its words.
ask = {"model": model, "max_tokens": 120, "messages": user, "extra_body": {"temperature": 0},
       "tools": [{"name": "clock", "input_schema": schema}], "tool_choice": {"type": "tool", "name": "clock"}}
said = claude.messages.create(**ask)
made = said.content[-1]
assert said.stop_reason == "tool_use" and made.type == "tool_use" and made.name == "clock", said
fits(made.input)
with claude.messages.stream(**ask) as stream:
    kinds = [event.type for event in stream]
    final = stream.get_final_message()
assert kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds
assert final.content[-1].input == made.input and final.usage.output_tokens == said.usage.output_tokens, (final, said)
assert claude.messages.count_tokens(model=model, messages=user, tools=ask["tools"]).input_tokens == said.usage.input_tokens
refused(anthropic.AuthenticationError, lambda: anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="wrong", max_retries=0).messages.create(**ask))
