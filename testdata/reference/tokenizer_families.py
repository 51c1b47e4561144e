"""Small tokenizers with each family's exact pipeline, trained on our own texts (tokenizer_texts.py)."""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import tokenizer_texts

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
U, L = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{U}*{L}+{END}|[^\r\n\p{{L}}\p{{N}}]?{U}+{L}*{END}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = O200K.replace(END, "").replace("{1,3}", "")
KIMI = "|".join([r"[\p{Han}]+", rf"[^\r\n\p{{L}}\p{{N}}]?[{U}&&[^\p{{Han}}]]*[{L}&&[^\p{{Han}}]]+{END}", rf"[^\r\n\p{{L}}\p{{N}}]?[{U}&&[^\p{{Han}}]]+[{L}&&[^\p{{Han}}]]*{END}",
                 r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥\u3040-\u309f\u30a0-\u30ff]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]
DEEPSEEK_CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"]
EXAONE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
AYA = r"\d{1,3}(?=(?:\d{3})*\b)"
ODD = r"(?<=\p{L})\d+|(?<![a-z])[A-Z]{2,}?|\w+?(?=\W|$)|^[^\w\s]+|(?>\s*)x|(?:ab|a)(?:c|bcd)*|\x{1F600}|\u0041[^\S\n]|."
THREES = r"(?=(\d{3})+(?!\d))"

SPECIALS = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
MORE = [AddedToken("<think>", special=False, normalized=False), AddedToken("</think>", special=False, normalized=False),
        AddedToken("<tool_call>", special=False, normalized=False)]


def isolated(*expressions):
    return [pre_tokenizers.Split(Regex(e), "isolated") for e in expressions]


def byte_level(*expressions, use_regex=False, prefix=False):
    return pre_tokenizers.Sequence([*isolated(*expressions), pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)])


def corpus(drawn):
    for i in range(0, 4000 if drawn else 0, 2):
        text = tokenizer_texts.text(i)
        if len(text) < 8000:
            yield text
    for word in tokenizer_texts.WORDS + tokenizer_texts.CODE:
        for _ in range(20):
            yield word + " " + word


def train(model="bpe", size=900, normalizer=None, pre=None, decoder=None, post=None, alphabet=None, specials=SPECIALS, added=MORE, **options):
    if model == "bpe":
        t = Tokenizer(models.BPE(**options))
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=alphabet or [], limit_alphabet=400, show_progress=False)
    else:
        t = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=specials, unk_token="<unk>", show_progress=False, **options)
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(corpus(model == "bpe"), trainer)  # a Unigram has to know every character it sees
    if decoder:
        t.decoder = decoder
    if post:
        t.post_processor = post(t)
    t.add_tokens(added)
    return json.loads(t.to_str())


def bytes_bpe(pre, **options):
    return train(pre=pre, alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), decoder=decoders.ByteLevel(), **options)


def bos(t):
    return processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", t.token_to_id("<s>"))])


def bos_eos(t):
    return processors.TemplateProcessing(single="<s> $A </s>", pair="$A $B", special_tokens=[(s, t.token_to_id(s)) for s in ["<s>", "</s>"]])


def with_bytes(d):
    """Adds <0x00> to <0xFF> behind the vocabulary; added tokens of later ids move up."""
    vocab, kind = d["model"]["vocab"], d["model"]["type"]
    inside = {row["content"] for row in d["added_tokens"]} & (set(vocab) if kind == "BPE" else {token for token, _ in vocab})
    for b in range(256):
        if kind == "BPE":
            vocab[f"<0x{b:02X}>"] = len(vocab)
        else:
            vocab.append([f"<0x{b:02X}>", -20.0])
    for row in d["added_tokens"]:
        row["id"] += 0 if row["content"] in inside else 256
    d["model"]["byte_fallback"] = True
    return d


SENTENCE = lambda *first: decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *first])


def edit(d, path, value):
    *path, last = path
    at = d
    for key in path:
        at = at[key]
    at[last] = value
    return d


def families(known):
    """All families; what is known already stays as it is, since training need not give the same again."""
    import tokenizer_parts

    P, N = pre_tokenizers, normalizers
    f = {
        "gpt2": lambda: bytes_bpe(P.ByteLevel(add_prefix_space=False), post=lambda t: processors.ByteLevel()),
        "roberta": lambda: bytes_bpe(P.ByteLevel(add_prefix_space=True), post=lambda t: processors.RobertaProcessing(("</s>", 2), ("<s>", 1)),
                                     added=[AddedToken("<mask>", lstrip=True, special=True)]),
        "llama3": lambda: bytes_bpe(byte_level(LLAMA3), ignore_merges=True, post=lambda t: processors.Sequence([processors.ByteLevel(), bos(t)])),
        "qwen3": lambda: bytes_bpe(byte_level(QWEN2), normalizer=N.NFC()),
        "qwen3.5": lambda: bytes_bpe(byte_level(QWEN35), normalizer=N.NFC()),
        "smollm2": lambda: bytes_bpe(P.Sequence([P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=False)])),
        "phi4": lambda: bytes_bpe(byte_level(CL100K)),
        "o200k": lambda: bytes_bpe(byte_level(O200K), ignore_merges=True),
        "gpt4o-inverted": lambda: bytes_bpe(P.Sequence([P.Split(Regex(O200K), "removed", invert=True), P.ByteLevel(add_prefix_space=False, use_regex=False)])),
        "tekken": lambda: bytes_bpe(byte_level(TEKKEN), ignore_merges=True, post=bos),
        "kimi": lambda: bytes_bpe(byte_level(KIMI)),
        "deepseek3": lambda: bytes_bpe(byte_level(*DEEPSEEK), normalizer=N.Sequence([]),
                                       added=[AddedToken("<｜User｜>", special=False), AddedToken("<｜tool▁calls▁begin｜>", special=False), AddedToken("<|EOT|>", special=True, normalized=True)]),
        "deepseek-coder": lambda: bytes_bpe(byte_level(*DEEPSEEK_CODER)),
        "falcon": lambda: bytes_bpe(P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(add_prefix_space=False), P.Digits(individual_digits=False), P.Split(Regex("[0-9][0-9][0-9]"), "isolated")])),
        "command-r": lambda: bytes_bpe(P.Sequence([P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=False)]), normalizer=N.NFC()),
        "aya": lambda: bytes_bpe(byte_level(AYA, O200K)),
        "exaone": lambda: bytes_bpe(byte_level(EXAONE)),
        "superbpe": lambda: bytes_bpe(byte_level(r"\p{N}+", THREES, use_regex=True)),
        "odd-expression": lambda: bytes_bpe(byte_level(ODD)),
        "neox": lambda: bytes_bpe(P.ByteLevel(add_prefix_space=False), normalizer=N.NFC(), added=[AddedToken(" " * n, normalized=True, special=False) for n in range(24, 1, -1)]),
        "bytes-missing": lambda: train(pre=P.ByteLevel(add_prefix_space=False), decoder=decoders.ByteLevel(), unk_token="<unk>", size=500),
        "bytes-normalized": lambda: train(normalizer=N.Sequence([N.NFKC(), N.ByteLevel()]), pre=P.Split(Regex("Ġ?[^Ġ]+"), "isolated"), decoder=decoders.ByteLevel(),
                                          alphabet=sorted(P.ByteLevel.alphabet())),
        "llama2": lambda: with_bytes(train(normalizer=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), decoder=SENTENCE(decoders.Strip(" ", 1, 0)), post=bos, unk_token="<unk>", fuse_unk=True)),
        "mistral": lambda: with_bytes(train(pre=P.Metaspace("▁", "first", False), decoder=SENTENCE(decoders.Strip(" ", 1, 0)), post=bos_eos, unk_token="<unk>", fuse_unk=True)),
        "gemma": lambda: with_bytes(train(normalizer=N.Replace(" ", "▁"), decoder=SENTENCE(), post=bos, unk_token="<unk>", fuse_unk=True,
                                          added=[AddedToken("\n" * n, special=False, normalized=False) for n in range(2, 8)] + [AddedToken("▁" * n, special=False, normalized=False) for n in range(2, 8)])),
        "gemma3": lambda: with_bytes(train(normalizer=N.Replace(" ", "▁"), pre=P.Split(" ", "merged_with_previous"), decoder=SENTENCE(), post=bos, unk_token="<unk>", fuse_unk=True)),
        "bpe-unknowns": lambda: train(pre=P.Whitespace(), unk_token="<unk>", fuse_unk=False, size=500),
        "bpe-unknowns-fused": lambda: train(pre=P.Sequence([P.WhitespaceSplit(), P.Punctuation("isolated")]), unk_token="<unk>", fuse_unk=True, size=500),
        "bpe-no-unknown": lambda: train(pre=P.Sequence([P.WhitespaceSplit(), P.Punctuation("isolated")]), size=500, normalizer=N.Sequence([N.Strip(True, False), N.Lowercase(), N.StripAccents()])),
        "t5": lambda: train("unigram", normalizer=N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]), pre=P.Metaspace("▁", "always", True), decoder=decoders.Metaspace("▁", "always", True), post=bos_eos),
        "albert": lambda: train("unigram", normalizer=N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase()]), pre=P.Metaspace("▁", "always", True),
                                decoder=decoders.Metaspace("▁", "always", True)),
        "unigram-bytes": lambda: with_bytes(train("unigram", normalizer=N.NFD(), pre=P.Metaspace("▁", "never", True), decoder=decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁", "never", True)]))),
        "unigram-first": lambda: train("unigram", normalizer=N.Strip(True, True), pre=P.Metaspace("▁", "first", True), decoder=decoders.Metaspace("▁", "first", True)),
        "added-flags": lambda: bytes_bpe(P.ByteLevel(add_prefix_space=False), normalizer=N.Lowercase(), added=[
            AddedToken("left", lstrip=True), AddedToken("right", rstrip=True, special=True), AddedToken("wordy", single_word=True, normalized=False),
            AddedToken("NORMAL", normalized=True), AddedToken("[INST]", lstrip=True, rstrip=True, normalized=False, special=True), AddedToken(" \n", normalized=False),
            AddedToken("<|channel|>", normalized=True, special=True), AddedToken("<EOT>", single_word=True, special=True, normalized=False)]),
    }
    for how in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        f[f"split-{how}"] = lambda how=how: bytes_bpe(P.Sequence([P.Split(Regex(r"[\s\p{P}]|\d+"), how), P.Split("a", how, invert=True), P.CharDelimiterSplit("z"), P.ByteLevel(add_prefix_space=False, use_regex=False)]), size=500)
    return {name: known.get(name) or make() for name, make in (f | tokenizer_parts.families()).items()}
