// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// status.json of a run, which `bora runs` reads, and its page, drawn however it ends. Rank 0 writes them. A disk that
// refuses costs a warning: they are no reason to end a run.
#pragma once
#include <functional>

#include "bora/run/session.h"

namespace bora::run {

/// Says that the run goes on, runs `body`, and says how it ended: stopped where its code is not 0, or failed, with
/// the first line of the error, which is thrown on; then draws report.html. A finished run has done both by
/// tell_finished. Returns the code.
int telling_the_end(Session& session, const std::function<int()>& body);

/// The run is over: its status, and report.html in its directory.
void tell_finished(Session& session);

}  // namespace bora::run
