// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

namespace bora::law {

/// One text file of the checkout.
struct SourceFile {
  std::string path;  ///< from the root, "src/bora/base/error.h"
  std::vector<std::string> lines;
};

/// One breach, "src/bora/store/x.h:3: what is wrong; what to do".
using Problems = std::vector<std::string>;
using Law = Problems (*)(const SourceFile&);

/// Every text file that people write: sources, build files, scripts, recipes, documentation. Sorted by path.
std::vector<SourceFile> source_files(const std::string& root);

bool is_test(const std::string& path);

/// Of one of core's sources "src/bora/core/ops/rope.cpp": the headers of the same name, one of which there
/// has to be. Empty for tests and for other rooms.
std::vector<std::string> headers_of(const std::string& source);

/// What the list of installed headers has to do with one of them, "bora/core/array.h".
enum class Installed {
  Always,   ///< of the rooms that models and training are written with
  Perhaps,  ///< the list decides
  Never,    ///< in a private folder of core, of help to tests, or included once per instruction set
};
Installed installation(const std::string& header);

// The laws of CONTRIBUTING.md. Each looks at one file.
Problems layers(const SourceFile& file);           ///< a room includes only the rooms that it may use
Problems torch_includes(const SourceFile& file);   ///< torch's headers stay inside core and the plug-ins
Problems size_cap(const SourceFile& file);         ///< at most 600 lines outside tests
Problems header_hygiene(const SourceFile& file);   ///< `#pragma once`, and no macros in headers
Problems licence_lines(const SourceFile& file);    ///< SPDX at the top
Problems forbidden_words(const SourceFile& file);  ///< unfinished work, paths of one machine, names of hosts
Problems environment(const SourceFile& file);      ///< variables are read in base/env.cpp alone
Problems file_access(const SourceFile& file);      ///< files are opened through bora::files()
Problems host_pointers(const SourceFile& file);    ///< an array's elements are core's business

}  // namespace bora::law
