// The checkpoints of a folder that are whole, as far as their sizes and headers tell. A header is
// read again only when its file has changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "plait/io/checkpoints.h"

namespace plait {

class KnownCheckpoints {
 public:
  explicit KnownCheckpoints(std::string folder) : folder_(std::move(folder)) {}

  // With their metrics. Warns once of each that is damaged.
  std::map<int64_t, Metrics> steps();
  // Leaves out a step, whose tensors are damaged, until its file is another one.
  void leave_out(int64_t step) { known_[step].metrics.reset(); }
  // The file of a step, damaged or not. KeyError if there is none.
  std::string path_of(int64_t step) const;

 private:
  struct Known {
    std::string path;
    int64_t size = 0, written = 0;
    std::optional<Metrics> metrics = {};  // nothing if it is damaged
  };
  const std::optional<Metrics>& read_metrics(int64_t step, const std::string& path);

  std::string folder_;
  std::map<int64_t, Known> known_;
};

}  // namespace plait
