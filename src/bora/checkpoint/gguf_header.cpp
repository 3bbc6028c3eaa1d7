// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The format stands at the head of gguf_writer.cpp.
#include "bora/checkpoint/gguf_header.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::uint64_t kBlock = 32, kAlignment = 32, kMaxAlignment = 1U << 20;
constexpr std::uint32_t kMaxAxes = 4;
constexpr int kMaxNesting = 4;
constexpr std::uint64_t kLeastPair = 8 + 4 + 1, kLeastTensor = 8 + 4 + 8 + 4 + 8;

// Kinds of values.
enum Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64, kinds };

// The fewest bytes of a value.
std::uint64_t least_bytes(std::uint32_t kind) {
  constexpr std::uint64_t bytes[kinds] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return bytes[kind];
}

std::string printable(std::string_view text) {
  auto out = Json(std::string(text.substr(0, 100))).dump(-1, ' ', true, Json::error_handler_t::replace);
  return out.substr(1, out.size() - 2);
}

double shortest(float x) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, x).ptr;
  double out = 0;
  std::from_chars(text, end, out);
  return std::isfinite(x) ? out : static_cast<double>(x);
}

class Reader {
 public:
  Reader(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {}

  GgufHeader header() {
    GgufHeader out;
    begin(out);
    const auto tensors = count("tensors", kLeastTensor), pairs = count("values", kLeastPair);
    for (std::uint64_t i = 0; i < pairs; ++i) read_pair(i, out);
    align(out);
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor(i, out);
    place(out);
    return out;
  }

 private:
  std::uint64_t left() const { return file_.size() - at_; }

  template <class... Args>
  [[noreturn]] void corrupt(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::Corruption, "{}: GGUF: {}\nhint: fetch the file again", path_,
         fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::Unsupported, "{}: GGUF: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  template <class T>
  T number(const std::string& who) {
    if (left() < sizeof(T))
      corrupt("{} needs {} bytes at byte {}, but the file ends {} bytes later", who, sizeof(T), at_, left());
    T out;
    std::memcpy(&out, file_.data() + at_, sizeof out);
    at_ += sizeof out;
    return out;
  }

  std::string string(const std::string& who) {
    const auto length = number<std::uint64_t>(who);
    if (length > left())
      corrupt("{} is said to be {} bytes long at byte {}, but the file ends {} bytes later", who, length, at_,
              left());
    std::string out(reinterpret_cast<const char*>(file_.data()) + at_, length);
    at_ += length;
    return out;
  }

  void begin(GgufHeader& out) {
    const std::string_view start(reinterpret_cast<const char*>(file_.data()),
                                 std::min<std::size_t>(file_.size(), 4));
    if (start != "GGUF")
      fail(ErrorKind::Corruption,
           "{}: no GGUF file: it begins with \"{}\" instead of \"GGUF\"\nhint: give a .gguf file, or the "
           "directory of a Hugging Face model",
           path_, printable(start));
    at_ = 4;
    out.version = number<std::uint32_t>("the version");
    if (out.version == 2 || out.version == 3) return;
    if ((out.version & 0xffffU) == 0)
      unsupported(
          "the numbers are big endian (version {:#010x}); little endian is read\nhint: convert it with "
          "gguf-convert-endian of the PyPI package gguf",
          out.version);
    unsupported("version {} is not read; 2 and 3 are\nhint: make the file anew with a program of today",
                out.version);
  }

  // No more than the rest of the file can hold.
  std::uint64_t count(const char* what, std::uint64_t least) {
    const auto n = number<std::uint64_t>(fmt::format("the number of {}", what));
    if (n > left() / least)
      corrupt("{} {} are announced, but the {} bytes that follow hold {} at most", n, what, left(),
              left() / least);
    return n;
  }

  Json value(std::uint32_t kind, const std::string& who, int depth) {
    switch (kind) {
      case u8:
        return number<std::uint8_t>(who);
      case i8:
        return number<std::int8_t>(who);
      case u16:
        return number<std::uint16_t>(who);
      case i16:
        return number<std::int16_t>(who);
      case u32:
        return number<std::uint32_t>(who);
      case i32:
        return number<std::int32_t>(who);
      case f32:
        return shortest(number<float>(who));
      case boolean: {
        const auto byte = number<std::uint8_t>(who);
        if (byte > 1) corrupt("{} is {}, but true or false is 1 or 0", who, byte);
        return byte == 1;
      }
      case text:
        return string(who);
      case array:
        return values(who, depth + 1);
      case u64:
        return number<std::uint64_t>(who);
      case i64:
        return number<std::int64_t>(who);
      case f64:
        return number<double>(who);
      default:
        corrupt("{} is of kind {}, but kinds are 0 to {}", who, kind, kinds - 1);
    }
  }

  Json values(const std::string& who, int depth) {
    if (depth > kMaxNesting) corrupt("{} is nested more than {} times", who, kMaxNesting);
    const auto kind = number<std::uint32_t>(who);
    if (kind >= kinds) corrupt("{} is of kind {}, but kinds are 0 to {}", who, kind, kinds - 1);
    const auto n = number<std::uint64_t>(who);
    if (n > left() / least_bytes(kind))
      corrupt("{} is said to have {} elements, but the {} bytes that follow hold {} at most", who, n, left(),
              left() / least_bytes(kind));
    Json out = Json::array();
    for (std::uint64_t i = 0; i < n; ++i) out.push_back(value(kind, who, depth));
    return out;
  }

  void read_pair(std::uint64_t i, GgufHeader& out) {
    auto key = string(fmt::format("key {}", i));
    if (key.empty()) corrupt("key {} is empty", i);
    const auto who = printable(key);
    const auto kind = number<std::uint32_t>(who);
    if (out.metadata.contains(key)) corrupt("there are two values of {}", who);
    out.metadata.emplace(std::move(key), value(kind, who, 0));
  }

  void align(const GgufHeader& header) {
    const auto found = header.metadata.find("general.alignment");
    if (found == header.metadata.end()) return;
    const auto& value = found->second;
    alignment_ = value.is_number_integer() && value >= 0 ? value.get<std::uint64_t>() : 0;
    if (alignment_ < 8 || alignment_ > kMaxAlignment || !std::has_single_bit(alignment_))
      corrupt("general.alignment is {}, but must be a power of two from 8 to {}",
              value.dump(-1, ' ', true, Json::error_handler_t::replace), kMaxAlignment);
  }

  GgufStored type_of(std::uint32_t type, const std::string& who) const {
    for (const auto known : {GgufStored::f32, GgufStored::f16, GgufStored::q8_0, GgufStored::bf16})
      if (type == static_cast<std::uint32_t>(known)) return known;
    constexpr std::pair<std::uint32_t, const char*> names[] = {
        {2, "Q4_0"},  {3, "Q4_1"},  {6, "Q5_0"},  {7, "Q5_1"},  {10, "Q2_K"}, {11, "Q3_K"},
        {12, "Q4_K"}, {13, "Q5_K"}, {14, "Q6_K"}, {15, "Q8_K"}, {28, "F64"},  {39, "MXFP4"}};
    std::string given = std::to_string(type);
    for (const auto& [number, name] : names)
      if (number == type) given = fmt::format("{} ({})", name, type);
    unsupported(
        "tensor {} has numbers of kind {}; F32, F16, BF16 and Q8_0 are read\nhint: take a file of one of "
        "these kinds, or the Hugging Face directory of the model",
        who, given);
  }

  void read_tensor(std::uint64_t i, GgufHeader& out) {
    GgufStoredTensor t;
    t.name = string(fmt::format("the name of tensor {}", i));
    const auto who = printable(t.name), what = "tensor " + who;
    if (!names_.insert(t.name).second) corrupt("there are two tensors {}", who);
    const auto axes = number<std::uint32_t>(what);
    if (axes == 0 || axes > kMaxAxes)
      corrupt("tensor {} has {} axes, but must have 1 to {}", who, axes, kMaxAxes);
    std::uint64_t elements = 1;
    for (std::uint32_t axis = 0; axis < axes; ++axis) {
      const auto size = number<std::uint64_t>(what);
      // what is no longer than this in every kind has a count of bytes
      constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
      if (size == 0 || size > kMost / elements)
        corrupt("tensor {} is said to be {} long along axis {} behind {} elements", who, size, axis,
                elements);
      elements *= size;
      t.shape.insert(t.shape.begin(), static_cast<std::int64_t>(size));
    }
    t.type = type_of(number<std::uint32_t>(what), who);
    const auto row = static_cast<std::uint64_t>(t.shape.back());
    if (t.type == GgufStored::q8_0 && row % kBlock != 0)
      corrupt("tensor {} is Q8_0 with rows of {}, but these are blocks of {}", who, row, kBlock);
    const auto bytes = t.type == GgufStored::f32    ? elements * 4
                       : t.type == GgufStored::q8_0 ? elements / kBlock * (kBlock + 2)
                                                    : elements * 2;
    t.begin = number<std::uint64_t>(what);
    if (t.begin % alignment_ != 0)
      corrupt("tensor {} begins at byte {}, which is no multiple of the alignment {}", who, t.begin,
              alignment_);
    if (t.begin > file_.size() || bytes > file_.size() - t.begin)
      corrupt("tensor {} is said to have {} bytes at byte {} of the data, but the whole file has {}", who,
              bytes, t.begin, file_.size());
    t.end = t.begin + bytes;
    out.tensors.push_back(std::move(t));
  }

  // Where the data begins, now that it is known: all tensors are in it, and none in another.
  void place(GgufHeader& out) const {
    out.data = (at_ + alignment_ - 1) / alignment_ * alignment_;
    const auto size = out.data < file_.size() ? file_.size() - out.data : 0;
    std::vector<const GgufStoredTensor*> order;
    for (const auto& t : out.tensors) {
      if (t.end > size)
        corrupt("tensor {} ends at byte {} of the data, but the file has {} bytes of data", printable(t.name),
                t.end, size);
      order.push_back(&t);
    }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i]->begin < order[i - 1]->end)
        corrupt("tensor {} begins at byte {} of the data, but {} ends at {}", printable(order[i]->name),
                order[i]->begin, printable(order[i - 1]->name), order[i - 1]->end);
  }

  std::span<const std::byte> file_;
  const std::string& path_;
  std::uint64_t at_ = 0, alignment_ = kAlignment;
  std::set<std::string> names_;
};

}  // namespace

std::string_view name(GgufStored type) {
  switch (type) {
    case GgufStored::f32:
      return "F32";
    case GgufStored::f16:
      return "F16";
    case GgufStored::q8_0:
      return "Q8_0";
    case GgufStored::bf16:
      return "BF16";
  }
  return "";
}

GgufHeader parse_gguf_header(std::span<const std::byte> file, const std::string& path) {
  return Reader(file, path).header();
}

bool is_gguf(const std::string& path) {
  const auto info = files().info(path);
  if (!info || info->is_directory || info->is_device) return false;
  if (path.ends_with(".gguf")) return true;
  std::byte start[4] = {};
  return files().open(path)->read_at(0, start) == 4 &&
         std::string_view(reinterpret_cast<char*>(start), 4) == "GGUF";
}

}  // namespace bora::checkpoint
