// Concat and Split of a few narrow columns, element by element of all of them at once: one column
// after the other would walk over the rows as often as there are columns.
#pragma once

#include <span>

#include "op/args.h"

namespace sdx::ops {

// `rows` rows of each of `parts`, side by side in `whole`. False if nothing was done: they are too
// many or too wide, or of different widths.
bool join_narrow(std::span<const View> parts, const View& whole, size_t rows, Args& args);
// The same backwards, if all parts are wanted.
bool split_narrow(const View& whole, std::span<const View> parts, size_t rows, Args& args);

}  // namespace sdx::ops
