"""A random Qwen3 of two layers over bytes, as a folder that transformers and hone read: skyrl_model.py FOLDER."""

import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

HIDDEN, INTERMEDIATE, LAYERS, HEADS, KV_HEADS, WIDTH = 48, 96, 2, 4, 2, 16
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True)
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens([AddedToken(s, normalized=False) for s in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
tokenizer.add_tokens([AddedToken(s, normalized=False) for s in ("<tool_call>", "</tool_call>")])
tokenizer.save(str(folder / "tokenizer.json"))
(folder / "tokenizer_config.json").write_text(json.dumps({
    "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
    "chat_template": TEMPLATE,
}))
vocabulary = tokenizer.get_vocab_size()
(folder / "config.json").write_text(json.dumps({
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": vocabulary, "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS, "head_dim": WIDTH, "max_position_embeddings": 2048, "rope_theta": 10000.0,
    "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False,
    "eos_token_id": tokenizer.token_to_id("<|im_end|>"), "torch_dtype": "float32", "use_sliding_window": False,
}))

draw = np.random.default_rng(1)
weights = {"model.embed_tokens.weight": draw.normal(0, 0.5, (vocabulary, HIDDEN)),
           "lm_head.weight": draw.normal(0, 0.12, (vocabulary, HIDDEN)),
           "model.norm.weight": 1 + draw.normal(0, 0.1, HIDDEN)}
for layer in range(LAYERS):
    at = f"model.layers.{layer}."
    for name, size in {"input_layernorm": HIDDEN, "post_attention_layernorm": HIDDEN, "self_attn.q_norm": WIDTH,
                       "self_attn.k_norm": WIDTH}.items():
        weights[f"{at}{name}.weight"] = 1 + draw.normal(0, 0.1, size)
    for name, shape in {"self_attn.q_proj": (HEADS * WIDTH, HIDDEN), "self_attn.k_proj": (KV_HEADS * WIDTH, HIDDEN),
                        "self_attn.v_proj": (KV_HEADS * WIDTH, HIDDEN), "self_attn.o_proj": (HIDDEN, HEADS * WIDTH),
                        "mlp.gate_proj": (INTERMEDIATE, HIDDEN), "mlp.up_proj": (INTERMEDIATE, HIDDEN),
                        "mlp.down_proj": (HIDDEN, INTERMEDIATE)}.items():
        weights[f"{at}{name}.weight"] = draw.normal(0, 0.15, shape)
save_file({name: x.astype(np.float32) for name, x in weights.items()}, str(folder / "model.safetensors"),
          metadata={"format": "pt"})
