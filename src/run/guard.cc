#include "run/guard.h"

#include <algorithm>
#include <cstring>

namespace sdx::run {
namespace {

constexpr std::byte kFirst{0xa5}, kSecond{0x5a};
constexpr size_t kPage = 4096;

bool inside(const std::byte* at, const std::byte* data, size_t size) {
  return at >= data && at < data + size;
}

}  // namespace

Guard::Copies Guard::save() const {
  Copies saved;
  for (const Region& region : regions_) saved.emplace_back(region.data, region.data + region.size);
  return saved;
}

void Guard::restore(const Copies& saved) const {
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i].writable) std::copy(saved[i].begin(), saved[i].end(), regions_[i].data);
  }
}

// Compares with `expected`, page by page and then byte by byte; what lies in `except` may differ.
// `step` 0: every page is expected to be the first one.
Status Guard::compare(const Region& region, const std::byte* expected, size_t step,
                      const std::vector<Span>& except) {
  for (size_t at = 0; at < region.size; ++at) {
    if (at % kPage == 0) {
      while (at + kPage <= region.size &&
             std::memcmp(region.data + at, expected + at * step, kPage) == 0)
        at += kPage;
      if (at == region.size) break;
    }
    if (region.data[at] == expected[step == 0 ? at % kPage : at]) continue;
    const std::byte* byte = region.data + at;
    const auto own = std::find_if(except.begin(), except.end(), [&](const Span& span) {
      return inside(byte, span.data, span.size);
    });
    if (own == except.end()) {
      return fail("SDX-R0050", "the kernel changed byte {} of {}, which is not its to write", at,
                  region.name);
    }
    at = size_t(own->data + own->size - region.data) - 1;  // its end
  }
  return ok();
}

Status Guard::unchanged(const Copies& saved, const std::vector<Span>& except) const {
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    if (region.size == 0 || std::memcmp(region.data, saved[i].data(), region.size) == 0) continue;
    SDX_TRY(compare(region, saved[i].data(), 1, except));
  }
  return ok();
}

void Guard::fill(std::byte pattern, const std::vector<Span>& where,
                 const std::vector<Span>& except) const {
  // Inputs may lie among the outputs: those bytes stay as they are.
  std::vector<std::vector<std::byte>> kept;
  for (const Span& span : except) kept.emplace_back(span.data, span.data + span.size);
  for (const Span& span : where) std::fill_n(span.data, span.size, pattern);
  for (size_t i = 0; i < except.size(); ++i) {
    const Span& span = except[i];
    const bool in_region = std::any_of(regions_.begin(), regions_.end(), [&](const Region& region) {
      return region.writable && inside(span.data, region.data, region.size);
    });
    if (in_region) std::copy(kept[i].begin(), kept[i].end(), span.data);
  }
}

Status Guard::still_filled(std::byte pattern, const std::vector<Span>& except) const {
  const std::vector<std::byte> page(kPage, pattern);
  for (const Region& region : regions_) {
    if (region.writable) SDX_TRY(compare(region, page.data(), 0, except));
  }
  return ok();
}

Status Guard::run(const Args& args, bool twice, const std::function<Status()>& kernel) {
  std::vector<Span> inputs, outputs, own, all;
  const auto add = [](std::vector<Span>& to, const View& view) {
    if (view.present() && view.raw != nullptr && view.bytes() > 0)
      to.push_back({static_cast<std::byte*>(view.raw), view.bytes()});
  };
  for (const View& view : args.ins) add(inputs, view);
  for (const View& view : args.epilogue_inputs) add(inputs, view);
  for (const View& view : args.outs) add(outputs, view);
  own = outputs;
  if (!args.scratch.empty()) own.push_back({args.scratch.data(), args.scratch.size()});
  const Copies saved = save();
  // Constants lie outside of what is watched.
  Copies read;
  for (const Span& span : inputs) read.emplace_back(span.data, span.data + span.size);

  fill(kFirst, own, inputs);
  SDX_TRY(kernel());
  SDX_TRY(unchanged(saved, own));
  Copies results;
  for (const Span& span : outputs) results.emplace_back(span.data, span.data + span.size);

  if (twice) {
    restore(saved);
    for (const Region& region : regions_) {
      if (region.writable) all.push_back({region.data, region.size});
    }
    fill(kSecond, all, inputs);
    SDX_TRY(kernel());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto [a, b] = std::mismatch(results[i].begin(), results[i].end(), outputs[i].data);
      if (a == results[i].end()) continue;
      return fail("SDX-R0051",
                  "byte {} of an output depends on memory that is no input: it is {:#x} in one "
                  "run and {:#x} in another",
                  a - results[i].begin(), unsigned(*a), unsigned(*b));
    }
    std::vector<Span> touched = own;
    touched.insert(touched.end(), inputs.begin(), inputs.end());
    SDX_TRY(still_filled(kSecond, touched));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Span& span = inputs[i];
    const bool overwritten = std::any_of(own.begin(), own.end(), [&](const Span& o) {
      return span.data < o.data + o.size && o.data < span.data + span.size;
    });
    if (!overwritten && std::memcmp(span.data, read[i].data(), span.size) != 0)
      return fail("SDX-R0052", "the kernel changed input {}", i);
  }
  restore(saved);
  for (size_t i = 0; i < outputs.size(); ++i)
    std::copy(results[i].begin(), results[i].end(), outputs[i].data);
  return ok();
}

Status Guard::run_apart(const std::function<Status()>& step) {
  const Copies saved = save();
  SDX_TRY(step());
  return unchanged(saved, {});
}

}  // namespace sdx::run
