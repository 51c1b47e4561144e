"""Drives a running `hone serve` with the openai client. Arguments: URL, key, adapter's name, base's name.

The last line on stdout is what the Go test compares: {"adapter": text, "base": text, "calls": [...]}.
"""
import json
import sys

import openai

url, key, adapter, base = sys.argv[1:]
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
ask = {"messages": messages, "tools": tools, "temperature": 0, "max_tokens": 48}


def streamed(model):
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


def whole(model):
    r = client.chat.completions.create(model=model, **ask)
    m = r.choices[0].message
    calls = [(c.function.name, c.function.arguments) for c in m.tool_calls or []]
    return m.content or "", calls, r.choices[0].finish_reason, r.usage.total_tokens


def first(**more):
    return client.chat.completions.create(model=base, messages=[{"role": "user", "content": "Name three colours."}], **more).choices[0]


# Sampling parameters do what they say.
greedy = first(temperature=0, max_tokens=24, logprobs=True, top_logprobs=3, extra_body={"return_token_ids": True})
text = greedy.message.content
best = greedy.logprobs.content[0]
assert len(best.top_logprobs) == 3 and best.top_logprobs[0].token == best.token, best
narrow = first(temperature=1, top_p=0.0001, seed=5, max_tokens=24)
assert narrow.message.content == text, f"top_p of almost 0 says {narrow.message.content!r}, greedy {text!r}"
one = first(temperature=1, seed=6, max_tokens=24, extra_body={"top_k": 1})
assert one.message.content == text, f"top_k 1 says {one.message.content!r}, greedy {text!r}"
seeded = [first(temperature=1.5, top_p=0.95, seed=s, max_tokens=24).message.content for s in (7, 7, 8)]
assert seeded[0] == seeded[1] != seeded[2], seeded
end = text[len(text) // 2:][:5]
stopped = first(temperature=0, max_tokens=24, stop=["never written", end])
assert stopped.finish_reason == "stop" and stopped.message.content == text[:text.index(end)], (stopped, text)
banned = first(temperature=0, max_tokens=1, logit_bias={str(greedy.token_ids[0]): -100}, logprobs=True)
assert banned.logprobs.content[0].token == best.top_logprobs[1].token, banned
try:
    first(extra_body={"repetition_penalty": 1.1})
    sys.exit("an unknown parameter was ignored")
except openai.BadRequestError as e:
    assert e.param == "repetition_penalty", e

answers = {}
for name in adapter, base:
    answers[name] = whole(name)
    again = streamed(name)
    assert again == answers[name], f"streamed {again}, whole {answers[name]}"
print(json.dumps({"adapter": answers[adapter][:2], "base": answers[base][:2], "calls": answers[base][1]}))
