// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora {

/// A word as a shell takes it: as it is where nothing in it has a meaning there, else in single quotes; of
/// "--key=value" the value alone.
std::string shell_word(std::string_view word);

/// What starts this program from the working directory: "./bora" in its checkout, the path of that script from
/// elsewhere, "bora" where it is installed.
std::string program_word();
/// The same from `folder`.
std::string program_word(const std::string& folder);

/// "" where there is none any more.
std::string working_folder();

/// The words of a command with `flag`=`value` instead of what they say of that flag, or behind them.
std::string with_flag(const std::string& words, const std::string& flag, const std::string& value);

}  // namespace bora
