#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Trains tokenizers on the same text with Bora and with PyPI's `tokenizers`, turn by turn, and prints one table.

  bench/tokenizer_training.py TEXT...                 byte-level BPE, 32,000 ids, all threads, 3 rounds
  bench/tokenizer_training.py TEXT... --kinds bpe unigram --vocab_size 8000 --threads 1

  BORA_TOKENIZERS_PYTHON   a Python that has `tokenizers`; default ~/.cache/bora/tokenizers-env, made on the first run

Training against training: Bora's time is the one it prints (reading, training, writing the file), the peer's is that of
its train(), which reads the files itself, line by line. Beside it stands Bora's time as a whole program, its start
included, against the same. The table has medians of the rounds and, in brackets, the lowest and the highest ratio of a
round: where they lie far apart, other programs were at work, and the run says little.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKENIZERS = "0.22.2"
KINDS = ("bpe", "sentencepiece-bpe", "unigram", "wordpiece")

PEER = """
import sys, time
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
kind, size, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
common = {"vocab_size": size, "show_progress": False}
if kind == "bpe":
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(min_frequency=2, special_tokens=["<|endoftext|>"],
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), **common)
elif kind == "wordpiece":
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(min_frequency=2, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                        **common)
else:
    tokenizer = Tokenizer(models.Unigram() if kind == "unigram" else models.BPE())
    tokenizer.normalizer = normalizers.Prepend("\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("\\n", "contiguous"), pre_tokenizers.Metaspace(prepend_scheme="never")])
    special = {"special_tokens": ["<unk>", "<s>", "</s>"]}
    trainer = (trainers.UnigramTrainer(unk_token="<unk>", **special, **common) if kind == "unigram" else
               trainers.BpeTrainer(min_frequency=2, **special, **common))
started = time.monotonic()
tokenizer.train(files, trainer)
print(time.monotonic() - started)
"""


def peer_python():
    """The Python that has `tokenizers`; makes an environment where there is none."""
    if given := os.environ.get("BORA_TOKENIZERS_PYTHON"):
        return given
    folder = pathlib.Path.home() / ".cache" / "bora" / "tokenizers-env"
    python, stamp = folder / "bin" / "python", folder / f"ready-{TOKENIZERS}"
    if not stamp.exists():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        f"tokenizers=={TOKENIZERS}"], check=True)
        stamp.touch()
    return str(python)


def bora_seconds(args, kind, environment, megabytes):
    """Training, and the whole program."""
    with tempfile.TemporaryDirectory() as out:
        started = time.monotonic()
        done = subprocess.run([args.bora, "train-tokenizer", *args.texts, "--kind", kind, "--vocab_size",
                               str(args.vocab_size), "--out", out], check=True, stdout=subprocess.PIPE, text=True,
                              env=environment)
        whole = time.monotonic() - started
    rate, unit = re.search(r"\(([0-9.]+) ([kMG])B/s\)", done.stdout).groups()
    return megabytes / (float(rate) * {"k": 1e-3, "M": 1, "G": 1e3}[unit]), whole


def peer_seconds(args, python, kind, environment):
    done = subprocess.run([python, "-c", PEER, kind, str(args.vocab_size), *args.texts], check=True, env=environment,
                          stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def ratios(values):
    values = list(values)
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", help="plain text files")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["bpe"])
    parser.add_argument("--vocab_size", type=int, default=32000)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bora", default=str(ROOT / "bora"), help="the program")
    args = parser.parse_args()
    python = peer_python()
    environment = dict(os.environ, BORA_THREADS=str(args.threads), RAYON_NUM_THREADS=str(args.threads))
    megabytes = sum(os.path.getsize(text) for text in args.texts) / 1e6
    subprocess.run([args.bora, "version"], check=True, stdout=subprocess.DEVNULL)  # builds it, if need be
    print(f"{megabytes:.1f} MB, {args.vocab_size:,} ids, {args.threads} threads, median of {args.rounds}\n")
    print("| Kind | Bora MB/s | `tokenizers` MB/s | Bora / `tokenizers` | whole program / `tokenizers` |")
    print("|---|---|---|---|---|")
    for kind in args.kinds:
        rounds = []
        for _ in range(args.rounds):
            ours = bora_seconds(args, kind, environment, megabytes)
            rounds.append((*ours, peer_seconds(args, python, kind, environment)))
        ours, _, theirs = (megabytes / statistics.median(column) for column in zip(*rounds))
        print(f"| {kind} | {ours:.1f} | {theirs:.1f} | {ratios(peer / own for own, _, peer in rounds)} | "
              f"{ratios(peer / whole for _, whole, peer in rounds)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
