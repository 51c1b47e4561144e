"""Evaluates the rows of gym.jsonl with verifiers, against a scripted endpoint. Its argument is the server's URL.

Prints as JSON, on the last line, what each scenario earned, or null where the rollout is none to learn from.
Needs: internal/env/testdata/verifiers_requirements.txt
"""

import glob
import json
import os
import pathlib
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BIN = pathlib.Path(sys.executable).parent
ADA = {"entities": [{"name": "Ada", "entityType": "person", "observations": []}]}


class Policy(BaseHTTPRequestHandler):
    """An endpoint whose model does what the task's name says, once."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        q = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = [t["function"]["name"] for t in q.get("tools") or []]
        wanted, arguments = ("crash", {}) if "(call)" in json.dumps(q["messages"]) else ("create_entities", ADA)
        if q["messages"][-1]["role"] == "tool":
            said, finish = {"role": "assistant", "content": "Done."}, "stop"
        else:
            call = {"name": next(n for n in names if n.endswith(wanted)), "arguments": json.dumps(arguments)}
            said, finish = (
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": call}],
                },
                "tool_calls",
            )
        head = {"id": "x", "created": 1, "model": "m"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if q.get("stream"):
            kind = "text/event-stream"
            parts = [
                {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                {"choices": [], "usage": usage},
            ]
            body = (
                "".join("data: " + json.dumps({**head, "object": "chat.completion.chunk", **p}) + "\n\n" for p in parts)
                + "data: [DONE]\n\n"
            )
        else:
            kind = "application/json"
            body = json.dumps(
                {
                    **head,
                    "object": "chat.completion",
                    "choices": [{"index": 0, "message": said, "finish_reason": finish}],
                    "usage": usage,
                }
            )
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


policy = ThreadingHTTPServer(("127.0.0.1", 0), Policy)
threading.Thread(target=policy.serve_forever, daemon=True).start()
pathlib.Path("vf.toml").write_text(f"""model = "m"
push = false
output_dir = "vf"
[client]
base_url = "http://127.0.0.1:{policy.server_port}/v1"
api_key_var = "NO_KEY"
[env.taskset]
id = "nemo-gym"
dataset = "gym.jsonl"
[env.taskset.task]
resources_url = "{sys.argv[1]}/gym"
[env.agent.harness]
id = "null"
[env.agent.runtime]
type = "subprocess"
""")
subprocess.run(
    [BIN / "vf-eval", "@", "vf.toml", "--no-rich"],
    stdout=sys.stderr,
    env=dict(os.environ, NO_KEY="none", PATH=f"{BIN}:{os.environ['PATH']}"),
)
told = {}
for line in open(glob.glob("vf/*/traces.jsonl")[0]):
    trace = json.loads(line)["traces"][0]
    scenario = trace["task"]["data"]["row"]["verifier_metadata"]["scenario"]
    told[scenario] = trace["rewards"]["nemo_gym"]["score"] if trace["ok"] else None
print(json.dumps(told))
