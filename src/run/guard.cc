#include "run/guard.h"

#include <algorithm>
#include <cstring>

namespace sdx::run {
namespace {

constexpr std::byte kFirst{0xa5}, kSecond{0x5a};
constexpr size_t kPage = 4096;

Error trespass(const Guard::Region& region, const std::byte* byte) {
  return fail("SDX-R0050", "the kernel changed byte {} of {}, which is not its to write",
              byte - region.data, region.name);
}

}  // namespace

Guard::Guard(std::vector<Region> regions) : regions_(std::move(regions)) {
  for (const Region& region : regions_)
    shadows_.emplace_back(region.data, region.data + region.size);
}

Guard::Spans Guard::gaps(const Region& region, Spans spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.data < b.data; });
  Spans gaps;
  std::byte *at = region.data, *const end = region.data + region.size;
  for (const Span& span : spans) {
    if (span.data + span.size <= at) continue;
    if (span.data >= end) break;
    if (span.data > at) gaps.push_back({at, size_t(span.data - at)});
    at = std::min(end, span.data + span.size);
  }
  if (at < end) gaps.push_back({at, size_t(end - at)});
  return gaps;
}

std::byte* Guard::shadow(const Span& span) {
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    if (span.data >= region.data && span.data + span.size <= region.data + region.size)
      return shadows_[i].data() + (span.data - region.data);
  }
  return nullptr;
}

void Guard::from_shadow(const Span& span) {
  if (const std::byte* held = shadow(span)) std::memcpy(span.data, held, span.size);
}

Status Guard::unchanged(const Spans& except) {
  for (const Region& region : regions_) {
    for (const Span& gap : gaps(region, except)) {
      const std::byte* held = shadow(gap);
      if (std::memcmp(gap.data, held, gap.size) == 0) continue;
      return trespass(region, std::mismatch(gap.data, gap.data + gap.size, held).first);
    }
  }
  return ok();
}

// Inputs may lie among what is filled: those bytes stay as they are.
void Guard::fill(std::byte pattern, const Spans& where, const Spans& inputs) {
  for (const Span& span : where) {
    for (const Span& gap : gaps({{}, span.data, span.size, true}, inputs))
      std::memset(gap.data, int(pattern), gap.size);
  }
}

Status Guard::still_filled(std::byte pattern, const Spans& except) {
  const std::vector<std::byte> page(kPage, pattern);
  for (const Region& region : regions_) {
    if (!region.writable) continue;
    for (const Span& gap : gaps(region, except)) {
      for (size_t at = 0; at < gap.size; at += kPage) {
        const size_t size = std::min(kPage, gap.size - at);
        const std::byte* bytes = gap.data + at;
        if (std::memcmp(bytes, page.data(), size) == 0) continue;
        return trespass(region, std::mismatch(bytes, bytes + size, page.data()).first);
      }
    }
  }
  return ok();
}

Status Guard::run(const Args& args, bool twice, const std::function<Status()>& kernel) {
  Spans inputs, outputs, own, writable;
  const auto add = [](Spans& to, const View& view) {
    if (view.present() && view.raw != nullptr && view.bytes() > 0)
      to.push_back({static_cast<std::byte*>(view.raw), view.bytes()});
  };
  for (const View& view : args.ins) add(inputs, view);
  for (const View& view : args.epilogue_inputs) add(inputs, view);
  for (const View& view : args.outs) add(outputs, view);
  own = outputs;
  if (!args.scratch.empty()) own.push_back({args.scratch.data(), args.scratch.size()});
  for (const Region& region : regions_) {
    if (region.writable) writable.push_back({region.data, region.size});
  }
  // Constants lie outside of what is watched.
  std::vector<std::vector<std::byte>> read(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (shadow(inputs[i]) == nullptr)
      read[i].assign(inputs[i].data, inputs[i].data + inputs[i].size);
  }
  const auto overwritten = [&](const Span& span) {
    return std::any_of(own.begin(), own.end(), [&](const Span& o) {
      return span.data < o.data + o.size && o.data < span.data + span.size;
    });
  };

  fill(kFirst, own, inputs);
  SDX_TRY(kernel());
  SDX_TRY(unchanged(own));
  std::vector<std::vector<std::byte>> results;
  for (const Span& span : outputs) results.emplace_back(span.data, span.data + span.size);

  if (twice) {
    fill(kSecond, writable, inputs);
    for (const Span& span : inputs) {
      if (overwritten(span)) from_shadow(span);
    }
    SDX_TRY(kernel());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (std::memcmp(results[i].data(), outputs[i].data, outputs[i].size) == 0) continue;
      const auto [a, b] = std::mismatch(results[i].begin(), results[i].end(), outputs[i].data);
      return fail("SDX-R0051",
                  "byte {} of an output depends on memory that is no input: it is {:#x} in one "
                  "run and {:#x} in another",
                  a - results[i].begin(), unsigned(*a), unsigned(*b));
    }
    Spans touched = own;
    touched.insert(touched.end(), inputs.begin(), inputs.end());
    SDX_TRY(still_filled(kSecond, touched));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Span& span = inputs[i];
    const std::byte* held = read[i].empty() ? shadow(span) : read[i].data();
    if (!overwritten(span) && std::memcmp(span.data, held, span.size) != 0)
      return fail("SDX-R0052", "the kernel changed input {}", i);
  }
  for (const Span& span : twice ? writable : own) from_shadow(span);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::copy(results[i].begin(), results[i].end(), outputs[i].data);
    if (std::byte* held = shadow(outputs[i])) std::copy(results[i].begin(), results[i].end(), held);
  }
  return ok();
}

Status Guard::run_apart(const std::function<Status()>& step) {
  SDX_TRY(step());
  return unchanged({});
}

}  // namespace sdx::run
