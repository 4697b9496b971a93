// all_reduce_gloo RANK SIZE FOLDER BYTES, one process for each rank: Gloo alone.
#include <algorithm>
#include <memory>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "bench/processes/all_reduce.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int rank = std::atoi(argv[1]), size = std::atoi(argv[2]);
  gloo::rendezvous::FileStore store(argv[3]);
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);
  const int64_t bytes = std::atoll(argv[4]);
  std::vector<float> x(static_cast<size_t>(bytes / 4), 1.f), sum(x.size());
  time_all_reduce(
      rank, size, bytes,
      [&] {
        gloo::BarrierOptions options(context);
        gloo::barrier(options);
      },
      [&](int64_t count) {
        gloo::AllreduceOptions options(context);
        options.setInput(x.data(), static_cast<size_t>(count));
        options.setOutput(sum.data(), static_cast<size_t>(count));
        options.setReduceFunction([](void* out, const void* a, const void* b, size_t n) {
          const auto* const first = static_cast<const float*>(a);
          const auto* const second = static_cast<const float*>(b);
          std::transform(first, first + n, second, static_cast<float*>(out), std::plus<>());
        });
        gloo::allreduce(options);
        return sum[static_cast<size_t>(count - 1)];
      });
}
