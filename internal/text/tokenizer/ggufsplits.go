package tokenizer

// preTokenizer is how a kind of gpt2 vocabulary splits text: the expressions of the vendor's tokenizer.json, one after
// the other.
type preTokenizer struct {
	split        []string
	ignoreMerges bool
	nfc          bool // the vendor's tokenizer.json normalises, though a GGUF does not say so
}

const (
	digit    = `\p{N}`
	threes   = `\p{N}{1,3}`
	kanaHan  = `[一-龥぀-ゟ゠-ヿ]+`
	endings  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	gptTail  = ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gpt4Word = endings + `|[^\r\n\p{L}\p{N}]?\p{L}+|`
	llama3   = gpt4Word + `\p{N}{1,3}|` + gptTail
	qwen2    = gpt4Word + `\p{N}|` + gptTail
	qwen35   = endings +
		`|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	upper   = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lowered = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	before  = `[^\r\n\p{L}\p{N}]?`
	o200k   = before + upper + `*` + lowered + `+` + endings + `?|` + before + upper + `+` + lowered + `*` +
		endings + `?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekken = before + upper + `*` + lowered + `+|` + before + upper + `+` + lowered + `*|` +
		`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseek3 = `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" +
		`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseekLetters = `\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵ` +
		`Ϸ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+`
	deepseekPoints = `\s?[!-/:-~！-／：-～‘-‟　-。]+`
	eastAsian      = `[一-龥ࠀ-一가-퟿]+`
	bloom          = " ?[^(\\s|.,!?…。，、।۔،)]+"
	bailing        = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`
	seedCoder      = endings + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`
	exaone         = endings +
		`|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`
	minicpm = gpt4Word + `\p{N}+|` + gptTail
	jais    = gpt4Word +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|` +
		`\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}`
	youtuScripts = `[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+`
	youtu        = before + upper + `*` + lowered + `+` + endings + `?|` + before + upper + `+` + lowered + `*` +
		endings + `?|` +
		`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	spark = `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" +
		`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|` +
		`\s+(?!\S)|\s+`
	notHanUpper = `[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]`
	notHanLower = `[[\p{Ll}\p{Lm}\p{Lo}\p{M}]&&[^\p{Han}]]`
	kimi        = `[\p{Han}]+|` + before + notHanUpper + `*` + notHanLower + `+` + endings + `?|` +
		before + notHanUpper + `+` + notHanLower + `*` + endings +
		`?|\p{N}{1,3}|` + gptTail
	ufakzeka = before + `\p{L}+|\p{N}|` + gptTail
)

// preTokenizers are those supported, by the name that a GGUF gives them.
func preTokenizers() map[string]preTokenizer {
	plain := preTokenizer{split: []string{gpt2}}
	digits := preTokenizer{split: []string{digit, gpt2}}
	gpt4 := preTokenizer{split: []string{llama3}}
	llama := preTokenizer{split: []string{llama3}, ignoreMerges: true}
	qwen := preTokenizer{split: []string{qwen2}}
	qwenNFC := preTokenizer{split: []string{qwen2}, nfc: true}
	o200 := preTokenizer{split: []string{o200k}}
	neox := preTokenizer{split: []string{gpt2}, nfc: true}
	words := preTokenizer{split: []string{bloom}}
	deepseek := preTokenizer{split: []string{threes, kanaHan, deepseek3}}
	ling := preTokenizer{split: []string{bailing}}
	aya := preTokenizer{split: []string{`\d{1,3}(?=(?:\d{3})*\b)`, o200k}}
	return map[string]preTokenizer{
		"": plain, "gpt-2": plain, "phi-2": plain, "jais": plain, "trillion": plain, "granite-docling": plain,
		"gigachat": plain, "a.x-4.0": plain, "mellum": plain, "exaone4": plain, "mpt": neox, "olmo": neox,
		"modern-bert": neox, "smollm": digits, "starcoder": digits, "refact": digits, "codeshell": digits,
		"minerva-7b": digits, "mellum2": digits, "exaone": digits,
		"command-r": {split: []string{digit, gpt2}, nfc: true},
		"llama-bpe": llama, "llama3": llama, "llama-v3": llama, "falcon3": llama, "falcon-h1": llama, "lfm2": llama,
		"pixtral": llama, "midm-2.0": llama, "dbrx": gpt4, "smaug-bpe": gpt4, "glm4": llama, "glm5": llama,
		"chatglm-bpe": gpt4, "jais-2": {split: []string{jais}}, "qwen2": qwenNFC, "deepseek-r1-qwen": qwenNFC,
		"f2llmv2": qwenNFC, "qwen35": {split: []string{qwen35}, nfc: true}, "stablelm2": qwen, "grok-2": qwen,
		"kormo": qwen, "megrez": qwen, "hunyuan": qwen, "solar-open": qwen, "ufakzeka": {split: []string{ufakzeka}},
		"laguna": {split: []string{`[^\n]+|[\n]+`, qwen2}}, "minicpm5": {split: []string{threes, minicpm},
			ignoreMerges: true}, "seed-coder": {split: []string{seedCoder}},
		"bailingmoe": ling, "bailingmoe2": ling, "llada-moe": ling, "exaone-moe": {split: []string{exaone}},
		"gpt-4o": o200, "llama4": o200, "minimax-m2": o200, "kanana2": o200, "talkie": o200, "tiny_aya": aya,
		"cohere2moe": aya, "tekken": {split: []string{tekken},
			ignoreMerges: true}, "youtu": {split: []string{youtuScripts, youtu},
			ignoreMerges: true},
		"kimi-k2": {split: []string{kimi}}, "superbpe": {split: []string{`\p{N}+`, `(?=(\d{3})+(?!\d))`}},
		"deepseek-v3": deepseek, "hunyuan-dense": deepseek, "joyai-llm": deepseek, "hy_v4": deepseek,
		"spark2_5":       {split: []string{threes, kanaHan, spark, digit}},
		"deepseek-coder": {split: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, eastAsian, digit}},
		"deepseek-llm":   {split: []string{`[\r\n]`, deepseekLetters, deepseekPoints, `\s+$`, eastAsian, digit}},
		"viking":         {split: []string{bloom, digit}}, "bloom": words, "poro-chat": words, "gpt3-finnish": words,
	}
}
