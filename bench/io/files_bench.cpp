// Speed of opening, reading and writing files.
#include <filesystem>
#include <fstream>
#include <string>

#include <benchmark/benchmark.h>

#include "plait/io/gguf.h"
#include "plait/io/safetensors.h"
#include "plait/ops/random/random.h"

#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

constexpr int64_t kLayers = 432;  // with 2.4 MB each: a gigabyte, as ViT-base with its AdamW

std::string name_of_layer(int64_t i) { return "model.blocks." + std::to_string(i) + ".weight"; }

// A file of zeros, which takes no place on the disk.
std::string sparse_file(const TemporaryFolder& folder, int64_t rows) {
  std::map<std::string, Array> none;
  for (int64_t i = 0; i < kLayers; ++i) none[name_of_layer(i)] = Array::empty(DType::f32, {768, 0});
  const auto empty = write_safetensors(none);
  std::string header(reinterpret_cast<const char*>(empty.data()) + 8, empty.size() - 8);
  const int64_t bytes = 768 * rows * 4;
  int64_t begin = 0;
  for (size_t at = 0; (at = header.find("0],\"data_offsets\":[0,0]", at)) != std::string::npos;) {
    const std::string place = std::to_string(rows) + "],\"data_offsets\":[" +
                              std::to_string(begin) + ',' + std::to_string(begin + bytes) + ']';
    header.replace(at, std::string_view("0],\"data_offsets\":[0,0]").size(), place);
    begin += bytes;
  }
  header.resize(header.size() / 8 * 8 + 8, ' ');
  const std::string path = folder.path("large.safetensors");
  const auto length = static_cast<uint64_t>(header.size());
  std::ofstream(path, std::ios::binary)
      << std::string_view(reinterpret_cast<const char*>(&length), sizeof length) << header;
  std::filesystem::resize_file(path, 8 + header.size() + static_cast<size_t>(begin));
  return path;
}

void first_tensor_of_a_gigabyte(benchmark::State& state) {
  const TemporaryFolder folder;
  const std::string path = sparse_file(folder, 800);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Safetensors::open(path).array(name_of_layer(0)).data());
  }
}

void save_safetensors_file(benchmark::State& state) {
  const TemporaryFolder folder;
  const std::map<std::string, Array> arrays = {
      {"x", random::normal(random::key(1), {1 << 24}).array()}};
  for (auto _ : state) save_safetensors(folder.path("x.safetensors"), arrays);
  state.SetBytesProcessed(state.iterations() * (int64_t{1} << 26));
}

// One tensor of this many rows of 4096.
void dequantize(benchmark::State& state, uint32_t type, int64_t block_bytes, int64_t block) {
  constexpr int64_t kRows = 2048;
  std::string file = "GGUF";
  const auto add = [&](auto value) {
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(uint32_t{3}), add(uint64_t{1}), add(uint64_t{0});
  add(uint64_t{1}), file += 'x', add(uint32_t{2});
  add(uint64_t{4096}), add(static_cast<uint64_t>(kRows)), add(type), add(uint64_t{0});
  file.resize((file.size() + 31) / 32 * 32);
  file.resize(file.size() + static_cast<size_t>(kRows * 4096 / block * block_bytes), '\x21');
  const Gguf opened = Gguf::read(std::as_bytes(std::span(file)));
  for (auto _ : state) benchmark::DoNotOptimize(opened.array("x").data());
  state.SetItemsProcessed(state.iterations() * kRows * 4096);
}

BENCHMARK(first_tensor_of_a_gigabyte)->Unit(benchmark::kMillisecond);
BENCHMARK(save_safetensors_file)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dequantize, q4_0, 2, 18, 32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dequantize, q8_0, 8, 34, 32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dequantize, q4_k, 12, 144, 256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dequantize, q3_k, 11, 110, 256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dequantize, q5_k, 13, 176, 256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dequantize, q6_k, 14, 210, 256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
