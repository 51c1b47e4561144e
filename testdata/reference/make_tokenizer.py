"""Writes tokenizer/smollm2_vocabulary.json.gz and tokenizer/smollm2_golden.json.gz.

Usage: python make_tokenizer.py SmolLM2-135M-Instruct.gguf
Needs: requirements.txt.

The vocabulary and merges are read from the GGUF file; the reference is Hugging Face's `tokenizers`, set up as
SmolLM2's tokenizer.json is. The content is the same for the same input.
"""

import gzip
import json
import pathlib
import random
import sys

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

OUT = pathlib.Path(__file__).parent / "tokenizer"


def read_vocabulary(path):
    fields = gguf.GGUFReader(path).fields
    get = lambda name: fields["tokenizer.ggml." + name].contents()
    assert get("model") == "gpt2"
    return {"pre": get("pre"), "tokens": get("tokens"), "types": get("token_type"), "merges": get("merges")}


def reference(v, added, digits=True):
    vocab = {token: i for i, token in enumerate(v["tokens"])}
    t = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m.split(" ")) for m in v["merges"]]))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    t.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level]) if digits else byte_level
    )
    t.decoder = decoders.ByteLevel()
    if added:
        t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s, kind in zip(v["tokens"], v["types"]) if kind == 3])
    return t


WORDS = """the of and to in is was for that with as on be at by not are from it this have an they which one you were all her
she there would their we him been has when who will no more if out so up said what its about than into them can only other
time new some could these two may first then do any like my now over such our man me even most made after also did many off
before must well back through years much where your way down should because long each just state those people how too little
I'm don't we'll you've they're he'd it's O'Brien 'tis rock'n'roll DON'T I'M naïve café Größe żółw Ελλάδα Привет мир שלום مرحبا
नमस्ते สวัสดี 안녕하세요 こんにちは 世界 你好 数据 模型 工具 调用 한국어 日本語 x86_64 utf-8 snake_case camelCase HTTPServer --flag $HOME
a.b.c foo() bar[0] {x} <tag> </tag> && || != >= := -> => // /* */ """.split()
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧", "🇩🇪", "❤️", "🦀", "🏳️‍🌈", "①", "½", "Ⅷ", "٣", "五", "²"]
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n", "\n ", "\t\t ", "\u00a0", "\u3000", "\u2028", "\u0085", "\x0b", "\u200b", "\ufeff"]
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<file_sep>", "<|im_end", "|im_start|>", "<|im_<|im_end|>", "<|IM_END|>", "<empty_output>", "< |im_end|>"]
CODE = [
    "func add(a, b int) int {\n\treturn a + b\n}\n",
    "def f(x: int = 3) -> str:\n    return f'{x:>10}'\n\n\nclass A:\n        pass\n",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "days": 12, "units": null}}',
    "<tool_call>\n{\"name\": \"x\", \"arguments\": {}}\n</tool_call>",
    "SELECT * FROM t WHERE a>=10 AND b<>'it''s' -- note\n;",
    "for i in $(seq 1 100); do echo \"$i: ${X:-none}\"; done | sort -n",
    "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 0x7fff); }\n",
    "| a | b |\n|---|---|\n| 1 | 2.50 |\n",
    "https://example.com/a/b?c=d&e=%20f#g user@example.com 192.168.0.1 2024-02-29T23:59:60Z",
]


def texts(rng):
    yield from ["", " ", "  ", "\n", "a", "'", "'s", "''s", " 's", "'S", "'re'll'd", "1", "12", " 1", "  1", "1 ", "a 1b 22  333", "\u00e9", "e\u0301"]
    yield from WORDS + EMOJI + SPACES + SPECIAL + CODE
    # Every character of the planes in use, 48 at a time, once bare and once between letters, spaces and digits.
    chars = [chr(c) for c in [*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x10000), *range(0x1D400, 0x1D800), *range(0x1F000, 0x1FB00)] if not 0xD800 <= c < 0xE000]
    for i in range(0, len(chars), 48):
        yield "".join(chars[i : i + 48])
        yield "".join(f"a{c} {c}1" for c in chars[i : i + 48 : 8])
    for _ in range(150):
        yield "".join(chr(rng.randrange(0x3400, 0xD7A4)) for _ in range(rng.randrange(1, 40)))
    for _ in range(500):
        yield "".join(rng.choice(WORDS) + rng.choice([" "] * 6 + SPACES) for _ in range(rng.randrange(1, 40)))
    for _ in range(400):
        pool = rng.choice([WORDS, EMOJI, SPACES, SPECIAL, CODE, list("0123456789.,-+e "), list("'sdtmrevl aA1\n")])
        yield "".join(rng.choice(rng.choice([pool, pool, WORDS, SPACES, SPECIAL])) for _ in range(rng.randrange(1, 25)))
    for _ in range(200):
        yield "".join(rng.choice(CODE)[a:] for a in [rng.randrange(20) for _ in range(rng.randrange(1, 4))])
    for pool in ["abcdefghijklmnopqrstuvwxyz", "ab", "a", "0123456789", "ACGT", "世界你好数据模型", "=-", "ABCDEFabcdef0123456789+/", "\u0e01\u0e32\u0e23"]:
        yield "".join(rng.choice(pool) for _ in range(8192))
    yield " " * 8192
    yield "\n" * 1000 + "x"


def main():
    v = read_vocabulary(sys.argv[1])
    parsed, ordinary, gpt2 = reference(v, True), reference(v, False), reference(v, False, digits=False)
    rows = []
    for text in texts(random.Random(1)):
        row = {"text": text, "ids": parsed.encode(text, add_special_tokens=False).ids}
        for name, other in [("ordinary", ordinary), ("gpt2", gpt2)]:
            ids = other.encode(text, add_special_tokens=False).ids
            if ids != (row["ids"] if name == "ordinary" else row.get("ordinary", row["ids"])):
                row[name] = ids
        decoded = parsed.decode(row["ids"], skip_special_tokens=False)
        if decoded != text:  # a character with a byte that the vocabulary lacks
            row["decoded"] = decoded
        rows.append(row)
    rng = random.Random(2)
    decodes = []
    for _ in range(300):
        ids = [rng.choice([rng.randrange(len(v["tokens"])), rng.randrange(17, 17 + 235)]) for _ in range(rng.randrange(1, 30))]
        decodes.append({"ids": ids, "text": parsed.decode(ids, skip_special_tokens=False), "ordinary": parsed.decode(ids, skip_special_tokens=True)})
    OUT.mkdir(exist_ok=True)
    for name, data in [("smollm2_vocabulary", v), ("smollm2_golden", {"encode": rows, "decode": decodes})]:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        path = OUT / f"{name}.json.gz"
        # Compressed bytes differ from one zlib to the next, so a file of the same content is left as it is.
        if not path.exists() or gzip.decompress(path.read_bytes()) != text.encode():
            path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(len(rows), "texts,", sum(len(r["ids"]) for r in rows), "ids")


main()
