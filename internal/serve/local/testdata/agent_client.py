"""Gives tasks to a running `hone serve --agent` with the openai and the anthropic client. Argument: URL."""
import sys

from anthropic import Anthropic
from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
buy, burn = [{"role": "user", "content": "Buy a hat."}], [{"role": "user", "content": "Burn the hat."}]

answer = client.chat.completions.create(model="clerk", messages=buy)
assert answer.choices[0].message.content == "I look first.\n\nYou have a hat.", answer.choices[0].message
assert answer.choices[0].finish_reason == "stop" and not answer.choices[0].message.tool_calls
steps = answer.hone["steps"]
assert [(s["name"], s["status"], s["result"]) for s in steps] == [("look", "ok", "in stock"), ("buy", "ok", "sold"), ("look", "ok", "in stock")], steps
assert all("allowed by the rule" in s["approval"] for s in steps), steps

text = "".join(c.choices[0].delta.content or "" for c in client.chat.completions.create(model="clerk", messages=buy, stream=True) if c.choices)
assert text == "I look first.\n\nYou have a hat.", text

response = client.responses.create(model="clerk", input="Buy a hat.")
assert response.output_text == "I look first.\n\nYou have a hat.", response.output_text
again = client.responses.create(model="clerk", input="Burn it.", previous_response_id=response.id)
assert again.output_text.startswith("I may not: The call was denied"), again.output_text

denied = client.chat.completions.create(model="clerk", messages=burn)
(step,) = denied.hone["steps"]
assert step["status"] == "denied" and "nobody can be asked" in step["result"], step
assert denied.choices[0].message.content.startswith("I may not: The call was denied: denied because nobody can be asked"), denied

# Anthropic's protocol: the same tasks.
client = Anthropic(base_url=sys.argv[1].removesuffix("/v1"), api_key="none", max_retries=0)
said = client.messages.create(model="clerk", max_tokens=200, messages=buy)
assert "".join(b.text for b in said.content if b.type == "text") == "I look first.\n\nYou have a hat." and said.stop_reason == "end_turn", said
assert all(b.type == "text" for b in said.content), said
with client.messages.stream(model="clerk", max_tokens=200, messages=buy) as stream:
    text = "".join(stream.text_stream)
assert text == "I look first.\n\nYou have a hat.", text
said = client.messages.create(model="clerk", max_tokens=200, messages=burn)
assert said.content[0].text.startswith("I may not: The call was denied"), said
print("ok")
