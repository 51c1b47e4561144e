"""Random questions and outputs for hone-bench calls: all categories and languages, right answers and what goes wrong with them.

Everything is made from a seed; nothing is taken from BFCL's data.
"""

import json
import random
import string

WORDS = ["New York, NY", "new york ny", "São Paulo", "ΑΓΟΡΑΣ", "αγορας", "ΣΑΣ Σ", "İstanbul", "it's", 'it"s', "a_b-c", "A/B^c*d", "2024-01-01",
         "", " ", "x", "true", "None", "1", "1.5", "straße", "ẞ", "東京", "\ud83d", "😀", "line\nbreak", "tab\t", "e.g. this", "Ω", "ﬁ", "ŉ", "ǅ",
         "\u0130\u0307", "Σ'Σ", "aΣ.b", "aΣ\u0300", "-", "_"]
INTS = [0, 1, -1, 2, 5, 7, 42, 100, 2**31, 2**53, 2**53 + 1, -(2**63), 10**30]
FLOATS = [0.0, 1.0, -1.0, 2.5, 0.1, 5.0, 42.0, 1e308, 1e-7, float(2**53), 1e30, -0.0]
ODD_FLOATS = [float("nan"), float("inf"), float("-inf")]
KEYS = ["city", "unit", "days", "tags", "options", "name", "x", "y", "is_new", "Über"]
NAMES = ["get_weather", "math.factorial", "math_factorial", "send", "calc.area.circle", "Send", "find"]

PYTHON = ["string", "integer", "float", "boolean", "array", "tuple", "dict", "any"]
JAVA = ["byte", "short", "integer", "float", "double", "long", "boolean", "char", "Array", "ArrayList", "HashMap", "String", "any",
        "Set", "Hashtable", "Queue", "Stack"]
JAVASCRIPT = ["String", "integer", "float", "Bigint", "Boolean", "dict", "array", "any"]
CATEGORIES = {"python": ["simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance", "live_simple", "live_multiple",
                         "live_parallel", "live_parallel_multiple", "live_irrelevance", "live_relevance"],
              "java": ["simple_java"], "javascript": ["simple_javascript"]}


class Generator:
    """Makes cases: dicts that are lines of hone-bench calls."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def chance(self, p):
        return self.r.random() < p

    # Values

    def any_json(self, depth=0):
        r = self.r
        kind = r.randrange(8 if depth < 3 else 6)
        if kind == 0:
            return None
        if kind == 1:
            return self.chance(0.5)
        if kind == 2:
            return r.choice(INTS)
        if kind == 3:
            return r.choice(FLOATS if self.chance(0.9) else ODD_FLOATS)
        if kind in (4, 5):
            return r.choice(WORDS)
        if kind == 6:
            return [self.any_json(depth + 1) for _ in range(r.randrange(4))]
        return {r.choice(KEYS): self.any_json(depth + 1) for _ in range(r.randrange(4))}

    def value(self, name, items=None):
        """A value of one of Python's types."""
        r = self.r
        if name == "integer":
            return r.choice(INTS)
        if name == "float":
            return r.choice(FLOATS + INTS[:7] if self.chance(0.95) else ODD_FLOATS)
        if name == "boolean":
            return self.chance(0.5)
        if name in ("array", "tuple"):
            return [self.value(items or "string", "integer") for _ in range(r.randrange(4))]
        if name == "dict":
            return {r.choice(KEYS): self.value(r.choice(PYTHON), "integer") for _ in range(r.randrange(4))}
        return r.choice(WORDS)

    def accepted_dict(self, value):
        """{key: [accepted values]} of an object."""
        out = {}
        for key, v in value.items():
            out[key] = [v] + [self.any_json() for _ in range(self.r.randrange(2))]
            if self.chance(0.2):
                out[key].append("")
            if self.chance(0.03):
                out[key] = v
        if self.chance(0.2):
            out[self.r.choice(KEYS)] = [self.any_json(), ""] if self.chance(0.7) else [self.any_json()]
        return out

    def accepted(self, value):
        if isinstance(value, dict):
            return self.accepted_dict(value)
        if isinstance(value, list) and any(isinstance(v, dict) for v in value):
            return [self.accepted_dict(v) if isinstance(v, dict) else v for v in value]
        return value

    # Python's questions

    def python_tool(self, name):
        r = self.r
        properties, values = {}, {}
        for key in r.sample(KEYS, r.randrange(5)):
            kind = r.choice(PYTHON)
            schema = {"type": kind, "description": "d"}
            items = None
            if kind in ("array", "tuple"):
                items = r.choice(PYTHON)
                schema["items"] = {"type": items}
            if self.chance(0.01):
                schema["type"] = r.choice(["Float", "str", "list", "String"])
            properties[key] = schema
            values[key] = self.value(kind, items)
        required = [k for k in properties if self.chance(0.6)]
        if self.chance(0.02):
            required.append("absent")
        return {"name": name, "description": "d", "parameters": {"type": "dict", "properties": properties, "required": required}}, values

    def gold_call(self, tool, values):
        """A gold call, and arguments that it accepts, or nearly."""
        r = self.r
        gold, arguments = {}, {}
        for key, v in values.items():
            accepted = [self.accepted(v)]
            for _ in range(r.randrange(3)):
                accepted.insert(r.randrange(len(accepted) + 1), self.accepted(self.value(tool["parameters"]["properties"][key]["type"], "integer"))
                                if tool["parameters"]["properties"][key]["type"] in PYTHON else self.any_json())
            if self.chance(0.15):
                accepted.insert(r.randrange(len(accepted) + 1), r.choice(WORDS))  # the name of a variable
            if self.chance(0.25):
                accepted.insert(r.choice([0, len(accepted)]), "")
            if self.chance(0.05):
                accepted = r.choice([[], [""], accepted[0], self.any_json(), "text"])
            gold[key] = accepted
            if not (isinstance(accepted, list) and "" in accepted and self.chance(0.5)):
                arguments[key] = r.choice(accepted) if isinstance(accepted, list) and accepted and self.chance(0.3) else v
        if self.chance(0.03):
            gold[r.choice(KEYS)] = [self.any_json()]
        if self.chance(0.02) and gold:
            del gold[r.choice(list(gold))]
        return {tool["name"]: gold}, arguments

    def mutated_text(self, s):
        r = self.r
        kind = r.randrange(8)
        if kind == 0:
            return s.swapcase()
        if kind == 1:
            return s.upper() if self.chance(0.5) else s.lower()
        if kind == 2:
            at = r.randrange(len(s) + 1)
            return s[:at] + r.choice(" ,./-_*^'\"") + s[at:]
        if kind == 3:
            return "".join(c for c in s if c not in " ,./-_*^")
        if kind == 4:
            return s.replace("'", '"') if self.chance(0.5) else s.replace('"', "'")
        if kind == 5:
            at = r.randrange(len(s) + 1)
            return s[:at] + r.choice("aZé;:!\u00a0\n") + s[at:]
        if kind == 6 and s:
            at = r.randrange(len(s))
            return s[:at] + s[at + 1:]
        return s.strip()

    def mutated(self, v, depth=0):
        """A value near to v, of its type or of another."""
        r = self.r
        if self.chance(0.12):
            return self.any_json()
        if isinstance(v, bool):
            return r.choice([not v, int(v), str(v), float(v), str(v).lower()])
        if isinstance(v, int):
            return r.choice([v + 1, -v, float(v) if abs(v) < 2**1000 else v, str(v), bool(v), [v]])
        if isinstance(v, float):
            if v == v and abs(v) != float("inf") and v == int(v) and self.chance(0.5):
                return int(v)
            return r.choice([v + 1, -v, str(v), [v]])
        if isinstance(v, str):
            return self.mutated_text(v) if self.chance(0.85) else [v]
        if isinstance(v, list) and depth < 3:
            v = list(v)
            kind = r.randrange(6)
            if kind == 0:
                v.append(self.any_json())
            elif kind == 1 and v:
                del v[r.randrange(len(v))]
            elif kind == 2:
                v.reverse()
            elif kind == 3:
                return v[0] if v else None
            elif v:
                at = r.randrange(len(v))
                v[at] = self.mutated(v[at], depth + 1)
            return v
        if isinstance(v, dict) and depth < 3:
            v = dict(v)
            kind = r.randrange(5)
            if kind == 0:
                v[r.choice(KEYS)] = self.any_json()
            elif kind == 1 and v:
                del v[r.choice(list(v))]
            elif kind == 2 and v:
                k = r.choice(list(v))
                v[self.mutated_text(k)] = v.pop(k)
            elif kind == 3:
                v = dict(reversed(v.items()))
            elif v:
                k = r.choice(list(v))
                v[k] = self.mutated(v[k], depth + 1)
            return v
        return self.any_json()

    def mutated_arguments(self, a):
        r = self.r
        a = dict(a)
        kind = r.randrange(7)
        if kind == 0 and a:
            del a[r.choice(list(a))]
        elif kind == 1:
            a[r.choice(KEYS)] = self.any_json()
        elif kind == 2 and a:
            k = r.choice(list(a))
            a[self.mutated_text(k)] = a.pop(k)
        elif kind == 3:
            a = dict(reversed(a.items()))
        elif a:
            k = r.choice(list(a))
            a[k] = self.mutated(a[k])
        return a

    def text(self, arguments):
        """Arguments as the model wrote them: JSON, or nearly."""
        r = self.r
        s = json.dumps(arguments, ensure_ascii=self.chance(0.5), indent=r.choice([None, None, None, 1]))
        if self.chance(0.93):
            return s
        kind = r.randrange(9)
        if kind == 0 and s:
            at = r.randrange(len(s))
            return s[:at] + s[at + 1:]
        if kind == 1:
            at = r.randrange(len(s) + 1)
            return s[:at] + r.choice(string.printable) + s[at:]
        if kind == 2:
            return r.choice(["", "null", "[]", "5", '"{}"', "NaN", "{", "{} {}", "{'a': 1}", "\ufeff{}", "[" * 30 + "]" * 30, '{"a": 1,}', "undefined"])
        if kind == 3 and arguments:  # a key twice
            k = r.choice(list(arguments))
            return s[:-1] + ", " + json.dumps({k: self.mutated(arguments[k])})[1:]
        if kind == 4:
            return s.replace("1", r.choice(["01", "1e0", "1.0", "1E400", "-1", "1.", ".1", "+1", "1e", "1" * 4300, "1" * 4301]), 1)
        if kind == 5:
            return s.replace('"', "'")
        if kind == 6:
            return r.choice([" ", "\n", "\t", "\u00a0", "\f"]) + s + r.choice([" ", "\n", "\x00", ","])
        if kind == 7:
            return s.replace('"', '"\\ud83d', 1) if self.chance(0.5) else s.replace('"', r.choice(['"\\ud83d\\ude00', '"\\u12', '"\\x41', '"\\uD83D\\u0041', '"\x01']), 1)
        return s.replace("null", "Infinity").replace("true", "True").replace("false", "-Infinity")

    def python(self, category):
        r = self.r
        kind = category.removeprefix("live_")
        num_tools = 1 if kind.startswith("simple") or kind == "parallel" else r.randrange(2, 5)
        tools = [self.python_tool(name) for name in r.sample(NAMES, num_tools)]
        chosen = [tools[0]]
        if kind in ("multiple", "irrelevance", "relevance"):
            chosen = [r.choice(tools)]
        elif kind.startswith("parallel"):
            chosen = [r.choice(tools) for _ in range(r.randrange(1, 4))]
        gold, calls = [], []
        for tool, values in chosen:
            if self.chance(0.5):  # the same tool with other values
                values = {k: self.value(s["type"], s.get("items", {}).get("type")) for k, s in tool["parameters"]["properties"].items()}
            g, a = self.gold_call(tool, values)
            gold.append(g)
            calls.append([tool["name"], a])
        if kind in ("irrelevance", "relevance"):
            gold = []
            if self.chance(0.4):
                calls = []
        if self.chance(0.3):
            r.shuffle(calls)
        return self.finish(category, "python", [t for t, _ in tools], gold, calls)

    def finish(self, category, language, tools, gold, calls):
        r = self.r
        if self.chance(0.55):
            for _ in range(r.randrange(1, 3)):
                for call in calls:
                    if self.chance(0.7):
                        call[1] = self.mutated_arguments(call[1])
        if self.chance(0.08):
            kind = r.randrange(4)
            if kind == 0 and calls:
                del calls[r.randrange(len(calls))]
            elif kind == 1 and calls:
                calls.append(list(r.choice(calls)))
            elif kind == 2 and calls:
                r.choice(calls)[0] = r.choice(NAMES)
            elif calls:
                c = r.choice(calls)
                c[0] = c[0].replace(".", "_")
        output = [{"name": name, "arguments": self.text(a)} for name, a in calls]
        if self.chance(0.01):
            output = r.choice([None, "text", {}, 5, [None], [[]], ["text"], [{"name": "find"}], [{"name": "find", "arguments": {}}], [{"arguments": "{}"}]])
        case = {"category": category, "language": language, "tools": tools, "gold": gold, "output": output}
        if self.chance(0.2):
            case["underscore_to_dot"] = True
            for call in calls:
                if self.chance(0.8):
                    call[0] = call[0].replace(".", "_")
            if isinstance(output, list):
                for call, item in zip(calls, output):
                    if isinstance(item, dict) and "name" in item:
                        item["name"] = call[0]
        return case

    # Literals of Java and JavaScript

    def number_literal(self):
        r = self.r
        return r.choice(["0", "1", "-1", "12", "1_000", "1.5", "-2.5", "1e5", "1E-3", "12L", "7l", "3.5f", "2F", "1e3f", ".5", "5.", "+3", "12n", "-4n",
                         "0x1F", "٣", "１２", "1٣.5", "nan", "inf", "-Infinity", "1__0", "_1", "1e400", "1" * 4301, "007", "2147483648", "1\n", " 1", "--1"])

    def word_literal(self):
        r = self.r
        w = r.choice(WORDS + ["add(1)", "a,b", "a:b", "}", "]", ")", "new int[]{1}"])
        return r.choice([f'"{w}"', f"'{w}'", w, f'"{w}', f"'{w}\"", "'c'", "true", "false", "True", '"', "'", "null"])

    def literal(self, depth=0):
        r = self.r
        kind = r.randrange(10 if depth < 2 else 4)
        if kind < 2:
            return self.number_literal()
        if kind < 4:
            return self.word_literal()
        s = r.choice([" ", "", "  ", "\n", "\u00a0", "\x1c"])
        items = [self.literal(depth + 1) for _ in range(r.randrange(4))]
        if kind == 4:
            return f"new {r.choice(['int', 'String', 'Über', 'long_2', ''])}[]{s}{{{s}" + f",{s}".join(items) + f"{s}}}"
        if kind == 5:
            t = r.choice(["", "Integer", "String", "a b"])
            return r.choice([f"new ArrayList<{t}>(Arrays.asList({f',{s}'.join(items)}))", f"new ArrayList<{t}>(){s}{{{{{s}" + "".join(f"add({i});{s}" for i in items) + "}}",
                             f"new{s} ArrayList<{t}>()", f"x = new ArrayList<{t}>();"])
        if kind == 6:
            puts = "".join(f'put("{r.choice(KEYS)}",{s}{i});{s}' for i in items)
            t = r.choice(["", "String, Object", "a<b>"])
            return r.choice([f"new HashMap<{t}>(){s}{{{{{s}{puts}}}}}", f"new HashMap<{t}>(){s}{{{puts}}}", f"new HashMap<{t}>{s}()", f"new HashMap<{t}>() {{ {{ {puts} }} }}"])
        if kind == 7:
            return f"[{s}" + f",{s}".join(items) + f"{s}]"
        if kind == 8:
            return f"new Array({s}" + f",{s}".join(items) + ")"
        q = r.choice(['"', "'", ""])
        return "{" + s + f",{s}".join(f"{q}{r.choice(KEYS)}{q}:{s}{i}" for i in items) + s + "}"

    def literal_of(self, name, items):
        """A literal of a type, as it is written in the language."""
        r = self.r
        if name in ("byte", "short", "integer"):
            return str(r.choice(INTS))
        if name == "long":
            return f"{r.choice(INTS)}{r.choice('lL')}"
        if name == "Bigint":
            return f"{r.choice(INTS)}n"
        if name == "float":
            return r.choice(["1.5", "2", "-0.5", "1.5f", "2F", "3e2f"])
        if name == "double":
            return r.choice(["1.5", "2", "-1e3"])
        if name in ("boolean", "Boolean"):
            return r.choice(["true", "false"])
        if name in ("Array", "ArrayList", "array"):
            inner = ", ".join(self.literal_of(items, None) for _ in range(r.randrange(4))) if items else "1, 2"
            return {"Array": f"new {items}[]{{{inner}}}", "ArrayList": f"new ArrayList<>(Arrays.asList({inner}))", "array": f"[{inner}]"}[name]
        if name == "HashMap":
            return 'new HashMap<String, Object>() {{ put("a", 1); put("b", "x, y"); }}'
        if name == "dict":
            return r.choice(["{a: 1, 'b': \"x\"}", '{"a": [1, 2], "b": true}', "{}"])
        return r.choice([f'"{r.choice(WORDS)}"', r.choice(WORDS), "'c'"])

    def edited(self, s):
        r = self.r
        for _ in range(r.randrange(1, 3)):
            at = r.randrange(len(s) + 1)
            kind = r.randrange(3)
            if kind == 0:
                s = s[:at] + r.choice("[]{}()<>,:;'\"1aLfn.eE-+_ \n\t\u00a0٣") + s[at:]
            elif kind == 1:
                s = s[:at] + s[at + 1:]
            else:
                to = r.randrange(len(s) + 1)
                s = s[:at] + s[min(at, to):max(at, to)] + s[at:]
        return s

    def coded(self, language, convert):
        """A question of Java or JavaScript. convert is BFCL's converter, so that gold often is what a literal means."""
        r = self.r
        types = JAVA if language == "java" else JAVASCRIPT
        common = types[:13] if language == "java" else types
        properties, gold, arguments = {}, {}, {}
        for key in r.sample(KEYS, r.randrange(1, 4)):
            kind = r.choice(common if self.chance(0.97) else types)
            schema = {"type": kind, "description": "d"}
            items = None
            if kind in ("Array", "ArrayList", "array"):
                items = r.choice(common)
                schema["items"] = {"type": items}
            properties[key] = schema
            text = self.literal_of(kind, items) if self.chance(0.5) else self.literal()
            if self.chance(0.3):
                text = self.edited(text)
            accepted = []
            if self.chance(0.8):
                try:
                    accepted = [json.loads(json.dumps(self.accepted(convert(text, kind, items))))]
                except Exception:
                    accepted = [text]
            if self.chance(0.2):
                accepted.insert(0, self.any_json())
            if self.chance(0.2):
                accepted.append("")
            gold[key] = accepted
            arguments[key] = text if self.chance(0.97) else self.any_json()
        tool = {"name": r.choice(NAMES), "description": "d", "parameters": {"type": "dict", "properties": properties, "required": [k for k in properties if self.chance(0.5)]}}
        case = self.finish(CATEGORIES[language][0], language, [tool], [{tool["name"]: gold}], [[tool["name"], arguments]]) if self.chance(0.2) else None
        if case is None:
            case = {"category": CATEGORIES[language][0], "language": language, "tools": [tool], "gold": [{tool["name"]: gold}],
                    "output": [{"name": tool["name"], "arguments": json.dumps(arguments)}]}
        return case

    def case(self, converters):
        """One case; converters are BFCL's, by language."""
        language = self.r.choices(["python", "java", "javascript"], [6, 2, 2])[0]
        if language == "python":
            return self.python(self.r.choice(CATEGORIES["python"]))
        return self.coded(language, converters[language])


def one(schema, accepted, text, language="python", name="f", called=None, **more):
    """A question with one parameter, a, and one call of it."""
    tool = {"name": name, "description": "d", "parameters": {"type": "dict", "properties": {"a": schema}, "required": []}}
    return {"category": CATEGORIES[language][0], "language": language, "tools": [tool], "gold": [{name: {"a": accepted}}],
            "output": [{"name": called or name, "arguments": text}]} | more


def parallel(accepted, calls, tools=("f",), category="parallel"):
    """A question with calls of tools that take an integer, a."""
    return {"category": category, "language": "python", "output": [{"name": n, "arguments": json.dumps({"a": v})} for n, v in calls],
            "gold": [{n: {"a": v}} for n, v in accepted],
            "tools": [{"name": n, "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": ["a"]}} for n in tools]}


def directed():
    """What chance meets too seldom."""
    text, integer, number = {"type": "string"}, {"type": "integer"}, {"type": "float"}
    for a, b in [("it's", 'it\\"s'), ("it's", "it`s"), ("a'b", "A'B"), ("x", "X "), ("ΣΑΣ", "σας"), ("ΣΑΣ", "σασ"), ("İ", "i"), ("İ", "i\u0307"), ("ẞ", "ß"), ("ß", "ss"),
                 ("😀", "\\ud83d\\ude00"), ("😀", "\\ud83d \\ude00"), ("\ud83dÉ", "\\ud83dé"), ("AΣ\ud83d", "aς\\ud83d"), ("AΣ\ud83dB", "aς\\ud83db"),
                 ("aΣ.b", "aσb"), ("\u00a0x", "x"), ("\tx", "\\tx"), ("a_b-c*d^e/f,g.h i", "abcdefghi"), ("a;b", "ab"), ("", " "), ("-", "")]:
        yield one(text, [a], '{"a": "%s"}' % b)
    for want, got in [(1, "01"), (1, "1.0"), (1, "1e0"), (1, "true"), (0, "-0"), (0, "false"), (2**53 + 1, str(2**53)), (int("9" * 4300), "9" * 4300),
                      (int("9" * 400), "9" * 400), (1, '"1"'), (1, "null"), (1, "[1]"), (True, "1"), (1.0, "1"), (1.5, "1.5"), ("n", '"N"'), ("n", '"n"')]:
        for kind in (integer, number, {"type": "boolean"}, {"type": "any"}):
            yield one(kind, [want], '{"a": %s}' % got)
            yield one(kind, ["", want], '{"a": %s}' % got)
    yield one(number, [2**53 + 1], '{"a": %s}' % float(2**53))
    yield one(number, [2**53 + 1], '{"a": %d}' % (2**53 + 1))
    yield one(number, [float("nan")], '{"a": NaN}')
    yield one(number, [float("inf")], '{"a": 1e999}')
    yield one(number, [1.5], '{"a": %s}' % ("9" * 400))
    for got in ["{}", '{"a": 1, "a": 2}', '{"a": 2, "a": 1}', "[]", "null", '"{}"', "", " {}", "\ufeff{}", "{}x", '{"a": 1,}', "{'a': 1}", '{"b": 1}', '{"a": 1.}']:
        yield one(integer, [1], got)
        yield one(integer, [1, ""], got)
        for category in ("irrelevance", "live_relevance"):
            yield one(integer, [1], got) | {"category": category, "gold": []}
    dicts = {"type": "array", "items": {"type": "dict"}}
    for accepted in [[[{"k": ["V", ""]}, {"n": [1]}]], [""], [], ["", [{"k": ["v"]}, {"n": [1, ""]}]], [[]], [[""]], ["xy"]]:
        for got in ['[{"k": "v"}, {"n": 1}]', '[{"n": 1}, {"k": "v"}]', '[{"k": "v"}]', "[]", '[{}, {"n": 1}]', '[{"k": "v"}, {}]', '[{"k": "v", "x": 1}, {"n": 1}]', '["x", "y"]', '[{"k": "v"}, 5]']:
            yield one(dicts, accepted, '{"a": %s}' % got)
    for items in PYTHON:
        for accepted in [[["A b", 1, 1.5, True, None]], [[1, 2]], [[1.0, 2]], [[True, 1]], ["", [1]], [""], ["x"], [["", 1]], [[["a"]]], [[{"a": [1]}]]]:
            for got in ['["ab", 1, 1.5, true, null]', "[1, 2]", "[1.0, 2]", "[1, 2.0]", "[true, 1]", "[1]", "[]", '"X"', '[["a"]]', '[["A"]]', '[{"a": 1}]', '["", 1]']:
                yield one({"type": "array", "items": {"type": items}}, accepted, '{"a": %s}' % got)
    for accepted in [[{"k": ["A b"], "n": [1, 2.5, ""]}], [{}], [""], ["", {"k": [True]}], [{"k": [["A"]]}], [{"k": "ab"}], [{"k": 5}], [["k"]], [5], [{"k": {"x": [1]}}], [{"k": [{"x": 1}]}]]:
        for got in ["{}", '{"k": "ab"}', '{"k": "AB", "n": 1}', '{"n": 1}', '{"k": "ab", "n": 3}', '{"k": "ab", "x": 1}', '{"k": 1}', '{"k": true}', '{"k": ["A"]}', '{"k": ["a"]}', '{"k": {"x": 1}}', '"ab"', "[]"]:
            yield one({"type": "dict"}, accepted, '{"a": %s}' % got)
    yield parallel([("f", [1]), ("f", [1, 2])], [("f", 2), ("f", 1)])
    yield parallel([("f", [1, 2]), ("f", [1])], [("f", 1), ("f", 2)])  # the first call that fits is taken, and none is left
    yield parallel([("f", [1, 2]), ("f", [1])], [("f", 2), ("f", 1)])
    yield parallel([("f", [1]), ("g", [1])], [("g", 1), ("f", 1)], ("f", "g"), "parallel_multiple")
    yield parallel([("f", [1]), ("g", [1])], [("f", 1), ("f", 1)], ("f", "g"), "parallel_multiple")
    yield parallel([("f", [1]), ("h", [1])], [("f", 1), ("h", 1)], ("f", "g"), "parallel_multiple")
    yield parallel([("h", [1]), ("f", [1])], [("f", 1), ("h", 1)], ("f", "g"), "parallel_multiple")
    yield parallel([("f", 5), ("f", [1])], [("f", 1), ("f", 1)])
    yield parallel([("f", [1])], [("f", 1), ("f", 1)])
    yield parallel([("f", [1]), ("f", [1])], [("f", 1)])
    yield parallel([("h", [1])], [("h", 1)], ("f", "g"), "multiple")
    yield parallel([("f", [1])], [], ("f", "g"), "multiple")
    yield parallel([("g", [1])], [("g", 1)], ("f", "g"), "simple_python")
    for name, called in [("a.b", "a_b"), ("a.b", "a.b"), ("a_b", "a.b"), ("a.b.c", "a_b_c"), ("a.b.c", "a_b.c")]:
        for underscores in (False, True):
            yield one(integer, [1], '{"a": 1}', name=name, called=called, underscore_to_dot=underscores)
    yield from literals()


def literals():
    array, listed = {"type": "array", "items": {"type": "Bigint"}}, {"type": "ArrayList", "items": {"type": "long"}}
    for schema, accepted, got in [
            ({"type": "float"}, [float("nan")], "nan"), (array, ["[n]"], "[n]"), (array, ["[3n\\n]"], "[3n\\n]"), (array, [[3]], "[3n]"), (array, [[3]], "new Array(3n)"),
            (array, ["[" + "9" * 4301 + "n]"], "[" + "9" * 4301 + "n]"), (array, [[3, "x"]], "[3n, 'x']"), ({"type": "Bigint"}, [3], "3n\\n"), ({"type": "Bigint"}, [3], "3n"),
            ({"type": "Boolean"}, [True], "true"), ({"type": "Boolean"}, ["True"], "True"), ({"type": "String"}, ["x"], "'x'"), ({"type": "String"}, ["x"], "'x\\\""),
            ({"type": "integer"}, [12], "12\\n"), ({"type": "integer"}, [12], "１２"), ({"type": "integer"}, ["+12"], "+12"),
            ({"type": "dict"}, [{"a": [1], "b": ["x, y"]}], "{a: 1, b: 'x, y'}"), ({"type": "dict"}, [{"a": [["x", "y: z"]]}], "{a: ['x', 'y: z']}"),
            ({"type": "dict"}, [{"a": ["b"], ":c": ["d"]}], "{a: b,  :c: d}"), ({"type": "dict"}, [{"a": ["b"], "c": ["d"]}], "{a: b,  :c: d}"),
            ({"type": "array", "items": {"type": "float"}}, [[float("nan")]], "[nan]"), ({"type": "dict"}, [{"a": [float("nan")]}], "{a: nan}"),
            ({"type": "dict"}, [{"a": [1000]}], "{a: 1_000}"), ({"type": "dict"}, [{"a": ["1_e5"]}], "{a: 1_e5}"), ({"type": "dict"}, [{"a": [float("inf")]}], "{a: Infinity}"),
            ({"type": "array", "items": {"type": "array"}}, [[[1, "a"], ["b"]]], "[[1, 'a'], [b]]"), ({"type": "array", "items": {"type": "integer"}}, [[]], "[ ]")]:
        yield one(schema, accepted, '{"a": "%s"}' % got, "javascript")
    for schema, accepted, got in [
            ({"type": "float"}, [1.5], "1.5"), ({"type": "float"}, [1.5], "1.5f"), ({"type": "float"}, [3.0], "3f\\n"), ({"type": "long"}, [5], "5L\\n"), ({"type": "long"}, ["5"], "5"),
            ({"type": "double"}, [float("inf")], "1e999"), ({"type": "HashMap"}, [{"a": [float("nan")]}], 'new HashMap<>() {{ put(\\"a\\", nan); }}'),
            ({"type": "HashMap"}, [{"a": [12], "b": ["x"]}], 'new HashMap<>() {{ put(\\"a\\", 12L); put(\\"b\\", \\"x\\"); }}'), ({"type": "HashMap"}, [{}], "new HashMap<>()"),
            ({"type": "char"}, ["'c'"], "'c'"), ({"type": "char"}, ["c"], "'c'"), ({"type": "Set"}, ["x"], "x"), ({"type": "Queue"}, ["x"], "x"), ({"type": "integer"}, [5], "5\\u00a0"),
            (listed, [[1, "2"]], "new ArrayList<Long>(Arrays.asList(1L, 2))"), (listed, [[1]], "new ArrayList<>()\\u00a0{{ add(1L); }}"), (listed, [[]], "new ArrayList<>()"),
            ({"type": "ArrayList", "items": {"type": "String"}}, [["😀", ""]], 'new ArrayList<>(Arrays.asList(\\"😀\\", x))'),
            ({"type": "Array", "items": {"type": "String"}}, [['"a"', '"b"']], 'new String[]{\\"a\\",, \\"b\\"}'), ({"type": "Array", "items": {"type": "byte"}}, [[1, 2]], "new byte[]{1, 2}"),
            ({"type": "Array", "items": {"type": "Array"}}, [[[1], "x"]], "new int[]{new int[]{1}, x}"), ({"type": "Array", "items": {"type": "integer"}}, [[1]], "new Über[] {1}")]:
        yield one(schema, accepted, '{"a": "%s"}' % got, "java")
