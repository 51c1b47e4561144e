"""What Forge (PyPI forge-guardrails 0.10.0) makes of drafts: its rescue parsing, then its retry nudges, up to its default of three.

    python guarded.py ROWS CATALOG OUT [SOURCE=URL/MODEL ...]

ROWS and CATALOG are files of `hone sidecar make-data`; rows of the split test alone are taken. A source with a URL (of an OpenAI-compatible
server, up to /v1) is asked again with the nudge; of the others Forge has its rescue alone. OUT gets a line for each row, as
`hone sidecar eval --outputs forge=OUT` takes it.

Needs: forge-guardrails==0.10.0, Python 3.12.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

from forge.core.workflow import TextResponse, ToolCall
from forge.guardrails import Guardrails


def response_of(message):
    """An assistant message as Forge's clients make it: arguments that are no JSON stay text, which its validator refuses."""
    calls = []
    for c in message.get("tool_calls") or []:
        try:
            args = json.loads(c["function"]["arguments"])
        except ValueError:
            args = c["function"]["arguments"]
        calls.append(ToolCall(tool=c["function"]["name"], args=args))
    return calls or TextResponse(content=message.get("content") or "")


def message_of(calls):
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": f"call_{i}", "type": "function", "function": {"name": c.tool, "arguments": json.dumps(c.args, ensure_ascii=False)}}
        for i, c in enumerate(calls)]}


def ask(where, messages, tools):
    url, model = where
    body = {"model": model, "messages": messages, "tools": tools, "temperature": 0.7, "max_tokens": 128, "seed": 1}
    q = Request(url + "/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(q, timeout=120) as r:
        answer = json.load(r)
    return answer["choices"][0]["message"], answer.get("usage") or {}


def guarded(row, tools, where):
    if not row["gold"]:  # no call is due, and Forge's loop ends by a tool alone: it is not asked
        return {"row": row["row"], "message": row["draft"], "prompt_tokens": 0, "completion_tokens": 0}
    names = [t["function"]["name"] for t in tools]
    guard = Guardrails(tool_names=names, terminal_tool=frozenset())
    messages, message, read, written = list(row["messages"]), row["draft"], 0, 0
    while True:
        check = guard.check(response_of(message))
        if check.action == "execute":
            message = message_of(check.tool_calls)
            break
        if check.action == "fatal" or where is None:
            message = row["draft"]
            break
        # The failed message as text: servers refuse calls that no tool message answers, and arguments that are no JSON.
        text = message.get("content") or json.dumps(message.get("tool_calls") or "")
        messages += [{"role": "assistant", "content": text or " "}, {"role": "user", "content": check.nudge.content}]
        try:
            message, usage = ask(where, messages, tools)
        except OSError as e:  # a request too long for the model: nothing more to try
            print(row["row"], e, file=sys.stderr)
            message = row["draft"]
            break
        read, written = read + usage.get("prompt_tokens", 0), written + usage.get("completion_tokens", 0)
    return {"row": row["row"], "message": message, "prompt_tokens": read, "completion_tokens": written}


def main():
    rows_path, catalog_path, out, *sources = sys.argv[1:]
    places = {}
    for s in sources:
        name, at = s.split("=", 1)
        url, _, model = at.partition("/v1/")
        places[name] = (url + "/v1", model)
    tools = {}
    for server in json.load(open(catalog_path))["servers"]:
        for t in server["tools"]:
            tools[t["model_name"]] = {"type": "function", "function": {"name": t["model_name"], "description": t.get("description", ""), "parameters": t["inputSchema"]}}
    rows = [r for r in map(json.loads, open(rows_path)) if r["split"] == "test"]
    with ThreadPoolExecutor(64) as pool:
        lines = list(pool.map(lambda r: guarded(r, [tools[n] for n in r["tools"]], places.get(r["source"])), rows))
    with open(out, "w") as f:
        for line in lines:
            f.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"forge: {len(lines)} rows, {sum(l['completion_tokens'] > 0 for l in lines)} asked again")


main()
