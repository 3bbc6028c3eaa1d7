// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/report/run_files.h"

namespace bora::report {

/// One HTML page that needs nothing beside it: what became of the runs, their curves over each other, samples,
/// configurations and how these differ. Readable in light and dark and on a phone.
std::string report_page(const std::vector<RunFiles>& runs);

/// Writes the page of these run directories, readable by its owner alone: it holds their configurations. Returns what
/// could not be read, which the page tells, too.
/// Errors: NotFound, naming a directory that is no run; Io.
std::vector<std::string> write_report(const std::vector<std::string>& run_directories,
                                      const std::string& file);

}  // namespace bora::report
