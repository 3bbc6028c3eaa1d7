// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::cli {

/// The program with all its commands: hands over to one of them, and turns errors into lines and exit codes.
int main(int argc, char** argv);

}  // namespace bora::cli
