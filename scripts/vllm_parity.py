"""Compares hone serve with vLLM on the same weights and adapter, in float32 on the CPU: prompts, greedy texts, logprobs, tool calls.

Usage: vllm_parity.py HONE_URL VLLM_URL ADAPTER, base URLs up to and including /v1. Both serve the base model as "smol" alone or as their
only model without a parent; ADAPTER is a folder that vLLM loads as "tuned", and hone serve serves under its path. Only the standard library is needed.

For each prompt the two must write the same ids, or part where the two likeliest tokens are a tie: less than TIE apart to both.
Up to there the logprobs of the written tokens must agree to BOUND. It prints one line of JSON with what was measured.
"""

import json
import pathlib
import sys
import urllib.error
import urllib.request

BOUND = 1e-3  # nats
TIE = 1e-3  # nats
TOKENS = 48

SYSTEM = {"role": "system", "content": "Call a tool to get the result, then reply with the result only."}


def user(text):
    return {"role": "user", "content": text}


def demonstrated(n):
    """The beginnings of n conversations that the adapter learnt from, so that it calls tools, and their tools."""
    rows = [json.loads(line) for line in (pathlib.Path(__file__).parent / "vllm_demonstrations.jsonl").read_text().splitlines()]
    return [(row["messages"][:2], row["tools"]) for row in rows[:n]]


CONVERSATIONS = demonstrated(4) + [
    ([user("Count to five.")], []),
    ([user("Name three colours.")], []),
    ([user("Gr\u00fc\u00dfe! Was ist 2 + 3?")], []),
    ([SYSTEM, user("What is the capital of France?")], []),
]


def ask(base, path, body=None):
    request = urllib.request.Request(base + path, json.dumps(body).encode() if body is not None else None, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.loads(answer.read() or b"null") if "json" in answer.headers.get("Content-Type", "") else None
    except urllib.error.HTTPError as e:
        raise SystemExit(f"{base}{path}: {e.code} {e.read().decode()}")


def prompt_ids(base, model, messages, tools):
    root = base.removesuffix("/v1")
    return ask(root, "/tokenize", {"model": model, "messages": messages, **({"tools": tools} if tools else {})})["tokens"]


def complete(base, model, ids):
    c = ask(base, "/completions", {"model": model, "prompt": ids, "max_tokens": TOKENS, "temperature": 0, "logprobs": 2, "return_token_ids": True,
                                   "stop_token_ids": [2], "repetition_penalty": 1, "top_p": 1, "top_k": -1, "min_p": 0})["choices"][0]
    top = [sorted(x.values(), reverse=True)[:2] for x in c["logprobs"]["top_logprobs"]]
    return c["token_ids"], c["logprobs"]["token_logprobs"], top


def calls(base, model, messages, tools):
    m = ask(base, "/chat/completions", {"model": model, "messages": messages, "tools": tools, "max_tokens": TOKENS, "temperature": 0})["choices"][0]["message"]
    return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in m.get("tool_calls") or []]


def compare(name, hone, vllm, report):
    """One model under its names on both sides."""
    out = {"prompts": 0, "same_texts": 0, "ties": 0, "tokens": 0, "max_delta": 0.0, "mean_delta": 0.0, "calls": 0, "same_calls": 0}
    for messages, tools in CONVERSATIONS:
        ids = prompt_ids(*hone, messages, tools)
        if ids != prompt_ids(*vllm, messages, tools):
            report.append(f"{name}: the prompts of {messages[-1]['content']!r} differ")
            continue
        (a, pa, ta), (b, pb, tb) = complete(*hone, ids), complete(*vllm, ids)
        n = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        out["prompts"] += 1
        out["tokens"] += n
        for x, y in zip(pa[:n], pb[:n]):
            out["max_delta"] = max(out["max_delta"], abs(x - y))
            out["mean_delta"] += abs(x - y)
        if a == b:
            out["same_texts"] += 1
        elif n < min(len(a), len(b)) and max(ta[n][0] - ta[n][1], tb[n][0] - tb[n][1]) < TIE:
            out["ties"] += 1
        else:
            report.append(f"{name}: {messages[-1]['content']!r} parts at token {n}: {a[n:n+1]} {ta[n:n+1]}, {b[n:n+1]} {tb[n:n+1]}")
        if tools:
            ours, theirs = calls(*hone, messages, tools), calls(*vllm, messages, tools)
            out["calls"] += len(theirs)
            if ours == theirs:
                out["same_calls"] += len(theirs)
            elif a == b:
                report.append(f"{name}: {messages[-1]['content']!r} is called {ours} by hone and {theirs} by vLLM")
    out["mean_delta"] /= max(1, out["tokens"])
    if out["max_delta"] > BOUND:
        report.append(f"{name}: a logprob differs by {out['max_delta']}")
    return out


def main():
    hone, vllm, adapter = sys.argv[1:]
    base = [next(m["id"] for m in ask(url, "/models")["data"] if not m.get("parent")) for url in (hone, vllm)]
    tuned = next(m["id"] for m in ask(hone, "/models")["data"] if m.get("parent"))
    ask(vllm, "/load_lora_adapter", {"lora_name": "tuned", "lora_path": adapter})
    report = []
    result = {"base": compare("base", (hone, base[0]), (vllm, base[1]), report), "adapter": compare("adapter", (hone, tuned), (vllm, "tuned"), report)}
    swapped = []
    compare("a swap", (hone, tuned), (vllm, base[1]), swapped)  # which must be noticed, or all this says nothing
    if not swapped:
        report.append("base and adapter compare equal")
    if not result["adapter"]["calls"]:
        report.append("the adapter calls no tool, so calls were not compared")
    ask(vllm, "/unload_lora_adapter", {"lora_name": "tuned"})
    print(json.dumps(result))
    for line in report:
        print(line, file=sys.stderr)
    return 1 if report else 0


if __name__ == "__main__":
    sys.exit(main())
