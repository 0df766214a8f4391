// The last stages: planned and run on small shapes, and the same bits however it is done.
#include "job.h"

namespace sdx::fuzz {
namespace {

std::string text_of(const CompileOptions& options) {
  return fmt::format("{}{}, {} threads, optimisation {}{}", isa_name(options.isa),
                     options.reference ? " reference" : "", options.threads,
                     options.optimize ? "on" : "off",
                     options.order ? fmt::format(", order {}", *options.order) : "");
}

// The first element that differs.
std::string difference(const Value& a, const Value& b) {
  if (!a.is_tensor() || !b.is_tensor()) return "values differ";
  const Tensor &x = a.tensor(), &y = b.tensor();
  if (x.type() != y.type() || x.dims() != y.dims()) {
    return fmt::format("{}{} and {}{}", short_name(x.type()), to_string(x.dims()),
                       short_name(y.type()), to_string(y.dims()));
  }
  const size_t width = bits(x.type());
  for (size_t i = 0; width != 0 && width <= 64 && i < x.count(); ++i) {
    const uint64_t p = get_bits(x.type(), x.raw(), i), q = get_bits(y.type(), y.raw(), i);
    if (p != q) {
      return fmt::format("element {} of {}{}: {:#x} and {:#x}", i, short_name(x.type()),
                         to_string(x.dims()), p, q);
    }
  }
  return "elements differ";
}

}  // namespace

void run(Bytes input) {
  const uint64_t seed = hash(input);
  const auto job = make_job(read(input), seed);
  if (!job) return;
  CompileOptions options = job->options;
  Random random(seed ^ 1);
  options.optimize = !random.one_in(4);
  options.reference = random.one_in(4);
  options.strict = random.one_in(4);
  const auto outputs = outputs_of(*job, options);
  if (!outputs) return;
  const auto& declared = job->graph.outputs();
  if (outputs->size() != declared.size()) broken("a run gives another number of outputs");
  for (size_t i = 0; i < declared.size(); ++i) {
    const Fact& fact = job->graph.fact(declared[i].outlet);
    if (!job->claims && !admits(fact, (*outputs)[i])) {
      broken(fmt::format("output \"{}\" is {}, typed as {}", declared[i].name,
                         fact_of((*outputs)[i]).text(), fact.text()));
    }
  }
}

void kernels(Bytes input) {
  const uint64_t seed = hash(input);
  const auto job = make_job(read(input), seed);
  if (!job) return;
  CompileOptions plain = job->options;
  plain.isa = Isa::portable;
  plain.optimize = false;
  const auto want = outputs_of(*job, plain);

  std::vector<CompileOptions> ways(4, job->options);
  ways[0].threads = 2;  // the machine's best, optimised
  ways[1].isa = isa_available(Isa::avx2) ? Isa::avx2 : Isa::portable;
  ways[2].optimize = false;
  ways[2].order = seed;
  ways[3] = plain;
  ways[3].reference = true;
  for (const CompileOptions& way : ways) {
    const auto got = outputs_of(*job, way);
    if (!want || !got) {
      if (want.ok() == got.ok()) continue;
      const Error& error = want ? got.error() : want.error();
      if (is_limit(error)) continue;
      broken(
          fmt::format("an error {} ({}): {}", want ? "only" : "not", text_of(way), error.text()));
    }
    for (size_t i = 0; i < want->size(); ++i) {
      if (equal((*want)[i], (*got)[i])) continue;
      broken(fmt::format("output \"{}\" has other bits ({}): {}", job->graph.outputs()[i].name,
                         text_of(way), difference((*want)[i], (*got)[i])));
    }
  }
}

}  // namespace sdx::fuzz
