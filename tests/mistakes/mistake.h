// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Tables of mistakes: a file a group, in tests/mistakes.
//
//   # Title of the group
//
//   given: WORD             what else is done first (project.h); any number
//   file: NAME              its lines follow, each behind "| "
//   | content
//   $ train config.yaml     the words behind `bora`, as a shell reads them
//   names: a | b            words of the message that name the file, the key, the flag
//   values: 3 | 4           what was found and what is possible
//   next: words             of what to do next
//
// An empty line ends a mistake. Other lines beginning with "#" are comments.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace bora::mistakes {

struct Mistake {
  int line = 0;  ///< of its command, in the table
  std::vector<std::string> given;
  std::vector<std::pair<std::string, std::string>> files;  ///< names and contents
  std::string command;                                     ///< as it is typed, without `bora`
  std::vector<std::string> words;                          ///< the same for the program
  std::vector<std::string> names, values, next;
};

struct Group {
  std::string path;  ///< of its table, from the root of the sources
  std::string title;
  std::vector<Mistake> mistakes;
};

/// All tables, by their file names. Throws std::runtime_error with the line of what is not as above.
std::vector<Group> all_groups();

/// docs/reference/mistakes.md.
std::string page_of(const std::vector<Group>& groups);

}  // namespace bora::mistakes
