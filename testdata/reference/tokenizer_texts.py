"""Texts to try tokenizers on, the same here and in internal/text/tokenizer/texts_test.go: drawn from fragments by a
congruential generator, so that twenty thousand of them need not be stored."""

WORDS = """the of and to in is was for that with as on be at by not are from it this have an they which one you were all
her she there would their we him been has when who will no more if out so up said what its about than into them can only
I'm don't we'll you've they're he'd it's O'Brien 'tis rock'n'roll DON'T I'M WE'LL naïve café Größe żółw Ελλάδα Привет мир
שלום مرحبا नमस्ते สวัสดี 안녕하세요 こんにちは 世界 你好 数据 模型 工具 调用 한국어 日本語 x86_64 utf-8 snake_case camelCase HTTPServer --flag
$HOME a.b.c foo() bar[0] {x} <tag> </tag> && || != >= := -> => // /* */ 'ſ 'K İstanbul ﬁn ﬃ ǅ ß ΑΣ Σ ½ x² ①②""".split()
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧", "🇩🇪", "❤️", "🦀", "🏳️‍🌈", "①", "½", "Ⅷ", "٣", "五", "²", "𝔘", "𐍈", "🫠"]
MARKS = ["é", "e\u0301", "\u0301", "o\u0308\u0304", "\u0344", "ǖ", "u\u0304\u0308", "각", "\u1100\u1161\u11a8", "क्षि", "நி",
         "a\u0316\u0301\u0323", "\u0958", "\u2126", "Å", "\u212b", "a\u0898\u0316", "q\u0307\u0323", "\u1e9b\u0323"]
SPACES = [" ", " ", " ", "  ", "   ", "    ", "        ", "\n", "\n\n", "\n\n\n", "\t", "\t\t ", "\r\n", " \n", "\n ", " \r\n\t",
          "\u00a0", "\u3000", "\u2028", "\u0085", "\x0b", "\x0c", "\u200b", "\ufeff", "\u1680", "\u180e", "▁", "▁▁", "Ġ", "\x00", "\x1f", "\ufffd"]
DIGITS = ["0", "1", "12", "123", "1234", "12345", "3.14", "1,000,000", "-7", "2024-02-29", "0x7fff", "1e-07", "٣٤", "Ⅷ", "½", "५", "𝟙", "1️⃣"]
MARKERS = ["<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|begin_of_text|>",
           "<|start_header_id|>", "<start_of_turn>", "<end_of_turn>", "<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜tool▁calls▁begin｜>", "[INST]", "[/INST]",
           "[TOOL_CALLS]", "<think>", "</think>", "<tool_call>", "</tool_call>", "<|channel|>", "<EOT>", "<mask>", "<|im_end", "|im_start|>",
           "<|im_<|im_end|>", "<|IM_END|>", "< |im_end|>", "<0x0A>", "<0xE4>", "wordy", "Wordy", "left", "right", "NORMAL", "normal"]
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
    "const f = async (x) => { await g?.(x ?? 0); }; // done\r\n\r\n",
]
GROUPS = [WORDS, EMOJI, MARKS, SPACES, DIGITS, MARKERS, CODE]
POOLS = ["abcdefghijklmnopqrstuvwxyz", "ab", "a", "0123456789", "ACGT", "世界你好数据模型", "=-", "ABCDEFabcdef0123456789+/", "การ",
         " ", "\n", "\u0301\u0316", "\u0085\u3000", "AbCdEf'", "👍🏽👩‍", "▁", "한국어말", "_-*/"]
RANGES = [[0x00, 0x7F], [0x80, 0x24F], [0x250, 0x5FF], [0x600, 0x1FFF], [0x2000, 0x2BFF], [0x2C00, 0x33FF], [0x3400, 0x9FFF],
          [0xA000, 0xD7FF], [0xE000, 0xFFFF], [0x10000, 0x11FFF], [0x12000, 0x1FFFF], [0x1F000, 0x1FBFF], [0x20000, 0x2FFFF], [0xE0000, 0xE01EF]]
FRAGMENTS = {"groups": GROUPS, "pools": POOLS, "ranges": RANGES}


class Draw:
    def __init__(self, seed):
        self.state = (seed * 0x9E3779B97F4A7C15 + 1) % 2**64
        self.pick(1)

    def pick(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def of(self, items):
        return items[self.pick(len(items))]


def text(i):
    d = Draw(i)
    if i % 400 == 399:  # without a space
        pool = d.of(POOLS)
        return "".join(d.of(pool) for _ in range(8192))
    kind, n = d.pick(8), 1 + d.pick(24)
    if kind < 4:
        parts = [d.of(d.of(GROUPS)) + d.of(["", "", " "]) for _ in range(n)]
    elif kind == 4:
        group = d.of(GROUPS)
        parts = [d.of(group) for _ in range(n)]
    elif kind == 5:
        parts = [letter(d) for _ in range(n)]
    elif kind == 6:
        parts = ["a" + letter(d) + d.of(SPACES) + letter(d) + "1" for _ in range(n)]
    else:
        parts = []
        for _ in range(n):
            fragment = d.of(d.of(GROUPS))
            parts.append(fragment[d.pick(len(fragment)) :])
    return "".join(parts)


def letter(d):
    low, high = d.of(RANGES)
    return chr(low + d.pick(high - low + 1))
