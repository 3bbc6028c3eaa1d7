#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Whether sources compile alone, as they do in a build that does not put several of them together.

  scripts/alone.py BUILD [OTHER]     folders with compile_commands.json; what is also in OTHER's is compiled alone there

Each is parsed only, behind what libtorch, GoogleTest and cmake/pch.h declare: what is found is a header of Bora's own that
a source uses and does not include. What was seen to compile is remembered, where scripts/tidy.py remembers too, by its
text, that of all headers of Bora's that it reaches, and its flags. Exit code 1 if a source does not compile.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

from tidy import ROOT, cache_folder, flags

INCLUDE = re.compile(rb'^\s*#\s*include "([^"]+)"', re.MULTILINE)
SAYS_NOTHING = ("-O", "-f", "-W", "-g")  # of flags: on how a source is parsed
FEW = 3  # sources for which a precompiled header is not worth it


def commands_of(build):
    listed = json.loads((ROOT / build / "compile_commands.json").read_text())
    return {os.path.relpath(c["file"], ROOT): c for c in listed}


class Alone:
    def __init__(self, build):
        self.folder = ROOT / build / "alone"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.commands, self.cache, self.texts = commands_of(build), cache_folder(), {}
        compiler = self.line_of(next(iter(self.commands)))[0]
        self.version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout

    def line_of(self, path):
        line = flags(self.commands[path])
        compiler = next(i for i, w in enumerate(line) if not w.endswith("ccache"))
        return [w for w in line[compiler:] if not w.startswith(SAYS_NOTHING) and w != str(ROOT / path)]

    def text(self, path):
        """Of a file, and what it includes as the checkout's own; None if there is no such file."""
        if path not in self.texts:
            file = ROOT / path
            self.texts[path] = file.read_bytes() if file.is_file() else None
        return self.texts[path]

    def reached(self, path):
        """All files of the checkout that a source reads, with their texts."""
        seen, waiting = {}, [path]
        while waiting:
            at = waiting.pop()
            text = self.text(at)
            if at in seen or text is None:
                continue
            seen[at] = text
            for name in (n.decode() for n in INCLUDE.findall(text)):
                bases = (os.path.dirname(at), "src", "plugins", "tests")
                waiting += [os.path.normpath(os.path.join(base, name)) for base in bases]
        return seen

    def mark(self, path, line):
        digest = hashlib.sha256(self.version + repr(line).replace(str(ROOT), "").encode())
        for name, text in sorted(self.reached(path).items()):
            digest.update(name.encode() + b"\0" + text + b"\0")
        return self.cache / ("alone-" + digest.hexdigest())

    def precompiled(self, line):
        """The header that stands before each source that has these flags; None where it cannot be made."""
        headers = ["cmake/test_pch.h"] + ["src/bora/core/torch/pch.h"] * any("libtorch" in w for w in line)
        made = self.folder / (hashlib.sha256(repr(line).encode()).hexdigest()[:16] + ".h")
        made.write_text("".join(f'#include "{ROOT / h}"\n' for h in headers))
        done = subprocess.run(line + ["-x", "c++-header", str(made), "-o", f"{made}.gch"], cwd=ROOT, capture_output=True)
        return made if done.returncode == 0 else None

    def words_on(self, path, line, before):
        """What the compiler says of a source: empty if it compiles."""
        ahead = ["-include", str(before)] if before else []
        done = subprocess.run(line + ahead + ["-w", "-fsyntax-only", str(ROOT / path)], cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0:
            self.mark(path, line).touch()
            return ""
        return done.stderr or f"{path}: {line[0]} ended with {done.returncode}\n"

    def look_at(self, paths, pool):
        """How many are not remembered, and what the compiler says of those."""
        alike = {}
        for path in paths:
            alike.setdefault(tuple(self.line_of(path)), []).append(path)
        asked = []
        for line, some in alike.items():
            marks = {path: self.mark(path, list(line)) for path in some}
            for mark in marks.values():
                if mark.exists():
                    mark.touch()
            new = [path for path in some if not marks[path].exists()]
            # By how many there are, not by how many are new: what a source finds declared is the same each time.
            before = pool.submit(self.precompiled, list(line)) if new and len(some) > FEW else None
            asked += [(path, list(line), before) for path in new]
        asked = [(path, line, before and before.result()) for path, line, before in asked]
        return len(asked), [words for words in pool.map(lambda one: self.words_on(*one), asked) if words]


def main():
    alone, elsewhere = Alone(sys.argv[1]), {p for other in sys.argv[2:] for p in commands_of(other)}
    paths = [p for p in alone.commands if p not in elsewhere and not p.startswith(("..", "build/"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        asked, found = alone.look_at(paths, pool)
    print("".join(found) + f"{len(paths)} sources, {asked} looked at: {len(found)} do not compile alone")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
