"""Prints one table: what hone does, what its peer does in the same run, and the ratio; above 1 hone is faster.

Usage: python experiments/speed/run.py [PART OF A ROW'S NAME ...]   (a Python with testdata/reference/requirements.txt; make bench)

To add a row: a Go benchmark, which reports the unit; a function of peer.py; a line of ROWS. Where the unit is a time
("ns/op") less is better. A row takes the whole machine, so rows run one after the other.
"""

import dataclasses
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent.parent
sys.path.append(str(ROOT / "testdata/reference"))
import bench_tokenizers

MIXED = str(bench_tokenizers.CACHE / "mixed.txt")  # the file that the peer's function writes


@dataclasses.dataclass
class Row:
    name: str
    unit: str
    package: str
    benchmark: str
    peer: str | None = None  # function of peer.py
    peer_is: str = "-"
    flags: tuple = ("-count=5",)  # the median counts
    device: bool = False  # it takes -model and -plugin
    args: tuple = ()
    against: str | None = None  # instead of a peer: another benchmark of the package, run by the same command


ROWS = [
    Row("train: LoRA r=16, 16 rows of 155 after 450 shared tokens", "tokens/s", "./experiments/speed", "Train", "train",
        "transformers + peft, rows whole", ("-benchtime=1x",), True),
    Row("train: LoRA r=16, 4 rows of 512 that share nothing, f32", "tokens/s", "./experiments/speed", "Whole", "whole_f32",
        "transformers + peft", ("-benchtime=3x",), True, ("-dtype", "f32")),
    Row("train: LoRA r=16, 4 rows of 512 that share nothing, bf16", "tokens/s", "./experiments/speed", "Whole", "whole_bf16",
        "transformers + peft", ("-benchtime=3x",), True, ("-dtype", "bf16")),
    Row("sample: 64 slots, 40 tokens each after 450 shared + 40", "tokens/s", "./experiments/speed", "Sample", "sample",
        "transformers generate", ("-benchtime=1x",), True),
    Row("tokenize: the golden texts", "MB/s", "./internal/text/tokenizer", "EncodeOrdinary", "tokenizer", "tokenizers (Rust)"),
    Row("tokenize: 10 MB, mixed, Qwen3, one thread", "MB/s", "./internal/text/tokenizer", "Mixed", "mixed", "tokenizers (Rust)",
        ("-count=3", "-benchtime=1x", "-cpu=1"), args=("-name", "qwen3", "-tokenizers", str(bench_tokenizers.CACHE), "-text", MIXED)),
    Row("render: 40 tools and 30 messages", "ns/op", "./internal/jinja", "Render", "template", "jinja2, as transformers sets it up"),
    Row("parse: streamed tool calls, 4 bytes a token", "ns/token", "./internal/text/toolcall", "Stream"),
    Row("grade: stored calls by BFCL's rules", "verdicts/s", "./benchmarks/bfcl", "Judge"),
    Row("data: 100k rows like Toucan's, 33 KB each, read and written", "s/100k-rows", "./internal/data/dataset", "Toucan", None, "-", ("-benchtime=1x", "-timeout=30m")),
    Row("data: near copies looked for in 100k conversations", "texts/s", "./internal/data/overlap", "Copies/mixed", flags=("-benchtime=1x", "-timeout=30m")),
    Row("data: near copies in 100k of one template, own values", "texts/s", "./internal/data/overlap", "Copies/template_with_values", flags=("-benchtime=1x", "-timeout=30m")),
    Row("curate: a decision at 10k conversations, on the disk", "ns/op", "./internal/data/curate", "Do/10000", flags=("-benchtime=100x",)),
    Row("curate: a decision at 100k conversations, on the disk", "ns/op", "./internal/data/curate", "Do/100000", flags=("-benchtime=100x",)),
    Row("servers: 500 servers listed and linted from cache", "ns/op", "./cmd/hone", "ServersLs/linted", flags=("-count=3", "-benchtime=1x")),
    Row("servers: 500 servers listed again", "ns/op", "./cmd/hone", "ServersLs/again", flags=("-count=3", "-benchtime=1x")),
    Row("servers: 40 of 10,000 tools chosen", "ns/op", "./internal/toolset/access", "SelectOfTenThousand"),
    Row("rollouts: 64 episodes of a policy that computes nothing, 8 turns", "turns/s", "./internal/job/records", "Turns", flags=("-count=5", "-benchtime=5x", "-cpu=2")),
    Row("rollouts: trajectories kept with their scores", "trajectories/min", "./internal/job/records", "Ledger", flags=("-count=5", "-benchtime=20x")),
    Row("mcp: a call over stdio", "ns/op", "./internal/mcp", "Call", None, "a raw pipe", ("-benchtime=3000x", "-count=7"), against="CallPipe"),
    Row("mcp: a call over stdio", "ns/op", "./internal/mcp", "Call", None, "the SDK on its own transport",
        ("-benchtime=3000x", "-count=7"), against="CallSDK"),
    Row("mcp: 64 episodes with a process each", "calls/s", "./internal/mcp", "Episodes/64", None, "2 episodes",
        ("-benchtime=5000x", "-count=5"), against="Episodes/2"),
    Row("mcp: an episode's start, warm pool, p95 of 40", "p95-ms", "./internal/mcp", "OpenWarm", None, "-", ("-benchtime=40x",)),
    Row("mcp: memory of an idle session", "KiB/session", "./internal/mcp", "IdleSession", None, "-", ("-benchtime=3x",)),
    Row("mcp: memory while a result of 100 MB is read", "x-cap", "./internal/mcp", "HugeResult", None, "-", ("-benchtime=10x",)),
]


def installed():
    rows = json.loads(subprocess.run(["bin/hone", "engine", "list", "--json"], cwd=ROOT, check=True, capture_output=True).stdout)
    paths = {row["name"]: row["path"] for row in rows}
    return paths["cpu"], paths["SmolLM2-135M-Instruct"]


def measure(row, plugin, model):
    """The medians of the row's benchmark and of the one it is held against, None where there is none."""
    names = [row.benchmark] + ([row.against] if row.against else [])
    tops = "|".join(sorted({name.split("/")[0] for name in names}))
    command = ["go", "test", row.package, "-run", "^$", "-bench", f"^Benchmark({tops})$", *row.flags]
    if row.device:
        command += ["-args", "-model", model, "-plugin", plugin]
    if row.args:
        command += [*([] if row.device else ["-args"]), *row.args]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out = done.stdout
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{out}")
    # BenchmarkTrain-2   3   1234 ns/op   227.1 tokens/s
    medians = []
    for name in names:
        numbers = [float(n) for n in re.findall(rf"^Benchmark{name}(?![A-Za-z0-9]).*?\s([0-9.e+]+) {re.escape(row.unit)}(?!\S)", out, re.M)]
        if not numbers:
            sys.exit(f"{name} reported no {row.unit}:\n{out}")
        medians.append(statistics.median(numbers))
    return medians[0], medians[1] if row.against else None


def measure_peer(row, model):
    out = subprocess.run([sys.executable, "experiments/speed/peer.py", row.peer, model], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return statistics.median(float(line) for line in out.split())


def main():
    plugin, model = installed()
    rows = [r for r in ROWS if len(sys.argv) == 1 or any(part in r.name for part in sys.argv[1:])]
    line = "{:58} {:>9} {:>9} {:>8} {:>6}  {}".format
    print(f"{os.cpu_count()} cores; load average before: {os.getloadavg()[0]:.1f}")
    print(line("", "unit", "hone", "peer", "ratio", "peer is"))
    for row in rows:
        theirs = measure_peer(row, model) if row.peer else None
        (ours, other), ratio = measure(row, plugin, model), None
        theirs = other if row.against else theirs
        if theirs:
            ratio = theirs / ours if row.unit.endswith("/op") else ours / theirs
        show = lambda x, digits=4: "-" if x is None else f"{x:.{digits}g}"
        print(line(row.name, row.unit, show(ours), show(theirs), show(ratio, 3), row.peer_is), flush=True)


main()
