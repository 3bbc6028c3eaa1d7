// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>

namespace bora {

/// Standard output and standard error of a program that may outlive whoever reads them. When a pipe is
/// closed, the terminal is gone or the stream was closed all along (EPIPE, EIO, EBADF), that stream is lost for good and nothing more is written to
/// it: what it would have got goes to the file of continue_output_in(). Any thread may call. Without
/// outlive_readers() a closed pipe ends the process, as is usual.
enum class Output { Standard, Error };

/// Writes all of it at once, unbuffered. Other errors (a full disk) are kept for output_error().
void write_output(Output to, std::string_view text);
bool output_is_lost(Output stream);
/// errno of the first write to standard output that failed, though its reader is there; 0: none.
int output_error();

/// Standard input, output and error that were closed when the program began (`>&-`) become streams that are at their end
/// and take nothing, so that no file of a run gets their numbers, and what is printed with them. Before any file is
/// opened.
void hold_standard_streams();

/// From now on SIGPIPE is ignored.
void outlive_readers();
/// Where lost output goes from now on, at the end of the file; what was lost before is written there too
/// (the last MiB of it). The file is made when there is something to write. "": nowhere any more.
void continue_output_in(const std::string& path);

}  // namespace bora
