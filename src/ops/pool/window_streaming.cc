#include "ops/pool/window.h"

namespace sdx::ops {

Streaming stream_window(const Window& w, const Streamed& s, std::span<const int64_t> kernel) {
  if (!s.only_first()) return Streaming::refuse("its weights change along the axis");
  if (*s.axes[0] < 2) return Streaming::ask();
  const size_t along = *s.axes[0] - 2;
  std::vector<int64_t> pads(2 * w.spatial, 0);
  for (size_t i = 0; i < w.spatial; ++i) {
    pads[i] = w.begin[i];
    pads[w.spatial + i] = w.end[i];
    if (w.pad != Window::Pad::same_upper && w.pad != Window::Pad::same_lower) continue;
    if (i == along && w.strides[i] != 1)
      return Streaming::refuse("with auto_pad and a stride its padding depends on the length");
    const int64_t size = w.kernel.empty() ? kernel[i] : w.kernel[i];
    const int64_t reach = (size - 1) * w.dilations[i] + 1;
    const int64_t more = i == along ? 0
                                    : (s.out[0].dim(i + 2).value() - 1) * w.strides[i] + 1 -
                                          s.in[0].dim(i + 2).value();
    const int64_t total = std::max<int64_t>(0, more + reach - 1), less = total / 2;
    pads[i] = w.pad == Window::Pad::same_upper ? less : total - less;
    pads[w.spatial + i] = total - pads[i];
  }
  const int64_t size = w.kernel.empty() ? kernel[along] : w.kernel[along];
  const int64_t reach = (size - 1) * w.dilations[along] + 1;
  Streaming how = Streaming::of(Streaming::Kind::window);
  how.before = pads[along];
  how.after = pads[w.spatial + along];
  if (how.before >= reach || how.after >= reach)
    return Streaming::refuse("a window lies in the padding alone");
  how.reach = {w.strides[along], 1, -how.before, reach - 1 - how.before};
  how.pads_at = along;
  how.attrs.emplace("auto_pad", std::string("NOTSET"));
  how.attrs.emplace("pads", std::move(pads));
  if (s.use.has("ceil_mode")) {
    how.attrs.emplace("ceil_mode", int64_t{0});
    how.last_attrs.emplace("ceil_mode", s.use.i("ceil_mode"));
    how.overhangs = s.use.i("ceil_mode") != 0;
  }
  return how;
}

}  // namespace sdx::ops
