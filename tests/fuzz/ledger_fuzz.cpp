// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The ledger of a token cache, and a cache that claims to be what it says: with two shards, in any order.
#include "bora/store/ledger.h"
#include "bora/store/token_cache.h"
#include "fuzz.h"
#include "memory_files.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  const std::string shard("\1\0\2\0\3\0\4\0", 8), offsets("\4\0\0\0\0\0\0\0", 8);
  const fuzz::MemoryFiles files({{"c/ledger.json", std::string(fuzz::text_of(data, size))},
                                 {"c/tokens-00000.bin", shard},
                                 {"c/offsets-00000.bin", offsets},
                                 {"c/tokens-00001.bin", shard},
                                 {"c/offsets-00001.bin", offsets}});
  return fuzz::refuse_or_accept([&] {
    const auto ledger = store::read_ledger("c");
    if (ledger) store::plan_shards(ledger->sources, std::max<std::uint64_t>(ledger->shard_bytes, 1 << 20));
    const auto cache = store::TokenCache::open("c");
    (void)cache->tokens(0, cache->num_tokens());
    for (std::int64_t d = 0; d < cache->num_documents(); ++d) (void)cache->document_end(d);
    cache->verify();
  });
}
