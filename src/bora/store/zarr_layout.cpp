// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/store/zarr_array.h"

namespace bora::store {
namespace {

constexpr std::uint64_t kLargestChunk = 64 << 20;  // bytes
constexpr std::uint64_t kMostChunks = 1 << 20;     // of one file: its index is then 16 MiB

struct Type {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<Type, 9> kTypes{{{"int8", 1},
                                      {"int16", 2},
                                      {"int32", 4},
                                      {"int64", 8},
                                      {"uint8", 1},
                                      {"uint16", 2},
                                      {"uint32", 4},
                                      {"uint64", 8},
                                      {"float32", 4}}};

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : name_(name), root_(parse_json(text, name, 16)) {}

  ZarrLayout layout() {
    if (!root_.is_object()) wrong("should be an object");
    if (number(root_, "zarr_format") != 3) refuse("zarr_format", root_.at("zarr_format"), "3");
    if (text(root_, "node_type") != "array") refuse("node_type", root_.at("node_type"), "array");
    parse_type();
    out_.size = single(root_, "shape");
    parse_grid();
    parse_separator();
    if (root_.contains("storage_transformers") && !root_["storage_transformers"].empty())
      refuse("storage_transformers", root_["storage_transformers"], "none");
    parse_codecs();
    const auto most = kLargestChunk / out_.element_bytes();
    if (out_.chunk_elements > most)
      refuse("a chunk", fmt::format("of {} elements", out_.chunk_elements), fmt::format("up to {}", most));
    return out_;
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    fail(ErrorKind::Corruption, "{}: {}", name_, what);
  }

  template <class T>
  [[noreturn]] void refuse(std::string_view what, const T& value, std::string_view read) const {
    std::string shown;
    if constexpr (std::is_same_v<T, Json>)
      shown = value.dump().substr(0, 80);
    else
      shown = value;
    fail(ErrorKind::Unsupported, "{}: {} {}, but Bora reads {}", name_, what, shown, read);
  }

  std::int64_t number(const Json& object, std::string_view key) const {
    return json_get<std::int64_t>(object, key, name_);
  }
  std::string text(const Json& object, std::string_view key) const {
    return json_get<std::string>(object, key, name_);
  }
  const Json& member(const Json& object, const std::string& key) const {
    const auto at = object.is_object() ? object.find(key) : object.end();
    if (at == object.end()) wrong(fmt::format("lacks {}", key));
    return *at;
  }

  /// The only number of a list, above 0.
  std::uint64_t single(const Json& object, const std::string& key) const {
    const Json& list = member(object, key);
    if (!list.is_array()) wrong(fmt::format("{} should be a list", key));
    if (list.size() != 1) refuse(key, list, "arrays of one dimension");
    if (!list[0].is_number_integer() || list[0].get<std::int64_t>() < 1)
      wrong(fmt::format("{} should be a number above 0 but is {}", key, list[0].dump().substr(0, 80)));
    return list[0].get<std::uint64_t>();
  }

  /// {"name": ..., "configuration": {...}}
  static const Json& configuration(const Json& named) {
    static const Json none = Json::object();
    const auto at = named.find("configuration");
    return at == named.end() || !at->is_object() ? none : *at;
  }

  void parse_type() {
    out_.data_type = text(root_, "data_type");
    const auto is_it = [this](const Type& type) { return type.name == out_.data_type; };
    if (std::none_of(kTypes.begin(), kTypes.end(), is_it))
      refuse("data_type", root_.at("data_type"), "whole numbers and float32");
    const Json& fill = member(root_, "fill_value");
    if (!fill.is_number() || fill.get<double>() != 0) refuse("fill_value", fill, "0");
  }

  void parse_grid() {
    const Json& grid = member(root_, "chunk_grid");
    if (text(grid, "name") != "regular") refuse("chunk_grid", grid, "regular");
    out_.shard_elements = out_.chunk_elements = single(configuration(grid), "chunk_shape");
  }

  void parse_separator() {
    const Json& keys = member(root_, "chunk_key_encoding");
    const std::string separator = json_get<std::string>(configuration(keys), "separator", name_, "/");
    if (text(keys, "name") != "default" || (separator != "/" && separator != "."))
      refuse("chunk_key_encoding", keys, "default");
    out_.separator = separator[0];
  }

  void parse_codecs() {
    const Json& list = member(root_, "codecs");
    if (!list.is_array() || list.empty()) wrong("codecs should be a list with entries");
    if (text(list[0], "name") != "sharding_indexed") {
      out_.codecs = chain(list);
      return;
    }
    if (list.size() > 1) refuse("codecs after sharding_indexed:", list[1], "none");
    parse_sharding(configuration(list[0]));
  }

  void parse_sharding(const Json& sharding) {
    out_.sharded = true;
    out_.chunk_elements = single(sharding, "chunk_shape");
    if (out_.shard_elements % out_.chunk_elements != 0)
      wrong(fmt::format("files of {} elements are no whole number of chunks of {}", out_.shard_elements,
                        out_.chunk_elements));
    if (out_.chunks_per_shard() > kMostChunks)
      refuse("a file", fmt::format("of {} chunks", out_.chunks_per_shard()),
             fmt::format("up to {}", kMostChunks));
    out_.codecs = chain(member(sharding, "codecs"));
    const ZarrCodecs index = chain(member(sharding, "index_codecs"));
    if (index.compressor != ZarrCodecs::Compressor::None)
      refuse("index_codecs", sharding.at("index_codecs"), "bytes and crc32c");
    out_.index_checksum = index.checksum;
    const std::string location = json_get<std::string>(sharding, "index_location", name_, "end");
    if (location != "end" && location != "start")
      refuse("index_location", sharding.at("index_location"), "end or start");
    out_.index_at_start = location == "start";
  }

  ZarrCodecs chain(const Json& list) const {
    constexpr std::string_view kChain = "bytes, then blosc, gzip or zstd, then crc32c";
    if (!list.is_array() || list.empty()) wrong("codecs should be a list with entries");
    ZarrCodecs out;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string name = text(list[i], "name");
      const bool first_compressor = out.compressor == ZarrCodecs::Compressor::None && !out.checksum;
      if ((i == 0) != (name == "bytes") || out.checksum) refuse("codecs", list, kChain);
      if (i == 0)
        check_endian(list[0]);
      else if (name == "crc32c")
        out.checksum = true;
      else if (name == "blosc" && first_compressor)
        out.compressor = ZarrCodecs::Compressor::Blosc;
      else if (name == "gzip" && first_compressor)
        out.compressor = ZarrCodecs::Compressor::Gzip;
      else if (name == "zstd" && first_compressor)
        out.compressor = ZarrCodecs::Compressor::Zstd;
      else
        refuse("codecs", list, kChain);
    }
    return out;
  }

  void check_endian(const Json& codec) const {
    if (json_get<std::string>(configuration(codec), "endian", name_, "little") != "little")
      refuse("codec", codec, "little endian");
  }

  const std::string& name_;
  Json root_;
  ZarrLayout out_;
};

}  // namespace

std::uint64_t ZarrLayout::element_bytes() const {
  const auto at =
      std::find_if(kTypes.begin(), kTypes.end(), [this](const Type& t) { return t.name == data_type; });
  return at == kTypes.end() ? 1 : at->bytes;
}

ZarrLayout parse_zarr_layout(std::string_view text, const std::string& name) {
  return Parser(text, name).layout();
}

}  // namespace bora::store
