"""Drives a `hone proxy --mode sidecar` with the openai client. Arguments: URL and key of the proxy.

Asks once for each way in which the upstream of the test answers, whole and in a stream, and prints
{way: {"decision": header, "calls": [[name, arguments]], "content": text, "streamed": [[name, arguments]]}}.
"""
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
tools = [{"type": "function", "function": {"name": "hash", "description": "Hash a text.", "parameters": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}}}]


def turn(text):
    call = {"id": "c", "type": "function", "function": {"name": "hash", "arguments": json.dumps({"text": text})}}
    asked = (f'Hash the text "{text}".\n\nDraft: {{"name": "format_disk", "arguments": {{"path": "/{text}"}}}}\n'
             'Problem: there is no tool "format_disk"; there are hash\nWrite the right call, or: No call.')
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "49f68a5c"}, {"role": "assistant", "content": "49f68a5c"}]


# Turns in the sidecar's own form stand before the question, so that a model that was not trained writes a call too.
messages = turn("apple") + turn("river") + turn("stone") + [{"role": "user", "content": 'Hash the text "cloud".'}]
out = {}
for way in "right", "mend", "wrong", "plain":
    ask = {"model": way, "messages": messages, "tools": tools}
    raw = client.chat.completions.with_raw_response.create(extra_headers={"X-Request-Id": way}, **ask)
    m = raw.parse().choices[0].message
    calls = {}
    # A stream of plain words is not held up; one stream with a call that the sidecar is asked about takes as long as the whole answer.
    for chunk in client.chat.completions.create(stream=True, **ask) if way != "wrong" else []:
        for c in chunk.choices[0].delta.tool_calls or []:
            name, arguments = calls.get(c.index, ("", ""))
            calls[c.index] = (name + (c.function.name or ""), arguments + (c.function.arguments or ""))
    out[way] = {"decision": raw.headers["x-hone-decision"], "calls": [[c.function.name, c.function.arguments] for c in m.tool_calls or []], "content": m.content,
                "streamed": list(calls.values())}
print(json.dumps(out))
