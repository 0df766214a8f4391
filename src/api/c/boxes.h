// What stands behind the handles of values, models and sessions.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "api/c/handles.h"

namespace sardonyx_c {

using sardonyx::Model;
using sardonyx::Port;
using sardonyx::Session;
using sardonyx::Value;

struct ValueBox {
  explicit ValueBox(Value&& held) : value(std::move(held)) {}
  Value value;
};

const sardonyx::Tensor& tensor_of(const ValueBox& box);

// The caller's options as those of C++. Throws what is wrong with them.
sardonyx::Options options_from(const sardonyx_options* options);
sardonyx::RunOptions options_from(const sardonyx_run_options* options,
                                  std::shared_ptr<StopBox>& stop);

// Ports as C reads them, with the arrays they point to.
class Ports {
 public:
  explicit Ports(const std::vector<Port>& ports);
  size_t size() const { return ports_.size(); }
  // Copies as much of port i as the caller's struct has room for.
  void give(size_t i, sardonyx_port* into) const;

 private:
  struct Sizes {
    std::vector<int64_t> dims;
    std::vector<std::string> names;
    std::vector<const char*> pointers;
  };
  std::vector<Port> source_;
  std::deque<Sizes> sizes_;
  std::vector<sardonyx_port> ports_;
};

struct ModelBox {
  explicit ModelBox(Model held)
      : model(std::move(held)), inputs(model.inputs()), outputs(model.outputs()) {}
  Model model;
  Ports inputs, outputs;
};

struct StopBox {
  std::atomic<bool> asked{false};
};

// Sessions of C++ are for one thread at a time; here each run borrows one, and a run that finds
// none makes another over the same weights.
struct SessionBox {
  explicit SessionBox(Session first)
      : inputs(first.inputs()),
        outputs(first.outputs()),
        input_ports(first.inputs()),
        output_ports(first.outputs()),
        notes(first.notes()),
        original(std::move(first)) {}

  Session borrow();
  void give_back(Session session);

  const std::vector<Port> inputs, outputs;
  const Ports input_ports, output_ports;
  const std::vector<std::string> notes;

 private:
  const Session original;  // never runs: another() may be called while others run
  std::mutex mutex;
  std::vector<Session> idle;
};

}  // namespace sardonyx_c
