// The files that model.safetensors may be divided into.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

class SafetensorsShardNames {
 public:
  // ValueError unless the path ends with ".safetensors".
  explicit SafetensorsShardNames(const std::string& path);

  std::string index() const;  // model.safetensors.index.json
  // model-00001-of-00003.safetensors is number 0 of 3.
  std::string shard(size_t number, size_t count) const;

  // Removes the files that a save with another division has left: the undivided file, shards and
  // the index, except those to keep. IoError if that fails.
  void remove_others(const std::vector<std::string>& kept) const;

 private:
  bool is_ours(std::string_view file) const;  // one of these names

  std::string stem_;  // without the ending
};

}  // namespace plait
