"""More small tokenizers: the parts of a tokenizer.json that tokenizer_families.py does not use, and the splitting
expressions of models that a GGUF file names (tokenizer.ggml.pre)."""

import base64
import gzip
import json
import pathlib

from tokenizers import Regex, decoders, normalizers, pre_tokenizers

import tokenizer_families as base

CHARSMAPS = json.loads(gzip.decompress((pathlib.Path(__file__).parent / "tokenizer" / "charsmaps.json.gz").read_bytes()))

END, U, L, GPT2, LLAMA3, QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", base.U, base.L, base.GPT2, base.LLAMA3, base.QWEN2
JAIS2 = LLAMA3.replace(r"\s+(?!\S)|\s+", "|".join(rf"\s{{{n}}}(?!\S)" for n in [512, 256, 128, 64, 32, 16, 8, 4]) + r"|\s{1,2}(?!\S)|\s{1}")
MINICPM5 = [r"\p{N}{1,3}", QWEN2.replace(r"|\p{N}|", r"|\p{N}+|")]
BAILING = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
SEED_CODER = END + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}" + "\r\n" + r"]+|\s*[" + "\r\n" + r"]+|\s+(?!\S)|\s+"
YOUTU = ["[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+", base.O200K.replace("{1,3}", "")]
BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+"
SPARK = [*base.DEEPSEEK[:2], base.DEEPSEEK[2].replace("+[\r\n]*|\\s*[\r\n]+", "+|[\r\n]"), r"\p{N}"]
LAGUNA = [r"[^\n]+|[\n]+", QWEN2]
WITHOUT_ENDINGS = QWEN2.replace(END + "|", "")


def families():
    P, N, D = pre_tokenizers, normalizers, decoders
    table = lambda name: N.Precompiled(base64.b64decode(CHARSMAPS[name]))
    unigram = lambda normalizer, pre, scheme, **more: base.train("unigram", normalizer=normalizer, pre=pre, decoder=D.Metaspace("▁", scheme, True), **more)
    byte_level, bytes_bpe = base.byte_level, base.bytes_bpe
    f = {
        "t5-precompiled": lambda: unigram(N.Sequence([table("nmt_nfkc"), N.Replace(Regex(" {2,}"), " ")]), P.Metaspace("▁", "always", True), "always", post=base.bos_eos),
        "t5-first": lambda: unigram(N.Sequence([table("nmt_nfkc"), N.Strip(False, True), N.Replace(Regex(" {2,}"), "▁")]), P.Metaspace("▁", "first", True), "first"),
        "xlm-roberta": lambda: unigram(table("nmt_nfkc"), P.Sequence([P.WhitespaceSplit(), P.Metaspace("▁", "always", True)]), "always", post=base.bos_eos),
        "precompiled-own": lambda: unigram(table("own"), P.Metaspace("▁", "never", True), "never"),
        "precompiled-first": lambda: unigram(table("own"), P.Metaspace("▁", "first", True), "first"),
        "jais2": lambda: bytes_bpe(byte_level(JAIS2)),
        "minicpm5": lambda: bytes_bpe(byte_level(*MINICPM5), ignore_merges=True),
        "bailing": lambda: bytes_bpe(byte_level(BAILING)),
        "seed-coder": lambda: bytes_bpe(byte_level(SEED_CODER)),
        "youtu": lambda: bytes_bpe(byte_level(*YOUTU), ignore_merges=True),
        "bloom": lambda: bytes_bpe(byte_level(BLOOM)),
        "viking": lambda: bytes_bpe(P.Sequence([*base.isolated(BLOOM), P.Digits(True), P.ByteLevel(add_prefix_space=False, use_regex=False)])),
        "spark": lambda: bytes_bpe(byte_level(*SPARK)),
        "laguna": lambda: bytes_bpe(byte_level(*LAGUNA)),
        "without-endings": lambda: bytes_bpe(byte_level(WITHOUT_ENDINGS)),
    }
    return f
