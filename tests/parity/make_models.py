# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Writes tests/parity/models: tiny random models, and what Hugging Face computes with them (a Backpack:
backpack_reference.py).

  python3 -m venv venv
  venv/bin/pip install torch==2.11.0 transformers==4.57.6 safetensors==0.8.0 numpy==2.4.6
  venv/bin/python tests/parity/make_models.py            writes them anew
  venv/bin/python tests/parity/make_models.py --check    makes them elsewhere, and says what differs

A CPU is enough, everything is float32. A folder has

  config.json            as transformers 4 writes it
  config_v5.json         the same as transformers 5 spells it, with rope_parameters
  model.safetensors      the weights; a tied head is absent
  reference.safetensors  input_ids [2, 16], which are the labels too; logits; hidden_states.i, the output of
                         layer i from 1 on; loss, the mean cross-entropy of position t + 1 given those up to t;
                         grad.NAME, its gradient, for every parameter; of mixtures of experts aux_loss, the
                         load-balance loss before its coefficient, and with it loss_with_aux and grad_with_aux.NAME
                         for the routers, where it comes from, and the embedding, where it ends
  generation.json        prompts, and the tokens that greedy decoding adds to them

A weight depends on the model's seed and on its own name alone. Weights are so large that softmaxes are far
from even and every part moves the logits by far more than rounding does.
"""
import json
import random
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from backpack_reference import BackpackConfig
from safetensors.torch import load_file, save_file

FOLDER = Path(__file__).resolve().parent / "models"
BATCH, POSITIONS = 2, 16
SMALL = dict(vocab_size=20, hidden_size=16, intermediate_size=8, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=40, pad_token_id=None, bos_token_id=1, eos_token_id=2)
PROMPTS, NEW_TOKENS = (4, 9), 24
CLEAR_LEAD = 1e-2  # of the best logit before the second, at every token of a continuation
CLEAR_CHOICE = 2e-3  # of the last expert chosen before the next, in its logit
TOLERANCE = 1e-6  # of --check, relative to a tensor's largest value where that is above 1
BOTH_ENDS = dict(bos_token_id=1, eos_token_id=2)

# name: (seed, configuration)
MODELS = {
    # Learned positions, layer norms, biases, fused queries, keys and values, tied head.
    "tiny-gpt2": (37, transformers.GPT2Config(
        vocab_size=20, n_positions=40, n_embd=12, n_layer=2, n_head=3, n_inner=24, **BOTH_ENDS)),
    # Two queries for each key and value. Of a head's three frequencies one is kept, one blended, one divided.
    "tiny-llama-gqa-rope3": (4, transformers.LlamaConfig(
        head_dim=6, rms_norm_eps=1e-5, rope_theta=100.0,
        rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                          original_max_position_embeddings=32),
        **SMALL | dict(hidden_size=12, max_position_embeddings=128))),
    # Tied head, as many keys and values as queries, heads wider than hidden_size / heads.
    "tiny-llama-tied": (3, transformers.LlamaConfig(
        head_dim=8, tie_word_embeddings=True, **SMALL | dict(hidden_size=12, num_attention_heads=2))),
    # A window shorter than every prompt but one.
    "tiny-mistral": (21, transformers.MistralConfig(sliding_window=5, **SMALL)),
    # Biases on queries, keys and values; a window from layer 1 on.
    "tiny-qwen2": (34, transformers.Qwen2Config(
        use_sliding_window=True, sliding_window=5, max_window_layers=1, rope_theta=1e4, **SMALL)),
    # Norms of queries and keys head by head, heads wider than hidden_size / heads, tied head.
    "tiny-qwen3": (22, transformers.Qwen3Config(head_dim=6, tie_word_embeddings=True, **SMALL)),
    # Norms of queries and keys over all heads together, and of what attention and the MLP give.
    "tiny-olmo2": (24, transformers.Olmo2Config(rms_norm_eps=1e-5, **SMALL)),
    # No positions in layer 1, which has a window; tied head.
    "tiny-smollm3": (24, transformers.SmolLM3Config(
        no_rope_layers=[1, 0], use_sliding_window=True, sliding_window=5, rope_theta=1e4, **SMALL)),
    # Multipliers of embeddings, attention scores, branches; divided logits; tied head.
    "tiny-granite": (27, transformers.GraniteConfig(
        embedding_multiplier=3.0, attention_multiplier=0.7, residual_multiplier=0.6, logits_scaling=1.7,
        tie_word_embeddings=True, **SMALL)),
    # Fused weights; half of each head rotates, by other angles in sequences of more than 12 positions.
    "tiny-phi3": (41, transformers.Phi3Config(
        partial_rotary_factor=0.5, original_max_position_embeddings=12, sliding_window=15,
        rope_scaling=dict(type="longrope", short_factor=[1.5], long_factor=[4.0]), **SMALL)),
    # Two of four experts for each token.
    "tiny-mixtral": (43, transformers.MixtralConfig(
        num_local_experts=4, num_experts_per_tok=2, router_aux_loss_coef=0.05, sliding_window=None,
        **SMALL | dict(hidden_size=12, num_attention_heads=2, intermediate_size=4))),
    # A dense layer 0; biases on queries, keys and values, a gated shared expert, shares of the chosen experts that
    # do not add up to 1.
    "tiny-qwen2-moe": (82, transformers.Qwen2MoeConfig(
        moe_intermediate_size=4, shared_expert_intermediate_size=8, num_experts=4, num_experts_per_tok=2,
        mlp_only_layers=[0], norm_topk_prob=False, router_aux_loss_coef=0.05, rope_theta=1e4,
        **SMALL | dict(hidden_size=12, num_attention_heads=2))),
    # A dense layer 1, norms of queries and keys head by head, heads narrower than hidden_size / heads.
    "tiny-qwen3-moe": (84, transformers.Qwen3MoeConfig(
        head_dim=4, moe_intermediate_size=4, num_experts=4, num_experts_per_tok=2, norm_topk_prob=True,
        mlp_only_layers=[1], router_aux_loss_coef=0.05, **SMALL | dict(hidden_size=12, num_attention_heads=2))),
    # Three of four experts, norms of queries and keys over all heads together, clipped queries, keys and values.
    "tiny-olmoe": (84, transformers.OlmoeConfig(
        num_experts=4, num_experts_per_tok=3, norm_topk_prob=False, clip_qkv=1.2, router_aux_loss_coef=0.05,
        **SMALL | dict(hidden_size=12, num_attention_heads=2, intermediate_size=4))),
    # Local and global layers in turn, a window shorter than every prompt but one; both soft caps bend.
    "tiny-gemma2": (26, transformers.Gemma2Config(
        head_dim=6, query_pre_attn_scalar=9, sliding_window=5, attn_logit_softcapping=4.0,
        final_logit_softcapping=2.0, **SMALL | dict(hidden_size=12))),
    # One key and value for all queries, heads wider than hidden_size / heads.
    "tiny-gemma": (44, transformers.GemmaConfig(head_dim=6, **SMALL | dict(hidden_size=12, num_key_value_heads=1))),
    # A local and a global layer with rotary bases of their own, the global one stretched; a soft cap bends.
    "tiny-gemma3": (53, transformers.Gemma3TextConfig(
        head_dim=6, query_pre_attn_scalar=9, sliding_window=5, layer_types=["sliding_attention", "full_attention"],
        rope_theta=500.0, rope_local_base_freq=50.0, rope_scaling=dict(rope_type="linear", factor=3.0),
        final_logit_softcapping=2.0, **SMALL | dict(hidden_size=12))),
    # Four of a head's six dimensions rotate, fused queries, keys and values head by head; attention first, then the MLP.
    "tiny-gpt-neox": (53, transformers.GPTNeoXConfig(
        vocab_size=20, hidden_size=12, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2,
        rotary_pct=0.7, rotary_emb_base=100, use_parallel_residual=False, max_position_embeddings=40, **BOTH_ENDS)),
    # As OLMo 2, with a window in layer 0 and yarn in layer 1.
    "tiny-olmo3": (74, transformers.Olmo3Config(
        sliding_window=5, layer_types=["sliding_attention", "full_attention"], rope_theta=500000.0,
        rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=10, beta_fast=4.0,
                          beta_slow=0.05), **SMALL | dict(hidden_size=12, num_attention_heads=2))),
    # Attention and MLP side by side after one norm, four of a head's six dimensions rotate, neighbours together;
    # a head with a bias.
    "tiny-gptj": (118, transformers.GPTJConfig(
        vocab_size=20, n_embd=12, n_layer=2, n_head=2, rotary_dim=4, n_inner=16, n_positions=40,
        tie_word_embeddings=False, **BOTH_ENDS)),
    # Slopes of a number of heads that is no power of two; clipped queries, keys and values.
    "tiny-mpt": (65, transformers.MptConfig(
        vocab_size=20, d_model=12, n_layers=2, n_heads=3, max_seq_len=40,
        attn_config=dict(clip_qkv=0.9, softmax_scale=0.6), **BOTH_ENDS)),
    # Three senses of each token, in keys a third as wide as they are.
    "tiny-backpack": (120, BackpackConfig(
        vocab_size=24, n_embd=12, n_layer=2, n_head=2, n_inner=16, n_positions=40, num_senses=3,
        sense_intermediate_scale=2, **BOTH_ENDS)),
    # Sinks, a window in layer 0, yarn with bounds that are no whole dimensions, two of four experts with biases and
    # halves that reach the limit of 7.
    "tiny-gpt-oss": (120, transformers.GptOssConfig(
        head_dim=6, num_local_experts=4, num_experts_per_tok=2, sliding_window=5, rope_theta=500.0,
        rope_scaling=dict(rope_type="yarn", factor=4.0, beta_fast=4.0, beta_slow=0.25, truncate=False,
                          original_max_position_embeddings=10),
        **SMALL | dict(hidden_size=12))),
}


def fill(model, seed):
    """Norms scale by 1 give or take 0.2; biases are about 0.1, matrices about 0.3."""
    gemma = model.config.model_type.startswith("gemma")  # adds 1 to the weights of norms, multiplies embeddings
    for name, parameter in model.named_parameters():
        source = random.Random(f"{seed} {name}")
        normal = torch.tensor([source.gauss(0, 1) for _ in range(parameter.numel())]).view_as(parameter)
        if name.endswith("bias"):
            parameter.data = 0.1 * normal
        elif name.endswith(("experts.gate_up_proj", "sense_weight_net.c_attn.weight")):
            parameter.data = normal
        elif parameter.dim() == 1:
            parameter.data = (0 if gemma else 1) + 0.2 * normal
        else:
            parameter.data = (0.1 if gemma and "embed" in name else 0.3) * normal
    model.tie_weights()


def make_model(seed, config):
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    fill(model, seed)
    return model


def gradients_of(model, prefix):
    """Of every parameter, once; they begin at zero again."""
    found = {f"{prefix}.{name}": parameter.grad for name, parameter in model.named_parameters()}
    if None in found.values():
        sys.exit(f"{model.config.model_type}: an expert has no token; take another seed")
    model.zero_grad()
    return found


def require_clear_choices(model_type, router_logits, chosen):
    ranked = torch.cat(router_logits).sort(descending=True).values
    lead = (ranked[:, chosen - 1] - ranked[:, chosen]).min().item()
    if lead < CLEAR_CHOICE:
        sys.exit(f"{model_type}: a choice of experts leads by {lead:g} only; take another seed")


@torch.no_grad()
def router_logits_of(model, ids):
    """Of models whose output has probabilities in place of them."""
    found = []
    routers = [module for name, module in model.named_modules() if name.endswith("mlp.router")]
    hooks = [router.register_forward_hook(lambda module, args, _: found.append(torch.nn.functional.linear(
        args[0].reshape(-1, args[0].shape[-1]), module.weight, module.bias))) for router in routers]
    model(ids)
    for hook in hooks:
        hook.remove()
    return found


def reference_of(model, ids):
    """The tensors of reference.safetensors."""
    output = model(ids, labels=ids, output_hidden_states=True)
    output.loss.backward()
    tensors = {"input_ids": ids, "logits": output.logits, "loss": output.loss}
    tensors |= {f"hidden_states.{i}": states for i, states in enumerate(output.hidden_states) if i > 0}
    tensors |= gradients_of(model, "grad")
    if model.config.model_type == "gpt_oss":  # transformers 4 makes its router loss of probabilities
        require_clear_choices("gpt_oss", router_logits_of(model, ids), model.config.num_experts_per_tok)
    elif hasattr(model.config, "router_aux_loss_coef"):
        output = model(ids, labels=ids, output_router_logits=True)
        require_clear_choices(model.config.model_type, output.router_logits, model.config.num_experts_per_tok)
        output.loss.backward()
        tensors |= {"aux_loss": output.aux_loss, "loss_with_aux": output.loss}
        tensors |= {name: gradient for name, gradient in gradients_of(model, "grad_with_aux").items()
                    if name.endswith((".gate.weight", ".embed_tokens.weight"))}
    return {name: tensor.detach().contiguous() for name, tensor in tensors.items()}


@torch.no_grad()
def continuation(model, prompt):
    """NEW_TOKENS most probable tokens, each from a run over all before it; no token ends the text."""
    ids = list(prompt)
    for _ in range(NEW_TOKENS):
        logits, tokens = model(torch.tensor([ids])).logits[0, -1].topk(2)
        lead = (logits[0] - logits[1]).item()
        if lead < CLEAR_LEAD:
            sys.exit(f"{model.config.model_type}: token {len(ids)} leads by {lead:g} only; take another seed")
        ids.append(tokens[0].item())
    return {"prompt_ids": prompt, "new_ids": ids[len(prompt):]}


def newer_spelling(config):
    """config.json of transformers 4 as transformers 5 spells it."""
    config = dict(config)
    part = {key: config.pop(key) for key in ("partial_rotary_factor",) if key in config}
    for key in ("rotary_pct", "rotary_emb_base"):
        config.pop(key, None)
    if config["model_type"] in ("gemma3_text", "olmo3"):
        scaling, theta = config.pop("rope_scaling"), config.pop("rope_theta")
        local = config.pop("rope_local_base_freq", theta)
        config["rope_parameters"] = {"full_attention": {**scaling, "rope_theta": theta},
                                     "sliding_attention": {"rope_type": "default", "rope_theta": local}}
    elif "rope_theta" in config:
        scaling = config.pop("rope_scaling", None) or {"rope_type": "default"}
        config["rope_parameters"] = {**scaling, **part, "rope_theta": config.pop("rope_theta")}
    return config


def make(name, folder):
    seed, config = MODELS[name]
    model = make_model(seed, config)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    newer = newer_spelling(json.loads((folder / "config.json").read_text()))
    (folder / "config_v5.json").write_text(json.dumps(newer, indent=2, sort_keys=True) + "\n")
    source = random.Random(f"{seed} input_ids")
    rows = [[source.randrange(3, config.vocab_size) for _ in range(POSITIONS)] for _ in range(BATCH)]
    save_file(reference_of(model, torch.tensor(rows)), folder / "reference.safetensors")
    prompts = [continuation(model, row[:length]) for row, length in zip(rows, PROMPTS)]
    (folder / "generation.json").write_text(json.dumps({"prompts": prompts}) + "\n")


def differences(path, other):
    """What differs between two files, a line each."""
    if path.suffix == ".json":
        return [] if json.loads(path.read_text()) == json.loads(other.read_text()) else [f"{path}: differs"]
    ours, theirs = load_file(path), load_file(other)
    if ours.keys() != theirs.keys():
        return [f"{path}: has other tensors: {sorted(ours.keys() ^ theirs.keys())}"]
    found = []
    for name, tensor in ours.items():
        if (tensor.dtype, tensor.shape) != (theirs[name].dtype, theirs[name].shape):
            found.append(f"{path}: {name} has another type or shape")
            continue
        difference = (tensor - theirs[name]).abs().max().item()
        if not difference <= TOLERANCE * max(1, tensor.abs().max().item()):
            found.append(f"{path}: {name} differs by {difference:g}")
    return found


def check():
    """Exits with a line for each difference."""
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            make(name, Path(folder) / name)
        made = {path.relative_to(folder) for path in Path(folder).rglob("*.*")}
        kept = {path.relative_to(FOLDER) for path in FOLDER.rglob("*.*")}
        found = [f"{path}: only {'in the repository' if path in kept else 'made'}" for path in made ^ kept]
        for path in sorted(made & kept):
            found += differences(FOLDER / path, Path(folder) / path)
    if found:
        sys.exit("\n".join(sorted(found)))
    print(f"{len(MODELS)} models, {len(kept)} files: the same")


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    if sys.argv[1:] == ["--check"]:
        check()
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        for name in MODELS:
            make(name, FOLDER / name)


if __name__ == "__main__":
    main()
