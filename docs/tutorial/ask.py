# Asks the served model a question, with the tools of catalog.json, and prints its answer.
import json, sys, urllib.error, urllib.request

tools = [{"type": "function", "function": {"name": t["model_name"], "description": t["description"], "parameters": t["inputSchema"]}}
         for s in json.load(open("catalog.json"))["servers"] for t in s["tools"]]
body = {"model": sys.argv[1], "temperature": 0, "tools": tools, "messages": [{"role": "user", "content": sys.argv[2]}]}
request = urllib.request.Request("http://127.0.0.1:8000/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
try:
    print(json.dumps(json.load(urllib.request.urlopen(request))["choices"][0]["message"], indent=1))
except urllib.error.HTTPError as refused:  # such as 503, while the model is loading
    sys.exit(f"{refused.code}: {json.load(refused)['error']['message']}")
except urllib.error.URLError as gone:
    sys.exit(f"hone serve does not answer: {gone.reason}")
