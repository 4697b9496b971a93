#include "tests/support/small_stack.h"

#include <exception>
#include <stdexcept>

#include <pthread.h>

namespace plait {

void on_small_stack(const std::function<void()>& work, size_t bytes) {
  struct Job {
    const std::function<void()>& work;
    std::exception_ptr error = {};
  } job{work};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  const auto run = [](void* argument) -> void* {
    Job& here = *static_cast<Job*>(argument);
    try {
      here.work();
    } catch (...) {
      here.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, run, &job);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw std::runtime_error("no thread with a small stack");
  pthread_join(thread, nullptr);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace plait
