#include "plait/transform/inside/jit/jit_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/log.h"

namespace plait::jits {
namespace {

constexpr int64_t kRetracesBeforeWarning = 8;

}  // namespace

const std::shared_ptr<Entry>& Records::entry_of(const Call& call, std::span<const int64_t> sizes) {
  const Entry* alike = nullptr;
  const std::shared_ptr<Entry>* const known =
      entries_.find([&](const std::shared_ptr<Entry>& entry) {
        if (entry->key != call.key) return false;
        if (has_kinds_of(*entry, call)) return true;
        alike = entry.get();
        return false;
      });
  if (known != nullptr) return *known;
  std::string why;
  if (alike != nullptr) {
    why = explain_difference(*alike, call);
  } else if (const std::shared_ptr<Entry>* const latest = entries_.latest()) {
    why = plait::explain_difference((*latest)->key, call.key);
  }
  std::shared_ptr<Entry> entry = new_entry(options_, call, sizes);
  entry->why = std::move(why);
  return entries_.add(std::move(entry));
}

Found Records::find(const Call& call, std::span<const int64_t> sizes,
                    const std::vector<bool>& outcomes, const Record* left) {
  const std::lock_guard lock(mutex_);
  Found found;
  found.entry = entry_of(call, sizes);
  if (found.entry->variants.empty()) found.why = found.entry->why;
  std::vector<int64_t> numbers;
  if (found.entry->is_run_by_host) {
    found.is_run_by_host = true;
    ++stats_.host_runs;
    if (found.entry->has_only_numbers || found.entry->uses_outer_tape) return found;
    for (Variant& variant : found.entry->variants) {
      if (variant.pattern.fits(sizes, numbers)) found.variant = &variant;
    }
    if (found.variant == nullptr) found.variant = &new_variant(*found.entry, sizes, found.why);
    return found;
  }
  const SizeFact* failing = nullptr;
  for (Variant& variant : found.entry->variants) {
    if (found.entry->has_only_numbers && !variant.pattern.symbols.empty()) continue;
    if (!variant.pattern.fits(sizes, numbers)) continue;
    if (found.variant == nullptr) found.variant = &variant;
    const RecordTree* const tree = variant.records.after(outcomes);
    if (tree == nullptr) continue;
    for (const auto& record : tree->records) {
      if (!all_hold(record->facts(), variant.pattern, numbers, &failing)) continue;
      if (outcomes.empty()) ++stats_.hits;
      found.variant = &variant;
      found.record = record;
      return found;
    }
  }
  if (left != nullptr) {
    const size_t guard = outcomes.size() - 1;
    found.why = fmt::format("the condition at {} was {}", left->places[guard].text(),
                            outcomes.back() ? "true" : "false");
  } else if (failing != nullptr) {
    found.why = fmt::format("{} does not hold for the sizes", failing->text());
  }
  return found;
}

std::vector<ir::Type> Records::types_for(Found& found, std::span<const int64_t> sizes) {
  const std::lock_guard lock(mutex_);
  if (found.variant == nullptr) found.variant = &new_variant(*found.entry, sizes, found.why);
  return types_of(*found.entry, found.variant->pattern);
}

void Records::add(const Found& found, const Recording& recording) {
  const std::lock_guard lock(mutex_);
  Entry& entry = *found.entry;
  ++stats_.traces;
  note_retrace(found.why);
  if (!recording.record) {
    entry.is_run_by_host = true;
    note_retrace(
        recording.has_failed
            ? "host code catches an exception of Plait: it runs at each call"
            : fmt::format("host code reads a number from a tensor at {}: it runs at each call",
                          recording.read.text()));
  } else {
    found.variant->records.add(recording.record);
    if (++entry.records >= options_.max_paths) {
      entry.is_run_by_host = true;
      plait::log(LogArea::transform, LogLevel::warning,
                 "{} has {} records, and runs its host code at each call from now on: {}",
                 options_.name, entry.records, found.why);
    }
  }
}

void Records::use_numbers(Entry& entry, const std::string& why) {
  const std::lock_guard lock(mutex_);
  entry.has_only_numbers = true;
  note_retrace(fmt::format("cannot be recorded for all sizes: {}", why));
}

void Records::note_outer_tape(Entry& entry, Location place) {
  const std::lock_guard lock(mutex_);
  entry.is_run_by_host = entry.uses_outer_tape = true;
  note_retrace(
      fmt::format("a tape that was begun outside is used at {}: its host code runs at each call",
                  place.text()));
}

void Records::count_host_run() {
  const std::lock_guard lock(mutex_);
  ++stats_.host_runs;
}

void Records::count_failed_guard() {
  const std::lock_guard lock(mutex_);
  ++stats_.failed_guards;
}

JitStats Records::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void Records::note_retrace(const std::string& why) {
  if (why.empty()) return;
  const auto known = std::ranges::find(stats_.retraces, why, &JitStats::Retrace::why);
  JitStats::Retrace& retrace =
      known == stats_.retraces.end() ? stats_.retraces.emplace_back() : *known;
  retrace.why = why;
  if (++retrace.times == kRetracesBeforeWarning) {
    log(LogArea::transform, LogLevel::warning, "{} has been recorded {} times for one cause: {}",
        options_.name, retrace.times, why);
  }
}

}  // namespace plait::jits
