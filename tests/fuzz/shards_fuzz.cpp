// Any bytes either are an index of safetensors files or give an error; so does each tensor of it.
// Any bytes either are a shard of WebDataset, whose stream has the samples that it has by number,
// or give an error.
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

#include "plait/core/error.h"
#include "plait/data/readers/web_dataset.h"
#include "plait/io/safetensors.h"
#include "plait/ops/arrays/create.h"

#include "tests/io/temporary_folder.h"

namespace {

// Its shards may be a.safetensors, which has the tensor "a", and files that do not exist.
void read_index(const std::string& path) {
  const plait::Safetensors file = plait::Safetensors::open(path);
  for (const std::string& name : file.names()) {
    try {
      file.array(name);
    } catch (const plait::Error&) {
    }
  }
}

void expect_same(const plait::data::ShardSample& one, const plait::data::ShardSample& other) {
  bool is_same = one.key() == other.key() && one.members().size() == other.members().size();
  for (const auto& [extension, begin, size] : one.members()) {
    is_same = is_same && other.has(extension) && other.bytes(extension).size() == size &&
              one.bytes(extension).size() == size;
  }
  if (!is_same) throw std::logic_error("a sample differs");
}

void read_shard(const std::string& path) {
  const plait::data::WebDataset dataset({path});
  plait::data::WebStream stream({path});
  for (int64_t i = 0; i < dataset.size(); ++i) {
    plait::data::WebStream other({path});
    other.seek(stream.position());
    const auto sample = stream.next(), same = other.next();
    if (!sample || !same) throw std::logic_error("a stream ends early");
    expect_same(dataset.at(i), *sample);
    expect_same(dataset.at(i), *same);
  }
  if (stream.next()) throw std::logic_error("a stream has another sample");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const plait::TemporaryFolder folder;
  static const std::string first =
      plait::save_safetensors(folder.path("a.safetensors"), {{"a", plait::zeros({2}).array()}});
  const std::string path = folder.path("model.safetensors.index.json");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  for (const auto& read : {read_index, read_shard}) {
    try {
      read(path);
    } catch (const plait::Error&) {
    }
  }
  return 0;
}
