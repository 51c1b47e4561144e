"""Drives a running `hone serve` with the anthropic client, and with the openai client's responses. Arguments: URL, key, base's name."""
import json
import sys

import anthropic
import openai

url, key, base = sys.argv[1:]
schema = {"type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}, "hour": {"type": "integer", "minimum": 0, "maximum": 23}},
          "required": ["zone", "hour"], "additionalProperties": False}


def fits(a):
    assert set(a) == {"zone", "hour"} and a["zone"] in ("UTC", "CET") and 0 <= a["hour"] <= 23, a


# Anthropic's protocol.
client = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=key, max_retries=0)
user = {"role": "user", "content": "What time is it in London?"}
ask = {"model": base, "max_tokens": 100, "extra_body": {"temperature": 0}, "tools": [{"name": "clock", "description": "Tell the time.", "input_schema": schema}],
       "tool_choice": {"type": "tool", "name": "clock"}}
said = client.messages.create(messages=[user], system="Be brief.", **ask)
call = said.content[-1]
assert said.stop_reason == "tool_use" and call.type == "tool_use" and call.name == "clock", said
fits(call.input)
with client.messages.stream(messages=[user], system="Be brief.", **ask) as stream:
    kinds = [event.type for event in stream]
    streamed = stream.get_final_message()
assert kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds
unnamed = lambda blocks: [block.model_dump(exclude={"id"}) for block in blocks]  # each call has an id of its own
assert unnamed(streamed.content) == unnamed(said.content) and streamed.usage.output_tokens == said.usage.output_tokens, (streamed, said)
assert client.messages.count_tokens(model=base, messages=[user], system="Be brief.", tools=ask["tools"]).input_tokens == said.usage.input_tokens
answered = client.messages.create(messages=[user, {"role": "assistant", "content": said.content}, {"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": call.id, "content": "14:05"}]}], **(ask | {"tool_choice": {"type": "none"}, "max_tokens": 24}))
assert answered.content[0].type == "text" and answered.stop_reason in ("end_turn", "max_tokens"), answered
begun = [{"role": "user", "content": "Count to five in words."}, {"role": "assistant", "content": "One, two, three,"}]
goes = client.messages.create(model=base, max_tokens=3, extra_body={"temperature": 0}, messages=begun)
assert goes.content[0].text.startswith(" four"), goes  # the answer goes on where the client began it, and says that not again
formed = client.messages.create(model=base, max_tokens=100, messages=[user], output_config={"format": {"type": "json_schema", "schema": schema}})
fits(json.loads(formed.content[0].text))
try:
    client.messages.create(model=base, max_tokens=5, messages=[{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}])
    sys.exit("an image was taken")
except anthropic.BadRequestError as e:
    assert e.body["error"]["type"] == "invalid_request_error", e
try:
    anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="wrong", max_retries=0).messages.create(model=base, max_tokens=5, messages=[user])
    sys.exit("a wrong key was let through")
except anthropic.AuthenticationError:
    pass

# OpenAI's responses.
client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
ask = {"model": base, "temperature": 0, "instructions": "Be brief.", "max_output_tokens": 100,
       "tools": [{"type": "function", "name": "clock", "description": "Tell the time.", "parameters": schema, "strict": True}]}
said = client.responses.create(input=user["content"], tool_choice="required", parallel_tool_calls=False, **ask)
call = said.output[-1]
assert said.status == "completed" and call.type == "function_call" and call.name == "clock", said
fits(json.loads(call.arguments))
events = list(client.responses.create(input=user["content"], tool_choice="required", parallel_tool_calls=False, stream=True, **ask))
assert [e.sequence_number for e in events] == list(range(len(events))), events
assert events[0].type == "response.created" and events[-1].type == "response.completed", events
assert events[-1].response.output[-1].arguments == call.arguments, (events[-1], said)
output = {"type": "function_call_output", "call_id": call.call_id, "output": "14:05"}
kept = client.responses.create(input=[output], previous_response_id=said.id, tool_choice="none", **(ask | {"max_output_tokens": 16}))
sent = client.responses.create(input=[user, call, output], store=False, tool_choice="none", **(ask | {"max_output_tokens": 16}))
assert kept.output_text == sent.output_text != "", (kept, sent)
assert client.responses.retrieve(kept.id).output_text == kept.output_text
formed = client.responses.create(model=base, input="Now?", temperature=0.8, max_output_tokens=200, text={"format": {"type": "json_schema", "name": "t", "schema": schema, "strict": True}})
fits(json.loads(formed.output_text))
try:
    client.responses.create(model=base, input="x", previous_response_id=sent.id)
    sys.exit("what was not stored was found")
except openai.BadRequestError as e:
    assert e.code == "previous_response_not_found", e
