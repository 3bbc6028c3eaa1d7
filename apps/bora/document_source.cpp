// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "document_source.h"

#include <memory>

#include "bora/store/documents.h"
#include "bora/store/format.h"

namespace bora::app {

DocumentSource document_source(std::vector<std::string> paths) {
  struct State {
    std::vector<std::string> paths;
    std::size_t next = 0;
    std::unique_ptr<store::DocumentReader> reader;
  };
  auto state = std::make_shared<State>(State{std::move(paths), 0, nullptr});
  return [state]() -> std::optional<std::string_view> {
    for (;;) {
      store::TextPiece piece;
      if (state->reader && state->reader->next(piece)) return piece.text;
      if (state->next >= state->paths.size()) return std::nullopt;
      auto source = store::look_up_sources({state->paths[state->next++]})[0];
      state->reader = store::open_documents({source, 0, source.size}, {});
    }
  };
}

}  // namespace bora::app
