// Calls of jitted functions: which record a call uses, and what happens if there is none.
#include <algorithm>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/tensor/autocast_policy.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/inside/derivatives/outer_tape.h"
#include "plait/transform/inside/jit/jit_backends.h"
#include "plait/transform/inside/jit/jit_pieces.h"
#include "plait/transform/inside/jit/jit_records.h"
#include "plait/transform/inside/running/run_program.h"
#include "plait/transform/jit.h"

namespace plait::jits {
namespace {

bool any_is_followed(const JitArguments& arguments) {
  return std::ranges::any_of(arguments.all(),
                             [](const Tensor* each) { return *each && is_followed(*each); });
}

Outcome run_by_host(const Call& call) {
  std::any result;
  Outcome outcome;
  outcome.leaves = call.host(call.leaves.copies(), result);
  outcome.result = std::make_shared<const std::any>(std::move(result));
  return outcome;
}

// Effects that have happened are not repeated.
Outcome run_host_again(const Call& call, EffectLog& log) {
  log.rewind();
  const EffectLog::Scope effects(log);
  return run_by_host(call);
}

JitOptions checked(JitOptions options) {
  if (options.memory_budget && !(*options.memory_budget > 0)) {
    throw ValueError("jit: memory_budget is {}, expected more than 0", *options.memory_budget)
        .at(Location::of_caller())
        .hint("bytes, or at most 1 as a share of what the program needs without a budget");
  }
  return options;
}

}  // namespace

// It runs records and host code; what is recorded is known to `records` alone.
struct Cache::State {
  explicit State(JitOptions given)
      : options(checked(std::move(given))),
        backend(backend_of(options.backend)),
        pieces(options, backend),
        records(options) {}

  const JitOptions options;
  const JitBackend backend;
  Pieces pieces;
  Records records;

  Outcome run(Call call);

 private:
  Outcome make_record(Call& call, Found& found, std::span<const int64_t> sizes, EffectLog& log);
  bool donates_arguments(const Record& record) const;
  Outcome run_record(Call& call, const Record& record, EffectLog& log) const;
  Outcome run_new_record(Call& call, const Recording& recording, EffectLog& log) const;
  // Runs `record`. If it fails because sizes are symbolic, runs the host code with numbers and
  // returns its outcome; else returns nothing.
  template <class Record>
  std::optional<Outcome> with_numbers_if_refused(const Call& call, const Found& found,
                                                 EffectLog& log, const Record& record);
  Outcome run_host_in_pieces(const Call& call, Found& found, std::span<const int64_t> sizes,
                             EffectLog& log);
  Outcome run_with_tape(const Call& call, Entry& entry, const UsesOuterTape& used, EffectLog& log);
};

// Runs what the host code computes up to each read as a compiled piece, which the next call reuses.
Outcome Cache::State::run_host_in_pieces(const Call& call, Found& found,
                                         std::span<const int64_t> sizes, EffectLog& log) {
  const EffectLog::Scope effects(log);
  if (found.variant == nullptr) return run_by_host(call);
  check_promised(options, *found.variant, sizes);
  const bool is_eager = options.repeatable || pieces.is_full() || any_is_followed(call.leaves);
  if (is_eager) return run_by_host(call);
  const std::vector<ir::Type> types = records.types_for(found, sizes);
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
  const std::vector<ir::Type> types = records.types_for(found, sizes);
  check_promised(options, *found.variant, sizes);
  const bool is_followed = any_is_followed(call.leaves);
  const auto runs_record = [&](bool captures_followed) {
    return is_followed || captures_followed || !call.begin_again || call.begin_again();
  };
  log.rewind();
  Recording recording;
  try {
    const auto other = with_numbers_if_refused(call, found, log, [&] {
      recording = record({.options = options,
                          .types = types,
                          .leaves = call.leaves,
                          .paths = entry.paths,
                          .facts = found.variant->promised,
                          .host = call.host,
                          .runs_record = runs_record},
                         log);
    });
    if (other) return *other;
  } catch (const UsesOuterTape& used) {
    return run_with_tape(call, entry, used, log);
  }
  if (recording.record) recording.record->run = backend(recording.record->program, options);
  records.add(found, recording);
  if (recording.is_to_run) return run_new_record(call, recording, log);
  if (!is_followed && !recording.captures_followed) return std::move(recording.outcome);
  return run_host_again(call, log);
}

// The host code has run. Its record computes the results, which it has not.
Outcome Cache::State::run_new_record(Call& call, const Recording& recording, EffectLog& log) const {
  log.rewind();
  const bool is_kept = !donates_arguments(*recording.record);
  try {
    Outcome outcome = run_record(call, *recording.record, log);
    for (size_t i = 0; i < outcome.leaves.size(); ++i) {
      const std::shared_ptr<Tensor>& expected = recording.expected[i];
      if (expected && !*expected) *expected = underived(outcome.leaves[i]);
    }
    return outcome;
  } catch (const SideExit&) {  // a guard is true eagerly and false when compiled, or the reverse
    return run_host_again(call, log);
  } catch (const Error&) {
    // The host code may catch the error and continue.
    if (options.fullgraph || !is_kept) throw;
    return run_host_again(call, log);
  }
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
  records.use_numbers(entry, why);
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
  records.note_outer_tape(entry, used.place);
  log.rewind();
  const EffectLog::Scope effects(log);
  return run_by_host(call);
}

// A call that may change to another path needs its donated arguments again.
bool Cache::State::donates_arguments(const Record& record) const {
  return record.outcomes.empty() && !options.donate.empty();
}

Outcome Cache::State::run_record(Call& call, const Record& record, EffectLog& log) const {
  if (donates_arguments(record) && call.release_owner) call.release_owner();
  const JitArguments arguments = call.leaves.followed_by(record.hidden, !donates_arguments(record));
  const EffectLog::Scope effects(log);
  if (!any_is_followed(arguments)) return record.outcome_of(record.run(arguments));
  size_t guards = 0;
  const RunOptions guarded{.on_guard = [&](bool found, bool expected) {
    if (found != expected) throw SideExit{guards};
    ++guards;
  }};
  return record.outcome_of(
      run_function(record.program, record.program.entry(), arguments.copies(), guarded));
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
    records.count_host_run();
    return run_by_host(call);
  }
  EffectLog log;
  const std::vector<int64_t> sizes = sizes_of(call.leaves);
  std::shared_ptr<Entry> recorded;  // must outlive the lock
  std::unique_lock<std::mutex> recording;
  std::vector<bool> outcomes;
  std::shared_ptr<const Record> left;
  for (;;) {
    Found found = records.find(call, sizes, outcomes, left.get());
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
      records.count_failed_guard();
    } catch (const Error&) {
      // The host code may catch the error and continue.
      if (options.fullgraph || donates_arguments(*found.record)) throw;
      return run_host_again(call, log);
    }
  }
}

Cache::Cache(JitOptions options) : state_(std::make_shared<State>(std::move(options))) {}

Outcome Cache::operator()(Call call) const { return state_->run(std::move(call)); }

JitStats Cache::stats() const {
  JitStats stats = state_->records.stats();
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

}  // namespace plait::jits
