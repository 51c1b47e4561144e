"""Makes one task file and one server file of a run of `hone-learn`, for `hone train`: tasks.py RUN TASKS SERVERS [SECONDS SLOW]

Reads RUN/tasks.json, RUN/catalog.json and demo/mcp.json. The servers show the tools that the run was shown. With SLOW, experiments/gpu/overlap/slow.py, each of their
answers takes SECONDS longer.
"""

import json
import sys

run, tasks, servers, *slow = sys.argv[1:]
made, catalog, config = (json.load(open(f)) for f in [f"{run}/tasks.json", f"{run}/catalog.json", "demo/mcp.json"])
json.dump(made["Train"] + made["Test"], open(tasks, "w"))
for server in config["mcpServers"].values():
    server["includeTools"] = [t["name"] for s in catalog["servers"] for t in s["tools"]]
    if slow:
        server["args"] = [slow[1], slow[0], server["command"], *server["args"]]
        server["command"] = "python3"
json.dump(config, open(servers, "w"))
