// Attestations: what a model answered, in a small JSON file that anybody can check on another
// machine.
//
// `sardonyx attest` runs a model and writes down what decides its answer (the SHA-256 of its file
// and of the weights beside it, sizes, seed, numerics), the digests of inputs and outputs, and, for
// the record, the build and the machine, on which nothing depends. `sardonyx verify` runs it again
// and compares. The member "sha256" seals the rest: it is the SHA-256 of the object without it, as
// compact JSON with its members in their order. A seal shows that nothing was changed since; who
// wrote it is for a signature to say.
#pragma once

#include "inputs.h"
#include "json.h"

namespace sdx::cli::attest {

// "NAME TYPE SHAPE SHA-256" of a tensor, as --digest prints it.
struct Line {
  std::string name, type, shape, sha256;
  bool operator==(const Line&) const = default;
  std::string text() const { return name + ' ' + type + ' ' + shape + ' ' + sha256; }
};

struct Attestation {
  std::string model, model_sha256, weights_sha256;  // weights: of external data, else empty
  std::string numerics = "standard", accept = "common";
  std::vector<std::string> files, sizes;  // as --input and --set give them
  std::optional<uint64_t> seed;
  std::vector<Line> inputs, outputs;
  Json build = Json::object(), machine = Json::object();

  Json json() const;  // with its seal
};

// Checks form and seal.
Result<Attestation> read(const std::string& path);
Status write(const Attestation& attestation, const std::string& path);

// Runs the model of `asked` with its inputs on this machine; what `asked` says of digests, build
// and machine is not looked at.
Result<Attestation> attest(Attestation asked, EngineFlags engine);

// The SHA-256 of a JSON object without its seal.
std::string seal_of(Json object);

}  // namespace sdx::cli::attest
