"""Drives a `hone proxy` with an initial-call agent through the openai client.

Arguments: URL and key of the upstream, those of the proxy, and the model that answers.
"""
import json
import sys

import openai

direct = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
proxy = openai.OpenAI(base_url=sys.argv[3], api_key=sys.argv[4], max_retries=0)
model = sys.argv[5]
models = [m.id for m in direct.models.list()]
assert model in models and [m.id for m in proxy.models.list()] == models, models

try:
    openai.OpenAI(base_url=sys.argv[3], api_key=sys.argv[2], max_retries=0).models.list()
    sys.exit("the upstream's key opened the proxy")
except openai.AuthenticationError:
    pass
try:
    proxy.chat.completions.create(model="other", messages=[{"role": "user", "content": "hi"}])
    sys.exit("an unknown model answered")
except openai.NotFoundError as e:
    assert "other" in str(e), e

tools = [{"type": "function", "function": {"name": "hash", "description": "Hash a text.", "parameters": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}]


def turn(text):
    call = {"id": "c", "type": "function", "function": {"name": "hash", "arguments": json.dumps({"text": text})}}
    return [{"role": "user", "content": f'Hash the text "{text}".'}, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "49f68a5c"}, {"role": "assistant", "content": "49f68a5c"}]


# Turns with calls stand before the question, so that a model that was not trained writes one too.
messages = turn("apple") + turn("river") + turn("stone") + [{"role": "user", "content": 'Hash the text "cloud".'}]
ask = {"model": model, "tools": tools, "temperature": 0, "max_tokens": 6, "seed": 1}

# The small model makes the first call, whole or in a stream, and the header says so.
raw = proxy.chat.completions.with_raw_response.create(messages=messages, **ask)
decision = raw.headers["x-hone-decision"]
assert decision.startswith("initial-call=proposed; hash"), decision
first = raw.parse()
[call] = first.choices[0].message.tool_calls
assert first.choices[0].finish_reason == "tool_calls" and call.function.name == "hash" and json.loads(call.function.arguments) == {"text": "cloud"}, first
assert first.usage.total_tokens == 0 and first.system_fingerprint == "hone-initial-call", first
name, arguments, usage = "", "", None
for chunk in proxy.chat.completions.create(messages=messages, stream=True, stream_options={"include_usage": True}, **ask):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        for c in choice.delta.tool_calls or []:
            name, arguments = name + (c.function.name or ""), arguments + (c.function.arguments or "")
assert (name, json.loads(arguments), usage.total_tokens) == ("hash", {"text": "cloud"}, 0)

# The upstream goes on from the result: what it says is what it says without the proxy.
rest = messages + [first.choices[0].message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "e2c1a9d0"}]


def whole(client, **more):
    r = client.chat.completions.create(**{**ask, **more})
    return r.choices[0].message, r.usage


def streamed(client, **more):
    text = ""
    for chunk in client.chat.completions.create(stream=True, **{**ask, **more}):
        for choice in chunk.choices:
            text += choice.delta.content or ""
    return text


assert whole(proxy, messages=rest) == whole(direct, messages=rest)
assert streamed(proxy, messages=rest) == streamed(direct, messages=rest) == (whole(direct, messages=rest)[0].content or "")
# What the small model has nothing to say of goes through: no tools, or none wanted.
plain = [{"role": "user", "content": "Name three colours."}]
for more in ({"messages": plain, "tools": openai.NOT_GIVEN}, {"messages": messages, "tool_choice": "none"}):
    assert whole(proxy, **more) == whole(direct, **more), more
    assert streamed(proxy, **more) == streamed(direct, **more), more
