#include "plait/io/logs/run_log.h"

#include <exception>

#include "plait/core/error.h"

namespace plait {

void LogValue::refuse(uint64_t value) { throw ValueError("log: {} does not fit into i64", value); }

template <class Call>
void Logs::for_each(const Call& call) {
  std::exception_ptr first;
  for (const std::shared_ptr<Log>& log : logs_) {
    try {
      call(*log);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void Logs::log(int64_t step, std::span<const LogEntry> entries) {
  for_each([&](Log& log) { log.log(step, entries); });
}
void Logs::flush() {
  for_each([](Log& log) { log.flush(); });
}
void Logs::close() {
  for_each([](Log& log) { log.close(); });
}

}  // namespace plait
