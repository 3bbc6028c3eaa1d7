// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/models/whole_words.h"

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/tokenize/pipeline.h"
#include "bora/unicode/unicode.h"

namespace bora::tokenize {

namespace {

/// The piece that the vocabulary spells as `text`; false if there is none.
bool piece_of(const Pipeline& p, std::string_view text, std::string& piece) {
  piece.clear();
  if (p.bytes) return bytes_from_alphabet(text, piece) && !piece.empty();
  piece = text;
  return !piece.empty();
}

/// Whether the model makes `id` of the piece, and nothing else.
bool is_whole(const Model& model, std::string_view piece, std::int32_t id, std::vector<std::int32_t>& ids) {
  ids.clear();
  try {
    model.append_ids(piece, false, ids);
  } catch (
      const Error&) {  // a character that the model does not know: encoding such a piece is an error as well
    return false;
  }
  return ids.size() == 1 && ids[0] == id;
}

}  // namespace

WholeWords find_whole_words(const Pipeline& p) {
  const Vocabulary& vocabulary = p.model->vocabulary();
  WholeWords words{WordTable(static_cast<std::size_t>(vocabulary.count())), true};
  std::string piece;
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id) || !piece_of(p, vocabulary.text(id), piece)) continue;
    if (!is_whole(*p.model, piece, id, ids)) continue;
    if (p.control[static_cast<std::size_t>(id)])
      words.complete = false;
    else
      words.table.add(piece, id);
  }
  return words;
}

}  // namespace bora::tokenize
