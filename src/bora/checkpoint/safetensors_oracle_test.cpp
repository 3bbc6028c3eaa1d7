// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Files as they come from a writer and then are changed, against the Python library `safetensors`: taken and refused alike,
// with the same tensors. Where Bora is stricter stands in exception_of.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <utility>

#include "bora/base/env.h"
#include "bora/base/text.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

using test::Folder;
using test::write_file;

// A line for each of the files that lie one after another in the pack, each after its size: "refused", or the tensors.
constexpr std::string_view kVerdicts = R"PY(
import os, struct, sys
from safetensors import SafetensorError, deserialize, safe_open
pack, out = open(sys.argv[1], "rb").read(), open(sys.argv[2], "w")
def opens(data):
    with open(sys.argv[3], "wb") as file:
        file.write(data)
    try:
        with safe_open(sys.argv[3], framework="np"):
            return True
    except SafetensorError:
        return False
    finally:
        os.remove(sys.argv[3])
at = n = 0
while at < len(pack):
    size, = struct.unpack_from("<I", pack, at)
    data = pack[at + 4:at + 4 + size]
    at += 4 + size
    n += 1
    try:
        tensors = deserialize(data)
        verdict = ";".join(sorted("%s:%s%s:%s" % (name.encode().hex(), t["dtype"], list(t["shape"]), bytes(t["data"]).hex())
                                  for name, t in tensors))
    except SafetensorError:
        verdict = "refused"
    if n % 50 == 0 and opens(data) == (verdict == "refused"):
        verdict = "the library disagrees with itself"
    out.write(verdict + "\n")
)PY";

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// Files, the same in every run.
class ChangedFiles {
 public:
  std::string next() {
    tokens_.clear();
    bytes_ = 0;
    header();
    if (one_of(2)) {
      for (auto n = 1 + below(2); n > 0; --n) change_a_token();
    }
    std::string text;
    for (const std::string& token : tokens_) text += token + (one_of(60) ? any({" ", "\n", "\t", "\r"}) : "");
    if (one_of(3)) text.append(8 - text.size() % 8, ' ');
    std::uint64_t size = text.size();
    if (one_of(25)) size += below(5) - 2;
    if (one_of(400))
      size = any<std::uint64_t>({0, 100'000'000, 100'000'001, ~0ULL, 1ULL << 63, size + bytes_});
    std::string out(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(size >> 8 * i & 0xff);
    out += text;
    if (one_of(25)) bytes_ += below(5) - 2;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(bytes_, 4096); ++i)
      out += static_cast<char>(7 * i + 3);
    if (one_of(5)) {
      for (auto n = 1 + below(2); n > 0; --n) change_bytes(out);
    }
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_of(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T any(std::initializer_list<T> of) {
    return of.begin()[below(of.size())];
  }
  std::string any(std::initializer_list<const char*> of) { return of.begin()[below(of.size())]; }
  void say(std::initializer_list<std::string> tokens) { tokens_.insert(tokens_.end(), tokens); }

  std::string quoted_name() {
    if (one_of(4)) {
      return any({R"("")", R"("\u0061")", R"("\ud83d\ude00")", "\"\xc3\xa9\"", R"("\"\\\/\b\n")",
                  R"("a\u0000b")", R"("__metadata_")", R"("dtype")"});
    }
    return fmt::format("\"{}{}\"", any({"a", "b", "w.", "layers.0."}), tokens_.size());
  }

  // A tensor that lies behind the others, unless it is moved.
  void tensor() {
    static constexpr std::pair<const char*, std::uint64_t> kBits[] = {
        {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
        {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
        {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
        {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};
    const auto& [type, bits] = kBits[below(std::size(kBits))];
    std::vector<std::uint64_t> shape(below(4));
    std::uint64_t elements = 1;
    for (auto& n : shape) elements *= n = one_of(12) ? 0 : 1 + below(4);
    if (elements * bits % 8 != 0 && !one_of(8)) {
      shape.push_back(4);
      elements *= 4;
    }
    if (one_of(100)) {  // no element, whatever the other size is
      shape.push_back(0);
      shape.push_back(any<std::uint64_t>({INT64_MAX, 1ULL << 63, ~0ULL}));
      std::shuffle(shape.begin(), shape.end(), random_);
      elements = 0;
    }
    auto begin = bytes_, end = bytes_ + elements * bits / 8;
    bytes_ = end;
    if (one_of(40)) begin += below(5) - 2;
    if (one_of(40)) end += below(5) - 2;
    if (one_of(60)) std::swap(begin, end);
    std::vector<std::vector<std::string>> fields = {
        {"\"dtype\"", ":", fmt::format(fmt::runtime(one_of(200) ? R"({{"{}":null}})" : R"("{}")"), type)},
        {"\"shape\"", ":", "["},
        {"\"data_offsets\"", ":", "[", fmt::to_string(begin), ",", fmt::to_string(end), "]"}};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i > 0) fields[1].emplace_back(",");
      fields[1].push_back(fmt::to_string(shape[i]));
    }
    fields[1].emplace_back("]");
    if (one_of(8)) fields.push_back({"\"more\"", ":", one_of(2) ? value() : "{\"b\":[1,{\"c\":null}]}"});
    if (one_of(30)) fields.push_back(fields[below(fields.size())]);
    if (one_of(40)) fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(below(fields.size())));
    if (one_of(200)) {  // its values alone, in the order of the library
      say({quoted_name(), ":", "["});
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i > 0) say({","});
        tokens_.insert(tokens_.end(), fields[i].begin() + 2, fields[i].end());
      }
      return say({"]"});
    }
    std::shuffle(fields.begin(), fields.end(), random_);
    say({quoted_name(), ":", "{"});
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) say({","});
      tokens_.insert(tokens_.end(), fields[i].begin(), fields[i].end());
    }
    say({"}"});
  }

  void metadata() {
    say({any({R"("__metadata__")", R"("__metadata__")", R"("\u005f_metadata__")"}), ":"});
    if (one_of(8)) return say({any({"null", "1", "[]", "\"\"", "{}"})});
    say({"{"});
    for (auto i = below(3), n = i; i > 0; --i) {
      if (i < n) say({","});
      say({quoted_name(), ":", one_of(20) ? value() : quoted_name()});
    }
    say({"}"});
  }

  // Tensors in any order.
  void header() {
    const auto entries = below(5);
    std::vector<std::vector<std::string>> all;
    for (std::uint64_t i = 0; i < entries; ++i) {
      tensor();
      all.push_back(std::exchange(tokens_, {}));
    }
    for (auto n = one_of(3) ? 1 + (one_of(20) ? 1 : 0) : 0; n > 0; --n) {
      metadata();
      all.push_back(std::exchange(tokens_, {}));
    }
    if (!all.empty() && one_of(40)) all.push_back(all[below(all.size())]);
    std::shuffle(all.begin(), all.end(), random_);
    say({"{"});
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) say({","});
      tokens_.insert(tokens_.end(), all[i].begin(), all[i].end());
    }
    say({"}"});
  }

  std::string value() {
    if (one_of(20)) {
      const auto depth = one_of(2) ? 120 + below(12) : below(300);
      return std::string(depth, '[') + std::string(depth, ']');
    }
    if (one_of(6)) return fmt::format(R"({{"b":[{},{{"c":{}}}]}})", value(), value());
    return any({"0",
                "1",
                "2",
                "4",
                "8",
                "-1",
                "-0",
                "00",
                "01",
                "1.0",
                "1e0",
                "1e2",
                "1e400",
                "-1e400",
                "1E+2",
                "1.",
                ".5",
                "+1",
                "0x1",
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
                "18446744073709551616",
                "4294967296",
                "null",
                "true",
                "false",
                "nul",
                "True",
                "NaN",
                "Infinity",
                "[]",
                "{}",
                "[[]]",
                "[0,0]",
                "\"\"",
                "\"1\"",
                "\"F32\"",
                "\"f32\"",
                "\"F32 \"",
                "\"F33\"",
                R"("F\u0033\u0032")",
                R"("\ud800")",
                R"("\ud800\ud800")",
                R"("\udc00")",
                R"("\u12")",
                R"("\x41")",
                "\"\n\"",
                "\"\x7f\"",
                "\"\xff\"",
                "\"\xc0\x80\"",
                "\"\xed\xa0\x80\"",
                "\"\xf4\x90\x80\x80\"",
                "\"\xef\xbf\xbf\"",
                "{\"F32\":null}",
                "[\"F32\",[1],[0,4]]",
                "/**/1",
                "//\n1",
                "'a'"});
  }

  void change_a_token() {
    const auto at = tokens_.begin() + static_cast<std::ptrdiff_t>(below(tokens_.size()));
    switch (below(6)) {
      case 0:
        *at = value();
        break;
      case 1:
        tokens_.erase(at);
        if (tokens_.empty()) say({"{}"});
        break;
      case 2:
        tokens_.insert(at, one_of(2) ? value() : tokens_[below(tokens_.size())]);
        break;
      case 3:
        std::swap(*at, tokens_[below(tokens_.size())]);
        break;
      case 4:
        tokens_.insert(
            at, any({",", ":", "{", "}", "[", "]", "\"", " ", "\f", "\v", "\xef\xbb\xbf", "\xc2\xa0", "\\"}));
        break;
      default:  // only what is a number or a word: another of its kind
        for (auto& token : tokens_) {
          if (is_digit(token[0]) && one_of(4)) token = value();
          if (token.starts_with("\"F") && one_of(4))
            token = any({"\"F32\"", "\"BF16\"", "\"F8_E4M3\"", "\"F4\"", "\"F128\""});
        }
    }
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void change_bytes(std::string& file) {
    if (file.empty()) return;
    const auto at = below(file.size());
    switch (below(7)) {
      case 0:
        file[at] = static_cast<char>(file[at] ^ 1 << below(8));
        break;
      case 1:
        file[at] = static_cast<char>(below(256));
        break;
      case 2:
        file.insert(at, 1, static_cast<char>(one_of(3) ? 0 : below(256)));
        break;
      case 3:
        file.erase(at, 1 + below(4));
        break;
      case 4:
        file.insert(at, file.substr(below(file.size()), 1 + below(16)));
        break;
      case 5:
        file.resize(one_of(3) ? below(12) : at);
        break;
      default:  // zeros, as a disk leaves them
        std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(at), std::min(1 + below(8), file.size() - at),
                    '\0');
    }
  }

  std::mt19937_64 random_{19};
  std::vector<std::string> tokens_;
  std::uint64_t bytes_ = 0;
};

// What SafetensorsFile makes of a file, in the words of kVerdicts, or its error.
struct Verdict {
  std::string tensors, error;
};
Verdict our_verdict(const std::string& path) {
  try {
    const SafetensorsFile file(path);
    std::vector<std::string> lines;
    for (const StoredTensor& t : file.tensors()) {
      std::vector<std::byte> data(t.byte_size());
      file.copy(t, data);
      lines.push_back(fmt::format("{}:{}[{}]:{}", hex_of(t.name), name(t.type), fmt::join(t.shape, ", "),
                                  hex_of({reinterpret_cast<const char*>(data.data()), data.size()})));
    }
    std::sort(lines.begin(), lines.end());
    return {fmt::format("{}", fmt::join(lines, ";")), ""};
  } catch (const Error& e) {
    return {"", e.what()};
  }
}

// Bora's rules that the library does not have: what is ambiguous to other readers, or means nothing. "" for none.
std::string exception_of(const std::string& error) {
  for (const char* rule : {"appears twice", "does not begin with {", "should be an object but is a list",
                           "dtype is an object", "which is too large"}) {
    if (error.find(rule) != std::string::npos) return rule;
  }
  return "";
}

// BORA_SAFETENSORS_PYTHON names a Python with `safetensors` and `numpy`, BORA_TEST_CHANGED_FILES says how many files.
TEST(SafetensorsOracle, ChangedFilesAreTakenAndRefusedAlike) {
  const auto python = env::for_tests("BORA_SAFETENSORS_PYTHON");
  if (!python)
    GTEST_SKIP() << "BORA_SAFETENSORS_PYTHON names no Python with `safetensors`: nothing to compare with";
  const auto wanted = parse_int(env::for_tests("BORA_TEST_CHANGED_FILES").value_or("5000")).value_or(5000);
  Folder folder;
  write_file(folder / "verdicts.py", kVerdicts);
  const std::string path = folder / "m.safetensors";
  const auto command = fmt::format("'{}' '{}' '{}' '{}' '{}' 2> '{}'", *python, folder / "verdicts.py",
                                   folder / "pack", folder / "answers", folder / "theirs", folder / "errors");
  ChangedFiles changed;
  std::map<std::string, int> exceptions;
  std::int64_t taken = 0, refused = 0, wrong = 0;
  for (std::int64_t done = 0; done < wanted && wrong < 10;) {
    std::vector<std::string> batch;
    std::string pack;
    for (; std::ssize(batch) < 20'000 && done < wanted; ++done) {
      batch.push_back(changed.next());
      const auto size = static_cast<std::uint32_t>(batch.back().size());
      pack.append(reinterpret_cast<const char*>(&size), sizeof size);
      pack += batch.back();
    }
    write_file(folder / "pack", pack);
    ASSERT_EQ(std::system(command.c_str()), 0) << command << "\n" << read_text(folder / "errors");
    const std::string said = read_text(folder / "answers");
    const auto theirs = split(said, '\n');
    ASSERT_EQ(theirs.size(), batch.size() + 1);
    for (std::size_t i = 0; i < batch.size() && wrong < 10; ++i) {
      write_file(path, batch[i]);
      const auto ours = our_verdict(path);
      files().remove(path);  // some disks are slow where a file is cut and written anew
      const bool both = ours.error.empty() ? theirs[i] == ours.tensors : theirs[i] == "refused";
      if (both) {
        ++(ours.error.empty() ? taken : refused);
      } else if (const auto rule = exception_of(ours.error); !rule.empty() && theirs[i] != "refused") {
        ++exceptions[rule];
      } else {
        ++wrong;
        ADD_FAILURE() << Json(hex_of(batch[i])).dump() << "\n"
                      << batch[i].substr(0, 700)
                      << "\nBora: " << (ours.error.empty() ? ours.tensors : ours.error)
                      << "\nthe library: " << theirs[i];
      }
    }
  }
  fmt::print("{} files: {} taken by both, {} refused by both", wanted, taken, refused);
  for (const auto& [rule, n] : exceptions) fmt::print(", {} by Bora alone ({})", n, rule);
  fmt::print("\n");
  EXPECT_GT(taken, wanted / 10);
  EXPECT_GT(refused, wanted / 10);
}

}  // namespace
}  // namespace bora::checkpoint
