# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Writes tests/parity/speech/tiny-whisper: a tiny random Whisper, and what Hugging Face computes with it.

  python3 -m venv venv
  venv/bin/pip install torch==2.11.0 transformers==4.57.6 safetensors==0.8.0 numpy==2.4.6
  venv/bin/python tests/parity/make_whisper.py

A CPU is enough, everything is float32. The folder has config.json, model.safetensors, generation.json (the greedy
continuation of each row's first three tokens until the decoder is full) and reference.safetensors: input_features
[2, 4, 100] in place of those of a sound, decoder_input_ids and labels [2, 8], encoder_hidden_states.i,
encoder_last_hidden_state, decoder_hidden_states.i, logits, loss and grad.NAME for every trained parameter.

A weight depends on the seed and on its own name alone, and is so large that every part moves the logits.
"""
import hashlib
import json
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

FOLDER = Path(__file__).resolve().parent / "speech" / "tiny-whisper"
SEED, BATCH, TOKENS = 8, 2, 8
CLEAR_LEAD = 1e-2  # of the best logit before the second, at every token of a continuation
CONFIG = transformers.WhisperConfig(
    vocab_size=32, num_mel_bins=4, d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
    decoder_attention_heads=4, encoder_ffn_dim=16, decoder_ffn_dim=12, max_source_positions=50, max_target_positions=12,
    bos_token_id=1, eos_token_id=2, pad_token_id=0, decoder_start_token_id=1, suppress_tokens=None,
    begin_suppress_tokens=None)


def generator(name):
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(f"{SEED} {name}".encode()).digest()[:7], "big"))


def make_model():
    model = transformers.WhisperForConditionalGeneration(CONFIG).eval()
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        noise = torch.randn(parameter.shape, generator=generator(name))
        around = 1 if name.endswith("norm.weight") else 0
        parameter.data = around + noise * (0.2 if parameter.dim() == 1 else 0.8 / parameter.shape[-1] ** 0.5 + 0.3)
    return model


def reference_of(model):
    features = torch.randn((BATCH, CONFIG.num_mel_bins, 100), generator=generator("features")) * 0.5
    ids = torch.randint(3, CONFIG.vocab_size, (BATCH, TOKENS), generator=generator("ids"))
    labels = torch.roll(ids, -1, dims=1)
    y = model(input_features=features, decoder_input_ids=ids, labels=labels, output_hidden_states=True, use_cache=False)
    y.loss.backward()
    tensors = {"input_features": features, "decoder_input_ids": ids, "labels": labels, "logits": y.logits, "loss": y.loss,
               "encoder_last_hidden_state": y.encoder_last_hidden_state}
    for side in ("encoder", "decoder"):
        tensors |= {f"{side}_hidden_states.{i}": h for i, h in enumerate(y[f"{side}_hidden_states"])}
    tensors |= {f"grad.{name}": p.grad for name, p in model.named_parameters() if p.requires_grad}
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


@torch.no_grad()
def continuation(model, features, ids):
    ids = list(ids)
    while len(ids) < CONFIG.max_target_positions:
        logits, tokens = model(input_features=features, decoder_input_ids=torch.tensor([ids])).logits[0, -1].topk(2)
        assert logits[0] - logits[1] >= CLEAR_LEAD, "a token leads by too little; take another seed"
        ids.append(tokens[0].item())
    return ids


def main():
    torch.set_num_threads(1)
    model = make_model()
    model.save_pretrained(FOLDER)
    (FOLDER / "generation_config.json").unlink(missing_ok=True)
    tensors = reference_of(model)
    save_file(tensors, FOLDER / "reference.safetensors")
    rows = [continuation(model, tensors["input_features"][i:i + 1], tensors["decoder_input_ids"][i][:3].tolist())
            for i in range(BATCH)]
    (FOLDER / "generation.json").write_text(json.dumps({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
