"""An MCP server over stdio with a tool that ends it.

Its one argument is a file that gets a line for each call that it was sent.
"""

import json
import sys

TOOL = {"name": "crash", "description": "Ends the server", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q:
        continue
    if q["method"] == "tools/call":
        with open(sys.argv[1], "a") as calls:
            calls.write("call\n")
        sys.exit(1)
    result = {
        "initialize": {
            "protocolVersion": q.get("params", {}).get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "breaks", "version": "1"},
        },
        "tools/list": {"tools": [TOOL]},
        "ping": {},
    }.get(q["method"])
    answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": q["id"], **answer}), flush=True)
