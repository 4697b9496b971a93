// A loop nest as a kernel of CUDA devices: printed, compiled and launched as sizes and addresses
// need it.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/kernels/launch.h"
#include "plait/cuda/inside/nests/bound_nest.h"

namespace plait::cuda {

class NestKernel {
 public:
  struct Options {
    std::string name = "nest";        // in messages
    std::vector<bool> by_value = {};  // parameters that are given as one element; none if empty
    std::vector<DType> results = {};  // dtypes in memory; those of the values if empty
  };
  NestKernel(compile::Nest nest, Options options);

  // The symbolic sizes of the nest, in the order in which run() takes their values.
  std::span<const Dim> sizes() const { return planned_.sizes; }
  // Accumulated results are written whole, with the nest's places. A result may alias a parameter
  // if every load of that parameter is at the place of the store, and in no stage after it. Threads
  // may call concurrently.
  void run(CudaDevice& device, std::span<const int64_t> sizes,
           std::span<const NestParameter> parameters, std::span<const Address> results) const;

  // For tests: the texts that run() may compile.
  std::vector<KernelText> texts() const;

 private:
  enum class Schedule : uint8_t { flat, rows, columns, both };
  // All that a text depends on, beside the nest.
  struct Choice {
    TextVariant variant;
    int lanes = kBlockThreads;
    bool keeps = true;
    int join = -1;  // the result whose parts are joined; -1: the nest itself
    bool by_warps = false;

    uint32_t key() const;
  };
  class Run;

  KernelText text_of(const Choice& choice) const;
  const KernelFunction& function_of(CudaDevice& device, const Choice& choice) const;

  PlannedNest planned_;
  std::string name_;
  Schedule schedule_;
  int vector_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<uint64_t, const KernelFunction*> functions_;
};

}  // namespace plait::cuda
