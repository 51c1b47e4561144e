"""Runs StableHLO programs that `hone inspect plan --hlo` wrote, in JAX, and prints the kernels that take their time:
profile.py FILE.mlir... [--top N]. Weights are random, other numbers 0, integers what --integer says: of 1 a step of decoding has texts of
one token, of 1000 texts of 1000, if its caches hold those. --chain N also runs a program N times on its own results, where it writes
over its inputs, without waiting in between. --order N lists N kernels of the middle of a run as they came, with the time from the end of the one before.
"""
import argparse, collections, glob, re, sys, tempfile, time

import jax, jax.numpy as jnp
from jax._src.lib import xla_client

p = argparse.ArgumentParser()
p.add_argument("files", nargs="+")
p.add_argument("--top", type=int, default=22)
p.add_argument("--integer", type=int, default=1)
p.add_argument("--runs", type=int, default=3)
p.add_argument("--chain", type=int, default=0)
p.add_argument("--order", type=int, default=0)
args = p.parse_args()
device = jax.devices()[0]
types = {"bf16": jnp.bfloat16, "f32": jnp.float32, "i32": jnp.int32, "i8": jnp.int8, "ui8": jnp.uint8}


def array(text):
    *dims, kind = text.split("x")
    dims = tuple(map(int, dims))
    if kind == "bf16":
        return jax.random.normal(jax.random.PRNGKey(0), dims, jnp.bfloat16) * 0.03
    return jnp.full(dims, args.integer, jnp.int32) if kind == "i32" else jnp.zeros(dims, types[kind])


def inputs(hlo):
    """Shapes, and whether the program writes over them: those must be new for each run."""
    head = re.search(r"func\.func public @main\((.*?)\) ->|func\.func @main\((.*?)\) ->", hlo, re.S)
    shapes = re.findall(r"%\w+: tensor<([^>]*)>(?:\s*\{([^}]*)\})?", head.group(1) or head.group(2))
    return [(s, "buffer_donor" in attributes) for s, attributes in shapes]


def events(folder):
    """The kernels of a trace, as they came."""
    found = []
    for file in glob.glob(folder + "/**/*.xplane.pb", recursive=True):
        for plane in jax.profiler.ProfileData.from_file(file).planes:
            if "GPU" not in plane.name:
                continue
            for line in plane.lines:
                if not line.name.startswith("Stream"):
                    continue
                found += [(e.start_ns, e.duration_ns, e.name) for e in line.events]
    return sorted(found)


def kernels(found):
    """Their milliseconds and counts, by name without its number."""
    sums = collections.defaultdict(lambda: [0.0, 0])
    for _, ns, name in found:
        k = sums[re.sub(r"[_.]?\d+$", "", name)[:70]]
        k[0] += ns / 1e6
        k[1] += 1
    return sums


def chained(n):
    """Milliseconds of a run of n that are set off one behind the other: what a program returns last, it is given again for what it writes over."""
    ins = fresh()
    donated = [i for i, (_, d) in enumerate(shapes) if d]
    for steps in (5, n):
        begin = time.time()
        for _ in range(steps):
            out = exe.execute_sharded(ins).disassemble_into_single_device_arrays()
            for i, x in zip(donated, out[-len(donated) :]):
                ins[i] = x[0]
        jax.block_until_ready(ins)
    return (time.time() - begin) * 1e3 / n


for file in args.files:
    hlo = open(file).read()
    start = time.time()
    exe = device.client.compile_and_load(hlo, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    seconds = time.time() - start
    shapes = inputs(hlo)
    kept = [None if donated else array(s) for s, donated in shapes]

    def fresh():
        return jax.block_until_ready([array(s) if x is None else x for x, (s, _) in zip(kept, shapes)])

    def run(ins):
        begin = time.time()
        jax.block_until_ready(exe.execute_sharded(ins).disassemble_into_single_device_arrays())
        return (time.time() - begin) * 1e3

    run(fresh()), run(fresh())
    sets = [fresh() for _ in range(args.runs)]
    folder = tempfile.mkdtemp()
    with jax.profiler.trace(folder):
        times = [run(ins) for ins in sets]
    trace = events(folder)
    total, count = sum(ns for _, ns, _ in trace) / 1e6 / args.runs, len(trace) // args.runs
    print(f"{file}: compiled in {seconds:.1f} s, a run {min(times):.2f} ms, kernels {total:.2f} ms, {count} of them", flush=True)
    if args.chain:
        print(f"  {min(chained(args.chain) for _ in range(2)):9.3f} ms a run of {args.chain} behind each other", flush=True)
    middle = len(trace) - count // 2
    for before, (start, ns, name) in zip(trace[middle - 1 :], trace[middle : middle + args.order]):
        print(f"  {(start - before[0] - before[1]) / 1e3:7.2f} us later {ns / 1e3:8.2f} us {name[:100]}", flush=True)
    for name, (ms, n) in sorted(kernels(trace).items(), key=lambda k: -k[1][0])[:args.top]:
        print(f"  {ms / args.runs:9.3f} ms {n // args.runs:5d} {name}", flush=True)
    del kept, sets, exe
