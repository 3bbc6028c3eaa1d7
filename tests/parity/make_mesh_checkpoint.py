# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Writes tests/parity/mesh-gptj: a tiny GPT-J as mesh-transformer-jax saves one, in two shards, and its logits.

  venv/bin/python tests/parity/make_mesh_checkpoint.py      (with what make_models.py needs)

A weight in bfloat16 is of numpy's type V2. Beside the weights stand leaves of an optimizer and the step. logits.json
has token ids and what transformers computes for them.
"""
import json
import random
import shutil
from pathlib import Path

import numpy
import torch
import transformers

FOLDER = Path(__file__).resolve().parent / "mesh-gptj"
SHARDS, PIECES, STEP = 2, 16, 7
CONFIG = dict(layers=2, d_model=8, n_heads=2, n_vocab=16, norm="layernorm", pe="rotary", pe_rotary_dims=2, seq=32,
              cores_per_replica=SHARDS)


def numbers(name, *shape, mean=0.0, scale=0.3):
    source = random.Random(name)
    values = torch.tensor([source.gauss(mean, scale) for _ in range(int(numpy.prod(shape)))]).view(shape)
    return values.to(torch.bfloat16)


def weights_of(shard):
    """Module name -> parameter name -> this shard's part, as Haiku has it: matrices are [in, out]."""
    d, part, vocab = CONFIG["d_model"], CONFIG["d_model"] // SHARDS, CONFIG["n_vocab"] // SHARDS

    def cut(name, *shape, **more):
        return numbers(f"{shard} {name}", *shape, **more)

    modules = {"embedding_shard/~/linear": {"w": cut("wte", vocab, d), "b": cut("wte b", d, scale=0.1)}}
    for i in range(CONFIG["layers"]):
        at = f"layer_{i}/~/"
        modules |= {
            at + "linear": {"w": cut(f"{i} q", d, part)}, at + "linear_1": {"w": cut(f"{i} v", d, part)},
            at + "linear_2": {"w": cut(f"{i} k", d, part)}, at + "linear_3": {"w": cut(f"{i} o", part, d)},
            at + "linear_4": {"w": cut(f"{i} in", d, 4 * part), "b": cut(f"{i} in b", 4 * part)},
            at + "linear_5": {"w": cut(f"{i} out", 4 * part, d), "b": cut(f"{i} out b", d)},
            at + "replicated_layer_norm": {"scale": numbers(f"{i} scale", d, mean=1.0),
                                           "offset": numbers(f"{i} offset", d)}}
    modules["projection_shard/~/linear"] = {"w": cut("head", d, vocab), "b": cut("head b", vocab)}
    modules["projection_shard/~/replicated_layer_norm"] = {"scale": numbers("scale", d, mean=1.0),
                                                           "offset": numbers("offset", d)}
    return modules


def leaves_of(modules):
    leaves = [modules[module][name] for module in sorted(modules) for name in sorted(modules[module])]
    bits = [leaf.view(torch.int16).numpy().view("V2") for leaf in leaves]
    moments = [numpy.full(leaf.shape, 9.0, numpy.float32) for leaf in leaves[:3]]
    return [numpy.int32(STEP)] + moments + bits + [numpy.float32(STEP)]


def write(folder):
    for shard in range(SHARDS):
        leaves = leaves_of(weights_of(shard))
        short, longer = divmod(len(leaves), PIECES)
        at = 0
        target = folder / f"step_{STEP}" / f"shard_{shard}"
        target.mkdir(parents=True)
        for piece in range(PIECES):
            size = short + (piece < longer)
            numpy.savez(target / f"{piece}.npz", *leaves[at:at + size])
            at += size
    (folder / "meta.json").write_text(json.dumps({"step": STEP, "checkpoints": [STEP], "aux": {}}) + "\n")
    (folder / "tiny.json").write_text(json.dumps(CONFIG) + "\n")


def hugging_face_model():
    """By the program's own conversion: matrices transposed and joined, biases that all shards add summed up."""
    parts = [weights_of(shard) for shard in range(SHARDS)]

    def of(module, name):
        return [part[module][name].float() for part in parts]

    state = {"transformer.wte.weight": torch.cat(of("embedding_shard/~/linear", "w"))
                                       + sum(of("embedding_shard/~/linear", "b"))}
    for i in range(CONFIG["layers"]):
        at, to = f"layer_{i}/~/", f"transformer.h.{i}."
        for module, name in (("linear", "q"), ("linear_1", "v"), ("linear_2", "k")):
            state[f"{to}attn.{name}_proj.weight"] = torch.cat(of(at + module, "w"), 1).T
        state[to + "attn.out_proj.weight"] = torch.cat(of(at + "linear_3", "w")).T
        state[to + "mlp.fc_in.weight"] = torch.cat(of(at + "linear_4", "w"), 1).T
        state[to + "mlp.fc_in.bias"] = torch.cat(of(at + "linear_4", "b"))
        state[to + "mlp.fc_out.weight"] = torch.cat(of(at + "linear_5", "w")).T
        state[to + "mlp.fc_out.bias"] = sum(of(at + "linear_5", "b"))
        state[to + "ln_1.weight"] = of(at + "replicated_layer_norm", "scale")[0]
        state[to + "ln_1.bias"] = of(at + "replicated_layer_norm", "offset")[0]
    state["transformer.ln_f.weight"] = of("projection_shard/~/replicated_layer_norm", "scale")[0]
    state["transformer.ln_f.bias"] = of("projection_shard/~/replicated_layer_norm", "offset")[0]
    state["lm_head.weight"] = torch.cat(of("projection_shard/~/linear", "w"), 1).T
    state["lm_head.bias"] = torch.cat(of("projection_shard/~/linear", "b"))
    config = transformers.GPTJConfig(
        vocab_size=CONFIG["n_vocab"], n_positions=CONFIG["seq"], n_embd=CONFIG["d_model"], n_layer=CONFIG["layers"],
        n_head=CONFIG["n_heads"], rotary_dim=CONFIG["pe_rotary_dims"], tie_word_embeddings=False)
    model = transformers.GPTJForCausalLM._from_config(config, attn_implementation="eager").eval()
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys and all("attn.bias" in key or "embed_positions" in key or "masked" in key
                                               for key in missing.missing_keys), missing
    return model


@torch.no_grad()
def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    write(FOLDER)
    ids = [3, 1, 4, 1, 5, 9, 2, 6, 11, 15]
    logits = hugging_face_model()(torch.tensor([ids])).logits[0]
    (FOLDER / "logits.json").write_text(json.dumps({"ids": ids, "logits": logits.flatten().tolist()}) + "\n")


if __name__ == "__main__":
    main()
