// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What this machine has for a run.
#pragma once
#include <optional>
#include <string>

namespace bora::run {

/// Bytes of memory that processes may use here: the machine's, or less where a control group limits it.
double machine_memory();
/// What of it is free, or can be made so.
double free_memory();

/// The nearest folder on the way to a path that is there: "runs" for runs/a/step-3, "." for a relative path
/// of which nothing is there.
std::string existing_folder(const std::string& path);

/// Why nothing can be written at a path that may not be there yet; "" if something can.
std::string why_not_writable(const std::string& path);

/// Bytes that are free where a path lies or will lie; nothing if that cannot be found out.
std::optional<double> free_bytes(const std::string& path);

}  // namespace bora::run
