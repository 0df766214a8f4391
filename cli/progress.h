// Progress of long work on stderr: on a terminal a bar with rate and remaining time, drawn over
// itself; elsewhere a plain line now and then. Work that is soon done shows nothing.
#pragma once

#include <chrono>
#include <string>

namespace sdx::cli {

// stderr is a terminal that can redraw a line.
bool on_terminal();
// The same, and the user has not set NO_COLOR.
bool colours();

class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  // `unit` is what is counted: "tests".
  Progress(std::string work, std::string unit);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(size_t done, size_t total, std::string_view name = {});
  // Takes the bar away, for a line to be printed in its place.
  void clear();
  // Shows nothing from here on.
  void finish();

 private:
  std::string work_, unit_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, next_;
};

// "812 of 1884 tests, 351 per second, 3 s left"; the rest only once it can be told: after a second
// and a twentieth of the work.
std::string progress_text(size_t done, size_t total, const std::string& unit, double seconds);

}  // namespace sdx::cli
