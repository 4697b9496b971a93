// A call that draws random numbers on the device, from keys on the host.
#pragma once

#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/random/philox_text.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {

// The result of a call: `each` elements for each key.
class Draw {
 public:
  explicit Draw(KernelCall& call)
      : device_(device_of(call)),
        keys_(call.operands[0].contiguous()),
        result_(call.new_result(0)) {
    if (result_.element_count() == 0) return;
    given_.first = keys_.elements<KeyBits>()[0];
    if (keys_.element_count() > 1) {
      const auto words = std::as_bytes(keys_.elements<KeyBits>());
      const auto* numbers = reinterpret_cast<const uint64_t*>(words.data());
      all_ = Array::of(std::span(numbers, words.size() / 8), {keys_.element_count(), 2})
                 .on(call.device);
      given_.all = address_of(all_);
    }
    each_ = result_.element_count() / keys_.element_count();
  }

  int64_t each() const { return each_; }
  // Calls the kernel with the keys, the result, and `per_key` threads for each key; then the rest.
  template <class... Rest>
  void launch_for(const KernelFunction& function, int64_t per_key, Rest... rest) const {
    const int64_t total = per_key * keys_.element_count();
    launch(device_, function, blocks_for(total), kBlockThreads, 0, given_, address_of(result_),
           rest..., total);
  }
  bool is_empty() const { return result_.element_count() == 0; }
  CudaDevice& device() const { return device_; }
  const RandomKeys& keys() const { return given_; }
  Address result() const { return address_of(result_); }

 private:
  CudaDevice& device_;
  Array keys_, all_;
  Array& result_;
  RandomKeys given_;
  int64_t each_ = 0;
};

}  // namespace plait::cuda
