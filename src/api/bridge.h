// Bridge: public values to the engine's and back. Elements are shared, not copied.
#pragma once

#include "base/tensor.h"
#include "fact/fact.h"
#include "sardonyx/sardonyx.h"

namespace sdx {
struct CompileOptions;
namespace model {
struct Model;
}
namespace plan {
class Compiled;
}
}  // namespace sdx

namespace sardonyx {

struct __attribute__((visibility("hidden"))) Bridge {
  static Error error(const sdx::Error& error) {
    return {error.code, error.what, error.where, error.help};
  }

  // Whether these are the same elements.
  static bool same(const sdx::Tensor& bound, const Tensor& given) {
    return int(bound.type()) == int(given.type()) && bound.raw() == given.data() &&
           bound.dims() == given.dims();
  }

  static sdx::Tensor in(const Tensor& tensor);
  static sdx::Value in(const Value& value);
  static Tensor out(const sdx::Tensor& tensor);
  // The same without a new owner: `owner` keeps the elements. Allocates nothing if `into` has had
  // as many dimensions before.
  static void out(const sdx::Tensor& tensor, std::shared_ptr<const void> owner, Tensor& into);
  static void forget(Tensor& tensor) { tensor.owner_.reset(); }
  static Value out(const sdx::Value& value);
  static Port port(const std::string& name, const sdx::Fact& fact);
  // `names` outlives the outputs by being shared.
  static Outputs outputs(std::shared_ptr<const std::vector<std::string>> names,
                         const std::vector<sdx::Value>& values);

  // With `model` and how it was compiled, initializers may be overridden.
  static Session session(std::shared_ptr<const sdx::plan::Compiled> compiled,
                         std::shared_ptr<const sdx::model::Model> model = nullptr,
                         const sdx::CompileOptions* options = nullptr);
  static Model model(std::shared_ptr<const sdx::model::Model> model);
  static const std::shared_ptr<const sdx::model::Model>& model_of(const Model& model);
  static sdx::Result<sdx::CompileOptions> options(const Options& options);
  static Model model(std::shared_ptr<const Model::State> state) {
    Model model;
    model.state_ = std::move(state);
    return model;
  }
};

}  // namespace sardonyx
