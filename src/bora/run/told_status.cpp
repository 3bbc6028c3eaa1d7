// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/told_status.h"

#include <exception>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/core/runtime.h"
#include "bora/report/page.h"
#include "bora/report/status.h"

namespace bora::run {
namespace {

void or_warn(const std::function<void()>& write) {
  try {
    write();
  } catch (const std::exception& e) {
    log_warning("{}", e.what());
  }
}

void tell(Session& session, report::Phase phase, int code = 0, const std::string& reason = {}) {
  if (!session.is_first()) return;
  or_warn([&] {
    report::write_status(session.place().directory,
                         {.phase = phase,
                          .step = session.trainer().next_step(),
                          .num_train_steps = session.config().trainer.num_train_steps,
                          .exit_code = code,
                          .reason = reason,
                          .time = wall_seconds()});
  });
}

// Whether it was written.
bool draw(Session& session, const std::string& page) {
  if (!session.is_first()) return false;
  bool written = false;
  or_warn([&] {
    (void)report::write_report({session.place().directory}, page);
    written = true;
  });
  return written;
}

std::string page_of(const Session& session) { return path_join(session.place().directory, "report.html"); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string why_stopped(const Session& session, std::int64_t step) {
  return session.config().trainer.stop_at_step == step ? std::string(report::kStopReason) : "asked to stop";
}

}  // namespace

int telling_the_end(Session& session, const std::function<int()>& body) {
  tell(session, report::Phase::Running);
  try {
    const int code = body();
    if (code != 0) {
      tell(session, report::Phase::Stopped, code, why_stopped(session, session.trainer().next_step()));
      draw(session, page_of(session));
    }
    return code;
  } catch (...) {
    const auto error = core::current_error();
    tell(session, report::Phase::Failed, exit_code(error.kind()), first_line(error.what()));
    draw(session, page_of(session));
    throw;
  }
}

void tell_finished(Session& session) {
  tell(session, report::Phase::Finished);
  const auto page = page_of(session);
  if (draw(session, page)) session.console().line("report " + page);
}

}  // namespace bora::run
