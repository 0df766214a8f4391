// One part: its rows through the model, batch by batch, and onto the disk.
#pragma once

#include "run/session.h"
#include "score/pace.h"
#include "score/row_model.h"

namespace sdx::cli::score {

// Writes the outputs' files and then the manifest. An error names the part and leaves no manifest.
Status score_part(const RowModel& model, run::Session& session, const Source& source,
                  const Job& job, Part part, Pace& pace, const std::string& folder);

}  // namespace sdx::cli::score
