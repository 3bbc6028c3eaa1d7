// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/document_source.h"

#include <memory>

#include "bora/store/documents.h"
#include "bora/store/format.h"

namespace bora::run {

DocumentSource document_source(const std::vector<std::string>& paths) {
  std::vector<TextFile> files;
  for (const auto& path : paths) files.push_back({path});
  return document_source(std::move(files));
}

DocumentSource document_source(std::vector<TextFile> files) {
  struct State {
    std::vector<TextFile> files;
    std::size_t next = 0;
    std::unique_ptr<store::DocumentReader> reader;
  };
  auto state = std::make_shared<State>(State{std::move(files), 0, nullptr});
  return [state]() -> std::optional<std::string_view> {
    for (;;) {
      store::TextPiece piece;
      if (state->reader && state->reader->next(piece)) return piece.text;
      if (state->next >= state->files.size()) return std::nullopt;
      const TextFile& file = state->files[state->next++];
      auto source = store::look_up_sources({file.path})[0];
      state->reader = store::open_documents({source, 0, source.size}, file.format);
    }
  };
}

}  // namespace bora::run
