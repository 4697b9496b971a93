// all_reduce_plait ENGINE RANK SIZE STORE BYTES, one process for each rank.
#include <cstring>
#include <string>

#include "plait/comm/collectives.h"
#include "plait/comm/file_store.h"

#include "bench/processes/all_reduce.h"

using plait::Array;
using plait::DType;
using plait::Element;
using plait::Tensor;

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int rank = std::atoi(argv[2]), size = std::atoi(argv[3]);
  const auto store = std::make_shared<plait::dist::FileStore>(argv[4]);
  const auto group =
      plait::dist::Group::join({.store = store, .rank = rank, .size = size, .engine = argv[1]});
  Tensor x;
  time_all_reduce(
      rank, size, std::atoll(argv[5]), [&] { plait::dist::barrier(*group); },
      [&](int64_t count) {
        if (!x || x.array().element_count() != count) {
          x = Tensor(Array::filled(DType::f32, {count}, Element::of(1.)));
        }
        const Tensor sum = plait::dist::all_reduce(x, plait::dist::ReduceOp::sum, *group);
        return sum.array().elements<float>()[static_cast<size_t>(count - 1)];
      });
}
