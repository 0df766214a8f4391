// Work of a run that the run's limit may end in the middle.
#pragma once

#include "base/deadline.h"
#include "run/options.h"

namespace sdx::run {

inline Error time_is_up() { return fail("SDX-R0031", "the run reached its time limit"); }

// work(); if a limit ends it, what it made is lost, and nothing else.
template <class Work>
Status in_time(const RunOptions& options, const Work& work) {
  if (!options.limited()) return work();
  try {
    const Deadline deadline(options.deadline, options.stop);
    return work();
  } catch (const TimeIsUp&) {
    Status status = options.check();
    return status ? Status(time_is_up()) : std::move(status);
  }
}

}  // namespace sdx::run
