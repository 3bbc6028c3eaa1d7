// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// model.safetensors.index.json, as a model's folder has it and as the hub's cache does: what it names lies beside it.
#include <array>

#include "bora/checkpoint/weight_index.h"
#include "bora/store/hub.h"
#include "fuzz.h"
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  const std::string commit(40, 'c'), there = "hub/models--me--tiny/snapshots/" + commit,
                                     index = path_join(there, "model.safetensors.index.json");
  std::map<std::string, std::string> contents = {{index, std::string(fuzz::text_of(data, size))},
                                                 {path_join(there, "config.json"), "{}"}};
  constexpr std::array<std::string_view, 2> kShards = {"a.safetensors", "b.safetensors"};
  for (const auto shard : kShards) contents[path_join(there, std::string(shard))] = "";
  const fuzz::MemoryFiles files(std::move(contents));
  fuzz::refuse_or_accept([&] {
    const store::HubOptions options{.cache = "hub", .offline = true};
    (void)store::fetch_from_hub(*store::parse_hub_repo("me/tiny@" + commit), store::HubFiles::Weights,
                                options);
  });
  return fuzz::refuse_or_accept([&] {
    for (const auto& [tensor, shard] : checkpoint::read_weight_index(index))
      if (shard != kShards[0] && shard != kShards[1]) __builtin_trap();
  });
}
