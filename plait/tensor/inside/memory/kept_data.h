// Data that is computed of the bytes of a buffer and kept with them, for calls that read the same
// bytes again: a matrix in the layout of a product.
#pragma once

namespace plait {

class KeptData {
 public:
  virtual ~KeptData() = default;
};

}  // namespace plait
