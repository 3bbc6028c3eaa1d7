#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Encodes the same text with Bora, PyPI's `tokenizers` and `tiktoken`, turn by turn, and prints tables.

  bench/tokenizers.py FOLDER TEXT...              all kinds, 3 rounds
  bench/tokenizers.py FOLDER TEXT... --kinds gpt2 llama2 --rounds 5

  FOLDER   holds gpt2/tokenizer.json, qwen2/tokenizer.json, llama2/tokenizer.json, t5-small/tokenizer.json
  BORA_TOKENIZERS_PYTHON   a Python that has `tokenizers` and `tiktoken`; default ~/.cache/bora/tokenizers-env, made on
                           the first run

The kinds cl100k and o200k are Qwen's vocabulary under the patterns of these tokenizers, without normalizer and with
ignore_merges, as Llama 3 has it. tiktoken gets the ranks out of the same files. Everyone encodes the texts in
documents of 64 KiB, cut after line ends, without special tokens: Bora with encode_ids (offsets are not asked for),
`tokenizers` with encode_batch_fast, which keeps no offsets either, tiktoken with encode_ordinary. Ids are compared.
Beside it: batches on two threads, one megabyte of one character, and how long files of 128,000 tokens load. Figures
are medians of the rounds, ratios are of medians.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("tokenizers==0.22.2", "tiktoken==0.14.0")
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "qwen2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES,
    "cl100k": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES,
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
             + rf"{CONTRACTIONS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*" + SPACES,
}
KINDS = ("gpt2", "cl100k", "o200k", "qwen2", "llama2", "t5-small")

PEER = r"""
import json, sys, time
package, file, pattern, threads, *texts = sys.argv[1:]
threads = int(threads)
documents = []
data, begin = b"".join(open(text, "rb").read() for text in texts), 0
while begin < len(data):
    line = data.find(b"\n", begin + 65536)
    end = len(data) if line < 0 else line + 1
    documents.append(data[begin:end].decode())
    begin = end
started = time.monotonic()
if package == "tokenizers":
    from tokenizers import Tokenizer
    started = time.monotonic()
    tokenizer = Tokenizer.from_file(file)
    encode = lambda: [e.ids for e in tokenizer.encode_batch_fast(documents, add_special_tokens=False)]
else:
    import tiktoken
    alphabet = {}
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    for byte in range(256):
        alphabet[chr(byte if byte in visible else 256 + sum(b not in visible for b in range(byte)))] = byte
    vocabulary = json.load(open(file))["model"]["vocab"]
    ranks = {bytes(map(alphabet.get, text)): id for text, id in vocabulary.items() if text != "<|endoftext|>"}
    started = time.monotonic()
    encoding = tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    if threads == 1:
        encode = lambda: [encoding.encode_ordinary(document) for document in documents]
    else:
        encode = lambda: encoding.encode_ordinary_batch(documents, num_threads=threads)
loading = time.monotonic() - started
started = time.monotonic()
ids = encode()
seconds = time.monotonic() - started
print(json.dumps({"seconds": seconds, "loading": loading, "tokens": sum(map(len, ids))}))
"""


def peer_python():
    """The Python that has the peers; makes an environment where there is none."""
    if given := os.environ.get("BORA_TOKENIZERS_PYTHON"):
        return given
    folder = pathlib.Path.home() / ".cache" / "bora" / "tokenizers-env"
    python, stamp = folder / "bin" / "python", folder / ("ready-" + "-".join(PACKAGES))
    if not stamp.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
                       check=True)
        stamp.touch()
    return str(python)


def make_files(folder, out):
    """A tokenizer.json by kind; the last has 128,000 tokens."""
    files = {kind: folder / kind / "tokenizer.json" for kind in ("llama2", "t5-small")}
    for kind in ("gpt2", "qwen2"):
        made = json.loads((folder / kind / "tokenizer.json").read_text())
        made["added_tokens"] = []  # tiktoken takes them for text
        files[kind] = out / f"{kind}.json"
        files[kind].write_text(json.dumps(made, ensure_ascii=False))
    qwen = json.loads(files["qwen2"].read_text())
    for kind in ("cl100k", "o200k", "128k"):
        made = json.loads(json.dumps(qwen))
        made["normalizer"] = None
        model = made["model"]
        model["ignore_merges"] = True
        made["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = PATTERNS["cl100k" if kind == "128k" else kind]
        model["vocab"] = {text: id for text, id in model["vocab"].items() if not text.startswith("<|")}
        if kind == "128k":
            model["vocab"] = {text: id for text, id in model["vocab"].items() if id < 128000}
            sides = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
            model["merges"] = [[a, b] for a, b in sides if a + b in model["vocab"]]
        files[kind] = out / f"{kind}.json"
        files[kind].write_text(json.dumps(made, ensure_ascii=False))
    return files


def bora(args, file, *flags, text=None):
    """Seconds of encoding and of loading, and the number of tokens."""
    data = text or b"".join(pathlib.Path(name).read_bytes() for name in args.texts)
    done = subprocess.run([args.bora, "tokenize", "--tokenizer", str(file), *flags, "bench"], input=data, check=True,
                          stdout=subprocess.PIPE)
    found = re.search(r"loaded in ([0-9.]+) s\n([0-9,]+) tokens .* in ([0-9.]+) s \(median", done.stdout.decode())
    return {"loading": float(found[1]), "tokens": int(found[2].replace(",", "")), "seconds": float(found[3])}


def peer(args, python, package, file, kind, threads=1):
    environment = dict(os.environ, RAYON_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="true")
    done = subprocess.run([python, "-c", PEER, package, str(file), PATTERNS.get(kind, ""), str(threads), *args.texts],
                          check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def median(runs, key="seconds"):
    return statistics.median(run[key] for run in runs)


def encode_table(args, python, files, megabytes):
    print("| Kind | Bora, no cache | Bora | `tokenizers` | `tiktoken` | no cache / `tiktoken` | Bora / `tiktoken` | "
          "no cache / `tokenizers` | Bora / `tokenizers` |\n|---|---|---|---|---|---|---|---|---|")
    for kind in args.kinds:
        runs = {"bare": [], "cached": [], "tokenizers": [], "tiktoken": []}
        for _ in range(args.rounds):
            runs["bare"].append(bora(args, files[kind], "--no-piece_cache"))
            runs["cached"].append(bora(args, files[kind]))
            runs["tokenizers"].append(peer(args, python, "tokenizers", files[kind], kind))
            if kind in PATTERNS:
                runs["tiktoken"].append(peer(args, python, "tiktoken", files[kind], kind))
        rates = {name: megabytes / median(some) for name, some in runs.items() if some}
        cells = [f"{rates[name]:.1f}" if name in rates else "" for name in runs]
        for other in ("tiktoken", "tokenizers"):
            cells += [f"**{rates[own] / rates[other]:.1f}**" if other in rates else "" for own in ("bare", "cached")]
        counts = sorted({run["tokens"] for some in runs.values() for run in some})
        note = "" if len(counts) == 1 else f" (tokens differ: {counts})"
        print(f"| {kind}{note} | " + " | ".join(cells) + " |", flush=True)


def batch_table(args, python, files, megabytes):
    print("\n| Kind, batches | Bora, 1 thread | Bora, 2 threads | scaling | `tokenizers`, 2 threads | "
          "`tiktoken`, 2 threads |\n|---|---|---|---|---|---|")
    for kind in args.kinds:
        one, two, *peers = [], [], [], []
        for _ in range(args.rounds):
            one.append(bora(args, files[kind]))
            two.append(bora(args, files[kind], "--threads", "2"))
            peers[0].append(peer(args, python, "tokenizers", files[kind], kind, 2))
            if kind in PATTERNS:
                peers[1].append(peer(args, python, "tiktoken", files[kind], kind, 2))
        rates = [f"{megabytes / median(some):.1f}" if some else "" for some in (one, two, *peers)]
        print(f"| {kind} | {rates[0]} | {rates[1]} | **{median(one) / median(two):.2f}** | {rates[2]} | {rates[3]} |",
              flush=True)


def character_table(args, files):
    characters = ("a", "A", " ", "\n", "1", "!", "\u00e9", "\u4e2d")
    print("\n| 1 MB of one character, seconds | " + " | ".join(json.dumps(c)[1:-1] for c in characters) + " |")
    print("|---" * (len(characters) + 1) + "|")
    for kind in args.kinds:
        seconds = [bora(args, files[kind], "--rounds", "1", "--no-piece_cache",
                        text=(c * (1000000 // len(c.encode()))).encode())["seconds"] for c in characters]
        print(f"| {kind} | " + " | ".join(f"{s:.3f}" for s in seconds) + " |", flush=True)


def loading_line(args, python, files):
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(bora(args, files["128k"], "--rounds", "1", text=b"a\n"))
        theirs.append(peer(args, python, "tokenizers", files["128k"], ""))
    first = median(ours) + median(ours, "loading")
    print(f"\nLoading a tokenizer.json of 128,000 tokens: Bora {median(ours, 'loading'):.3f} s ({first:.3f} s until the "
          f"first text is encoded), `tokenizers` {median(theirs, 'loading'):.3f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bora", default=str(ROOT / "bora"), help="the program")
    args = parser.parse_args()
    python = peer_python()
    megabytes = sum(os.path.getsize(text) for text in args.texts) / 1e6
    subprocess.run([args.bora, "version"], check=True, stdout=subprocess.DEVNULL)  # builds it, if need be
    print(f"{megabytes:.1f} MB, MB/s on one thread, medians of {args.rounds}\n")
    with tempfile.TemporaryDirectory() as out:
        files = make_files(args.folder, pathlib.Path(out))
        encode_table(args, python, files, megabytes)
        batch_table(args, python, files, megabytes)
        character_table(args, files)
        loading_line(args, python, files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
