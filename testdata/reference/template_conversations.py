"""The conversations that make_template.py renders, as transformers would pass them to a template."""

NOW = "2026-03-05T09:07:03.045000"
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def user(text):
    return {"role": "user", "content": text}


def system(text):
    return {"role": "system", "content": text}


def assistant(text, *calls, **more):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"call{i:05}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(calls)
        ]
    return message | more


def tool(content, i=0, name="get_weather"):
    return {"role": "tool", "tool_call_id": f"call{i:05}", "name": name, "content": content}


def function(name, description, properties, required=()):
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


WEATHER = function(
    "get_weather", "Weather of a <city> & more, it's \"quick\".\nSlow for é世界.",
    {"city": {"type": "string", "description": "City, e.g. \"Zürich\""},
     "units": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
     "days": {"type": "integer", "description": "How many", "minimum": 1, "maximum": 14}},
    ["city"])
SEARCH = function(
    "search", "Full-text search",
    {"query": {"type": "string", "description": "Words"},
     "filters": {"type": "object", "description": "Nested",
                 "properties": {"tags": {"type": "array", "items": {"type": "string"}}, "year": {"type": ["integer", "null"]}}},
     "limit": {"type": "number", "description": "At most", "default": 10.0},
     "deep": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "description": "Deep?", "default": None}},
    ["query", "limit"])
NOTHING = function("ping", "No arguments", {})
MANY = [
    function(f"tool_{i:02}", f"Does thing number {i}.",
             {"z_first": {"type": "string", "description": "last letter first"}, "a_second": {"type": "integer", "description": "n"},
              "flag": {"type": "boolean", "description": "on?"}}, ["z_first"])
    for i in range(40)
]

CALL = ("get_weather", {"city": "Zürich <&> 'x' \"y\"", "days": 3})
NUMBERS = ("search", {"query": "", "filters": {"tags": [], "year": None, "deep": {"a": {}}}, "limit": 1e16,
                      "list": [1, -0.0, 1e-07, 1.5, 12345678901234567890123, True, False, None, [], [[]]]})
WEIRD = "tabs\tand\nnewlines\r\n \u2028 \u00a0 emoji 👩‍👩‍👧 e\u0301 <|im_end|> </s> {{ x }} {% if %} \\n 'q' \"Q\" & < >"

RESULT = '{"items": [{"id": 17, "title": "A title & more", "tags": ["x", "y"], "score": 0.75}], "next": null, "took_ms": 12}'


def agent(rounds):
    """A system message and rounds of question, call, result, answer."""
    messages = [system("You are an agent with many tools. Think before you call one. " * 5)]
    for i in range(rounds):
        call = (f"tool_{i:02}", {"z_first": f"argument number {i} with some text", "a_second": i, "flag": i % 2 == 0})
        messages += [user(f"Question number {i}: find what is asked for in some sixty characters of text."),
                     assistant("", call, reasoning_content="The tool that fits is clear." * 3), tool(RESULT, 0, f"tool_{i:02}"),
                     assistant("The answer is in the first item. " * 4)]
    return messages


CONVERSATIONS = {
    "agent": {"messages": agent(7) + [user("And now?")], "tools": MANY, "add_generation_prompt": True},
    "user": {"messages": [user("Hi")], "add_generation_prompt": True},
    "system": {"messages": [system("Be brief."), user("Hi"), assistant("Hello!"), user("  2 + 2 = 4?\n")], "add_generation_prompt": True},
    "no generation prompt": {"messages": [user("Hi"), assistant("Hello!\n"), user("Bye"), assistant("  Bye ")]},
    "tools": {"messages": [system("Be brief."), user("Weather?")], "tools": [WEATHER, SEARCH, NOTHING], "add_generation_prompt": True},
    "one call": {"messages": [user("Weather?"), assistant("", CALL), tool('{"t": 20.5}')], "tools": [WEATHER], "add_generation_prompt": True},
    "None content": {"messages": [user("Weather?"), assistant(None, CALL), tool("20 degrees")], "tools": [WEATHER, SEARCH], "add_generation_prompt": True},
    "parallel calls": {
        "messages": [system("Be brief."), user("Both"), assistant("Let me see.", CALL, NUMBERS, ("ping", {})),
                     tool('{"t": 20.5}'), tool("[]", 1, "search"), tool("", 2, "ping"), assistant("It is 20.")],
        "tools": [WEATHER, SEARCH, NOTHING]},
    "loops over user turns": {
        "messages": [user("A"), assistant("", CALL), tool("1"), assistant("", ("ping", {})), tool("pong", 0, "ping"), assistant("done A"),
                     user("B"), assistant("I will.", NUMBERS), tool("2", 0, "search"), assistant("done B"), user("C")],
        "tools": [WEATHER, SEARCH, NOTHING], "add_generation_prompt": True},
    "unicode": {"messages": [system(WEIRD), user(WEIRD), assistant(WEIRD, ("search", {"query": WEIRD})), tool(WEIRD, 0, "search")],
                "tools": [SEARCH], "add_generation_prompt": True},
    "arguments as text": {
        "messages": [user("Weather?"), assistant(None, ("get_weather", '{"city":  "Z\\u00fcrich", "days": 1.50}')), tool("20")],
        "tools": [WEATHER], "add_generation_prompt": True},
    "reasoning": {
        "messages": [user("A"), assistant("x", reasoning_content="I think\nA."), user("B"),
                     assistant("", CALL, reasoning_content="Need weather."), tool("20"), assistant("It is 20.", reasoning_content="Now I know.")],
        "tools": [WEATHER]},
    "reasoning in content": {
        "messages": [user("A"), assistant("<think>\nI think A.\n</think>\n\nx"), user("B"), assistant("<think>\nhm\n</think>\n\ny")],
        "add_generation_prompt": True},
    "thinking on": {"messages": [system("S"), user("A")], "add_generation_prompt": True, "enable_thinking": True, "thinking": True,
                    "reasoning_effort": "high"},
    "thinking off": {"messages": [user("A"), assistant("x", reasoning_content="r"), user("B")], "add_generation_prompt": True,
                     "enable_thinking": False, "thinking": False, "reasoning_effort": "low"},
    "thinking key": {"messages": [user("A"), assistant("x", CALL, thinking="I think"), tool("1"), assistant("y", thinking="again")],
                     "tools": [WEATHER]},
    "content parts": {"messages": [system([{"type": "text", "text": "S"}]), user([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]),
                                   assistant([{"type": "text", "text": "three"}])], "add_generation_prompt": True},
    "image": {"messages": [user([{"type": "image"}, {"type": "text", "text": "What is it?"}])], "add_generation_prompt": True},
    "forty tools": {"messages": [user("Which?"), assistant("", ("tool_07", {"z_first": "q", "a_second": -1, "flag": False})), tool("ok", 0, "tool_07")],
                    "tools": MANY, "add_generation_prompt": True},
    "bare tools": {"messages": [user("x")], "tools": [WEATHER["function"], NOTHING["function"]], "add_generation_prompt": True},
    "developer": {"messages": [{"role": "developer", "content": "D"}, user("x")], "add_generation_prompt": True},
    "no user": {"messages": [system("only")]},
    "empty": {"messages": [], "add_generation_prompt": True},
    "wrong order": {"messages": [assistant("first"), user("a"), user("b"), system("late"), tool("orphan")]},
    "no content": {"messages": [user("a"), {"role": "assistant"}, {"role": "user", "content": None}]},
    "no arguments key": {"messages": [user("a"), {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "ping"}}]},
                                      tool("1", 0, "ping")], "tools": [NOTHING]},
    "bare call": {"messages": [user("a"), {"role": "assistant", "tool_calls": [{"name": "ping", "arguments": {"b": 1, "a": 2}}]}], "tools": [NOTHING]},
    "documents": {"messages": [user("a")], "documents": [{"title": "T", "text": "some text"}, {"title": "U", "text": "é"}], "add_generation_prompt": True},
    "unknown role": {"messages": [user("a"), {"role": "critic", "content": "c"}], "add_generation_prompt": True},
    "JSON results": {"messages": [user("a"), assistant("", CALL), tool({"t": 20.5, "ok": True, "list": [1, None]})], "tools": [WEATHER]},
}
