"""Real peers against hone env serve on a real MCP server, with episodes that are broken on purpose.

openenv validates it, verifiers evaluates and TRL trains against it. What they were told is what hone runs rescore gives
the same transcripts, and no broken call was made twice. Arguments: hone, a Python with TRL, one with verifiers.
Needs: internal/env/testdata/openenv_requirements.txt
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HONE, TRL, VERIFIERS = (os.path.abspath(a) for a in sys.argv[1:4])
MEMORY = HERE.parents[2] / "cmd/hone/testdata/servers/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
ADA = {"entities": [{"name": "Ada", "entityType": "person", "observations": []}]}


def scenario(name, *checks):
    call = {"type": "call", "name": "create_entities", "arguments": ADA}
    return {
        "id": name,
        "task": f"Remember a person called Ada ({name}).",
        "split": "train",
        "checks": [call, *checks],
        "gold": [{"name": call["name"], "arguments": ADA}],
    }


def free():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def check(what, got, want):
    print("ok  " if got == want else "FAIL", what, got if got == want else f"{got}, want {want}", flush=True)
    if got != want:
        sys.exit(1)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    crashes = folder / "crashes"
    (folder / "mcp.json").write_text(
        json.dumps(
            {
                "mcpServers": {
                    "memory": {
                        "command": "node",
                        "args": [str(MEMORY)],
                        "env": {"MEMORY_FILE_PATH": "${HONE_EPISODE_DIR}/memory.jsonl"},
                    },
                    "breaks": {"command": sys.executable, "args": [str(HERE / "breaks.py"), str(crashes)]},
                }
            }
        )
    )
    (folder / "hone.yaml").write_text(
        'rewards: {parse: 0, checks: 0.7, arguments: 0.37}\nmcp: {sandbox: {mode: "off"}}\n'
    )
    blind = {"type": "state", "name": "crash", "arguments": {}, "contains": "x"}
    (folder / "s.jsonl").write_text(
        "".join(
            json.dumps(s) + "\n"
            for s in [scenario("good"), scenario("seed"), scenario("call"), scenario("verify", blind)]
        )
    )
    url = f"http://127.0.0.1:{free()}"
    server = subprocess.Popen(
        [
            HONE,
            "env",
            "serve",
            "--dataset",
            "s.jsonl",
            "--mcp-config",
            "mcp.json",
            "--output-dir",
            "out",
            "--listen",
            url[7:],
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
    )
    try:
        check("listens", server.stdout.readline().decode().strip(), url)
        valid = subprocess.run(
            [pathlib.Path(sys.executable).parent / "openenv", "validate", "--url", url], capture_output=True, text=True
        )
        check("openenv validate", (valid.returncode, valid.stdout.count("PASS")), (0, 7))

        rows = [
            json.loads(r)
            for r in subprocess.run(
                [HONE, "env", "tasks", "--dataset", "s.jsonl", "--format", "nemo-gym"],
                cwd=folder,
                check=True,
                capture_output=True,
            ).stdout.splitlines()
        ]
        rows[1]["verifier_metadata"]["hash"] = "of another scenario"
        (folder / "gym.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        told = json.loads(
            subprocess.run(
                [VERIFIERS, HERE / "evaluate.py", url], cwd=folder, check=True, capture_output=True, text=True
            ).stdout.splitlines()[-1]
        )
        check("verifiers", told, {"good": told["good"], "seed": None, "call": None, "verify": None})
        check("crashes", crashes.read_text().count("call"), 2)

        subprocess.run([HONE, "env", "client"], cwd=folder, check=True, stdout=(folder / "hone_env.py").open("w"))
        subprocess.run(
            [HONE, "env", "tasks", "--dataset", "s.jsonl", "--format", "trl"],
            cwd=folder,
            check=True,
            stdout=(folder / "rows.jsonl").open("w"),
            stderr=subprocess.DEVNULL,
        )
        trained = json.loads(
            subprocess.run(
                [TRL, HERE / "train.py", url, sysconfig.get_path("purelib")],
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            ).stdout.splitlines()[-1]
        )
        for step in trained:
            check("TRL's rewards", step["rewards"], [told["good"], 0.0, told["good"], None])
            check("TRL's advantages", [round(a, 3) for a in step["advantages"]], [0.577, -1.155, 0.577, 0.0])
        check("steps", len(trained), 6)
        check("crashes", crashes.read_text().count("call"), 6)
        check("broken in turn", [s["broken"] for s in trained], ["seed", "call", "verify"] * 2)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    subprocess.run(
        [HONE, "runs", "rescore", "out"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    scored = [json.loads(line) for line in open(folder / "out/rescored-1.jsonl")]
    again = sorted(r["now"]["reward"] for r in scored if r["now"].get("terms"))
    check("rescored", again, sorted([told["good"]] + [r for s in trained for r in s["rewards"] if r is not None]))
