// All that jit has recorded of a function, and the statistics.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plait/core/inside/system/recent_cache.h"
#include "plait/transform/inside/jit/jit_entries.h"

namespace plait::jits {

// The entry, the variant and the record for one call.
struct Found {
  std::shared_ptr<Entry> entry;
  Variant* variant = nullptr;            // null if none fits
  std::shared_ptr<const Record> record;  // null if none is recorded
  bool is_run_by_host = false;
  std::string why;  // why nothing is recorded
};

// Entries are found, added and marked here only, under one mutex; any number of threads may call.
// A record, once added, does not change. Nothing is run here.
class Records {
 public:
  // The options must outlive it.
  explicit Records(const JitOptions& options)
      : options_(options), entries_(std::max<size_t>(options.max_records, 1)) {}

  // Finds a record with these outcomes of its first guards. `left`: the record that another outcome
  // has led away from, or null.
  Found find(const Call& call, std::span<const int64_t> sizes, const std::vector<bool>& outcomes,
             const Record* left);
  // The types of the leaves. Adds a variant if none fits.
  std::vector<ir::Type> types_for(Found& found, std::span<const int64_t> sizes);

  void add(const Found& found, const Recording& recording);
  // From now on the function is recorded for the sizes of each call.
  void use_numbers(Entry& entry, const std::string& why);
  // From now on the host code runs at each call: it uses a tape from outside, at that place.
  void note_outer_tape(Entry& entry, Location place);
  void count_host_run();
  void count_failed_guard();
  JitStats stats() const;

 private:
  const std::shared_ptr<Entry>& entry_of(const Call& call, std::span<const int64_t> sizes);
  void note_retrace(const std::string& why);

  const JitOptions& options_;
  mutable std::mutex mutex_;  // protects all below, except `recording` of entries
  RecentList<std::shared_ptr<Entry>> entries_;
  JitStats stats_;
};

}  // namespace plait::jits
