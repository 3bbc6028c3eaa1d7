#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Reads prompts and writes texts with Bora and with others, turn by turn, and prints tables.

  bench/generation.py                                  f32, bf16 and int8 (llama.cpp: q8_0), 5 rounds
  bench/generation.py --types f32 --rounds 9 --tokens 129
  bench/generation.py --peers transformers             which has no int8

  --peers    llama.cpp (llama-cpp-python; the default), transformers, or both
  --python   a Python that has their packages and numpy; default: an environment in the folder of --work, made on the
             first run (llama.cpp is compiled then, which takes long)
  --work     where the model and the environment lie; default: a temporary folder that goes with the run

The model is a Llama of 125 million random weights (12 layers of 768, 12 heads, 4 key-value heads, MLP 2048, 32,000
tokens, head of its own), made once as a Hugging Face directory, which `bora export --format gguf` turns into the files
of llama.cpp. All programs are up at once and wait; one of them works at a time. A turn is the reading of 256 tokens
and the writing of 64, greedily, or of 8 texts together. Figures are medians of the rounds, ratios are of medians. Cold
start is a whole program of Bora from its call to the first token; for llama.cpp it is opening the file and one
decoding, without the start of Python. The bandwidth is that of `bora bench generate`; llama.cpp's share of it takes the
size of its weights for the bytes of a token, as Bora's does.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = {"llama.cpp": ("llama-cpp-python==0.3.36",), "transformers": ("torch==2.11.0", "transformers==4.57.6")}
GGUF = {"f32": "f32", "bf16": "bf16", "int8": "q8_0"}

MAKER = r"""
import json, pathlib, sys
import numpy
folder = pathlib.Path(sys.argv[1])
layers, hidden, heads, kv, mlp, vocab = 12, 768, 12, 4, 2048, 32000
head = hidden // heads
shapes = {"model.embed_tokens.weight": (vocab, hidden), "model.norm.weight": (hidden,), "lm_head.weight": (vocab, hidden)}
for i in range(layers):
    at = f"model.layers.{i}."
    shapes |= {at + "input_layernorm.weight": (hidden,), at + "post_attention_layernorm.weight": (hidden,),
               at + "self_attn.q_proj.weight": (hidden, hidden), at + "self_attn.o_proj.weight": (hidden, hidden),
               at + "self_attn.k_proj.weight": (kv * head, hidden), at + "self_attn.v_proj.weight": (kv * head, hidden),
               at + "mlp.gate_proj.weight": (mlp, hidden), at + "mlp.up_proj.weight": (mlp, hidden),
               at + "mlp.down_proj.weight": (hidden, mlp)}
draw = numpy.random.default_rng(0)
header, blobs, end = {}, [], 0
for name, shape in shapes.items():
    values = numpy.ones(shape, "<f4") if len(shape) == 1 else draw.standard_normal(shape, "<f4") * numpy.float32(0.02)
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end := end + values.nbytes]}
    blobs.append(values)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(folder / "model.safetensors", "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text)
    for values in blobs:
        values.tofile(file)
(folder / "config.json").write_text(json.dumps({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": mlp,
    "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": head,
    "vocab_size": vocab, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "float32"}))
visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
alphabet = [chr(b if b in visible else 256 + sum(v not in visible for v in range(b))) for b in range(256)]
pairs = [(a, b) for a in alphabet for b in alphabet][:vocab - 257]
words = alphabet + [a + b for a, b in pairs] + ["<|endoftext|>"]
(folder / "tokenizer.json").write_text(json.dumps({
    "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
    "added_tokens": [{"id": vocab - 1, "content": "<|endoftext|>", "single_word": False, "lstrip": False,
                      "rstrip": False, "normalized": False, "special": True}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
              "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
              "vocab": {word: i for i, word in enumerate(words)}, "merges": [f"{a} {b}" for a, b in pairs]}}))
(folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|endoftext|>"}))
"""

PEER = r"""
import json, sys, time
import llama_cpp as ll
import numpy
file, batch, prompt, tokens, threads, extra = sys.argv[1], *map(int, sys.argv[2:])
started = time.monotonic()
ll.llama_backend_init()
quiet = ll.llama_log_callback(lambda *_: None)
ll.llama_log_set(quiet, None)
options = ll.llama_model_default_params()
options.use_extra_bufts = bool(extra)
model = ll.llama_model_load_from_file(file.encode(), options)
vocab = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(model))
context_options = ll.llama_context_default_params()
context_options.n_ctx = batch * (prompt + tokens + 8)
context_options.n_batch = context_options.n_ubatch = 512
context_options.n_seq_max = batch
context_options.n_threads = context_options.n_threads_batch = threads
context = ll.llama_init_from_model(model, context_options)
space = ll.llama_batch_init(512, 0, 1)

def decode(entries):
    # (token, position, sequence, whether its logits are wanted)
    space.n_tokens = len(entries)
    for i, (token, position, sequence, wanted) in enumerate(entries):
        space.token[i], space.pos[i], space.n_seq_id[i], space.logits[i] = token, position, 1, wanted
        space.seq_id[i][0] = sequence
    if ll.llama_decode(context, space) != 0:
        sys.exit("generation: llama_decode failed")

def best(i):
    return int(numpy.ctypeslib.as_array(ll.llama_get_logits_ith(context, i), (vocab,)).argmax())

def turn():
    ll.llama_memory_clear(ll.llama_get_memory(context), True)
    draw = numpy.random.default_rng(1)
    begun = time.monotonic()
    last = []
    for sequence in range(batch):
        ids = draw.integers(0, vocab - 1, prompt).tolist()
        decode([(id, at, sequence, at == prompt - 1) for at, id in enumerate(ids)])
        last.append(best(prompt - 1))
    read = time.monotonic()
    for step in range(tokens - 1):
        decode([(last[s], prompt + step, s, True) for s in range(batch)])
        last = [best(s) for s in range(batch)]
    return {"prompts_s": read - begun, "texts_s": time.monotonic() - read}

if prompt == 1 and tokens == 1:
    turn()
    print(json.dumps({"seconds": time.monotonic() - started}))
    sys.exit()
turn()
print("ready", flush=True)
for _ in sys.stdin:
    print(json.dumps(turn()), flush=True)
"""


# The passes of generate(), without what it does between them.
TRANSFORMERS = r"""
import json, sys, time
import torch, transformers
folder, kind, batch, prompt, tokens, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
torch.set_num_threads(threads)
transformers.logging.set_verbosity_error()
dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kind]
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa").eval()
vocab = model.config.vocab_size
ids = torch.randint(vocab - 1, (batch, prompt), generator=torch.Generator().manual_seed(1))

@torch.inference_mode()
def turn():
    begun = time.monotonic()
    cache, last = None, ids
    for step in range(tokens):
        out = model(last, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache, last = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)
        if step == 0:
            read = time.monotonic()
    return {"prompts_s": read - begun, "texts_s": time.monotonic() - read}

turn()
print("ready", flush=True)
for _ in sys.stdin:
    print(json.dumps(turn()), flush=True)
"""


def peer_python(args, work):
    """The Python that has the peers; makes an environment where there is none."""
    if args.python:
        return args.python
    packages = ["numpy"] + [package for peer in args.peers for package in PACKAGES[peer]]
    folder = work / "peers-env"
    python, stamp = folder / "bin" / "python", folder / ("ready-" + "-".join(packages))
    if not stamp.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
                       check=True)
        stamp.touch()
    return str(python)


def make_model(args, python, work):
    """The directory, and llama.cpp's file for each type."""
    folder = work / "llama-125m"
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([python, "-c", MAKER, str(folder)], check=True)
        (folder / "made").touch()
    files = {}
    for kind in args.types if "llama.cpp" in args.peers else ():
        files[kind] = work / f"llama-125m-{GGUF[kind]}.gguf"
        if not files[kind].exists():
            subprocess.run([args.bora, "export", str(folder), str(files[kind]), "--format", "gguf", "--dtype",
                            GGUF[kind]], check=True, stdout=subprocess.DEVNULL)
    return folder, files


def quiet_environment():
    drop = ("OMP_", "OPENBLAS_")
    return {key: value for key, value in os.environ.items() if not key.startswith(drop)}


def peer_words(args, python, kind, file, batch, prompt, tokens):
    # On CPUs with AMX llama.cpp 0.3.36 crashes on q8_0 in its extra buffers.
    extra = "0" if kind == "int8" and "amx_int8" in pathlib.Path("/proc/cpuinfo").read_text() else "1"
    return [python, "-c", PEER, str(file), str(batch), str(prompt), str(tokens), str(args.threads), extra]


def answer(program):
    line = program.stdout.readline()
    if not line:
        sys.exit(f"generation: a program ended with {program.wait()}")
    return line.strip()


def rounds(args, python, folder, files, batch):
    """Seconds by (who, type): lists of turns, in which all took turns."""
    words = {}
    for kind in args.types:
        words["bora", kind] = [args.bora, "bench", "generate", "--model", "llama-125m", "--weights", kind, "--batch",
                               str(batch), "--prompt", str(args.prompt), "--tokens", str(args.tokens), "--threads",
                               str(args.threads), "--paced"]
        if "llama.cpp" in args.peers:
            words["llama.cpp", kind] = peer_words(args, python, kind, files[kind], batch, args.prompt, args.tokens)
        if "transformers" in args.peers and kind != "int8":
            sizes = map(str, (batch, args.prompt, args.tokens, args.threads))
            words["transformers", kind] = [python, "-c", TRANSFORMERS, str(folder), kind, *sizes]
    programs = {}
    for key, line in words.items():
        programs[key] = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         env=quiet_environment())
        answer(programs[key])
    times = {key: [] for key in words}
    for _ in range(args.rounds):
        for key, program in programs.items():
            program.stdin.write("\n")
            program.stdin.flush()
            times[key].append(json.loads(answer(program)))
    for program in programs.values():
        program.stdin.close()
        program.wait()
    return times


def speed_table(args, title, times, key, count):
    peers = args.peers
    print(f"\n{title}, tokens a second\n\n| Weights | Bora |" + "".join(f" {peer} | ratio |" for peer in peers))
    print("|---|---|" + "---|---|" * len(peers))
    for kind in args.types:
        rate = {who: count / statistics.median(t[key] for t in turns)
                for (who, of), turns in times.items() if of == kind}
        cells = [f" {rate[peer]:.1f} | {rate['bora'] / rate[peer]:.2f} |" if peer in rate else " | |" for peer in peers]
        print(f"| {kind} | {rate['bora']:.1f} |" + "".join(cells), flush=True)


def memory_table(args, times, tokens):
    """Bytes that a token reads, and their share of what memory gives."""
    programs = ["bora"] + [peer for peer in args.peers if peer == "llama.cpp"]
    print("\nBatch 1: bytes that a token reads of the weights, and the share of memory's bandwidth\n\n"
          f"| Weights | MB a token | {' | '.join(programs)} | GB/s |\n|---|---|---|{'---|' * len(programs)}")
    for kind in args.types:
        done = subprocess.run([args.bora, "bench", "generate", "--model", "llama-125m", "--weights", kind, "--prompt",
                               "8", "--tokens", "9", "--threads", str(args.threads)], check=True, text=True,
                              stdout=subprocess.PIPE, env=quiet_environment())
        told = json.loads(done.stdout)
        shares = [told["mb_read_per_token"] * 1e-3 * tokens /
                  statistics.median(t["texts_s"] for t in times[who, kind]) / told["memory_gb_per_s"]
                  for who in programs]
        print(f"| {kind} | {told['mb_read_per_token']:.1f} | {' | '.join(f'{s:.2f}' for s in shares)} | "
              f"{told['memory_gb_per_s']:.1f} |", flush=True)


def start_table(args, python, folder, files):
    print(f"\nCold start to the first token, seconds\n\n| Weights | Bora |{' llama.cpp |' * bool(files)}\n"
          f"|---|---|{'---|' * bool(files)}")
    for kind in args.types:
        ours, theirs = [], []
        for _ in range(args.rounds):
            begun = time.monotonic()
            subprocess.run([args.bora, "generate", str(folder), "a", "--max_new_tokens", "1", "--ids", "--quiet",
                            "--weights", kind], check=True, stdout=subprocess.DEVNULL, env=quiet_environment())
            ours.append(time.monotonic() - begun)
            if kind not in files:
                continue
            done = subprocess.run(peer_words(args, python, kind, files[kind], 1, 1, 1), check=True, text=True,
                                  stdout=subprocess.PIPE, env=quiet_environment())
            theirs.append(json.loads(done.stdout)["seconds"])
        print(f"| {kind} |" + "".join(f" {statistics.median(t):.2f} |" for t in (ours, theirs) if t), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bora", default=str(ROOT / "build/release/apps/bora/bora"))
    parser.add_argument("--python")
    parser.add_argument("--peers", nargs="+", choices=list(PACKAGES), default=["llama.cpp"])
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--types", nargs="+", choices=list(GGUF), default=list(GGUF))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=65)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        python = peer_python(args, work)
        folder, files = make_model(args, python, work)
        for batch in args.batches:
            times = rounds(args, python, folder, files, batch)
            if batch == 1:
                speed_table(args, f"Reading a prompt of {args.prompt}", times, "prompts_s", args.prompt)
            speed_table(args, f"Writing, batch {batch}", times, "texts_s", batch * (args.tokens - 1))
            if batch == 1:
                memory_table(args, times, args.tokens - 1)
        start_table(args, python, folder, files)


if __name__ == "__main__":
    main()
