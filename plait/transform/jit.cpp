#include "plait/transform/jit.h"

#include <algorithm>
#include <list>
#include <mutex>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/log.h"
#include "plait/core/text.h"
#include "plait/tensor/autocast_policy.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/derivatives/tape.h"
#include "plait/transform/inside/jit/jit_backends.h"
#include "plait/transform/inside/jit/jit_entries.h"
#include "plait/transform/inside/jit/jit_pieces.h"
#include "plait/transform/inside/jit/jit_recording.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {

std::string JitStats::text() const {
  std::string text = fmt::format("{} recorded, {} hits, {} guards failed, {} runs of the host code",
                                 traces, hits, failed_guards, host_runs);
  if (pieces > 0) text += fmt::format(" in {} pieces", pieces);
  for (const Retrace& retrace : retraces) {
    text += fmt::format("\n  {}{}", retrace.why,
                        retrace.times > 1 ? fmt::format(" ({} times)", retrace.times) : "");
  }
  return text;
}

namespace {

std::vector<const Tensor*> pointers_to(std::span<const Tensor> tensors) {
  std::vector<const Tensor*> pointers;
  pointers.reserve(tensors.size());
  for (const Tensor& each : tensors) pointers.push_back(&each);
  return pointers;
}

}  // namespace

JitArguments::JitArguments(std::vector<const Tensor*> all, std::span<Tensor* const> to_take)
    : all_(std::move(all)) {
  if (to_take.empty()) return;
  auto next = to_take.begin();
  for (const Tensor* const each : all_) {
    to_take_.push_back(next != to_take.end() && *next == each ? *next++ : nullptr);
  }
}

JitArguments::JitArguments(std::span<const Tensor> all, std::span<Tensor* const> to_take)
    : JitArguments(pointers_to(all), to_take) {}

Tensor JitArguments::take(size_t i) const {
  if (i < to_take_.size() && to_take_[i] != nullptr) return std::move(*to_take_[i]);
  return *all_[i];
}

std::vector<Tensor> JitArguments::take_all() const {
  std::vector<Tensor> all;
  all.reserve(size());
  for (size_t i = 0; i < size(); ++i) all.push_back(take(i));
  return all;
}

std::vector<Tensor> JitArguments::copies() const {
  std::vector<Tensor> all;
  all.reserve(size());
  for (const Tensor* const each : all_) all.push_back(*each);
  return all;
}

JitArguments JitArguments::followed_by(std::span<const Tensor> more, bool are_kept) const {
  JitArguments longer(all_);
  for (const Tensor& each : more) longer.all_.push_back(&each);
  if (!are_kept) longer.to_take_ = to_take_;
  return longer;
}

namespace jits {
namespace {

constexpr int64_t kRetracesBeforeWarning = 8;

// Returns a symbol named after the path of the size, changed to a valid and unused name.
Dim symbol_for(const Entry& entry, std::string name) {
  for (char& c : name) {
    if (!continues_name(c)) c = '_';
  }
  if (!begins_name(name[0])) name.insert(0, "_");
  Dim symbol = Dim::symbol(name);
  for (int i = 1; std::ranges::any_of(entry.symbols, is_same_as(symbol)); ++i) {
    symbol = Dim::symbol(fmt::format("{}_{}", name, i));
  }
  return symbol;
}

bool any_is_followed(const JitArguments& arguments) {
  return std::ranges::any_of(arguments.all(),
                             [](const Tensor* each) { return is_followed(*each); });
}

}  // namespace

struct Cache::State {
  explicit State(JitOptions given)
      : options(std::move(given)), backend(backend_of(options.backend)), pieces(options, backend) {}

  const JitOptions options;
  const JitBackend backend;
  Pieces pieces;
  std::mutex mutex;                           // protects all below, except `recording` of entries
  std::list<std::shared_ptr<Entry>> entries;  // most recently called first
  JitStats stats;

  Outcome run(Call call);

 private:
  struct Found {
    std::shared_ptr<Entry> entry;
    Variant* variant = nullptr;            // null if none fits
    std::shared_ptr<const Record> record;  // null if none is recorded
    bool is_run_by_host = false;
    std::string why;  // why nothing is recorded
  };
  Found find(const Call& call, std::span<const int64_t> sizes, const std::vector<bool>& outcomes,
             const Record* left);
  static std::string explain_difference(const Entry& earlier, const Call& call);
  const std::shared_ptr<Entry>& entry_of(const Call& call, std::span<const int64_t> sizes);
  void make_dynamic(Entry& entry, const Call& call) const;
  static Variant& new_variant(Entry& entry, std::span<const int64_t> sizes, std::string& why);
  static std::vector<ir::Type> types_of(const Entry& entry, const Pattern& pattern);
  void check_promised(const Variant& variant, std::span<const int64_t> sizes) const;
  Outcome make_record(Call& call, Found& found, std::span<const int64_t> sizes, EffectLog& log);
  bool donates_arguments(const Record& record) const;
  Outcome run_record(Call& call, const Record& record, EffectLog& log) const;
  Outcome run_by_host(const Call& call) const;
  // Runs `record`. If it fails because sizes are symbolic, runs the host code with numbers and
  // returns its outcome; else returns nothing.
  template <class Record>
  std::optional<Outcome> with_numbers_if_refused(const Call& call, const Found& found,
                                                 EffectLog& log, const Record& record);
  Outcome run_host_in_pieces(const Call& call, const Found& found, std::span<const int64_t> sizes,
                             EffectLog& log);
  Outcome run_with_tape(const Call& call, Entry& entry, const UsesOuterTape& used, EffectLog& log);
  void note(const Found& found, const Recording& recording);
  void note_retrace(const std::string& why);
};

// Applies options.dynamic: makes the sizes symbolic, and adds their promised facts.
void Cache::State::make_dynamic(Entry& entry, const Call& call) const {
  for (const DynamicSize& wanted : options.dynamic) {
    const std::string argument = fmt::format("arg{}", wanted.argument);
    const std::string leaf = wanted.leaf.empty() ? argument : argument + "." + wanted.leaf;
    bool found = false;
    size_t place = 0;
    for (size_t i = 0; i < entry.kinds.size(); place += entry.kinds[i++].rank) {
      const std::string& path = entry.paths[i];
      const bool is_meant =
          path == leaf || (wanted.leaf.empty() && path.starts_with(argument + "."));
      if (!is_meant) continue;
      const auto rank = static_cast<int64_t>(entry.kinds[i].rank);
      const int64_t axis = wanted.axis < 0 ? wanted.axis + rank : wanted.axis;
      if (axis < 0 || axis >= rank) {
        throw ValueError("{}: {} has no axis {}, which is declared dynamic", options.name, path,
                         wanted.axis);
      }
      const size_t at = place + static_cast<size_t>(axis);
      if (!wanted.name.empty()) entry.symbols[at] = Dim::symbol(wanted.name);
      entry.is_dynamic[at] = true;
      const Dim symbol = entry.symbols[at];
      const auto promise = [&](const SizeFact& fact) {
        if (std::ranges::find(entry.promised, fact) == entry.promised.end()) {
          entry.promised.push_back(fact);
        }
      };
      if (wanted.at_least > 0) promise(symbol >= Dim(wanted.at_least));
      if (wanted.at_most) promise(symbol <= Dim(*wanted.at_most));
      if (wanted.divisor > 1) promise({mod(symbol, wanted.divisor), SizeFact::equal, 0});
      found = true;
    }
    if (!found) {
      throw ValueError("{}: unknown argument {}, whose size is declared dynamic", options.name,
                       leaf)
          .hint(fmt::format("the arguments are {}", fmt::join(call.paths(), ", ")));
    }
  }
}

// For equal keys. Host code may hold other tensors, which the key does not cover.
std::string Cache::State::explain_difference(const Entry& earlier, const Call& call) {
  const auto& kinds = earlier.kinds;
  const auto found = std::ranges::mismatch(kinds, call.leaves.all(), is_kind);
  const auto place = static_cast<size_t>(found.in1 - kinds.begin());
  if (place == kinds.size() || place == call.leaves.size()) {
    return fmt::format("there are {} tensors, were {} before", call.leaves.size(), kinds.size());
  }
  return fmt::format("{} is {}", earlier.paths[place], call.leaves[place].type().text());
}

const std::shared_ptr<Entry>& Cache::State::entry_of(const Call& call,
                                                     std::span<const int64_t> sizes) {
  const Entry* alike = nullptr;
  std::string why;
  for (auto known = entries.begin(); known != entries.end(); ++known) {
    const Entry& entry = **known;
    if (entry.key != call.key) continue;
    if (std::ranges::equal(entry.kinds, call.leaves.all(), is_kind)) {
      entries.splice(entries.begin(), entries, known);
      return entries.front();
    }
    alike = &entry;
  }
  if (alike != nullptr) {
    why = explain_difference(*alike, call);
  } else if (!entries.empty()) {
    why = plait::explain_difference(entries.front()->key, call.key);
  }
  auto made = std::make_shared<Entry>();
  Entry& entry = *made;
  entry.key = call.key;
  entry.why = std::move(why);
  entry.paths = call.paths();
  for (const Tensor* const each : call.leaves.all()) {
    const Tensor& leaf = *each;
    const std::string& path = entry.paths[entry.kinds.size()];
    if (!leaf.is_array()) {
      entry.kinds.push_back({.record = leaf.type()});
      continue;
    }
    const size_t rank = leaf.array().sizes().size();
    entry.kinds.push_back({.dtype = leaf.array().dtype(), .rank = rank});
    for (size_t axis = 0; axis < rank; ++axis) {
      entry.symbols.push_back(symbol_for(entry, fmt::format("{}.{}", path, axis)));
    }
  }
  entry.seen.emplace_back(sizes.begin(), sizes.end());
  entry.is_dynamic.resize(sizes.size());
  make_dynamic(entry, call);
  entries.push_front(std::move(made));
  if (entries.size() > std::max<size_t>(options.max_records, 1)) entries.pop_back();
  return entries.front();
}

// Sizes that have differed, and sizes declared dynamic, become symbols. Sizes that were equal in
// all calls so far share a symbol.
Variant& Cache::State::new_variant(Entry& entry, std::span<const int64_t> sizes, std::string& why) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t first = entry.seen.front()[i];
    if (entry.is_dynamic[i] || sizes[i] == first) continue;
    entry.is_dynamic[i] = true;
    if (why.empty()) {
      why =
          fmt::format("the size {} is {}, was {} before", entry.symbols[i].text(), sizes[i], first);
    }
  }
  entry.seen.emplace_back(sizes.begin(), sizes.end());
  const auto symbol_of = [&](size_t i) {
    const auto was_as = [&](size_t other) {
      return entry.is_dynamic[other] &&
             std::ranges::all_of(entry.seen, [&](const auto& all) { return all[i] == all[other]; });
    };
    size_t first = 0;
    while (first < i && !was_as(first)) ++first;
    return entry.symbols[entry.promised.empty() ? first : i];
  };
  Variant& variant = entry.variants.emplace_front();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!entry.is_dynamic[i] || entry.has_only_numbers) {
      variant.pattern.sizes.push_back(sizes[i]);
      continue;
    }
    auto& symbols = variant.pattern.symbols;
    const auto known = std::ranges::find_if(symbols, is_same_as(symbol_of(i)));
    variant.pattern.sizes.push_back(~static_cast<int64_t>(known - symbols.begin()));
    if (known == symbols.end()) symbols.push_back(symbol_of(i));
  }
  if (!entry.has_only_numbers) variant.promised = entry.promised;
  return variant;
}

Cache::State::Found Cache::State::find(const Call& call, std::span<const int64_t> sizes,
                                       const std::vector<bool>& outcomes, const Record* left) {
  const std::lock_guard lock(mutex);
  Found found;
  found.entry = entry_of(call, sizes);
  if (found.entry->variants.empty()) found.why = found.entry->why;
  std::vector<int64_t> numbers;
  if (found.entry->is_run_by_host) {
    found.is_run_by_host = true;
    ++stats.host_runs;
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
      if (outcomes.empty()) ++stats.hits;
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

void Cache::State::note_retrace(const std::string& why) {
  if (why.empty()) return;
  const auto known = std::ranges::find(stats.retraces, why, &JitStats::Retrace::why);
  JitStats::Retrace& retrace =
      known == stats.retraces.end() ? stats.retraces.emplace_back() : *known;
  retrace.why = why;
  if (++retrace.times == kRetracesBeforeWarning) {
    log(LogArea::transform, LogLevel::warning, "{} has been recorded {} times for one cause: {}",
        options.name, retrace.times, why);
  }
}

Outcome Cache::State::run_by_host(const Call& call) const {
  std::any result;
  Outcome outcome;
  outcome.leaves = call.host(call.leaves.copies(), result);
  outcome.result = std::make_shared<const std::any>(std::move(result));
  return outcome;
}

std::vector<ir::Type> Cache::State::types_of(const Entry& entry, const Pattern& pattern) {
  std::vector<ir::Type> types;
  size_t place = 0;
  for (const LeafKind& kind : entry.kinds) {
    if (kind.record.is_record()) {
      types.push_back(kind.record);
      continue;
    }
    std::vector<Dim> dims;
    for (size_t axis = 0; axis < kind.rank; ++axis, ++place) {
      const int64_t size = pattern.sizes[place];
      dims.push_back(size >= 0 ? Dim(size) : pattern.symbols[static_cast<size_t>(~size)]);
    }
    types.push_back(ir::Type::array(kind.dtype, Shape(dims)));
  }
  return types;
}

void Cache::State::check_promised(const Variant& variant, std::span<const int64_t> sizes) const {
  std::vector<int64_t> numbers;
  variant.pattern.fits(sizes, numbers);
  const SizeFact* failing = nullptr;
  if (all_hold(variant.promised, variant.pattern, numbers, &failing)) return;
  throw ShapeError("{}: {} was promised for the sizes, which are {}", options.name, failing->text(),
                   fmt::join(sizes, ", "))
      .at(Location::of_caller());
}

// Runs what the host code computes up to each read as a compiled piece, which the next call reuses.
Outcome Cache::State::run_host_in_pieces(const Call& call, const Found& found,
                                         std::span<const int64_t> sizes, EffectLog& log) {
  const EffectLog::Scope effects(log);
  if (found.variant == nullptr) return run_by_host(call);
  check_promised(*found.variant, sizes);
  if (pieces.is_full() || any_is_followed(call.leaves)) return run_by_host(call);
  std::vector<ir::Type> types;
  {
    const std::lock_guard lock(mutex);
    types = types_of(*found.entry, found.variant->pattern);
  }
  Outcome outcome;
  const auto other = with_numbers_if_refused(call, found, log, [&] {
    outcome = run_in_pieces({.name = options.name,
                             .types = types,
                             .leaves = call.leaves,
                             .facts = found.variant->promised,
                             .host = call.host},
                            pieces);
  });
  return other ? *other : outcome;
}

// The caller holds `recording` of the entry.
Outcome Cache::State::make_record(Call& call, Found& found, std::span<const int64_t> sizes,
                                  EffectLog& log) {
  Entry& entry = *found.entry;
  std::vector<ir::Type> types;
  {
    const std::lock_guard lock(mutex);
    if (found.variant == nullptr) found.variant = &new_variant(entry, sizes, found.why);
    types = types_of(entry, found.variant->pattern);
  }
  check_promised(*found.variant, sizes);
  log.rewind();
  Recording recording;
  try {
    const auto other = with_numbers_if_refused(call, found, log, [&] {
      recording = record({.options = options,
                          .types = types,
                          .leaves = call.leaves,
                          .paths = entry.paths,
                          .facts = found.variant->promised,
                          .host = call.host},
                         log);
    });
    if (other) return *other;
  } catch (const UsesOuterTape& used) {
    return run_with_tape(call, entry, used, log);
  }
  if (recording.record) recording.record->run = backend(recording.record->program, options);
  note(found, recording);
  if (!recording.captures_followed && !any_is_followed(call.leaves)) {
    return std::move(recording.outcome);
  }
  log.rewind();
  if (recording.record) return run_record(call, *recording.record, log);
  const EffectLog::Scope effects(log);
  return run_by_host(call);
}

template <class Record>
std::optional<Outcome> Cache::State::with_numbers_if_refused(const Call& call, const Found& found,
                                                             EffectLog& log, const Record& record) {
  Entry& entry = *found.entry;
  const bool may_be_for_symbols = !found.variant->pattern.symbols.empty() && entry.promised.empty();
  std::string why;
  try {
    record();
    return std::nullopt;
  } catch (const NeedsConcreteSizes& needed) {
    if (!may_be_for_symbols) std::rethrow_exception(needed.refused);
    why = needed.why;
  } catch (const Error& error) {
    if (!may_be_for_symbols || options.fullgraph) throw;
    why = error.message();
  }
  log.rewind();
  const EffectLog::Scope effects(log);
  Outcome outcome = run_by_host(call);
  const std::lock_guard lock(mutex);
  entry.has_only_numbers = true;
  note_retrace(fmt::format("cannot be recorded for all sizes: {}", why));
  return outcome;
}

// The function uses a tape from outside: from now on its host code runs at each call.
Outcome Cache::State::run_with_tape(const Call& call, Entry& entry, const UsesOuterTape& used,
                                    EffectLog& log) {
  if (options.fullgraph) {
    throw ValueError("{}: it uses a tape that was begun outside of it, which `fullgraph` forbids",
                     options.name)
        .at(used.place)
        .hint("begin with requires_grad inside, or take grad of the function");
  }
  {
    const std::lock_guard lock(mutex);
    entry.is_run_by_host = entry.uses_outer_tape = true;
    note_retrace(
        fmt::format("a tape that was begun outside is used at {}: its host code runs "
                    "at each call",
                    used.place.text()));
  }
  log.rewind();
  const EffectLog::Scope effects(log);
  return run_by_host(call);
}

void Cache::State::note(const Found& found, const Recording& recording) {
  const std::lock_guard lock(mutex);
  Entry& entry = *found.entry;
  ++stats.traces;
  note_retrace(found.why);
  if (!recording.record) {
    entry.is_run_by_host = true;
    note_retrace(recording.has_failed
                     ? "host code catches an exception of Plait: it runs at each call"
                     : fmt::format("host code reads a number from a tensor at {}: it runs at "
                                   "each call",
                                   recording.read.text()));
  } else {
    found.variant->records.add(recording.record);
    if (++entry.records >= options.max_paths) {
      entry.is_run_by_host = true;
      plait::log(LogArea::transform, LogLevel::warning,
                 "{} has {} records, and runs its host code at each call from now on: {}",
                 options.name, entry.records, found.why);
    }
  }
}

// A call that may change to another path needs its donated arguments again.
bool Cache::State::donates_arguments(const Record& record) const {
  return record.outcomes.empty() && !options.donate.empty();
}

Outcome Cache::State::run_record(Call& call, const Record& record, EffectLog& log) const {
  if (donates_arguments(record) && call.release_owner) call.release_owner();
  const JitArguments arguments = call.leaves.followed_by(record.hidden, !donates_arguments(record));
  const EffectLog::Scope effects(log);
  if (!any_is_followed(arguments)) return {record.run(arguments), record.result};
  size_t guards = 0;
  const RunOptions guarded{.on_guard = [&](bool found, bool expected) {
    if (found != expected) throw SideExit{guards};
    ++guards;
  }};
  return {run_function(record.program, record.program.entry(), arguments.copies(), guarded),
          record.result};
}

Outcome Cache::State::run(Call call) {
  // Within a trace it is recorded as a function that the trace calls. An autocast from outside is
  // not part of a record.
  if (options.disable) return run_by_host(call);
  if (Trace::current() != nullptr) {
    const Trace::Part part(options.name);
    const Fullgraph strict(options);
    return run_by_host(call);
  }
  if (AutocastScope::current() != nullptr) return run_by_host(call);
  if (call.by_host) {
    {
      const std::lock_guard lock(mutex);
      ++stats.host_runs;
    }
    return run_by_host(call);
  }
  EffectLog log;
  const std::vector<int64_t> sizes = sizes_of(call.leaves);
  std::shared_ptr<Entry> recorded;  // must outlive the lock
  std::unique_lock<std::mutex> recording;
  std::vector<bool> outcomes;
  std::shared_ptr<const Record> left;
  for (;;) {
    Found found = find(call, sizes, outcomes, left.get());
    if (found.is_run_by_host) {
      try {
        return run_host_in_pieces(call, found, sizes, log);
      } catch (const UsesOuterTape& used) {
        return run_with_tape(call, *found.entry, used, log);
      }
    }
    if (!found.record) {
      if (recording.owns_lock()) return make_record(call, found, sizes, log);
      // Another thread may be recording the same function; look again after it is done.
      recorded = found.entry;
      recording = std::unique_lock(recorded->recording);
      continue;
    }
    if (recording.owns_lock()) recording.unlock();
    try {
      return run_record(call, *found.record, log);
    } catch (const SideExit& exit) {
      if (exit.guard >= found.record->outcomes.size()) {
        throw ValueError("{}: the backend \"{}\" reports that guard {} of {} failed", options.name,
                         options.backend, exit.guard, found.record->outcomes.size());
      }
      outcomes.assign(found.record->outcomes.begin(),
                      found.record->outcomes.begin() + static_cast<std::ptrdiff_t>(exit.guard));
      outcomes.push_back(!found.record->outcomes[exit.guard]);
      left = found.record;
      log.rewind();
      const std::lock_guard lock(mutex);
      ++stats.failed_guards;
    } catch (const Error&) {
      // The host code may catch the error and continue.
      if (options.fullgraph || donates_arguments(*found.record)) throw;
      log.rewind();
      const EffectLog::Scope effects(log);
      return run_by_host(call);
    }
  }
}

Cache::Cache(JitOptions options) : state_(std::make_shared<State>(std::move(options))) {}

Outcome Cache::operator()(Call call) const { return state_->run(std::move(call)); }

JitStats Cache::stats() const {
  const std::lock_guard lock(state_->mutex);
  JitStats stats = state_->stats;
  stats.pieces = state_->pieces.count();
  return stats;
}

bool Cache::is_donated(size_t argument) const {
  const std::vector<size_t>& donated = state_->options.donate;
  return std::find(donated.begin(), donated.end(), argument) != donated.end();
}

void Cache::expect_donated_among(size_t arguments) const {
  for (const size_t number : state_->options.donate) {
    if (number < arguments) continue;
    throw ValueError("{}: cannot donate argument {}: there are {}, from 0 on", state_->options.name,
                     number, arguments)
        .at(Location::of_caller());
  }
}

std::vector<std::string> paths_of_call(std::vector<std::string> paths, bool has_function) {
  for (std::string& path : paths) {
    const size_t end = std::min(path.find('.'), path.size());
    const int number = std::stoi(path.substr(0, end)) - (has_function ? 1 : 0);
    const std::string rest = path.substr(end);
    path = number < 0 ? rest.substr(std::min<size_t>(1, rest.size()))
                      : "arg" + std::to_string(number) + rest;
  }
  return paths;
}

}  // namespace jits
}  // namespace plait
