// Box<T>: a T on the heap or nothing, copied as a value; lets a message hold a message of its own
// kind.
#pragma once

#include <memory>
#include <utility>

namespace sdx::model {

template <class T>
class Box {
 public:
  Box() = default;
  Box(T value) : held_(std::make_unique<T>(std::move(value))) {}  // NOLINT: implicit, as optional
  Box(Box&&) noexcept = default;
  Box(const Box& other) : held_(other ? std::make_unique<T>(*other) : nullptr) {}
  Box& operator=(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    held_ = other ? std::make_unique<T>(*other) : nullptr;
    return *this;
  }

  explicit operator bool() const { return held_ != nullptr; }
  bool has_value() const { return held_ != nullptr; }
  T& operator*() { return *held_; }
  const T& operator*() const { return *held_; }
  T* operator->() { return held_.get(); }
  const T* operator->() const { return held_.get(); }
  T* get() { return held_.get(); }
  const T* get() const { return held_.get(); }
  T& emplace() {
    held_ = std::make_unique<T>();
    return *held_;
  }
  void reset() { held_.reset(); }

 private:
  std::unique_ptr<T> held_;
};

}  // namespace sdx::model
