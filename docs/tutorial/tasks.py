# Writes tasks.jsonl: what to ask, the call that is right, and how an answer is checked. And demos.jsonl: the same calls,
# made on the live server and written as conversations, to learn from.
import asyncio, json, random, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

CITIES = {"Tokyo": "Asia/Tokyo", "Mumbai": "Asia/Kolkata", "Dubai": "Asia/Dubai", "Shanghai": "Asia/Shanghai", "Nairobi": "Africa/Nairobi",
          "Lagos": "Africa/Lagos", "Bogota": "America/Bogota", "Phoenix": "America/Phoenix", "Karachi": "Asia/Karachi", "Lima": "America/Lima"}
WORDINGS = ["It is {time} in {a}. What time is it in {b}?", "When it is {time} in {a}, what is the time in {b}?",
            "What is {time} {a} time in {b}?", "Convert {time} from {a} to {b} time."]
SYSTEM = "Call a tool to get the result, then reply with the time only."

async def main(n, server):
    random.seed(1)
    async with stdio_client(StdioServerParameters(command=server)) as pipes, ClientSession(*pipes) as session:
        await session.initialize()
        with open("tasks.jsonl", "w") as tasks, open("demos.jsonl", "w") as demos:
            for i in range(n):
                a, b = random.sample(sorted(CITIES), 2)
                time = f"{random.randrange(24):02}:{random.choice(range(0, 60, 5)):02}"
                task = random.choice(WORDINGS).format(time=time, a=a, b=b)
                arguments = {"source_timezone": CITIES[a], "time": time, "target_timezone": CITIES[b]}
                result = (await session.call_tool("convert_time", arguments)).content[0].text
                answer = json.loads(result)["target"]["datetime"][11:16]
                split = ["train", "train", "train", "validation", "test"][i % 5]
                tasks.write(json.dumps({"id": f"t{i}", "task": task, "split": split, "gold": [{"name": "convert_time", "arguments": arguments}], "gold_answer": answer,
                    "checks": [{"type": "call", "name": "convert_time", "arguments": arguments}, {"type": "answer", "equals": answer}]}) + "\n")
                if split == "train":
                    call = {"id": "call_0", "type": "function", "function": {"name": "convert_time", "arguments": json.dumps(arguments)}}
                    demos.write(json.dumps({"messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task},
                        {"role": "assistant", "content": "", "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": "call_0", "name": "convert_time", "content": result}, {"role": "assistant", "content": answer}]}) + "\n")

asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
