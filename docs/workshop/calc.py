"""Tasks for calc-mcp, as JSON lines: calc.py FIRST LAST

Tasks FIRST to LAST - 1 of an endless list, in which no task comes twice. Of five, three are to learn from, one is to validate and one is the
test. Each has the call that is right, and the answer that the server gives: hone scenarios validate proves both.
"""

import base64
import datetime
import json
import random
import sys
import urllib.parse
import zlib

WORDS = "river stone apple cloud tiger lemon piano tower garden rocket winter silver forest candle marble".split()


def text(draw, i):
    return f"{draw.choice(WORDS)} {draw.choice(WORDS)} {100 + i}"


def encode64(draw, i):
    x = text(draw, i)
    return ['Encode "{}" in Base64.', 'What is "{}" in Base64?'], [x], ("base64", {"input": x, "action": "encode"}), base64.b64encode(x.encode()).decode()


def decode64(draw, i):
    x = text(draw, i)
    coded = base64.b64encode(x.encode()).decode()
    return ["Decode the Base64 text {}.", "What does {} say, decoded from Base64?"], [coded], ("base64", {"input": coded, "action": "decode"}), x


def crc(draw, i):
    x = text(draw, i)
    return ['What is the CRC32 hash of "{}"?', 'Hash "{}" with CRC32.'], [x], ("hash", {"input": x, "algorithm": "crc32"}), f"{zlib.crc32(x.encode()):08x}"


def url(draw, i):
    x = f"{draw.choice(WORDS)}={draw.choice(WORDS)} {10 + i}"
    return ['What is "{}" URL encoded?', 'URL encode "{}".'], [x], ("encode", {"input": x, "action": "encode", "type": "url"}), urllib.parse.quote(x, safe="")


def weekday(_, i):
    d = datetime.date(2000, 1, 1) + datetime.timedelta(days=i * 7919 % 12000)
    return ["Which day of the week was {}?", "On what weekday did {} fall?"], [d], ("date", {"action": "weekday", "date": str(d)}), d.strftime("%A")


def number(_, i):
    n = 20 + i * 37 % 3980
    return ["Write the decimal number {} in binary.", "What is {} in base 2?"], [n], ("base", {"value": str(n), "from": 10, "to": 2}), f"{n:b}"


def task(i):
    """Task i. Its values are of i alone: no other task has them."""
    draw = random.Random(i)
    wordings, values, (tool, arguments), answer = [encode64, decode64, crc, url, weekday, number][i % 6](draw, i // 6)
    return {"id": f"calc-{i}", "task": draw.choice(wordings).format(*values), "split": ["train", "train", "train", "validation", "test"][i // 6 % 5],
            "gold": [{"name": tool, "arguments": arguments}], "gold_answer": answer, "tags": [f"kind:{tool}"],
            "checks": [{"type": "call", "name": tool, "arguments": arguments}, {"type": "answer", "contains": answer}]}


if len(sys.argv) != 3:
    sys.exit(__doc__)
for i in range(int(sys.argv[1]), int(sys.argv[2])):
    print(json.dumps(task(i)))
