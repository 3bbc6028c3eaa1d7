// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora {

/// A name in the folder of `path` for what becomes `path` when it is whole: ".NAME.PID.N.tmp", which is another
/// one for each call and each process of a machine.
std::string temporary_beside(const std::string& path);

/// Whether a file's name is such a one for `name`, of a process that this machine no longer has.
bool is_left_behind(std::string_view file, std::string_view name);

/// A path as somebody asked for it: a part of it that is such a name, or that of a directory that is being filled
/// (".NAME.tmp-PID-N"), becomes NAME.
std::string without_temporary_names(std::string_view path);

/// For what is begun and will not be finished: the error that led there is the one to report.
void remove_unfinished(const std::string& path) noexcept;

}  // namespace bora
