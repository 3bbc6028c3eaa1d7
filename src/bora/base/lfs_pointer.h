// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

namespace bora {

/// Git LFS leaves a short text in a file's place until the file itself is fetched. Errors: NotFound, with the
/// file's real size and what fetches it, if `path` is such a text; nothing else, whatever is there.
void refuse_lfs_pointer(const std::string& path);

}  // namespace bora
