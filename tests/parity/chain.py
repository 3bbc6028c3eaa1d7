#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Each family's whole way, by its recipe: not one of the tests, since it needs other people's programs.

    chain.py BORA RECIPE... [--llama PYTHON] [--set KEY=VALUE ...]

Needs torch and transformers; PYTHON is one that has llama-cpp-python. --set: a key of the recipe, as where llama.cpp
computes a family for one value alone (model.sliding_window=null of the small Mistral).

Per recipe, 20 steps: train; train stopped at step 10 and resumed (bit-equal); export; transformers' logits beside those of
`bora forward` and its greedy tokens beside those of `bora generate`; import and export again (bit-equal); as GGUF, where
Bora writes it, llama.cpp's greedy tokens. A line for each.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import torch
import transformers
from safetensors.torch import load_file

STEPS = 20
CACHE = os.path.join(tempfile.gettempdir(), "bora_chain_cache")  # the tokens of the recipes' dictionary
PROMPT = "The moon is"
LLAMA = """
import sys, json
from llama_cpp import Llama
model = Llama(sys.argv[1], n_ctx=64, logits_all=False, verbose=False)
ids = json.loads(sys.argv[2])
out = []
for token in model.generate(ids, temp=0.0, top_k=1, repeat_penalty=1.0):
    out.append(token)
    if len(out) == 16: break
print(json.dumps(out))
"""


class Chain:
    def __init__(self, bora, recipe, llama, keys):
        self.bora, self.recipe, self.llama = bora, recipe, llama
        self.keys = [f"--{key}" for key in keys]
        self.notes = []

    def tried(self, *words):
        return subprocess.run([self.bora, *words], capture_output=True, text=True)

    def run(self, *words, codes=(0,)):
        done = self.tried(*words)
        if done.returncode not in codes:
            raise RuntimeError(f"bora {' '.join(words)}: {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.stdout

    def train(self, name, *more, codes=(0,)):
        self.run("train", self.recipe, f"--trainer.id={name}", f"--trainer.num_train_steps={STEPS}", "--optimizer.warmup=5",
                 "--trainer.train_batch_size=4", "--trainer.steps_per_eval=0", "--sample.prompts=[]",
                 "--data.num_validation_sequences={gcide: 8}", f"--data.cache_dir={CACHE}", "--trainer.checkpointer.keep=[{every: 10}]", *self.keys, *more, codes=codes)

    def same_bits(self, what, a, b):
        done = self.tried("diff", a, b)
        self.notes.append(f"{what} {'bit-equal' if done.returncode == 0 else 'DIFFERS: ' + done.stdout[-300:]}")

    def __call__(self):
        self.train("whole")
        self.train("parts", "--trainer.stop_at_step=10", codes=(0, 75))
        self.train("parts")
        self.same_bits("resume", f"runs/whole/step-{STEPS}", f"runs/parts/step-{STEPS}")
        self.run("export", "runs/whole", "hf")
        self.run("import", "hf", "runs/back")
        self.run("export", "runs/back", "again")
        self.same_bits("import", "hf/model.safetensors", "again/model.safetensors")
        ids = self.ids()
        self.beside_transformers(ids)
        self.beside_llama(ids)
        return ", ".join(self.notes)

    def ids(self):
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file="hf/tokenizer.json")
        return tokenizer.encode(PROMPT, add_special_tokens=False)

    def greedy(self, model):
        return json.loads(self.run("generate", model, PROMPT, "--temperature", "0", "--max_new_tokens", "16", "--jsonl"))["ids"]

    def beside_transformers(self, ids):
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained("hf", dtype=torch.float32).eval()
        except (ValueError, KeyError) as e:
            self.notes.append(f"transformers has none ({type(e).__name__})")
            return
        generator = torch.Generator().manual_seed(1)
        batch = torch.randint(0, model.config.vocab_size, (2, 48), generator=generator)
        pathlib.Path("ids.json").write_text(json.dumps(batch.tolist()))
        self.run("forward", "--model", "hf", "--ids", "ids.json", "--out", "out.safetensors", "--force")
        with torch.no_grad():
            want = model(batch).logits
        got = load_file("out.safetensors")["logits"]
        self.notes.append(f"logits {float((got - want).abs().max() / want.abs().max()):.1e}")
        with torch.no_grad():
            out = model.generate(torch.tensor([ids]), max_new_tokens=16, do_sample=False, pad_token_id=0, eos_token_id=None)
        want = out[0, len(ids):].tolist()
        got = self.greedy("runs/whole")
        self.notes.append("greedy equal" if got == want else f"greedy DIFFERS {got} {want}")

    def beside_llama(self, ids):
        done = self.tried("export", "runs/whole", "model.gguf", "--format", "gguf")
        if done.returncode != 0:
            self.notes.append("no GGUF (" + done.stderr.splitlines()[0].removeprefix("bora: GGUF: ") + ")")
            return
        if not self.llama:
            return
        done = subprocess.run([self.llama, "-c", LLAMA, "model.gguf", json.dumps(ids)], capture_output=True, text=True)
        if done.returncode != 0:
            self.notes.append("llama.cpp FAILS: " + done.stderr.strip()[-200:])
            return
        got = json.loads(done.stdout)
        self.notes.append("llama.cpp equal" if got == self.greedy("runs/whole") else f"llama.cpp DIFFERS {got}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bora", type=os.path.abspath)
    parser.add_argument("recipes", nargs="+", type=os.path.abspath)
    parser.add_argument("--llama")
    parser.add_argument("--set", nargs="*", default=[])
    given = parser.parse_args()
    transformers.logging.set_verbosity_error()
    for recipe in given.recipes:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            name = pathlib.Path(recipe).stem.removesuffix("_nano")
            try:
                print(f"{name:12s}", Chain(given.bora, recipe, given.llama, given.set)(), flush=True)
            except RuntimeError as e:
                print(f"{name:12s} FAILS: {e}", flush=True)
            os.chdir("/")


main()
