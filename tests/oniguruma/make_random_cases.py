# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
"""Writes random regexes and what `tokenizers` (pip install tokenizers==0.23.3) makes of them, a case a line.

  python3 tests/oniguruma/make_random_cases.py 150 18 tests/oniguruma/random_cases.jsonl   (the kept sample)
  python3 tests/oniguruma/make_random_cases.py 10000 1 /tmp/random.jsonl                   (the proof)
  BORA_ONIGURUMA_CASES=/tmp/random.jsonl build/release/src/bora/unicode/unicode_test --gtest_filter='*Random*'

The first number is how many regexes are wanted, the second a seed. A case names the construct that its regex was
made around, and has texts with the pieces of Split(isolated) and with each match replaced by U+FFFC or by nothing.
Regexes that `tokenizers` refuses are written without texts.
"""
import json
import random
import sys

from make_cases import ATOMS
from tokenizers import Regex
from tokenizers.normalizers import Replace
from tokenizers.pre_tokenizers import Split

LITERALS = list("abcsSkKtifFlL019_,!") + ["ß", "ſ", "é", "ﬁ", "中", "ひ", "Ж", "²", "½", "😀", "\u0301", "ǅ", "Σ", "ς"]
PROPERTIES = """L l Lu lu Ll Lt Lm Lo M Mn Mc N Nd Nl No P Pd Po S Sm So Z Zs C Cc Cf Cn Co Letter Mark Number
Punctuation Symbol Separator Other Lowercase_Letter uppercase_letter Decimal_Number Alpha Alnum Upper Lower Punct Space
Word Graph Print Blank Cntrl XDigit ASCII Any Assigned Han Hiragana Katakana Latin Greek Cyrillic Arabic Hebrew Thai
Devanagari Gujarati Malayalam Myanmar Hangul Common Inherited Emoji White_Space Alphabetic Ideographic""".split()
POSIX = "alpha alnum upper lower word digit punct graph print space blank cntrl xdigit ascii".split()
SHORT = [r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\h", r"\H"]


class Maker:
    """Regexes of one chance; `around` is the construct that each must hold."""

    def __init__(self, chance):
        self.chance = chance

    def one_of(self, *makers):
        return self.chance.choice(makers)()

    def literal(self):
        return self.chance.choice(LITERALS)

    def name(self):
        return self.chance.choice(PROPERTIES)

    def prop(self):
        return self.chance.choice([r"\p{%s}", r"\P{%s}", r"\p{^%s}", r"\P{^%s}"]) % self.name()

    def range(self):
        low, high = sorted(self.chance.sample("abckmsz", 2) if self.chance.random() < 0.6 else
                           self.chance.choice([["A", "Z"], ["0", "9"], ["à", "ü"], ["一", "鿿"], ["ぁ", "ん"], ["А", "я"]]))
        return f"{low}-{high}"

    def posix(self):
        return "[:%s%s:]" % (self.chance.choice(["", "", "^"]), self.chance.choice(POSIX))

    def member(self, depth):
        makers = [self.literal, self.literal, self.range, self.range, self.prop, self.posix,
                  lambda: self.chance.choice(SHORT)]
        if depth > 0:
            makers.append(lambda: self.bracket(depth - 1))
        return self.one_of(*makers)

    def members(self, depth):
        return "".join(self.member(depth) for _ in range(self.chance.randint(1, 3)))

    def bracket(self, depth=1, parts=None):
        parts = parts or self.chance.choice([1, 1, 1, 2])
        return "[%s%s]" % (self.chance.choice(["", "", "^"]), "&&".join(self.members(depth) for _ in range(parts)))

    def atom(self, depth):
        makers = [self.literal, self.literal, self.literal, lambda: self.bracket(1), self.prop,
                  lambda: self.chance.choice(SHORT), lambda: "."]
        if depth > 0:
            makers += [lambda: "(?:%s)" % self.alternatives(depth - 1)]
        return self.one_of(*makers)

    def quantifier(self):
        low = self.chance.randint(0, 2)
        return self.chance.choice(["", "", "", "", "?", "*", "+", "??", "*?", "+?", "?+", "*+", "++",
                                   "{%d}" % max(low, 1), "{%d,}" % low, "{%d,%d}" % (low, low + 2)])

    def sequence(self, depth, count=None):
        return "".join(self.atom(depth) + self.quantifier() for _ in range(count or self.chance.randint(1, 3)))

    def alternatives(self, depth):
        return "|".join(self.sequence(depth) for _ in range(self.chance.choice([1, 1, 2, 3])))

    def folding(self):
        """What multi-character folds are made of."""
        return "".join(self.chance.choice(["s", "S", "ß", "ſ", "st", "ﬁ", "fi", "ff", "ﬀ", "i", "k", "K", "σ", "ς", "é",
                                           "ǆ", "ŉ", "ΐ", "t", "[a-s]", "[ß]", r"\p{Lu}", r"\p{Ll}", "[^s]", r"\w",
                                           "[[:upper:]]"]) + self.chance.choice(["", "", "", "+", "?", "{2}"])
                       for _ in range(self.chance.randint(1, 3)))

    # ---- the constructs ----

    def intersection(self):
        return self.bracket(1, self.chance.choice([2, 2, 3]))

    def nested(self):
        return "[%s[%s]%s]" % (self.chance.choice(["", "^", self.literal(), "^" + self.range()]), self.members(1),
                               self.chance.choice(["", self.member(1)]))

    def counted_possessive(self):
        low = self.chance.randint(0, 2)
        return self.atom(1) + "{%s,%s}" % (low, self.chance.choice(["", low + 1, low + 2])) + "+"

    def open_count(self):
        return self.atom(1) + "{,%d}" % self.chance.randint(1, 3) + self.chance.choice(["", "", "?", "+"])

    def dot_all(self):
        return "(?m:%s.%s)" % (self.chance.choice(["", self.atom(1)]), self.quantifier())

    def places(self):
        return self.chance.choice([r"\b", r"\B", r"\b\w+", r"\w+\b", r"\B\w", r"^", r"$", r"\A", r"\z", r"\Z"])

    def word_in_brackets(self):
        return "[%s%s%s]" % (self.chance.choice(["", "^"]), self.chance.choice([r"\w", r"\W", r"\b", r"\d", r"\S"]),
                             self.chance.choice(["", self.member(0)]))

    def posix_bracket(self):
        return "[%s%s]" % (self.posix(), self.chance.choice(["", self.member(0)]))

    def fold(self):
        return self.chance.choice(["(?i:%s)", "(?i)%s"]) % self.folding()

    def short_property(self):
        return self.chance.choice([r"\pL", r"\PL", r"\pN", r"\pL+", r"[\pL]", r"\pLu"])

    def vertical(self):
        return self.chance.choice([r"\v", r"[\v]", r"[^\v]", r"\v+", r"\x0b", r"\R", r"\N", r"\O"])

    def quoted(self):
        return r"\Q%s\E" % "".join(self.chance.choice(list("ab.+*[]()|\\^$é1")) for _ in range(self.chance.randint(0, 3)))

    def segment(self):
        return self.chance.choice([r"\X", r"\X+", r"a\X"])

    def hexadecimal(self):
        c = self.literal()
        encoded = "".join(r"\x%02X" % b for b in c.encode())
        return self.chance.choice([encoded, r"\x{%X}" % ord(c), "[%s]" % (r"\x{%X}" % ord(c)),
                                   "[%s]" % encoded, r"[\x{41}-\x{%X}]" % max(ord(c), 0x42)])

    def behind(self):
        inside = self.one_of(lambda: self.sequence(0, 1), lambda: self.sequence(0, 2),
                             lambda: "%s|%s" % (self.literal(), self.sequence(0, 2)), lambda: self.literal() + "{1,2}",
                             lambda: r"^|" + self.literal(), lambda: r"(?i:%s)" % self.folding())
        return self.chance.choice(["(?<=%s)", "(?<!%s)"]) % inside

    def ahead(self):
        return self.chance.choice(["(?=%s)", "(?!%s)"]) % self.sequence(1)

    def unicode_number(self):
        c = self.chance.choice([x for x in LITERALS if ord(x) < 0x10000])
        return self.chance.choice([r"\u%04X", r"[\u%04X]", r"[^\u%04X]", r"[\u0041-\u%04X]"]) % max(ord(c), 0x42)

    def atomic(self):
        return "(?>%s)" % self.alternatives(1)

    def constructs(self):
        return [self.intersection, self.nested, self.counted_possessive, self.open_count, self.dot_all, self.places,
                self.word_in_brackets, self.posix_bracket, self.fold, self.prop, self.vertical, self.short_property,
                self.quoted, self.segment, self.hexadecimal, self.behind, self.ahead, self.unicode_number, self.atomic]

    def regex(self, construct):
        """The construct, and others beside it."""
        parts = [construct() + (self.quantifier() if self.chance.random() < 0.4 else "")]
        for _ in range(self.chance.choice([0, 0, 1, 1, 2])):
            other = self.sequence(1, 1) if self.chance.random() < 0.7 else self.one_of(*self.constructs())
            parts.insert(self.chance.randint(0, len(parts)), other)
        out = "".join(parts)
        if self.chance.random() < 0.25:
            out = self.chance.choice(["%s|%s", "%s|(?:%s)+"]) % (out, self.sequence(1))
        return out


def texts(chance, regex, count):
    own = [c for c in regex if c not in "\\[]{}()?*+|:^"] or ["a"]
    for _ in range(count):
        pool = ATOMS + own * (1 + 2 * len(ATOMS) // len(own))
        yield "".join(chance.choice(pool) for _ in range(chance.randint(1, 14)))


def cases(count, seed):
    chance = random.Random(seed)
    maker, seen = Maker(chance), set()
    while len(seen) < count:
        construct = maker.constructs()[len(seen) % len(maker.constructs())]
        regex = maker.regex(construct)
        if regex in seen:
            continue
        case = {"construct": construct.__name__, "regex": regex}
        try:
            split = Split(Regex(regex), "isolated")
            replace, remove = Replace(Regex(regex), "\ufffc"), Replace(Regex(regex), "")
        except Exception:
            seen.add(regex)
            yield case
            continue
        try:
            case["texts"] = [{"text": text, "pieces": [piece for piece, _ in split.pre_tokenize_str(text)],
                              "replaced": replace.normalize_str(text), "removed": remove.normalize_str(text)}
                             for text in texts(chance, regex, 4)]
        except BaseException as error:  # it gives up: too many ways to match
            if type(error).__name__ != "PanicException":
                raise
            continue
        seen.add(regex)
        yield case


def main(count, seed, path):
    with open(path, "w") as out:
        for case in cases(int(count), int(seed)):
            out.write(json.dumps(case, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
