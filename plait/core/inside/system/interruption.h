// Lets another language that called Plait interrupt a long computation.
#pragma once

namespace plait {

// Sets the check, which is called regularly on the computing thread. An exception from it ends the
// computation; earlier state is unchanged.
void set_interruption_check(void (*check)());

// To be called where a computation can stop. Runs the check at most every five milliseconds.
void check_interruption();

}  // namespace plait
