// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Paths in configurations and on the command line, as those mean them who know a shell.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"

namespace bora {

/// Puts the home folder in the place of a leading ~ ("~", "~/runs"); ./~ is a folder of that name. What a shell would
/// replace besides, $HOME, ${DATA} and ~somebody, would be taken by its letters: it stays, and the words say so with
/// what to write instead. "" where all is well. What has a scheme (https://...) is no path of this machine.
std::string expand_home(std::string& path);

/// Keys that hold paths: field(), and every value as expand_home has it, whose words are problems of the key.
void bind_path(Binder& b, std::string_view name, std::string& value, std::string_view doc = {});
void bind_path(Binder& b, std::string_view name, std::optional<std::string>& value,
               std::string_view doc = {});
void bind_path(Binder& b, std::string_view name, std::vector<std::string>& values, std::string_view doc = {});

/// The same of a value that has been read.
void expand_home(Binder& b, std::string_view name, std::string& value);

}  // namespace bora
