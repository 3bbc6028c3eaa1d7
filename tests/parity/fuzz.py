#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Random configurations of each family beside transformers: not one of the tests, since it takes many minutes.

    fuzz.py BORA [FAMILY ...] [--count N] [--seed S] [--keep FOLDER] [--llama PYTHON]

Needs torch, transformers 4.57 and safetensors; PYTHON is one that has llama-cpp-python. A configuration is drawn by
(family, seed) alone: sizes, numbers of heads, windows, scalings of rotary positions, biases, ties, experts, dropout, and how the
directory is spelled (old or new keys, shards, the type of the numbers, names without their first component). For each:

  logits, hidden states, loss, gradients   `bora forward` beside transformers in fp32 with eager attention
  greedy tokens                            `bora generate` with its cache beside transformers
  out                                      `bora export`: transformers takes every tensor, with the bits that went in
  GGUF                                     where Bora writes it: read again, the same logits; llama.cpp's tokens

A line for each that differs, with the seed; then how many of each family passed, were refused, and were left out because
transformers itself is not certain of its tokens or logits. --keep: the directories of what differs stay in FOLDER.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import torch
import transformers
from backpack_reference import BackpackConfig
from safetensors.torch import load_file, save_file

TOLERANCE = 1e-4  # of a tensor's largest value
CERTAIN = 2e-5    # what transformers in fp32 may differ from itself in fp64, else the case is left out
LEAD = 2e-3       # of the best logit before the second: closer ones are not compared
LLAMA = """
import sys, json
from llama_cpp import Llama
model = Llama(sys.argv[1], n_ctx=64, logits_all=False, verbose=False)
out = []
for token in model.generate(json.loads(sys.argv[2]), temp=0.0, top_k=1, repeat_penalty=1.0):
    out.append(token)
    if len(out) == int(sys.argv[3]): break
print(json.dumps(out))
"""


# ---- what a configuration may be -----------------------------------------------------------------------------

def scaling(r, dims, positions, kinds=("linear", "dynamic", "llama3", "yarn")):
    """None, or a rope_scaling for heads of which `dims` dimensions turn."""
    kind = r.choice((None, None) + tuple(kinds))
    if kind is None:
        return None
    out = dict(rope_type=kind, factor=r.choice([1.5, 2.0, 4.0, 7.0]))
    original = r.choice([8, 12, 16, positions])
    if kind == "dynamic" and dims <= 2:
        return None
    if kind == "llama3":
        out.update(low_freq_factor=r.choice([1.0, 0.5]), high_freq_factor=r.choice([2.0, 4.0]),
                   original_max_position_embeddings=original)
    if kind == "yarn":
        if r.random() < 0.8:
            out["original_max_position_embeddings"] = original
        for key, values in dict(beta_fast=[4.0, 32.0], beta_slow=[0.25, 1.0], attention_factor=[0.8, 1.3],
                                truncate=[False, True]).items():
            if r.random() < 0.5:
                out[key] = r.choice(values)
        if r.random() < 0.3:
            out.update(mscale=r.choice([0.7, 1.0]), mscale_all_dim=r.choice([0.5, 0.8]))
    return out


def sizes(r, gqa=True, head_dim=True, even=True):
    """Sizes that most families have, with heads of any width where `head_dim`."""
    kv = r.choice([1, 2, 3])
    heads = kv * r.choice([1, 2, 3]) if gqa else kv
    width = r.choice([4, 6, 8, 10, 16] if even else [3, 4, 5, 6, 8])
    hidden = heads * width
    out = dict(vocab_size=256 + r.randrange(0, 45), hidden_size=hidden, intermediate_size=r.choice([7, 16, 24, 40]),
               num_hidden_layers=r.choice([1, 2, 3, 4]), num_attention_heads=heads,
               max_position_embeddings=r.choice([48, 50, 64, 80]), rope_theta=r.choice([100.0, 1e4, 5e5]),
               rms_norm_eps=r.choice([1e-6, 1e-5, 1e-3]), tie_word_embeddings=r.random() < 0.5,
               pad_token_id=None, bos_token_id=None, eos_token_id=None)
    if gqa:
        out["num_key_value_heads"] = kv
    if head_dim:
        if r.random() < 0.6:
            width = r.choice([4, 6, 8, 12, 32])
            out["hidden_size"] = r.choice([hidden, 10, 15, 17, 24]) if head_dim == "free" else hidden
        out["head_dim"] = width
    return out, width


BIASED = 0.2  # of the configurations have biases where a family has none by default


def biased(r):
    return r.random() < BIASED


def two_fields(scaling):
    """As the families spell it that check their rope_scaling."""
    return scaling and dict(type=scaling["rope_type"], factor=scaling["factor"])


def window(r):
    return r.choice([1, 2, 3, 5, 8, 16, 100])


def layer_types(r, n):
    return [r.choice(["sliding_attention", "full_attention"]) for _ in range(n)]


def llama(r):
    c, width = sizes(r, head_dim="free")
    c.update(rope_scaling=scaling(r, width, c["max_position_embeddings"]), attention_bias=r.random() < 0.4,
             mlp_bias=r.random() < 0.4, hidden_act=r.choice(["silu", "silu", "gelu", "gelu_new", "relu"]))
    return transformers.LlamaConfig(**c)


def mistral(r):
    c, width = sizes(r, head_dim="free")
    return transformers.MistralConfig(sliding_window=r.choice([None, window(r)]),
                                      rope_scaling=scaling(r, width, c["max_position_embeddings"]), **c)


def qwen2(r):
    c, width = sizes(r, head_dim=False)
    slides = r.random() < 0.7
    if slides and r.random() < 0.3:
        c["layer_types"] = layer_types(r, c["num_hidden_layers"])
    return transformers.Qwen2Config(use_sliding_window=slides, sliding_window=window(r),
                                    max_window_layers=r.choice([0, 1, 2, 28]),
                                    rope_scaling=scaling(r, width, c["max_position_embeddings"]), **c)


def qwen3(r):
    c, width = sizes(r, head_dim="free")
    slides = r.random() < 0.7
    if slides and r.random() < 0.3:
        c["layer_types"] = layer_types(r, c["num_hidden_layers"])
    return transformers.Qwen3Config(use_sliding_window=slides, sliding_window=window(r),
                                    max_window_layers=r.choice([0, 1, 2, 28]), attention_bias=biased(r),
                                    rope_scaling=scaling(r, width, c["max_position_embeddings"]), **c)


def olmo2(r):
    c, width = sizes(r, head_dim=False)
    return transformers.Olmo2Config(rope_scaling=two_fields(scaling(r, width, c["max_position_embeddings"], ("linear", "dynamic"))),
                                    attention_bias=biased(r), **c)


def olmo3(r):
    c, width = sizes(r, head_dim=False)
    if r.random() < 0.6:
        c["layer_types"] = layer_types(r, c["num_hidden_layers"])
    return transformers.Olmo3Config(rope_scaling=scaling(r, width, c["max_position_embeddings"]),
                                    attention_bias=biased(r), sliding_window=window(r), **c)


def smollm3(r):
    c, width = sizes(r, head_dim=False)
    n = c["num_hidden_layers"]
    if r.random() < 0.6:
        c["no_rope_layers"] = [r.randrange(2) for _ in range(n)]
    slides = r.random() < 0.6
    if slides and r.random() < 0.3:
        c["layer_types"] = layer_types(r, n)
    return transformers.SmolLM3Config(
        no_rope_layer_interval=r.choice([1, 2, 4]), use_sliding_window=slides, sliding_window=window(r),
        rope_scaling=scaling(r, width, c["max_position_embeddings"]), attention_bias=biased(r),
        mlp_bias=biased(r), **c)


def granite(r):
    c, width = sizes(r, head_dim=False)
    return transformers.GraniteConfig(
        embedding_multiplier=r.choice([1.0, 0.5, 3.0]), attention_multiplier=r.choice([1.0, 0.3]),
        residual_multiplier=r.choice([1.0, 0.22]), logits_scaling=r.choice([1.0, 0.5, 8.0]),
        rope_scaling=scaling(r, width, c["max_position_embeddings"]), attention_bias=biased(r),
        mlp_bias=biased(r), **c)


def phi3(r):
    c, width = sizes(r, head_dim=False)
    part = r.choice([1.0, 0.5, 0.75, 0.4])
    dims = int(width * part)
    if dims % 2 or dims < 2:
        part, dims = 1.0, width
    original = r.choice([8, 12, 16, c["max_position_embeddings"]])
    if r.random() < 0.6:
        c["rope_scaling"] = dict(type="longrope", short_factor=[r.uniform(1, 2) for _ in range(dims // 2)],
                                 long_factor=[r.uniform(2, 9) for _ in range(dims // 2)])
    return transformers.Phi3Config(sliding_window=r.choice([None, window(r)]), partial_rotary_factor=part,
                                   original_max_position_embeddings=original, **c)


def gemma(r):
    c, width = sizes(r, head_dim="free")
    c.pop("tie_word_embeddings")
    return transformers.GemmaConfig(attention_bias=biased(r),
                                    rope_scaling=scaling(r, width, c["max_position_embeddings"]), **c)


def gemma2(r):
    c, width = sizes(r, head_dim="free")
    c.pop("tie_word_embeddings")
    if r.random() < 0.4:
        c["layer_types"] = layer_types(r, c["num_hidden_layers"])
    return transformers.Gemma2Config(
        attention_bias=biased(r), query_pre_attn_scalar=r.choice([4, 9, 16, 144]), sliding_window=window(r),
        attn_logit_softcapping=r.choice([None, 2.0, 50.0]), final_logit_softcapping=r.choice([None, 2.0, 30.0]),
        rope_scaling=scaling(r, width, c["max_position_embeddings"]), **c)


def gemma3(r):
    c, width = sizes(r, head_dim="free")
    c.pop("tie_word_embeddings")
    if r.random() < 0.6:
        c["layer_types"] = layer_types(r, c["num_hidden_layers"])
    return transformers.Gemma3TextConfig(
        attention_bias=biased(r), query_pre_attn_scalar=r.choice([4, 9, 16, 168]), sliding_window=window(r),
        rope_local_base_freq=r.choice([50.0, 1e4]),
        final_logit_softcapping=r.choice([None, 2.0]),
        rope_scaling=scaling(r, width, c["max_position_embeddings"], ("linear", "llama3", "yarn")), **c)


def experts(r, most=6):
    n = r.choice([1, 2, 3, most])
    return n, r.randint(1, min(n, 3))


def mixtral(r):
    c, width = sizes(r, head_dim="free")
    n, k = experts(r)
    return transformers.MixtralConfig(num_local_experts=n, num_experts_per_tok=k, sliding_window=r.choice([None, window(r)]),
                                      rope_scaling=scaling(r, width, c["max_position_embeddings"], ("linear", "yarn")), **c)


def sparse(r, layers):
    out = dict(decoder_sparse_step=r.choice([1, 1, 2]), mlp_only_layers=[i for i in range(layers) if r.random() < 0.2])
    if not any((i + 1) % out["decoder_sparse_step"] == 0 and i not in out["mlp_only_layers"] for i in range(layers)):
        out = dict(decoder_sparse_step=1, mlp_only_layers=[])
    return out


def qwen2_moe(r):
    c, width = sizes(r, head_dim=False)
    n, k = experts(r)
    return transformers.Qwen2MoeConfig(
        num_experts=n, num_experts_per_tok=k, moe_intermediate_size=r.choice([4, 9]), norm_topk_prob=r.random() < 0.5,
        shared_expert_intermediate_size=r.choice([5, 12]), qkv_bias=r.random() < 0.7,
        rope_scaling=scaling(r, width, c["max_position_embeddings"]), **sparse(r, c["num_hidden_layers"]), **c)


def qwen3_moe(r):
    c, width = sizes(r, head_dim="free")
    n, k = experts(r)
    return transformers.Qwen3MoeConfig(
        num_experts=n, num_experts_per_tok=k, moe_intermediate_size=r.choice([4, 9]), norm_topk_prob=r.random() < 0.5,
        attention_bias=biased(r),
        rope_scaling=scaling(r, width, c["max_position_embeddings"]), **sparse(r, c["num_hidden_layers"]), **c)


def olmoe(r):
    c, width = sizes(r, head_dim=False)
    n, k = experts(r)
    return transformers.OlmoeConfig(num_experts=n, num_experts_per_tok=k, norm_topk_prob=r.random() < 0.5,
                                    clip_qkv=r.choice([None, 0.4, 2.0]), attention_bias=biased(r),
                                    rope_scaling=scaling(r, width, c["max_position_embeddings"]), **c)


def gpt_oss(r):
    c, width = sizes(r, head_dim="free")
    n, k = experts(r)
    c["tie_word_embeddings"] = r.random() < 0.3
    if r.random() < 0.6:
        c["layer_types"] = layer_types(r, c["num_hidden_layers"])
    return transformers.GptOssConfig(num_local_experts=n, num_experts_per_tok=k, sliding_window=window(r),
                                     rope_scaling=scaling(r, width, c["max_position_embeddings"], ("linear", "yarn", "yarn")), **c)


def gpt(r):
    c, _ = sizes(r, gqa=False, head_dim=False, even=False)
    return dict(vocab_size=c["vocab_size"], n_embd=c["hidden_size"], n_layer=c["num_hidden_layers"],
                n_head=c["num_attention_heads"], n_positions=c["max_position_embeddings"],
                n_inner=r.choice([None, 5, 17, 32, 2 * c["hidden_size"]]), layer_norm_epsilon=c["rms_norm_eps"],
                activation_function=r.choice(["gelu_new", "gelu", "relu", "silu", "gelu_pytorch_tanh", "quick_gelu"]),
                bos_token_id=None, eos_token_id=None)


def gpt2(r):
    return transformers.GPT2Config(scale_attn_by_inverse_layer_idx=r.random() < 0.5, scale_attn_weights=r.random() < 0.8,
                                   tie_word_embeddings=r.random() < 0.8, **gpt(r))


def gptj(r):
    c = gpt(r)
    width = c["n_embd"] // c["n_head"]
    c["n_embd"] = c["n_head"] * (width + width % 2)
    return transformers.GPTJConfig(rotary_dim=r.choice([d for d in (2, 4, 6, 8) if d <= width + width % 2]),
                                   tie_word_embeddings=False, **c)


def gpt_neox(r):
    c, _ = sizes(r, gqa=False, head_dim=False)
    width = c["hidden_size"] // c["num_attention_heads"]
    part = r.choice([p for p in (0.25, 0.5, 0.7, 1.0) if int(width * p) >= 2 and int(width * p) % 2 == 0])
    c["layer_norm_eps"], c["rotary_emb_base"] = c.pop("rms_norm_eps"), c.pop("rope_theta")
    return transformers.GPTNeoXConfig(
        rotary_pct=part, use_parallel_residual=r.random() < 0.5, attention_bias=r.random() < 0.6,
        hidden_act=r.choice(["gelu", "gelu_new", "relu", "silu", "gelu_fast"]),
        rope_scaling=scaling(r, int(width * part), c["max_position_embeddings"]), **c)


def mpt(r):
    c, _ = sizes(r, gqa=False, head_dim=False, even=False)
    heads = r.choice([1, 2, 3, 5, 8])
    width = c["hidden_size"] // c["num_attention_heads"]
    return transformers.MptConfig(
        vocab_size=c["vocab_size"], d_model=heads * width, n_heads=heads, n_layers=c["num_hidden_layers"],
        max_seq_len=c["max_position_embeddings"], bos_token_id=None, eos_token_id=None,
        layer_norm_epsilon=r.choice([1e-5, 1e-3]),
        attn_config=dict(clip_qkv=r.choice([None, 0.7]), softmax_scale=r.choice([None, 0.5])))


def backpack(r):
    c = gpt(r)
    c["activation_function"] = "gelu_new"
    senses = r.choice([n for n in (1, 2, 3, 4, 5) if c["n_embd"] % n == 0])
    return BackpackConfig(num_senses=senses, sense_intermediate_scale=r.choice([1, 2, 4]),
                          scale_attn_by_inverse_layer_idx=r.random() < 0.5, **c)


FAMILIES = {f.__name__: f for f in (
    gpt2, gptj, gpt_neox, mpt, backpack, llama, mistral, qwen2, qwen3, olmo2, olmo3, smollm3, granite, phi3, gemma, gemma2,
    gemma3, mixtral, qwen2_moe, qwen3_moe, olmoe, gpt_oss)}


DROPOUTS = ("attention_dropout", "hidden_dropout", "resid_pdrop", "attn_pdrop")


def dropouts(config):
    """Where each is, and its name: what is not trained drops nothing."""
    where = config.attn_config if config.model_type == "mpt" else config
    return [(where, name) for name in DROPOUTS if hasattr(where, name)]


# ---- a directory -----------------------------------------------------------------------------------------------

def fill(model, r):
    """Weights so large that every part moves the logits by far more than rounding does."""
    plus_one = model.config.model_type.startswith("gemma")
    g = torch.Generator().manual_seed(r.randrange(2**40))
    for name, p in model.named_parameters():
        x = torch.randn(p.shape, generator=g)
        if ("norm" in name or "ln_" in name or ".ln." in name) and name.endswith("weight"):
            x = 0.2 * x + (0 if plus_one else 1)
        elif name.endswith("bias"):
            x = 0.1 * x
        elif "router" in name or ".gate.weight" in name or "sinks" in name:
            x = 0.7 * x
        else:
            x = 0.25 * x
        p.data = x


def byte_tokenizer(folder, vocab):
    """A token for each byte; ids beyond 255 have none."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spelled = {b: chr(b) for b in printable}
    spelled |= {b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in spelled)}
    json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
               "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
               "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                                                   "use_regex": True},
               "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                         "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                         "vocab": {spelled[b]: b for b in range(256)}, "merges": []}},
              open(folder / "tokenizer.json", "w"))


def spell(folder, r):
    """The same configuration in another spelling."""
    path = folder / "config.json"
    c = json.loads(path.read_text())
    family = c["model_type"]
    how = []
    if "dtype" in c and r.random() < 0.5:
        c["torch_dtype"] = c.pop("dtype")
        how.append("torch_dtype")
    rope = c.get("rope_scaling")
    if isinstance(rope, dict) and r.random() < 0.3 and "rope_type" in rope and family != "phi3":
        rope["type"] = rope.pop("rope_type")
        how.append("type")
    base = "rotary_emb_base" if family == "gpt_neox" else "rope_theta"
    if base in c and r.random() < 0.4 and not (isinstance(rope, dict) and "type" in rope):
        given = dict(rope or {"rope_type": "default"}, rope_theta=c[base])
        if family == "gemma3_text":
            given = {"full_attention": given, "sliding_attention": {"rope_type": "default", "rope_theta": c["rope_local_base_freq"]}}
            c.pop("rope_local_base_freq")
        if family == "olmo3":
            given = {"full_attention": given, "sliding_attention": {"rope_type": "default", "rope_theta": c[base]}}
        if family == "gpt_neox":
            given["partial_rotary_factor"] = c.pop("rotary_pct")
        c["rope_parameters"] = given
        c.pop(base), c.pop("rope_scaling", None)
        how.append("rope_parameters")
    path.write_text(json.dumps(c))
    return how


def save(model, folder, r):
    """Writes `model` and what a user may find: shards, other types of numbers, names without their first component."""
    how = []
    dtype = r.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])
    model.to(dtype)
    how.append(str(dtype).removeprefix("torch."))
    tied = model.config.tie_word_embeddings
    shards = r.random() < 0.4
    bare = tied and model.config.model_type != "backpack-gpt2" and r.random() < 0.3
    saved = model.base_model if bare else model
    saved.save_pretrained(folder, max_shard_size="30KB" if shards else "5GB")
    if bare:
        how.append("bare")
    if shards:
        how.append(f"{len(list(folder.glob('*.safetensors')))} files")
    if r.random() < 0.2:  # buffers of older versions
        file = sorted(folder.glob("*.safetensors"))[0]
        if not shards:
            tensors = load_file(file)
            tensors["h.0.attn.bias" if bare else "transformer.h.0.attn.bias"] = torch.ones(1, 1, 4, 4)
            if model.config.model_type == "gpt2":
                save_file(tensors, file, metadata={"format": "pt"})
                how.append("buffers")
    byte_tokenizer(folder, model.config.vocab_size)
    return how


# ---- one case ----------------------------------------------------------------------------------------------------

class Uncertain(Exception):
    """transformers alone does not say what is right."""


class Refused(Exception):
    pass


def difference(got, want):
    if got.shape != want.shape:
        return f"shape {tuple(got.shape)} for {tuple(want.shape)}"
    size = max(float(want.detach().abs().max()), 1e-3)
    return float((got.detach().double() - want.detach().double()).abs().max()) / size


class Case:
    def __init__(self, bora, llama, family, seed, folder):
        self.bora, self.llama, self.folder = bora, llama, folder
        self.r = random.Random(f"{family} {seed}")
        self.notes, self.problems = [], []
        self.dir = folder / "hf"
        self.family = family

    def tried(self, *words):
        return subprocess.run([self.bora, *map(str, words)], capture_output=True, text=True)

    def run_bora(self, *words, refusable=False):
        done = self.tried(*words)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise (Refused if refusable else RuntimeError)(f"bora {words[0]}: {done.returncode}: {said[:600]}")
        return done.stdout

    def check(self, what, got, want, tolerance=TOLERANCE):
        d = difference(got, want)
        if isinstance(d, str) or not d <= tolerance:
            self.problems.append(f"{what} differs by {d if isinstance(d, str) else format(d, '.1e')}")

    def __call__(self):
        r = self.r
        config = FAMILIES[self.family](r)
        config._attn_implementation = "eager"
        for where, name in dropouts(config):
            setattr(where, name, 0.125)
        torch.manual_seed(r.randrange(2**30))
        self.model = transformers.AutoModelForCausalLM.from_config(config).eval()
        fill(self.model, r)
        self.notes += save(self.model, self.dir, r)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            self.dir, dtype=torch.float32, attn_implementation="eager").eval()  # with the values that were stored
        self.notes += spell(self.dir, r)
        if (getattr(config, "activation_function", None) or getattr(config, "hidden_act", None)) in ("gelu_pytorch_tanh", "gelu_fast"):
            self.notes.append("activation")  # of another name when it is written
        self.forward()
        self.greedy()
        self.out()
        self.gguf()
        return self.problems

    def reference(self, ids):
        self.model.zero_grad()
        y = self.model(ids, labels=ids, output_hidden_states=True)
        y.loss.backward()
        grads = {n: p.grad.clone() for n, p in self.model.named_parameters() if p.grad is not None}
        if self.family != "mpt":  # whose masks do not fit fp64
            with torch.no_grad():
                exact = self.model.double()(ids).logits
            self.model.float()
            if difference(y.logits, exact) > CERTAIN:
                raise Uncertain(f"fp32 differs from fp64 by {difference(y.logits, exact):.1e}")
        return y, grads

    def forward(self):
        r, config = self.r, self.model.config
        longest = getattr(config, "max_position_embeddings", None) or config.max_seq_len
        rope = getattr(config, "rope_scaling", None) or {}
        if "dynamic" in (rope.get("rope_type"), rope.get("type")):
            longest = int(longest * rope["factor"])
        self.longest = longest
        n = r.choice([2, 7, 17, 33, longest])
        ids = torch.randint(0, config.vocab_size, (2, n), generator=torch.Generator().manual_seed(r.randrange(2**40)))
        (self.folder / "ids.json").write_text(json.dumps(ids.tolist()))
        y, grads = self.reference(ids)
        out = self.folder / "out.safetensors"
        self.run_bora("forward", "--model", self.dir, "--ids", self.folder / "ids.json", "--out", out, "--hidden", "--grads", "--force",
                      refusable=True)
        got = load_file(out)
        self.check("logits", got["logits"], y.logits)
        self.check("loss", got["loss"].reshape(()), y.loss)
        for i, h in enumerate(y.hidden_states):
            self.check(f"hidden_states.{i}", got[f"hidden_states.{i}"], h)
        names = {n: got[f"grad.{n}"] for n in grads if f"grad.{n}" in got}
        missing = set(grads) - set(names)
        if missing:
            self.problems.append(f"no gradients of {sorted(missing)[:4]}")
        largest = max(float(g.norm()) for g in grads.values())
        for n, g in names.items():
            off, norm = float((g - grads[n]).norm()), float(grads[n].norm())
            if not off <= TOLERANCE * norm + 1e-6 * largest:
                self.problems.append(f"grad.{n} differs by {off / max(norm, 1e-12):.1e}")

    def tokens(self, prompt, n):
        """Greedy tokens of transformers, as far as they are certain: the best logit leads, and those with its cache and
        those without are the same, unless a sequence that grows is another one from its beginning."""
        scaling = getattr(self.model.config, "rope_scaling", None) or {}
        cached = [] if "long_factor" in scaling or self.family == "backpack" else self.continued(prompt, n, True)
        if "dynamic" in (scaling.get("type"), scaling.get("rope_type")):
            return cached if getattr(self.model.config, "sliding_window", None) != 1 else []  # its cache forgets nothing there
        whole = self.continued(prompt, n, False)
        if cached and cached != whole:
            self.notes.append("transformers differs with its cache")
        return whole

    def continued(self, prompt, n, cached):
        ids, cache, out = torch.tensor([prompt]), None, []
        with torch.no_grad():
            for _ in range(n):
                if cached:
                    y = self.model(ids if cache is None else ids[:, -1:], past_key_values=cache, use_cache=True)
                    logits, cache = y.logits[0, -1], y.past_key_values
                else:
                    logits = self.model(ids).logits[0, -1]
                best = logits.topk(2)
                if best.values[0] - best.values[1] < LEAD * logits.abs().max():
                    break
                out.append(int(best.indices[0]))
                ids = torch.cat([ids, best.indices[:1][None]], 1)
        return out

    def greedy(self):
        r = self.r
        self.prompt = "".join(r.choice("abcdefgh ijk.") for _ in range(r.choice([1, 4, 13, 30])))
        ids = list(self.prompt.encode())
        want = self.tokens(ids, min(24, self.longest - len(ids)))
        if not want:
            self.notes.append("no certain token")
            return
        said = self.run_bora("generate", self.dir, self.prompt, "--temperature", 0, "--max_new_tokens", len(want), "--jsonl")
        got = json.loads(said)["ids"]
        if got != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            self.problems.append(f"greedy differs at {at} of {len(want)} (prompt of {len(ids)}): {got[at:at + 3]} for {want[at:at + 3]}")

    def out(self):
        """Out with the type of the numbers that are there: bits; in as a checkpoint and out again: the same file."""
        dtype = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[self.notes[0]]
        self.run_bora("export", self.dir, self.folder / "export", "--dtype", dtype)
        self.run_bora("import", self.dir, self.folder / "run")
        self.run_bora("export", self.folder / "run", self.folder / "again", "--dtype", dtype)
        for name in ("export", "again"):
            self.loaded(self.folder / name)

    def loaded(self, folder):
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
        for key in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
            if info[key]:
                self.problems.append(f"{folder.name}: {key} {sorted(map(str, info[key]))[:4]}")
        for where, name in dropouts(model.config):
            if getattr(where, name) != 0.125:
                self.problems.append(f"{folder.name}: {name} is {getattr(where, name)}")
        want = dict(self.model.named_parameters())
        for name, p in model.named_parameters():
            if not torch.equal(p, want[name]):
                self.problems.append(f"{folder.name}: {name} differs by {difference(p.detach(), want[name].detach())}")
        ids = torch.tensor(json.loads((self.folder / "ids.json").read_text()))
        with torch.no_grad():
            got, wanted = model.eval()(ids).logits, self.model(ids).logits
        if not difference(got, wanted) <= (1e-6 if "activation" in self.notes else 0):
            self.problems.append(f"{folder.name}: transformers' logits of what was written differ by {difference(got, wanted)}")

    def gguf(self):
        file = self.folder / "model.gguf"
        done = self.tried("export", self.dir, file, "--format", "gguf", "--force")
        if done.returncode != 0:
            self.notes.append("no GGUF: " + done.stderr.splitlines()[0].removeprefix("bora: ")[:90])
            return
        self.run_bora("export", file, self.folder / "from_gguf")
        out = [self.folder / f"{n}.safetensors" for n in ("a", "b")]
        for folder, path in zip((self.dir, self.folder / "from_gguf"), out):
            self.run_bora("forward", "--model", folder, "--ids", self.folder / "ids.json", "--out", path, "--force")
        a, b = (load_file(path)["logits"] for path in out)
        d = difference(b, a)
        if not d <= (1e-5 if self.family.startswith("gemma") else 0):
            self.problems.append(f"GGUF: logits of what was read differ by {d}")
        if self.llama:
            self.beside_llama(file)

    def beside_llama(self, file):
        ids = list(self.prompt.encode())
        want = self.tokens(ids, min(12, self.longest - len(ids)))
        if not want:
            return
        done = subprocess.run([self.llama, "-c", LLAMA, str(file), json.dumps(ids), str(len(want))], capture_output=True, text=True)
        if done.returncode != 0:
            self.problems.append("llama.cpp fails: " + done.stderr.strip()[-200:])
        elif json.loads(done.stdout) != want:
            self.problems.append(f"llama.cpp differs: {json.loads(done.stdout)} for {want}")
        else:
            self.notes.append("llama.cpp equal")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bora", type=os.path.abspath)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--llama")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for family in given.families or FAMILIES:
        outcomes = collections.Counter()
        for seed in range(given.seed, given.seed + given.count):
            with tempfile.TemporaryDirectory() as name:
                case = Case(given.bora, given.llama, family, seed, pathlib.Path(name))
                try:
                    problems = case()
                    outcome = "differ" if problems else "equal"
                    said = "; ".join(problems[:6] + ["..."] * (len(problems) > 6))
                except Uncertain as e:
                    outcome, said = "uncertain", str(e)
                except Refused as e:
                    outcome, said = "refused", str(e)
                except Exception as e:  # one broken case does not end the others
                    outcome, said = "failed", f"{type(e).__name__}: {e}"
                outcomes[outcome] += 1
                if given.verbose or outcome in ("differ", "failed", "refused"):
                    print(f"{family} {seed}: {outcome}: {said} [{', '.join(case.notes)}]", flush=True)
                if given.keep and outcome in ("differ", "failed", "refused"):
                    shutil.copytree(name, given.keep / f"{family}-{seed}", dirs_exist_ok=True)
        print(f"{family:10s}", ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items())), flush=True)


main()
