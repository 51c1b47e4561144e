"""Runs StableHLO programs that `hone inspect plan --hlo` wrote, in JAX, and prints the kernels that take their time:
profile.py FILE.mlir... [--top N]. Weights are random, other numbers 0, integers what --integer says: of 1 a loop of decoding takes one
step on texts of one token, of 1000 as many as it can on texts of 1000, if its caches hold those.
"""
import argparse, collections, glob, re, sys, tempfile, time

import jax, jax.numpy as jnp
from jax._src.lib import xla_client

p = argparse.ArgumentParser()
p.add_argument("files", nargs="+")
p.add_argument("--top", type=int, default=22)
p.add_argument("--integer", type=int, default=1)
p.add_argument("--runs", type=int, default=3)
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


def kernels(folder):
    """Milliseconds and counts of all kernels in a trace, by name without its number."""
    found = collections.defaultdict(lambda: [0.0, 0])
    for file in glob.glob(folder + "/**/*.xplane.pb", recursive=True):
        for plane in jax.profiler.ProfileData.from_file(file).planes:
            if "GPU" not in plane.name:
                continue
            for line in plane.lines:
                if not line.name.startswith("Stream"):
                    continue
                for e in line.events:
                    k = found[re.sub(r"[_.]?\d+$", "", e.name)[:70]]
                    k[0] += e.duration_ns / 1e6
                    k[1] += 1
    return found


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
    found = kernels(folder)
    total, count = sum(k[0] for k in found.values()) / args.runs, sum(k[1] for k in found.values()) // args.runs
    print(f"{file}: compiled in {seconds:.1f} s, a run {min(times):.2f} ms, kernels {total:.2f} ms, {count} of them", flush=True)
    for name, (ms, n) in sorted(found.items(), key=lambda k: -k[1][0])[:args.top]:
        print(f"  {ms / args.runs:9.3f} ms {n // args.runs:5d} {name}", flush=True)
    del kept, sets, exe
