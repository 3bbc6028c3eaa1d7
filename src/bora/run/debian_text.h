// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Text out of Debian packages, for recipes that run anywhere without a data set at hand.
#pragma once
#include <string>
#include <string_view>

namespace bora::run {

/// "deb:PACKAGE/path/in/package": true if a source is of this kind.
bool is_debian_text(std::string_view url);

/// True if its text is below the cache directory already.
bool debian_text_is_here(const std::string& url);

/// The local file of such a source: on first use the package is fetched with apt-get download (no root
/// needed), the file is unpacked, decompressed (.gz, .dz), cleaned to valid UTF-8, and kept below the cache
/// directory. Errors: NotFound with what to do where apt-get, the package, or the file in it is missing.
std::string fetch_debian_text(const std::string& url);

}  // namespace bora::run
