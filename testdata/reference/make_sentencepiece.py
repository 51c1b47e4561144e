"""Writes tokenizer/sentencepiece.json.gz: vocabularies of the llama kind, and what SentencePiece does to the texts of
tokenizer_texts.py with them, as hashes; and tokenizer/charsmaps.json.gz: SentencePiece's tables of rewrites.

Usage: python make_sentencepiece.py [--train] [--show NAME FIRST LAST]
Needs: tokenizer/requirements.txt.

The models and tables are kept in those files; --train makes them anew from our own texts, which need not give the same.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import pathlib
import struct

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as pb

import tokenizer_texts

OUT = pathlib.Path(__file__).parent / "tokenizer"
BLOCK, TEXTS = 20, 4000
BYTE = pb.ModelProto.SentencePiece.BYTE
USER_DEFINED = ["\n\n", "\n\n\n", "<tool_call>", "[INST]", "left"]  # none with "▁": llama.cpp and Hugging Face look for them before spaces become visible
# A table of our own: keys that begin others, clusters, deletions, growth, what stands before and behind Korean and marks.
OWN = {"a": "A", "ab": "!", "e\u0301": "é", "o\u0308": "oe", "\u0308": "", "\r\n": "\n", "\t": "    ", "é": "e", "\u200b": "", "\u0600": "N", "\u0601\u0661": "1", "각": "gag", "ᄀ": "g",
       "©": "(c)", "ﬁ": "fi", "\u0301": "'", "世": "shi", "世界": "world", "1": "one", "\u00a0": " ", "\ufeff": "", "k\u0323": "Q", "\ufffd": "?", "\u3000": " ", "½": "1/2", "क": "ka", "🇩": "D", "👍": "+1", "B": "", "x": "\u0301x"}
# Keys of one character each, so that it shows which characters a grapheme cluster swallows.
CLUSTERS = {c: f"<{i}>" for i, c in enumerate("a\u0301©\u1100\u1161\uac00\u0600\r\u200e\u200d")}


def train(name, **options):
    fragments = tokenizer_texts.WORDS + tokenizer_texts.CODE
    texts = [f"{fragment} {fragments[i * 7 % len(fragments)]}" for i, fragment in enumerate(fragments)]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts * 20), model_writer=out, model_type="bpe", character_coverage=1.0,
                                             hard_vocab_limit=False, num_threads=1, minloglevel=2, **options)
    model = pb.ModelProto()
    model.ParseFromString(out.getvalue())
    return model


def charsmap(**options):
    return base64.b64encode(train("charsmap", vocab_size=700, **options).normalizer_spec.precompiled_charsmap).decode()


def own_charsmap(rules):
    path = OUT / "rules.tsv"
    path.write_text("".join("\t".join(" ".join(f"{ord(c):X}" for c in side) for side in rule) + "\n" for rule in rules.items()))
    try:
        return charsmap(normalization_rule_tsv=str(path))
    finally:
        path.unlink()


def models():
    exact = dict(vocab_size=900, normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True, allow_whitespace_only_pieces=True)
    llama = train("llama", add_dummy_prefix=True, split_digits=True, **exact)
    gemma = train("gemma", add_dummy_prefix=False, **exact)
    plain = {"llama": llama, "gemma": gemma}
    defined = pb.ModelProto()
    defined.CopyFrom(gemma)
    for text in USER_DEFINED:
        for piece in defined.pieces:
            if piece.piece == text:
                piece.type, piece.score = pb.ModelProto.SentencePiece.USER_DEFINED, 0.0
                break
        else:
            defined.pieces.add(piece=text, score=0.0, type=pb.ModelProto.SentencePiece.USER_DEFINED)
    plain["gemma-defined"] = defined
    return {name: base64.b64encode(m.SerializeToString()).decode() for name, m in plain.items()}


class Reference:
    def __init__(self, data, defined):
        self.model = pb.ModelProto()
        self.model.ParseFromString(base64.b64decode(data))
        self.sp = sentencepiece.SentencePieceProcessor(model_proto=self.model.SerializeToString())
        self.markers = ["<unk>", "<s>", "</s>"] if defined else []

    def options(self):
        p = self.model.pieces
        return {"Model": "llama", "Tokens": [x.piece for x in p], "Scores": [x.score for x in p], "Types": [x.type for x in p], "BOS": 1, "EOS": 2,
                "NoSpacePrefix": not self.model.normalizer_spec.add_dummy_prefix}

    def answers(self, i):
        """Of a vocabulary with user-defined tokens, texts with special tokens are left out: SentencePiece never sees those."""
        text = tokenizer_texts.text(i)
        for marker in self.markers:
            text = text.replace(marker, "")
        ids = self.sp.encode(text)
        draw = tokenizer_texts.Draw(i)
        some = [1 + draw.pick(len(self.model.pieces) - 1) for _ in range(draw.pick(12))]
        some = [i for i in some if self.model.pieces[i].type != BYTE]  # of bytes that are not UTF-8 Hugging Face's decoders make something else
        return {"ids": ids, "decoded": self.sp.decode(ids), "drawn": self.sp.decode(some)}

    def block(self, first):
        h = hashlib.sha256()
        for i in range(first, first + BLOCK):
            for answer in self.answers(i).values():
                data = answer.encode() if isinstance(answer, str) else struct.pack(f"<{len(answer)}i", *answer)
                h.update(struct.pack("<i", len(data)) + data)
        return h.hexdigest()[:8]


def read(name):
    return json.loads(gzip.decompress((OUT / name).read_bytes()))


def write(name, content):
    path, text = OUT / name, json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    # Compressed bytes differ from one zlib to the next, so a file of the same content is left as it is.
    if not path.exists() or gzip.decompress(path.read_bytes()) != text:
        path.write_bytes(gzip.compress(text, 9, mtime=0))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--train", action="store_true")
    p.add_argument("--show", nargs=3)
    o = p.parse_args()
    if o.train:
        write("charsmaps.json.gz", {"nmt_nfkc": charsmap(), "own": own_charsmap(OWN), "clusters": own_charsmap(CLUSTERS)})
        trained = models()
    else:
        trained = {name: row["model"] for name, row in read("sentencepiece.json.gz").items()}
    references = {name: Reference(data, "defined" in name) for name, data in trained.items()}
    if o.show:
        name, first, last = o.show
        for i in range(int(first), int(last) + 1):
            print(json.dumps({"i": i, "text": tokenizer_texts.text(i), **references[name].answers(i)}, ensure_ascii=False))
        return
    write("sentencepiece.json.gz", {
        name: {"model": trained[name], "options": r.options(), "hashes": "".join(r.block(first) for first in range(0, TEXTS, BLOCK))} for name, r in references.items()})


if __name__ == "__main__":
    main()
