// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace bora::cli {

/// The program with all its commands: hands over to one of them, and turns errors into lines and exit codes.
/// `add` comes first and adds types of the program's own: a name that is there twice is such an error.
int main(int argc, char** argv, const std::function<void()>& add = {});

/// The same for one command line in a process that has Bora's types already, as often as it is called.
int run_command(const std::vector<std::string>& arguments);

}  // namespace bora::cli
