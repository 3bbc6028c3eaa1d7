# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Writes cases.jsonl and properties.txt: what `tokenizers` (pip install tokenizers==0.23.3) makes of regexes.

  python3 tests/oniguruma/make_cases.py tests/oniguruma

A case is a regex, a text, the pieces of Split(isolated), and the text with each match replaced by U+FFFC.
A property is a name, how many code points below U+32400 and in U+E0000 to U+E01FF have it, and a hash of them.
"""
import json
import random
import re
import sys

from tokenizers import Regex
from tokenizers.normalizers import Replace
from tokenizers.pre_tokenizers import Split

ATOMS = list("abcsSkKtifFlL01 9_-.,!'[&") + [
    "ß", "ẞ", "ſ", "K", "é", "ŉ", "ǅ", "ΐ", "ﬀ", "ﬁ", "ﬃ", "ﬆ", "ᾳ", "Σ", "ς", "İ", "ı", "µ", "\t", "\n", "\r",
    "\x0b", "\x85", "\xa0", "\u200b", "\u3000", "\u2028", "中", "日", "ひ", "カ", "ー", "々", "\U0002ebf0", "²", "½",
    "٣", "७", "Ⅷ", "\u0301", "\u093e", "\u200d", "،", "。", "…", "😀", "🏽", "\U0001f6dc", "©", "Ж", "अ", "ગ", "മ",
    "က", "\u0897", "\u1c89", "\ua7cb", "\U00010d40", "\U00010d50", "\U0001171e", "\u0378", "\ue000", "\u0951"]

KIMI_K2 = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"
          r"\s*[\r\n]|\s+(?!\S)|\s")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"

REGEXES = [KIMI_K2] * 8 + [CL100K] * 8 + [BLOOM] * 8 + [
    # brackets
    r"[a-c&&[^b]]", r"[[a-c][0-9]]+", r"[^[a-c][0-9]]+", r"[a-z&&b-y&&[^k]]", r"[\w&&[^\d_]]+", r"[^\w&&\S]+",
    r"[&&a]", r"[a&&]", r"[^a&&a]", r"[]a]", r"[^]a]", r"[a-]", r"[-a]", r"[a-c-f]", r"[!--]+", r"[\s-]+",
    r"[\b\t]", r"[[:alpha:]]+", r"[[:^alpha:]]+", r"[[:alnum:]]", r"[[:word:]]+", r"[[:upper:]]", r"[[:lower:]]+",
    r"[[:punct:]]", r"[[:digit:]]", r"[[:graph:]]+", r"[[:print:]]+", r"[[:space:]]", r"[[:blank:]]",
    r"[[:cntrl:]]", r"[[:xdigit:]]", r"[[:ascii:]]+", r"[\p{L}&&\p{ASCII}]+", r"[^\P{Lu}\s]", r"[^\S\n]+",
    r"[\P{L}\P{N}]", r"[\p{^Han}&&\p{L}]+", r"[a-z&&[^aeiou]&&[^\p{Lu}]]", r"[\x{4E00}-\x{9FFF}]",
    # quantifiers
    r"a{1,2}+", r"a{,2}", r"a{2,}+", r"a{2}?", r"a{2}+", r"a{3,1}b", r"a{,}", r"a{x}", r"(?:ab){1,2}+c?", r"s{1,2}?",
    r"(?:a?)*b", r"(?:a|b*)+c", r"(?:|a)+", r"(?:a*?)+?b", r"a**", r"(?:a+)?b",
    # options and folds
    r"(?m:a.)", r"a.", r"(?i:ss)", r"(?i:ß)", r"(?i:[ß])", r"(?i:[^ß])", r"(?i)s(?:s)", r"(?i:s\x73)", r"(?i:ss+)",
    r"(?i:ffi)", r"(?i:ﬁ)", r"(?i:[ﬀﬃ])", r"(?i:ﬆ)", r"(?i:k)", r"(?i:[k-s])", r"(?i:σ)", r"(?i:[\p{Lu}])",
    r"(?i:\p{Lu})", r"(?i:[[:upper:]]+)", r"(?i:i)", r"(?i:i̇)", r"a(?i)b|c", r"(?:a(?i)b|C)d?", r"(?i:a(?-i:b)c)",
    r"(?x: a b # c" + "\n)c?", r"(?#x)a(?#y)+", r"(?i:ΐ)", r"(?i:ᾳ)",
    # places
    r"\b", r"\B", r"\b\w+\b", r"\w+", r"[\w]+", r"\W", r"^", r"$", r"^.", r".$", r"\A.", r".\z", r".\Z", r"\Ka",
    r"a\Kb", r"(?<=a)b", r"(?<!a)b", r"(?<=a{1,2})b", r"(?<=a|bc)c", r"(?<=a+)b", r"(?<!\s+)a",
    r"(?<=\w{1,3})s", r"(?<=(?i:ß))s", r"(?<!(?i:ss))t", r"(?=\d)", r"(?!\S)\s", r"(?<=^|,)[^,]*",
    # escapes
    r"\v", r"\pL", r"\Qa.b\E", r"\x61\x{62}", r"\xE4\xB8\xAD", r"\u4E2D", r"\07", r"\h+", r"\H", r"\R", r"\N+", r"\O",
    r"\e|\a|\f", r"\<a\>", r"\-", r"\ ", r"é+", r"\p{Letter}", r"\p{l}+", r"\p{lowercase_letter}", r"\P{^Lu}", r"\p{C}",
    r"\p{Cn}", r"\p{Mn}", r"\p{Emoji}", r"\p{Gujarati}", r"\p{Malayalam}", r"\p{Myanmar}", r"\p{Han}+", r"\p{Common}+",
    r"\p{Inherited}", r"\p{Word}", r"[\p{Word}]", r"\p{Graph}+", r"\p{Print}", r"\p{Punct}", r"\p{PosixPunct}",
    # groups
    r"(a)\1", r"(?<n>a|b)\k<n>", r"(?<n>a)(b)", r"(?>a+)b", r"(?>a|ab)c", r"(?:a|ab)(?:c|bcd)?", r"()", r"a||b"]


def texts(chance, regex, count):
    own = [c for c in regex if c not in "\\[]{}()?*+|:^"]
    for _ in range(count):
        pool = ATOMS + own * (1 + len(ATOMS) // (len(own) + 1))
        yield "".join(chance.choice(pool) for _ in range(chance.randint(2, 12)))


def cases():
    chance = random.Random(20)
    for regex in REGEXES:
        split, replace = Split(Regex(regex), "isolated"), Replace(Regex(regex), "\ufffc")
        for text in texts(chance, regex, 3):
            pieces = [piece for piece, _ in split.pre_tokenize_str(text)]
            yield {"regex": regex, "text": text, "pieces": pieces, "replaced": replace.normalize_str(text)}


def property_names(folder):
    """The names that Bora's table has, one of each row, and those that are made of others."""
    source = open(folder + "/../../src/bora/unicode/oniguruma/property_rows.cpp").read()
    yield from (names.split()[-1] for names in re.findall(r'\{"([a-z ]+)",', source))
    yield from "alpha alnum any assigned blank c cn cntrl graph mn posixpunct print xdigit space digit word".split()


def hash_of(name):
    everything = "".join(chr(c) for c in [*range(0xD800), *range(0xE000, 0x32400), *range(0xE0000, 0xE0200)])
    without = Split(Regex("[^\\p{%s}]+" % name), "removed").pre_tokenize_str(everything)
    count, value = 0, 0xCBF29CE484222325
    for piece, _ in without:
        for c in piece:
            count += 1
            value = (value ^ ord(c)) * 0x100000001B3 % 2**64
    return f"{name} {count} {value:016x}"


def main(folder):
    with open(folder + "/cases.jsonl", "w") as out:
        for case in cases():
            out.write(json.dumps(case, ensure_ascii=True) + "\n")
    with open(folder + "/properties.txt", "w") as out:
        for name in property_names(folder):
            out.write(hash_of(name) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
