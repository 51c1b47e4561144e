"""Drives a running `hone serve` with the openai client. Arguments: URL, key, adapter's name, base's name, adapter's folder.

The last line on stdout is what the Go test compares: {"adapter": text, "base": text, "calls": [...]}.
"""
import json
import sys
import urllib.request

import openai

url, key, adapter, base, folder = sys.argv[1:]
client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)

assert [m.id for m in client.models.list()] == [adapter, base]

try:
    openai.OpenAI(base_url=url, api_key="wrong", max_retries=0).models.list()
    sys.exit("a wrong key was let through")
except openai.AuthenticationError:
    pass
try:
    client.chat.completions.create(model="other", messages=[{"role": "user", "content": "hi"}])
    sys.exit("an unknown model answered")
except openai.NotFoundError:
    pass

tools = [{"type": "function", "function": {"name": "hash", "description": "Hash a text.", "parameters": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}]


def turn(text):
    call = {"id": "c", "type": "function", "function": {"name": "hash", "arguments": json.dumps({"text": text})}}
    return [{"role": "user", "content": f'Hash the text "{text}".'},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "49f68a5c"},
            {"role": "assistant", "content": "49f68a5c"}]


# Turns with calls stand before the question, so that the untrained base model writes one too.
messages = turn("apple") + turn("river") + turn("stone") + [{"role": "user", "content": 'Hash the text "cloud".'}]
calling = {"messages": messages, "tools": tools, "temperature": 0, "max_tokens": 48}
# A token takes as long as it takes to read the weights, and an adapter of noise does not end by itself.
short = {"messages": messages[-1:], "tools": tools, "temperature": 0, "max_tokens": 8}


def streamed(model, ask):
    content, calls, reason, usage = "", {}, None, None
    for chunk in client.chat.completions.create(model=model, stream=True, stream_options={"include_usage": True}, **ask):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            content += choice.delta.content or ""
            for c in choice.delta.tool_calls or []:
                name, arguments = calls.get(c.index, ("", ""))
                calls[c.index] = (name + (c.function.name or ""), arguments + (c.function.arguments or ""))
    return content, [calls[i] for i in sorted(calls)], reason, usage.total_tokens


def whole(model, ask):
    r = client.chat.completions.create(model=model, **ask)
    m = r.choices[0].message
    calls = [(c.function.name, c.function.arguments) for c in m.tool_calls or []]
    return m.content or "", calls, r.choices[0].finish_reason, r.usage.total_tokens


def first(**more):
    return client.chat.completions.create(model=base, messages=[{"role": "user", "content": "Name three colours."}], **more).choices[0]


# Sampling parameters do what they say.
greedy = first(temperature=0, max_tokens=8, logprobs=True, top_logprobs=3, extra_body={"return_token_ids": True})
text = greedy.message.content
best = greedy.logprobs.content[0]
assert len(best.top_logprobs) == 3 and best.top_logprobs[0].token == best.token, best
narrow = first(temperature=1, top_p=0.0001, seed=5, max_tokens=8)
assert narrow.message.content == text, f"top_p of almost 0 says {narrow.message.content!r}, greedy {text!r}"
one = first(temperature=1, seed=6, max_tokens=8, extra_body={"top_k": 1})
assert one.message.content == text, f"top_k 1 says {one.message.content!r}, greedy {text!r}"
seeded = [first(temperature=1.5, top_p=0.95, seed=s, max_tokens=8).message.content for s in (7, 7, 8)]
assert seeded[0] == seeded[1] != seeded[2], seeded
end = text[len(text) // 2:][:5]
stopped = first(temperature=0, max_tokens=8, stop=["never written", end])
assert stopped.finish_reason == "stop" and stopped.message.content == text[:text.index(end)], (stopped, text)
banned = first(temperature=0, max_tokens=1, logit_bias={str(greedy.token_ids[0]): -100}, logprobs=True)
assert banned.logprobs.content[0].token == best.top_logprobs[1].token, banned
try:
    first(extra_body={"repetition_penalty": 1.1})
    sys.exit("an unknown parameter was ignored")
except openai.BadRequestError as e:
    assert e.param == "repetition_penalty", e


# A call can be required, of any tool or of one; its arguments then fit the schema, in streams too.
clock = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {
    "zone": {"enum": ["UTC", "CET"]}, "hour": {"type": "integer", "minimum": 0, "maximum": 23}, "labels": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}},
    "required": ["zone", "hour"]}}}


def fits(arguments):
    a = json.loads(arguments)
    assert a["zone"] in ("UTC", "CET") and type(a["hour"]) is int and 0 <= a["hour"] <= 23 and set(a) <= {"zone", "hour", "labels"}, a
    assert len(a.get("labels", [])) <= 2 and all(type(x) is bool for x in a.get("labels", [])), a


hot = {"model": base, "messages": [{"role": "user", "content": "Tell me a story."}], "tools": [clock], "temperature": 1.2, "max_tokens": 120}
for seed in range(1):
    named = client.chat.completions.create(seed=seed, tool_choice={"type": "function", "function": {"name": "clock"}}, **hot).choices[0]
    assert [c.function.name for c in named.message.tool_calls] == ["clock"] and not named.message.content, named
    fits(named.message.tool_calls[0].function.arguments)
    pieces = []  # a call that is required is told of while it is written: its name first, then its arguments
    for chunk in client.chat.completions.create(seed=seed, stream=True, tool_choice="required", parallel_tool_calls=False, **hot):
        for c in chunk.choices[0].delta.tool_calls or []:
            assert c.index == 0, "two calls where one was asked for"
            pieces.append(c.function)
    assert pieces[0].name == "clock" and not pieces[0].arguments and len(pieces) > 3 and not any(p.name for p in pieces[1:]), pieces
    fits("".join(p.arguments for p in pieces))

# An answer has the form that is asked for, several answers at once too.
schema = {"type": "object", "properties": {"colour": {"enum": ["red", "green"]}, "count": {"type": "integer", "minimum": 1, "maximum": 9}},
          "required": ["colour", "count"], "additionalProperties": False}
formed = client.chat.completions.create(model=base, messages=[{"role": "user", "content": "Colours?"}], n=2, seed=1, temperature=0.8, max_tokens=120, response_format={
    "type": "json_schema", "json_schema": {"name": "c", "schema": schema, "strict": True}})
assert [c.index for c in formed.choices] == [0, 1], formed
for c in formed.choices:
    a = json.loads(c.message.content)
    assert set(a) == {"colour", "count"} and a["colour"] in ("red", "green") and 1 <= a["count"] <= 9, a

# The older protocol goes on with a text, or with ids.
greedy_text = client.completions.create(model=base, prompt="One, two, three,", temperature=0, max_tokens=8, logprobs=2)
choice = greedy_text.choices[0]
assert " four" in choice.text and len(choice.logprobs.tokens) == greedy_text.usage.completion_tokens == 8, greedy_text


def post(path, body, root=url.removesuffix("/v1")):
    r = urllib.request.Request(root + path, json.dumps(body).encode(), {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    with urllib.request.urlopen(r) as answer:
        return answer.read().decode()


tokens = json.loads(post("/tokenize", {"model": base, "prompt": "One, two, three,"}))
assert tokens["count"] == len(tokens["tokens"]) == greedy_text.usage.prompt_tokens, tokens
again = client.completions.create(model=base, prompt=tokens["tokens"], temperature=0, max_tokens=8)
assert again.choices[0].text == choice.text, again
parts = [c for c in client.completions.create(model=base, prompt="One, two, three,", temperature=0, max_tokens=8, stream=True)]
assert "".join(p.choices[0].text for p in parts) == choice.text, parts
assert json.loads(post("/detokenize", {"model": base, "tokens": tokens["tokens"]}))["prompt"] == "One, two, three,"

# An adapter comes and goes while another answer is under way, which does not notice; under another name it answers alike.
others = client.chat.completions.create(model=base, messages=[{"role": "user", "content": "Name three colours."}], temperature=0, max_tokens=24, stream=True)
begun = next(others)
said = post("/v1/load_lora_adapter", {"lora_name": "late", "lora_path": folder})
assert "late" in said and [m.id for m in client.models.list()] == [adapter, base, "late"], said
late = whole("late", short)
assert late == whole(adapter, short), f"loaded late {late}"
post("/v1/load_lora_adapter", {"lora_name": "late", "lora_path": folder, "load_inplace": True})
assert whole("late", short) == late
post("/v1/unload_lora_adapter", {"lora_name": "late"})
try:
    client.chat.completions.create(model="late", messages=[{"role": "user", "content": "hi"}])
    sys.exit("an adapter that is unloaded answered")
except openai.NotFoundError:
    pass
rest = [begun, *others]
assert rest[-1].choices[0].finish_reason in ("length", "stop"), rest[-1]
assert "".join(c.choices[0].delta.content or "" for c in rest).startswith(text), (rest, text)
request = urllib.request.Request(url.removesuffix("/v1") + "/metrics", headers={"Authorization": "Bearer " + key})
metrics = urllib.request.urlopen(request).read().decode()
assert f'vllm:generation_tokens_total{{model_name="{base}"}}' in metrics and "vllm:time_to_first_token_seconds_bucket" in metrics, metrics

answers = {}
for name in adapter, base:
    answers[name] = whole(name, short)
    again = streamed(name, short)
    assert again == answers[name], f"streamed {again}, whole {answers[name]}"
called = whole(base, calling)
again = streamed(base, calling)
assert again == called, f"streamed {again}, whole {called}"
print(json.dumps({"adapter": answers[adapter][:2], "base": answers[base][:2], "calls": called[1]}))
