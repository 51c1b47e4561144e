"""A policy that browses the shop, written down as a script, behind OpenAI's protocol: policy.py PORT

No model that can be had without a network browses well enough to be learnt from. So the traces of the browser are this script's. It reads
what the browser says, as a model would: it clicks on links by the references in the accessibility tree.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def say(messages):
    """The next step: a call as (name, arguments), or an answer as text; and why."""
    task = next(m["content"] for m in messages if m["role"] == "user")
    url = re.search(r"http://\S+/", task)[0]
    name = re.search(r"(?:price of the|does the) (.+?)(?: cost|\.$)", task)[1]
    if messages[-1]["role"] != "tool":
        return "I begin at the front page of the shop.", ("browser_navigate", {"url": url})
    seen = messages[-1]["content"]
    if "[ref=" not in seen and "Price:" not in seen:
        return "I look at the page.", ("browser_snapshot", {})
    price = re.search(r"Price: ([\d.]+ EUR)", seen)
    if price:
        return "The page of the product says its price.", f"The {name} costs {price[1]}."
    for text, why in [(name, f"The list has the {name}."), (name[0].upper(), f"The list is long. The {name} is below the letter {name[0].upper()}.")]:
        ref = re.search(rf'link "{re.escape(text)}" \[ref=(\w+)\]', seen)
        if ref:
            return why, ("browser_click", {"element": f"link {text}", "target": ref[1]})
    return "I see no way on.", f"I could not find the {name}."


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        why, step = say(asked["messages"])
        message = {"role": "assistant", "content": None, "reasoning_content": why}
        if isinstance(step, str):
            message["content"] = step
        else:
            message["tool_calls"] = [{"id": f"call_{len(asked['messages'])}", "type": "function", "function": {"name": step[0], "arguments": json.dumps(step[1])}}]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({
            "id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop" if isinstance(step, str) else "tool_calls"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}).encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Endpoint)
print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
server.serve_forever()
