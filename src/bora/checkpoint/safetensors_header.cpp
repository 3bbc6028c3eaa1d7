// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/json.h"

namespace bora::checkpoint {
namespace {

struct TypeInfo {
  std::string_view name;
  std::uint64_t bits;
};

// By StoredType's order.
constexpr std::array<TypeInfo, 22> kTypes = {
    {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
     {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
     {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
     {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}}};

// Names may hold any character: those that end a text or steer a terminal are shown as JSON writes them.
[[noreturn]] void refuse(std::string_view file, std::string_view what) {
  std::string shown;
  for (const char c : what) {
    const bool steers = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    shown += steers ? fmt::format("\\u{:04x}", static_cast<int>(c)) : std::string(1, c);
  }
  fail(ErrorKind::Corruption, "{}: safetensors header: {}", file, shown);
}

// As deep as the format's own library reads, the header's two objects included.
constexpr int kDeepest = 127;

// Builds the header from the parser's events: no document tree, so that a hostile header costs little memory,
// and equal keys are seen (a tree keeps only the last).
class HeaderBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit HeaderBuilder(std::string_view file) : file_(file) {}

  bool null() {
    if (state_ != State::Top || key_ != kMetadata) return scalar("null");
    begin_metadata();
    return true;
  }
  bool boolean(bool) { return scalar("a boolean"); }
  bool number_integer(number_integer_t) { return scalar("a negative number"); }
  bool number_float(number_float_t, const string_t&) { return scalar("not a whole number"); }
  bool binary(binary_t&) { return false; }

  bool number_unsigned(number_unsigned_t value) {
    if (state_ != State::Numbers) return scalar("a number");
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& value) {
    if (state_ == State::Metadata) {
      header_.metadata.emplace_back(key_, std::move(value));
      return true;
    }
    if (state_ != State::Entry || key_ != "dtype") return scalar("a string");
    const auto type = parse_stored_type(value);
    if (!type) stop("tensor {}: unknown dtype \"{}\"", tensor_.name, value);
    tensor_.type = *type;
    return true;
  }

  bool start_object(std::size_t) {
    if (state_ == State::Outside) {
      state_ = State::Top;
    } else if (state_ == State::Top && key_ == kMetadata) {
      begin_metadata();
      state_ = State::Metadata;
    } else if (state_ == State::Top) {
      tensor_ = {};
      tensor_.name = key_;
      seen_ = {};
      state_ = State::Entry;
    } else {
      descend("an object");
    }
    return true;
  }
  bool end_object() {
    if (ascend()) return true;
    if (state_ == State::Entry) finish_entry();
    state_ = state_ == State::Top ? State::Outside : State::Top;
    return true;
  }

  bool start_array(std::size_t) {
    if (state_ == State::Entry && (key_ == "shape" || key_ == "data_offsets")) {
      state_ = State::Numbers;
      numbers_.clear();
    } else {
      descend("a list");
    }
    return true;
  }
  bool end_array() {
    if (ascend()) return true;
    state_ = State::Entry;
    if (key_ == "shape")
      finish_shape();
    else
      finish_offsets();
    return true;
  }

  bool key(string_t& value) {
    key_ = std::move(value);
    if (state_ == State::Entry) check_entry_key();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    stop("malformed JSON at byte {}", position + 8);
  }

  SafetensorsHeader take() { return std::move(header_); }

 private:
  enum class State { Outside, Top, Metadata, Entry, Numbers, Skipped };
  static constexpr std::string_view kMetadata = "__metadata__";

  template <class... Args>
  [[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) const {
    refuse(file_, fmt::format(format, std::forward<Args>(args)...));
  }

  bool known_key() const { return key_ == "dtype" || key_ == "shape" || key_ == "data_offsets"; }

  // A value that is not expected here: an error, except under a key that the format does not define.
  void check_unexpected(std::string_view what) const {
    if (state_ == State::Skipped || (state_ == State::Entry && !known_key())) return;
    if (state_ == State::Outside) stop("the header should be an object but is {}", what);
    if (state_ == State::Top) stop("{} should be an object but is {}", key_, what);
    if (state_ == State::Metadata) stop("__metadata__: {} should be a string but is {}", key_, what);
    if (state_ == State::Numbers) stop("tensor {}: {} contains {}", tensor_.name, key_, what);
    stop("tensor {}: {} is {}", tensor_.name, key_, what);
  }
  bool scalar(std::string_view what) const {
    check_unexpected(what);
    return true;
  }
  void descend(std::string_view what) {
    check_unexpected(what);
    if (skipped_depth_ == 0) skipped_key_ = key_;
    state_ = State::Skipped;
    if (++skipped_depth_ > kDeepest - 2)
      stop("tensor {}: {} is nested deeper than {} levels", tensor_.name, skipped_key_, kDeepest);
  }
  bool ascend() {
    if (state_ != State::Skipped) return false;
    if (--skipped_depth_ == 0) state_ = State::Entry;
    return true;
  }

  void begin_metadata() {
    if (seen_metadata_) stop("__metadata__ appears twice");
    seen_metadata_ = true;
  }
  void check_entry_key() {
    constexpr std::array<std::string_view, 3> keys = {"dtype", "shape", "data_offsets"};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (key_ != keys[i]) continue;
      if (seen_[i]) stop("tensor {}: {} appears twice", tensor_.name, key_);
      seen_[i] = true;
    }
  }
  void finish_shape() {
    for (const std::uint64_t n : numbers_) {
      if (n > INT64_MAX) stop("tensor {}: shape contains {}, which is too large", tensor_.name, n);
      tensor_.shape.push_back(static_cast<std::int64_t>(n));
    }
  }
  void finish_offsets() {
    if (numbers_.size() != 2)
      stop("tensor {}: data_offsets has {} numbers, not 2", tensor_.name, numbers_.size());
    tensor_.begin = numbers_[0];
    tensor_.end = numbers_[1];
  }
  void finish_entry() {
    if (!seen_[0]) stop("tensor {}: dtype is missing", tensor_.name);
    if (!seen_[1]) stop("tensor {}: shape is missing", tensor_.name);
    if (!seen_[2]) stop("tensor {}: data_offsets is missing", tensor_.name);
    header_.tensors.push_back(std::move(tensor_));
  }

  std::string_view file_;
  State state_ = State::Outside;
  int skipped_depth_ = 0;
  bool seen_metadata_ = false;
  std::array<bool, 3> seen_ = {};
  std::string key_, skipped_key_;
  StoredTensor tensor_;
  std::vector<std::uint64_t> numbers_;
  SafetensorsHeader header_;
};

template <class Range, class NameOf>
void check_unique(const Range& items, NameOf name_of, std::string_view what, std::string_view file) {
  std::vector<std::string_view> names;
  for (const auto& item : items) names.push_back(name_of(item));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) refuse(file, fmt::format("{} {} appears twice", what, *twice));
}

// Tensors must fill the data section in order, each with the size that its type and shape give.
void check_layout(const std::vector<StoredTensor>& tensors, std::uint64_t data_bytes, std::string_view file) {
  const auto stop = [&](const StoredTensor& t, const std::string& what) {
    refuse(file, fmt::format("tensor {}: data_offsets [{}, {}] {}", t.name, t.begin, t.end, what));
  };
  std::uint64_t at = 0;
  for (const StoredTensor& t : tensors) {
    if (t.end < t.begin) stop(t, "end before they begin");
    if (t.begin != at)
      stop(t, fmt::format("{} {}", t.begin < at ? "overlap what ends at" : "leave a hole after", at));
    const auto size = stored_bytes(t.type, t.shape);
    if (!size || *size != t.end - t.begin) {
      stop(t, fmt::format("hold {} bytes, but {} [{}] needs {}", t.end - t.begin, name(t.type),
                          fmt::join(t.shape, ", "), size ? fmt::to_string(*size) : "an impossible number"));
    }
    at = t.end;
  }
  if (at != data_bytes) {
    fail(ErrorKind::Corruption, "{}: safetensors: tensors end at byte {} of the data, but the file holds {}",
         file, at, data_bytes);
  }
}

}  // namespace

std::string_view name(StoredType type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::uint64_t bits(StoredType type) { return kTypes[static_cast<std::size_t>(type)].bits; }

std::optional<StoredType> parse_stored_type(std::string_view text) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == text) return static_cast<StoredType>(i);
  }
  return std::nullopt;
}

std::optional<core::DType> core_type(StoredType type) {
  switch (type) {
    case StoredType::F32:
      return core::DType::f32;
    case StoredType::F64:
      return core::DType::f64;
    case StoredType::BF16:
      return core::DType::bf16;
    case StoredType::F16:
      return core::DType::f16;
    case StoredType::I64:
      return core::DType::i64;
    case StoredType::I32:
      return core::DType::i32;
    case StoredType::U8:
      return core::DType::u8;
    case StoredType::BOOL:
      return core::DType::boolean;
    default:
      return std::nullopt;
  }
}

StoredType stored_type(core::DType dtype) {
  switch (dtype) {
    case core::DType::f32:
      return StoredType::F32;
    case core::DType::f64:
      return StoredType::F64;
    case core::DType::bf16:
      return StoredType::BF16;
    case core::DType::f16:
      return StoredType::F16;
    case core::DType::i64:
      return StoredType::I64;
    case core::DType::i32:
      return StoredType::I32;
    case core::DType::u8:
      return StoredType::U8;
    case core::DType::boolean:
      return StoredType::BOOL;
  }
  return StoredType::F32;
}

std::int64_t StoredTensor::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

std::optional<std::uint64_t> stored_bytes(StoredType type, const std::vector<std::int64_t>& shape) {
  std::uint64_t n = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(n, static_cast<std::uint64_t>(size), &n)) return std::nullopt;
  }
  if (__builtin_mul_overflow(n, bits(type), &n) || n % 8 != 0) return std::nullopt;
  return n / 8;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           std::string_view file) {
  if (!json.starts_with('{')) refuse(file, "does not begin with {");
  // The parser takes a zero byte for the end, whatever follows it.
  if (const auto zero = json.find('\0'); zero != std::string_view::npos)
    refuse(file, fmt::format("malformed JSON at byte {}: a zero byte", zero + 9));
  HeaderBuilder builder(file);
  Json::sax_parse(json.begin(), json.end(), &builder);
  SafetensorsHeader header = builder.take();
  check_unique(header.tensors, [](const auto& t) { return std::string_view(t.name); }, "tensor", file);
  check_unique(
      header.metadata, [](const auto& m) { return std::string_view(m.first); }, "__metadata__ key", file);
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_layout(header.tensors, data_bytes, file);
  return header;
}

}  // namespace bora::checkpoint
