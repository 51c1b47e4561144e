"""Writes rows of every format with the Hub's own library, datasets, as parquet and JSON lines: nested columns, as well as columns
of JSON text. rows.json says what conversation each row tells; formats_test.go reads the files and compares.

Needs: pip install -r requirements.txt
"""
import json
import pathlib

import datasets

HERE = pathlib.Path(__file__).parent
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
OTHER = [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]


def call(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def messages(string_arguments):
    keep = (lambda x: json.dumps(x)) if string_arguments else (lambda x: x)
    return [
        [{"role": "system", "content": "Be brief.", "tool_calls": None, "tool_call_id": None, "reasoning_content": None},
         {"role": "user", "content": "Rain in Bern? é😀\u2028", "tool_calls": None, "tool_call_id": None, "reasoning_content": None},
         {"role": "assistant", "content": "", "tool_calls": [call("a1", "weather", keep({"city": "Bern"}))], "tool_call_id": None,
          "reasoning_content": "I look."},
         {"role": "tool", "content": "dry", "tool_calls": None, "tool_call_id": "a1", "reasoning_content": None},
         {"role": "assistant", "content": "No.", "tool_calls": None, "tool_call_id": None, "reasoning_content": None}],
        [{"role": "user", "content": "1+2 and 3+4?", "tool_calls": None, "tool_call_id": None, "reasoning_content": None},
         {"role": "assistant", "content": "", "tool_calls": [call("b1", "add", keep({"a": 1, "b": 2})), call("b2", "add", keep({"a": 3, "b": 4}))],
          "tool_call_id": None, "reasoning_content": None},
         {"role": "tool", "content": "3", "tool_calls": None, "tool_call_id": "b1", "reasoning_content": None},
         {"role": "tool", "content": "7", "tool_calls": None, "tool_call_id": "b2", "reasoning_content": None},
         {"role": "assistant", "content": "3 and 7.", "tool_calls": None, "tool_call_id": None, "reasoning_content": None}],
        [{"role": "user", "content": "Hi", "tool_calls": None, "tool_call_id": None, "reasoning_content": None},
         {"role": "assistant", "content": "Hello.", "tool_calls": [], "tool_call_id": None, "reasoning_content": None}],
    ]


def legacy(conversation):
    out = []
    for m in conversation:
        if m["role"] == "tool":
            out.append({"role": "function", "content": m["content"], "name": "weather" if m["content"] == "dry" else "add"})
            continue
        for c in m["tool_calls"] or []:
            out.append({"role": "assistant", "content": "", "function_call": {
                "name": c["function"]["name"], "arguments": c["function"]["arguments"]}})
        if not m["tool_calls"]:
            out.append({"role": m["role"], "content": m["content"]})
    return out


def sharegpt(conversation):
    out = []
    for m in conversation:
        if m["role"] == "tool":
            out.append({"from": "observation", "value": m["content"]})
        elif m["role"] == "system":
            continue
        elif m["tool_calls"]:
            for c in m["tool_calls"]:
                out.append({"from": "function_call", "value": json.dumps({
                    "name": c["function"]["name"], "arguments": json.loads(c["function"]["arguments"])})})
        else:
            out.append({"from": {"user": "human", "assistant": "gpt"}[m["role"]], "value": m["content"]})
    return out


def hermes(conversation, tools):
    out = [{"from": "system", "value": "You are a function calling AI model. <tools>" + json.dumps(tools) + "</tools>"}]
    for m in conversation:
        if m["role"] == "tool":
            out.append({"from": "tool", "value": "<tool_response>\n" + m["content"] + "\n</tool_response>"})
        elif m["role"] == "system":
            continue
        elif m["tool_calls"]:
            text = ""
            for c in m["tool_calls"]:
                python = repr({"arguments": json.loads(c["function"]["arguments"]), "name": c["function"]["name"]})
                text += "<tool_call>\n" + python + "\n</tool_call>\n"
            out.append({"from": "gpt", "value": text})
        else:
            out.append({"from": {"user": "human", "assistant": "gpt"}[m["role"]], "value": m["content"]})
    return out


def write(name, rows):
    data = datasets.Dataset.from_list(rows)
    data.to_parquet(str(HERE / f"{name}.parquet"))
    data.to_json(str(HERE / f"{name}.jsonl"))


def main():
    text, tree, lists = messages(True), messages(False), [TOOLS, OTHER, []]
    write("nested", [{"messages": m, "tools": json.dumps(t)} for m, t in zip(text, lists)])
    write("objects", [{"messages": m, "tools": t} for m, t in zip(tree, lists)])
    write("strings", [{"messages": json.dumps(m), "tools": json.dumps(t)} for m, t in zip(text, lists)])
    declared = "<|im_system|>tool_declare<|im_middle|>%s<|im_end|>"
    write("toucan", [{"uuid": str(i), "subset_name": "single-turn-original", "question": "q", "available_tools": "[]", "target_tools": "weather",
                      "messages": json.dumps([{"role": "system", "content": declared % json.dumps(t)}] + [m for m in legacy(c) if m["role"] != "system"]),
                      "metadata": "{}"} for i, (c, t) in enumerate(zip(text, lists))])
    write("apigen_mt", [{"conversations": sharegpt(c), "tools": json.dumps(t), "system": ""} for c, t in zip(text[:1], lists)])
    write("hermes", [{"id": str(i), "conversations": hermes(c, t), "category": "x"} for i, (c, t) in enumerate(zip(text, lists))])
    write("xlam", [{"id": 1, "query": text[0][1]["content"], "answers": json.dumps([{"name": "weather", "arguments": {"city": "Bern"}}]),
                    "tools": json.dumps([{"name": "weather", "description": "The weather.", "parameters": {"city": {"description": "c", "type": "str"}}}])}])
    (HERE / "rows.json").write_text(json.dumps(text, ensure_ascii=False, indent=1) + "\n")


main()
